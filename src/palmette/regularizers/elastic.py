"""L2 and L1 penalties, with one strength of each per weight."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from palmette.regularizers.dual_model import DualModel


@dataclass(frozen=True, eq=False)
class ElasticNet:
    """``R(w) = sum_j (l2_j / 2) w_j^2 + l1_j |w_j|``; the strengths may differ by block (node, bias, edge).

    Parameters
    ----------
    l2, l1 : array-like of shape (n_params,)
        Finite numbers >= 0.

    Examples
    --------
    >>> penalty = ElasticNet(l2=[2.0, 2.0], l1=[0.0, 1.0])
    >>> penalty.value(np.array([1.0, -1.0]))
    3.0
    """

    l2: np.ndarray
    l1: np.ndarray

    def __post_init__(self) -> None:
        for name in ("l2", "l1"):
            strengths = np.asarray(getattr(self, name), float)
            if strengths.ndim != 1:
                raise ValueError(f"{name} must have one strength per weight, got shape {strengths.shape}")
            bad = np.flatnonzero(~(np.isfinite(strengths) & (strengths >= 0.0)))
            if len(bad):
                raise ValueError(f"{name}[{bad[0]}] is {strengths[bad[0]]}; strengths must be finite, >= 0")
            object.__setattr__(self, name, strengths)
        if len(self.l2) != len(self.l1):
            raise ValueError(f"l2 and l1 need the same length, got {len(self.l2)} and {len(self.l1)}")

    @cached_property
    def has_l1(self) -> bool:
        """Whether any weight has an L1 penalty."""
        return bool(np.any(self.l1 > 0.0))

    @cached_property
    def strongly_convex(self) -> bool:
        """Whether every weight has an L2 penalty."""
        return bool(np.all(self.l2 > 0.0))

    @property
    def quadratic(self) -> bool:
        """Whether this is L2 on every weight and nothing else."""
        return self.strongly_convex and not self.has_l1

    @property
    def separable(self) -> bool:
        """Whether this is a sum over weights; solvers that go weight by weight need it."""
        return True

    @cached_property
    def unpenalised(self) -> np.ndarray:
        """Positions of the weights without any penalty."""
        return np.flatnonzero((self.l2 == 0.0) & (self.l1 == 0.0))

    def rescaled(self, factor: np.ndarray) -> ElasticNet:
        """This penalty of ``factor * v`` as a penalty of ``v``.

        >>> ElasticNet(l2=[1.0], l1=[1.0]).rescaled(np.array([2.0])).value(np.array([3.0]))  # that of w = 6
        24.0
        """
        return ElasticNet(self.l2 * factor * factor, self.l1 * factor)

    def common(self, numbers: np.ndarray) -> np.ndarray:
        """One number per weight, made equal where the penalty joins weights: nowhere here."""
        return numbers

    def same_as(self, other: ElasticNet) -> bool:
        """Whether the other penalty is equal to this one."""
        return np.array_equal(self.l2, other.l2) and np.array_equal(self.l1, other.l1)

    def value(self, w: np.ndarray) -> float:
        """``R(w)``."""
        return self.l2_value(w) + self.l1_value(w)

    def l2_value(self, w: np.ndarray) -> float:
        """``sum_j (l2_j / 2) w_j^2``."""
        return float(0.5 * np.dot(self.l2 * w, w))

    def l1_value(self, w: np.ndarray) -> float:
        """``sum_j l1_j |w_j|``."""
        return float(np.dot(self.l1, np.abs(w))) if self.has_l1 else 0.0

    def l2_gradient(self, w: np.ndarray) -> np.ndarray:
        """Gradient of the L2 part."""
        return self.l2 * w

    def dual_value(self, g: np.ndarray) -> float:
        """``R*(-g) = -min_w [<g, w> + R(w)] = sum_j max(|g_j| - l1_j, 0)^2 / (2 l2_j)``.

        Infinite where a weight without L2 has ``|g_j| > l1_j``.

        >>> ElasticNet(l2=[2.0, 0.0], l1=[1.0, 1.0]).dual_value(np.array([3.0, 0.5]))
        1.0
        """
        if self.strongly_convex and not self.has_l1:
            return float(0.5 * np.dot(g / self.l2, g))
        excess = np.abs(g)
        excess -= self.l1
        held = np.flatnonzero(excess > 0.0)
        excess, l2 = excess[held], self.l2[held]
        return float(0.5 * np.dot(excess / l2, excess)) if np.all(l2 > 0.0) else float("inf")

    def prox(self, v: np.ndarray, d: float) -> np.ndarray:
        """``argmin_w (d / 2) |w - v|^2 + R(w)``: one step of a proximal method.

        >>> ElasticNet(l2=[1.0, 0.0], l1=[0.0, 1.0]).prox(np.array([2.0, 2.0]), 1.0)
        array([1., 1.])
        """
        u = d * v
        u -= np.clip(u, -self.l1, self.l1)
        u /= d + self.l2
        return u

    def min_norm_subgradient(self, w: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Shortest subgradient of ``loss + R`` at ``w``, for the loss gradient ``g``; zero at the optimum.

        >>> lasso = ElasticNet(l2=[0.0, 0.0], l1=[1.0, 1.0])
        >>> lasso.min_norm_subgradient(np.array([0.0, 2.0]), np.array([0.5, 0.5]))
        array([0. , 1.5])
        """
        smooth = self.l2 * w
        smooth += g
        if not self.has_l1:
            return smooth
        sign = np.sign(w)
        at_zero = np.flatnonzero(sign == 0.0)
        held = smooth[at_zero]
        sign *= self.l1
        smooth += sign
        smooth[at_zero] = held - np.clip(held, -self.l1[at_zero], self.l1[at_zero])
        return smooth

    def residual_bound(self, subgradient: np.ndarray) -> float:
        """How far an objective with this penalty is above its optimum at most, where it has this subgradient.

        ``f(u) >= f(w) + <s, u - w> + sum_j (l2_j / 2) (u_j - w_j)^2``, so ``f(w) - min f <= sum_j s_j^2 / (2 l2_j)``;
        infinite where a weight without L2 has a subgradient other than 0. Unlike a bound from cuts this one takes no
        differences of large numbers.

        >>> ElasticNet(l2=[2.0], l1=[0.0]).residual_bound(np.array([2.0]))
        1.0
        """
        held = np.flatnonzero(subgradient)
        s, l2 = subgradient[held], self.l2[held]
        return float(0.5 * np.dot(s / l2, s)) if np.all(l2 > 0.0) else float("inf")

    # -- the dual over means of cuts (palmette.objectives.elastic_dual) -----------------------------------------------

    def excess(self, g: np.ndarray) -> np.ndarray:
        """``e`` such that ``-e / l2`` minimises ``<g, w> + R(w)``, so that ``R*(-g) = sum_j e_j^2 / (2 l2_j)``."""
        return g - np.clip(g, -self.l1, self.l1)

    def exceeded(self, g: np.ndarray) -> np.ndarray:
        """Mask of the weights on which ``R*`` may depend at ``g``; where it is false at two points, it is between."""
        return np.abs(g) > self.l1

    def dual_model(self, rows: np.ndarray) -> DualModel:
        """The derivatives of ``R*(-a @ rows)`` in ``a``."""
        return DualModel(self, rows)

    def largest_share(self, g: np.ndarray) -> float:
        """Largest ``s <= 1`` for which ``s g`` has no excess."""
        size = np.abs(g)
        part = size > self.l1
        return float((self.l1[part] / size[part]).min(initial=1.0))

    def take(self, part: np.ndarray) -> ElasticNet:
        """The penalty of some of the weights, given by a mask."""
        return ElasticNet(self.l2[part], self.l1[part])

    def lend(self, share: float) -> ElasticNet:
        """This penalty with an L2 of ``share * l1`` for the weights that have none."""
        return ElasticNet(np.where(self.l2 > 0.0, self.l2, share * self.l1), self.l1)
