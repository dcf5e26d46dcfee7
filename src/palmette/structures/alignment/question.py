"""What is asked of a batch, as kernels read it: potentials with costs inside, and what is allowed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from palmette.structures.alignment.cost import MatchCost
from palmette.structures.alignment.restrictions import AlignmentRestriction, possible_parts
from palmette.structures.alignment.tables import AlignmentTables


class Question(NamedTuple):
    """The first arguments of every kernel, in their order.

    ``dense``, ``mask``, ``codes``, ``wrong_gaps`` and ``wrong`` are empty where they do not matter. Where the last
    two are not, the alignment must have a part that is wrong: the recursion then has two layers.
    """

    substitution: np.ndarray  # float64 (n_symbols, n_symbols)
    letters: np.ndarray  # int16 (n_positions,)
    offsets: np.ndarray  # int64 (n_samples + 1,)
    splits: np.ndarray  # int64 (n_samples,): length of the first sequence
    unit: np.ndarray  # float64 (n_kinds, n_positions): scores and costs of gaps; -inf where there may be none
    open: np.ndarray  # float64 (n_kinds, n_boundaries)
    extend: np.ndarray  # float64 (n_kinds, n_boundaries)
    change: float
    uniform: np.ndarray  # float64 (n_samples,): added to every match
    entry_ptr: np.ndarray  # int64 (n_samples + 1,)
    entry: np.ndarray  # int64: single matches i * m + j
    value: np.ndarray  # float64: added to them
    dense: np.ndarray  # float64 cells: added to the matches
    mask: np.ndarray  # bool cells: matches that may be
    codes: np.ndarray  # int32 (n_positions,): -1 any, j + 1 only this match; a gap is in ``unit``
    wrong_gaps: np.ndarray  # bool (n_kinds or 0, n_positions): gaps that contradict
    wrong: np.ndarray  # bool cells: matches that contradict
    starts: np.ndarray  # int64 (n_samples + 1,): where cells begin; zeros if all arrays of cells are empty

    @property
    def of_one_kind(self) -> tuple[Any, ...]:
        """The arguments of fast kernels, which know one kind of gap and nothing to contradict."""
        return (*self[:4], self.unit[0], self.open[0], self.extend[0], *self[7:15], self.starts)


def ask(
    theta: AlignmentTables,
    cost: MatchCost | None,
    within: AlignmentRestriction | None,
    sign: float = 1.0,
) -> Question:
    """``sign * (theta + cost)`` within a restriction, checked."""
    theta.check()
    if cost is None and within is None and sign == 1.0:
        return _as_they_are(theta)
    if cost is None:
        cost = MatchCost.none(theta.offsets, theta.n_kinds)
    elif not isinstance(cost, MatchCost):
        raise TypeError(f"cost must be a MatchCost, got {type(cost).__name__}")
    else:
        cost.check(theta)
    unit = sign * (theta.unit + cost.gap)
    mask, codes = np.empty(0, bool), np.empty(0, np.int32)
    wrong_gaps, wrong = np.empty((0, len(theta.letters)), bool), np.empty(0, bool)
    if within is not None:
        if not isinstance(within, AlignmentRestriction):
            raise TypeError(f"within must be an AlignmentRestriction, got {type(within).__name__}")
        within.check(theta)
        if within.gaps is not None:
            unit[~within.gaps] = -np.inf
        if within.codes is not None and len(within.codes):
            codes, long = within.codes, theta.long_codes
            unit[0, codes > 0] = -np.inf
            unit[1:, (codes >= 0) & (codes != long)] = -np.inf
        if within.matches is not None:
            mask = within.matches
        if within.contradicts is not None:
            gaps, cells = possible_parts(within.contradicts, theta)
            wrong_gaps, wrong = ~gaps, ~cells
    dense = np.empty(0)
    if theta.cells is not None:
        dense = theta.cells if cost.dense is None else theta.cells + cost.dense
    elif cost.dense is not None:
        dense = cost.dense
    scores = (theta.substitution, theta.open, theta.extend, cost.uniform, cost.value, dense)
    substitution, open_, extend, uniform, value, dense = (
        scores if sign == 1.0 else (sign * own for own in scores)
    )
    rectangles = len(dense) or len(mask) or len(wrong)
    return Question(
        substitution, theta.letters, theta.offsets, theta.splits, unit, open_, extend, sign * float(theta.change[0]),
        uniform, cost.entry_ptr, cost.entry, value, dense, mask, codes, wrong_gaps, wrong,
        theta.starts if rectangles else np.zeros(len(theta) + 1, np.int64),
    )  # fmt: skip


def _as_they_are(theta: AlignmentTables) -> Question:
    """The question without cost and restriction, at once: for short pairs it takes as long as the answer."""
    n, none = len(theta), np.empty(0)
    dense, starts = (none, np.zeros(n + 1, np.int64)) if theta.cells is None else (theta.cells, theta.starts)
    return Question(
        theta.substitution, theta.letters, theta.offsets, theta.splits, theta.unit, theta.open, theta.extend,
        float(theta.change[0]), np.zeros(n), np.zeros(n + 1, np.int64), np.empty(0, np.int64), none, dense,
        np.empty(0, bool), np.empty(0, np.int32), np.empty((0, len(theta.letters)), bool), np.empty(0, bool), starts,
    )  # fmt: skip
