"""L2, L1 and a norm for each group of weights: the elastic net with a group lasso."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from palmette.regularizers.dual_model import DualModel, compressed
from palmette.regularizers.elastic import ElasticNet

_BISECTIONS = 60


@dataclass(frozen=True, eq=False)
class GroupedElasticNet(ElasticNet):
    """``R(w) = sum_j (l2_j / 2) w_j^2 + l1_j |w_j|  +  sum_g strength_g |w_g|_2``.

    Every weight is in one group, and L2 is the same all over a group; then everything has a closed form. With
    ``u = sign(v) max(|v| - l1, 0)`` (soft threshold) and ``S(v)_g = max(1 - strength_g / |u_g|_2, 0) u_g`` (shrinking
    each group)

    * proximal step: ``argmin_w (d / 2)|w - v|^2 + R(w) = S(d v) / (d + l2)``;
    * conjugate: ``R*(-g) = sum_j S(g)_j^2 / (2 l2_j)``; without L2, 0 where ``S(g) = 0`` and infinite elsewhere, so
      the largest ``|u_g|_2 / strength_g`` is the dual norm;
    * optimality: 0 is a subgradient of loss plus ``R`` at ``w``; for a group at zero: ``S(gradient)_g = 0``.

    Parameters
    ----------
    l2, l1 : array-like of shape (n_params,)
    group : array-like of int, shape (n_params,)
        The group of each weight: 0, 1, ..., n_groups - 1.
    strength : array-like of shape (n_groups,)
        Finite numbers >= 0.

    Examples
    --------
    >>> penalty = GroupedElasticNet([0.0] * 3, [0.0] * 3, group=[0, 0, 1], strength=[1.0, 2.0])
    >>> penalty.value(np.array([3.0, 4.0, -1.0]))
    7.0
    >>> penalty.prox(np.array([3.0, 4.0, -1.0]), 1.0)
    array([ 2.4,  3.2, -0. ])
    """

    group: np.ndarray
    strength: np.ndarray

    def __post_init__(self) -> None:
        super().__post_init__()
        group, strength = np.array(self.group, np.int64), np.array(self.strength, float)
        if group.shape != self.l2.shape or strength.ndim != 1:
            raise ValueError(
                f"there must be one group for each of the {len(self.l2)} weights and one strength for each group, got "
                f"shapes {group.shape} and {strength.shape}"
            )
        bad = np.flatnonzero((group < 0) | (group >= len(strength)))
        if len(bad):
            raise ValueError(
                f"group[{bad[0]}] is {group[bad[0]]}, but groups are 0..{len(strength) - 1}: one strength each"
            )
        bad = np.flatnonzero(~(np.isfinite(strength) & (strength >= 0.0)))
        if len(bad):
            raise ValueError(f"strength[{bad[0]}] is {strength[bad[0]]}; strengths must be finite, >= 0")
        object.__setattr__(self, "group", group)
        object.__setattr__(self, "strength", strength)
        mixed = np.flatnonzero(self._group_l2[group] != self.l2)
        if len(mixed):
            j = mixed[0]
            raise ValueError(
                f"l2[{j}] is {self.l2[j]}, but another weight of its group {group[j]} has {self._group_l2[group[j]]}: "
                "L2 must be the same all over a group"
            )

    @cached_property
    def _group_l2(self) -> np.ndarray:
        l2 = np.zeros(len(self.strength))
        l2[self.group] = self.l2
        return l2

    @cached_property
    def unpenalised(self) -> np.ndarray:
        """Positions of the weights without any penalty."""
        return np.flatnonzero((self.l2 == 0.0) & (self.l1 == 0.0) & (self.strength[self.group] == 0.0))

    @property
    def quadratic(self) -> bool:
        """Whether this is L2 on every weight and nothing else."""
        return super().quadratic and not np.any(self.strength > 0.0)

    @property
    def separable(self) -> bool:
        """Whether this is a sum over weights: not with norms of groups."""
        return not np.any(self.strength > 0.0)

    def rescaled(self, factor: np.ndarray) -> GroupedElasticNet:
        """This penalty of ``factor * v`` as a penalty of ``v``; factors are the same all over a group."""
        of_group = np.ones(len(self.strength))
        of_group[self.group] = factor
        plain = super().rescaled(factor)
        return GroupedElasticNet(plain.l2, plain.l1, self.group, self.strength * of_group)

    def common(self, numbers: np.ndarray) -> np.ndarray:
        """The mean over each group, for all its weights."""
        size = np.maximum(np.bincount(self.group, minlength=len(self.strength)), 1)
        return (np.bincount(self.group, numbers, len(self.strength)) / size)[self.group]

    def same_as(self, other: ElasticNet) -> bool:
        """Whether the other penalty is equal to this one."""
        return (
            isinstance(other, GroupedElasticNet)
            and super().same_as(other)
            and np.array_equal(self.group, other.group)
            and np.array_equal(self.strength, other.strength)
        )

    def norms(self, w: np.ndarray) -> np.ndarray:
        """``|w_g|_2`` of every group."""
        return np.sqrt(np.bincount(self.group, w * w, len(self.strength)))

    def value(self, w: np.ndarray) -> float:
        """``R(w)``."""
        return super().value(w) + float(self.strength @ self.norms(w))

    def prox(self, v: np.ndarray, d: float) -> np.ndarray:
        """``argmin_w (d / 2) |w - v|^2 + R(w)``: soft threshold, then shrink each group."""
        e = self.excess(d * v)
        e /= d + self.l2
        return e

    def excess(self, g: np.ndarray) -> np.ndarray:
        """``S(g)``: ``-S(g) / l2`` minimises ``<g, w> + R(w)``."""
        u = super().excess(g)
        u *= self._kept(self.norms(u))[self.group]
        return u

    def _kept(self, norms: np.ndarray) -> np.ndarray:
        """The share of each group that is left after shrinking."""
        return np.maximum(1.0 - self.strength / np.where(norms > 0.0, norms, np.inf), 0.0) * (norms > 0.0)

    def dual_value(self, g: np.ndarray) -> float:
        """``R*(-g) = -min_w [<g, w> + R(w)]``; infinite where a group without L2 exceeds its strength."""
        e = self.excess(g)
        held = np.flatnonzero(e)
        e, l2 = e[held], self.l2[held]
        return float(0.5 * np.dot(e / l2, e)) if np.all(l2 > 0.0) else float("inf")

    def min_norm_subgradient(self, w: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Shortest subgradient of ``loss + R`` at ``w``, for the loss gradient ``g``; zero at the optimum.

        >>> penalty = GroupedElasticNet([0.0] * 3, [0.0] * 3, group=[0, 0, 1], strength=[5.0, 1.0])
        >>> penalty.min_norm_subgradient(np.array([0.0, 0.0, 2.0]), np.array([3.0, 4.0, 0.5]))
        array([0. , 0. , 1.5])
        """
        norms = self.norms(w)
        at_zero = norms == 0.0
        # Where a group is at zero, w_g / |w_g| stands for the whole unit ball, and the rest is shrunk by it below.
        slope = np.where(at_zero, 0.0, self.strength / np.where(at_zero, 1.0, norms))
        out = super().min_norm_subgradient(w, g + slope[self.group] * w)
        out *= np.where(at_zero, self._kept(self.norms(out)), 1.0)[self.group]
        return out

    # -- the dual over means of cuts --------------------------------------------------------------------------------

    def exceeded(self, g: np.ndarray) -> np.ndarray:
        """Mask of the weights on which ``R*`` may depend at ``g``, in whole groups."""
        return (self.norms(super().excess(g)) > self.strength)[self.group]

    def dual_model(self, rows: np.ndarray) -> GroupedDualModel:
        """The derivatives of ``R*(-a @ rows)`` in ``a``."""
        return GroupedDualModel(self, rows)

    def largest_share(self, g: np.ndarray) -> float:
        """Largest ``s <= 1`` for which ``s g`` has no excess."""
        if not self.has_l1:
            norms = self.norms(g)
            part = norms > self.strength
            return float((self.strength[part] / norms[part]).min(initial=1.0))
        if not np.any(self.exceeded(g)):
            return 1.0
        low, high = 0.0, 1.0
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if np.any(self.exceeded(middle * g)) else (middle, high)
        return low

    def take(self, part: np.ndarray) -> GroupedElasticNet:
        """The penalty of some of the weights, given by a mask of whole groups."""
        groups, group = np.unique(self.group[part], return_inverse=True)
        return GroupedElasticNet(self.l2[part], self.l1[part], group, self.strength[groups])

    def lend(self, share: float) -> GroupedElasticNet:
        """This penalty with an L2 in proportion to L1 and strength for the groups that have none."""
        size = np.bincount(self.group, minlength=len(self.strength))
        most = np.zeros(len(self.strength))
        np.maximum.at(most, self.group, self.l1)
        scale = share * (most + self.strength / np.sqrt(np.maximum(size, 1)))
        l2 = np.where(self.l2 > 0.0, self.l2, scale[self.group])
        return GroupedElasticNet(l2, self.l1, self.group, self.strength)


class GroupedDualModel(DualModel):
    """As :class:`~palmette.regularizers.elastic.DualModel`, with norms of groups.

    The second derivative of ``R*`` in a group that exceeds its strength is
    ``[(1 - s / |u|) I + s u u' / |u|^3] / l2`` on the weights with ``u_j != 0``.
    """

    penalty: GroupedElasticNet

    def root(self, g: np.ndarray) -> np.ndarray:
        """Rows whose products are the second derivative at ``g = a @ rows``."""
        penalty = self.penalty
        u = ElasticNet.excess(penalty, g)
        norms = penalty.norms(u)
        kept = penalty._kept(norms)
        held = np.flatnonzero((u != 0.0) & (kept[penalty.group] > 0.0))
        groups, own = np.unique(penalty.group[held], return_inverse=True)
        u, rows = u[held], self.rows[:, held]
        along = np.stack([np.bincount(own, row * u, len(groups)) for row in rows])
        bend = penalty.strength[groups] / (norms[groups] ** 3 * penalty._group_l2[groups])
        inside = rows * np.sqrt(kept[groups][own] / penalty.l2[held])
        return compressed(np.hstack([inside, along * np.sqrt(bend)]))
