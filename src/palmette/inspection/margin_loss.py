r"""The loss with margin of max-margin Markov networks, of any structure whose parts join labels of rows.

An output y can be made the best by changes of up to ``gamma`` a wrong label if and only if
``f(y) + gamma D(y) >= c = max_y' f(y') - gamma D(y')``, where D counts wrong labels. Of these outputs the most wrong
one counts. For every ``weight > gamma``

    ``D(y) <= (max_y' [f(y') + weight D(y')] - c) / (weight - gamma)``

holds for all of them, and each augmented maximum that can be made the best is a lower bound. Both sides meet by a
search over the weight: at ``s = 1 / (weight - gamma)`` the right-hand side is a maximum of lines in s, so the next s is
where the line of the last output that can be made the best meets that of the last one that cannot. What is left open
between the two is settled by the best score at each loss, where a structure knows it (``best_by_level``), and else
stays open.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from palmette.contracts.structure import Structure, require
from palmette.estimators.blocks import with_codes
from palmette.losses.base import resolve_loss

STEPS = 60  # of the search; most samples need less than ten
FAR = 1e6  # times the scores: what a wrong label is worth where only their number matters
ROUNDING = 1e-9


class MarginLosses(NamedTuple):
    """Proven bounds on the margin loss of every sample as shares of wrong labels, each of shape (n_samples,)."""

    lower: np.ndarray
    upper: np.ndarray


def margin_loss(model: Any, X: Any, y: Any, gamma: float) -> np.ndarray:
    """The gamma-margin loss of every sample: shares of wrong labels, shape (n_samples,).

    It is exact on chains of any order and for single labels. On graphs and with cliques it is a proven upper bound,
    which is the exact value where :func:`margin_losses` says so, and Theorem 6.1 holds with it all the same.

    Parameters
    ----------
    model : fitted learner
        On a structure whose parts join labels of rows, such as ``Chain()``, ``Multiclass()`` or ``Graph()``.
    X, y
        Inputs and outputs, as for ``fit``.
    gamma : float
        At least 0. With 0 it is the loss of the prediction, the worst one where several are best.

    Examples
    --------
    >>> from palmette import SSVM, Chain
    >>> X = [np.eye(2)[[0, 0, 1]], np.eye(2)[[1, 0]]]
    >>> Y = [["a", "a", "b"], ["b", "a"]]
    >>> model = SSVM(Chain(), C=10.0).fit(X, Y)
    >>> margin_loss(model, X, Y, 0.1), margin_loss(model, X, Y, 100.0)
    (array([0., 0.]), array([1., 1.]))
    """
    return margin_losses(model, X, y, gamma).upper


def margin_losses(model: Any, X: Any, y: Any, gamma: float) -> MarginLosses:
    """Lower and upper bounds of :func:`margin_loss`, which are the same where it is exact."""
    if isinstance(gamma, bool) or not isinstance(gamma, Real) or not 0.0 <= float(gamma) < np.inf:
        raise ValueError(f"gamma must be a finite number >= 0, got {gamma!r}")
    structure = model.structure_
    remedy = "It is known for structures whose parts join labels of rows, such as Chain() and Graph()."
    require(structure, ("parts_at",), user="margin_loss", remedy=remedy)
    loss = resolve_loss("hamming", structure, tuple(model.codec_.classes_))
    batch, codes, keep = model._with_outputs(X, y)
    if not np.all(keep):
        raise ValueError(f"sample {np.argmin(keep)} has no positions; leave empty samples out")
    own = with_codes(structure, batch, codes)
    found = model._run(batch, np.arange(len(keep)), _block_losses, loss, float(gamma), own=own)
    return MarginLosses(*(np.concatenate(found, axis=1) if found else np.empty((2, 0))))


def _block_losses(structure: Structure, theta: Any, true: np.ndarray, loss: Any, gamma: float) -> np.ndarray:
    search = _Search(structure, theta, true, loss, gamma)
    lower, upper = search.by_weights()
    still = np.flatnonzero(lower < upper)
    if len(still) and structure.can("best_by_level"):
        lower[still] = upper[still] = search.by_levels(still, lower[still], upper[still])
    return np.stack([lower, upper]) / np.diff(structure.output_offsets(theta))


class _Search:
    """Outputs of a block as points: D, the number of wrong labels, and how far they can be made the best."""

    def __init__(self, structure: Structure, theta: Any, true: np.ndarray, loss: Any, gamma: float) -> None:
        self.structure, self.theta, self.true, self.loss, self.gamma = structure, theta, true, loss, gamma
        nearest = structure.best(theta, cost=theta.position_cost(-gamma * loss.table[true])).codes
        score, wrong = self._point(nearest)
        # A maximum that is not exact makes c too small, and so the loss too large: a bound all the same.
        self.c = score - gamma * wrong
        self.scale = 1.0 + np.abs(score)
        self.first = wrong, self._reach(score, wrong)

    def _point(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wrong = self.loss.value(self.structure, self.theta, self.true, codes)
        return self.structure.score(self.theta, codes), wrong

    def _reach(self, score: np.ndarray, wrong: np.ndarray) -> np.ndarray:
        """At least 0 for outputs that can be made the best."""
        reach = score + self.gamma * wrong - self.c
        return np.where(np.abs(reach) <= ROUNDING * self.scale, 0.0, reach)

    def _augmented(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """D and reach of the best output at each s, and the bound on all D that it proves."""
        weight = self.gamma + 1.0 / s
        cost = self.loss.weighted_cost(self.structure, self.theta, self.true, weight)
        codes, _, most = self.structure.bounded_best(self.theta, cost=cost)
        score, wrong = self._point(codes)
        return wrong, self._reach(score, wrong), s * (most - self.c)

    def by_weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of wrong labels: a lower and an upper bound, from a search over the weight of the loss."""
        s = 1.0 / (FAR * self.scale)
        near: tuple[np.ndarray, ...] = self.first
        far: tuple[np.ndarray, ...] = self._augmented(s)  # as many wrong labels as can be
        upper = np.minimum(self.loss.largest(self.structure, self.theta, self.true), np.floor(far[2] + 1e-6))
        lower = np.where(far[1] >= 0.0, far[0], near[0])
        for _ in range(STEPS):
            active = (far[1] < 0.0) & (far[0] > near[0]) & (lower < upper)
            if not active.any():
                break
            s = np.where(active, (far[0] - near[0]) / np.where(active, near[1] - far[1], 1.0), s)
            found = self._augmented(s)
            can, upper = found[1] >= 0.0, np.minimum(upper, np.floor(found[2] + 1e-6))
            lower = np.where(can, np.maximum(lower, found[0]), lower)
            # No output is above the two lines where they meet: the search has found all that it can.
            met = found[0] + s * found[1] <= near[0] + s * near[1] + 1e-9 * (1.0 + near[0])
            near = tuple(np.where(active & can, new, old) for new, old in zip(found, near))
            far = tuple(np.where(active & ~can, new, old) for new, old in zip(found, far))
            far[1][met] = 0.0
        return lower, np.maximum(lower, upper)

    def by_levels(self, samples: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """Exact numbers of wrong labels, from the best score at each of them, highest first."""
        places = self.structure.output_offsets(self.theta)
        rows = np.concatenate([np.arange(places[i], places[i + 1]) for i in samples.tolist()])
        own = _Search.__new__(_Search)
        own.structure, own.loss, own.gamma = self.structure, self.loss, self.gamma
        own.theta, own.true = self.theta.take(samples), self.true[rows]
        own.c, own.scale = self.c[samples], self.scale[samples]
        steps = np.rint(self.loss.table[own.true]).astype(np.int64)
        levels = np.arange(int(upper.max()) + 1)
        top = upper.astype(np.int64)
        while True:
            # More wrong labels are worth more than any score, so that the output has as many as may be.
            worth = FAR * float(own.scale.max()) * levels
            codes, level, _ = self.structure.best_by_level(
                own.theta, steps, top, np.ones(len(levels)), worth, np.zeros(len(samples))
            )
            done = (own._reach(*own._point(codes)) >= 0.0) | (level <= lower)
            if np.all(done):
                return np.maximum(level, lower)
            top = np.where(done, level, level - 1)
