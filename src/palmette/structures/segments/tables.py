"""Tables over the parts of segmentations, and how a segmentation is packed into one code per row.

With K labels a segmentation has the codes ``label`` in the first row of a segment and ``K + label`` in the rows inside
it, so it is an array like any label sequence, and equal codes mean equal segmentations.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from palmette.data.annotation import Known, possible_codes
from palmette.data.ragged import gather
from palmette.memory import check_size
from palmette.structures.positions.tables import ChainTables, Restriction, _dot, check_mask, combine

N_FLAGS = 3  # not contradicted yet, contradicting for the first time, contradicted before


LONGEST = 2**20
"""Positions of a segment at most, whatever the memory: a sample of n positions has about n times so many segments."""


def check_longest(length: int) -> None:
    """Refuse a longest segment that no tables have room for."""
    if length > LONGEST:
        raise ValueError(
            f"max_length={length:,} is above {LONGEST:,}: there is a score for every start, length and label of a "
            f"segment; give the length of the longest segments that matter"
        )


def check_segments(rows: int, lengths: int, labels: int) -> None:
    """Refuse tables of segments that memory has no room for."""
    check_size(
        f"segments of up to {lengths:,} positions with {labels:,} labels that begin at {rows:,} positions",
        8 * rows * lengths * labels,
        "give SemiMarkov a smaller max_length, or a large one to some labels only: {label: length, None: other}",
    )


@dataclass(frozen=True)
class SegmentTables(ChainTables):
    """One number per (position, label), per segment, and per pair of neighbouring segments.

    Parameters
    ----------
    node : ndarray of float64, shape (n_rows, n_labels)
        Added for every position inside a segment of that label.
    edge : ndarray of float64, shape (n_tables, n_labels, n_labels)
        ``edge[e, i, j]`` belongs to a segment of label i that is followed by one of label j; ``n_tables`` is 1 (one
        table for all) or ``n_rows - n_samples`` (one for each pair of neighbouring positions).
    offsets : ndarray of int64, shape (n_samples + 1,)
    segment : ndarray of float64, shape (n_rows, max_length, n_labels)
        ``segment[t, d, k]`` belongs to the segment of the ``d + 1`` positions from row t on with label k. Those that
        would leave their sample have no meaning. In a cost the middle axis may be 1: alike for all lengths.
    longest : ndarray of int64, shape (n_labels,)
        Longest segment of each label.

    Notes
    -----
    ``f(y) = sum over segments [segment[t, d, k] + sum_{u=t..t+d} node[u, k]] + sum over neighbours edge[k, k']``.
    """

    segment: np.ndarray = field(kw_only=True)
    longest: np.ndarray = field(kw_only=True)

    @property
    def n_codes(self) -> int:
        """``label`` where a segment begins, ``n_labels + label`` in the rows inside."""
        return 2 * self.n_labels

    @property
    def max_length(self) -> int:
        """Longest segment of any label that the tables have room for."""
        return self.segment.shape[1]

    def check(self) -> None:
        """Refuse what would let a kernel read past an array."""
        super().check()
        rows, labels = self.node.shape
        if self.segment.dtype != np.float64 or not self.segment.flags.c_contiguous:
            raise TypeError("segment tables must be C-contiguous arrays of float64")
        if self.segment.ndim != 3 or self.segment.shape[::2] != (rows, labels) or self.max_length < 1:
            raise ValueError(
                f"segment tables have shape {self.segment.shape}, expected ({rows}, max_length, {labels})"
            )
        if self.longest.dtype != np.int64 or self.longest.shape != (labels,):
            raise ValueError(
                f"longest must be int64 of shape ({labels},), got {self.longest.dtype} of shape "
                f"{self.longest.shape}"
            )
        if labels and not 1 <= self.longest.min() <= self.longest.max() <= self.max_length:
            raise ValueError(
                f"longest must be in 1..{self.max_length}, the length of the tables; got {self.longest}"
            )

    def dot(self, other: ChainTables) -> float:
        """Inner product; ``-inf`` times 0 counts as 0."""
        return super().dot(other) + _dot(self.segment, other.segment)  # type: ignore[attr-defined]

    def zeros(self, *, per_part: bool = False) -> SegmentTables:
        """Zeros in this shape; with ``per_part`` a table for every edge."""
        base, segment = super().zeros(per_part=per_part), np.zeros_like(self.segment)
        return replace(self, node=base.node, edge=base.edge, segment=segment)

    def any(self) -> bool:
        """Whether two segmentations differ, given the difference of their counts; their nodes may agree."""
        return bool(np.any(self.segment))

    def take(self, samples: np.ndarray) -> SegmentTables:
        """Copies of the samples of these numbers, in their order."""
        base, rows = super().take(samples), gather(self.offsets, np.asarray(samples, np.int64))[0]
        return replace(self, node=base.node, edge=base.edge, offsets=base.offsets, segment=self.segment[rows])

    def position_cost(self, cost: np.ndarray) -> SegmentTables:
        """A cost for every code at every position, shape (n_rows, 2 n_labels), as tables to add to potentials.

        Every position of a segment pays as if inside, and the first one the difference.
        """
        labels = self.n_labels
        inside = np.ascontiguousarray(cost[:, labels:])
        first = (cost[:, :labels] - inside)[:, None, :]
        edge = np.empty((0, labels, labels))
        return SegmentTables(inside, edge, self.offsets, segment=first, longest=self.longest)

    def label_cost(self, cost: np.ndarray) -> SegmentTables:
        """A cost for every label at every position, shape (n_rows, n_labels), wherever in a segment it is."""
        return self.position_cost(np.hstack([cost, cost]))

    def plus(self, cost: ChainTables) -> SegmentTables:
        """These potentials with a cost inside."""
        return combined(self, cost, None)

    def relabelled(self, place: np.ndarray) -> SegmentTables:
        """The tables of labels in another order: label k has the numbers of label ``place[k]`` here."""
        base = super().relabelled(place)
        segment = np.ascontiguousarray(self.segment[:, :, place])
        return replace(self, node=base.node, edge=base.edge, segment=segment, longest=self.longest[place])

    def codes(self, codes: np.ndarray) -> np.ndarray:
        """Given outputs as kernels read them; what is not a segmentation is refused, naming the row."""
        from palmette.structures.segments.kernels.given import first_flaw

        codes = np.ascontiguousarray(codes, np.int32)
        if codes.shape != (len(self.node),):
            raise ValueError(f"codes have shape {codes.shape}, expected one per row, {(len(self.node),)}")
        row, labels = int(first_flaw(codes, self.offsets, self.longest)), self.n_labels
        if row >= 0:
            before = f", after {codes[row - 1]}" if row else ""
            raise ValueError(
                f"codes[{row}] = {codes[row]}{before} is not part of a segmentation: expected a label 0..{labels - 1} "
                f"where a segment begins, {labels} + label in the rows inside, at most {self.longest.tolist()} rows"
            )
        return codes


@dataclass(frozen=True)
class SegmentRestriction(Restriction):
    """Which parts a segmentation may use; ``None`` leaves that kind of part free.

    Parameters
    ----------
    node, edge : as for :class:`~palmette.structures.positions.tables.Restriction`
        Labels allowed at each position, and labels allowed to follow each other in neighbouring segments.
    contradicts : ndarray of int, shape (n_rows,), or Annotation, optional
        A partial annotation (codes of a segmentation, -1 where unknown) that the output must contradict.
    segment : ndarray of bool, shape (n_rows, max_length, n_labels), optional
        Allowed segments.

    Examples
    --------
    >>> import numpy as np
    >>> within = SegmentRestriction.fixed(np.array([0, -1]), n_labels=1, max_length=2)  # begins at row 0
    >>> within.segment[:, :, 0]
    array([[ True,  True],
           [ True,  True]])
    >>> SegmentRestriction.fixed(np.array([0, 1]), n_labels=1, max_length=2).segment[:, :, 0]  # and goes on at row 1
    array([[ True,  True],
           [False, False]])
    """

    segment: np.ndarray | None = field(default=None, kw_only=True)

    @classmethod
    def fixed(cls, codes: Known, n_labels: int, max_length: int = 1) -> SegmentRestriction:
        """Agree with a partial annotation: codes, -1 where anything will do."""
        return cls(segment=~contradictions(codes, n_labels, max_length))

    def check(self, theta: ChainTables) -> None:
        """Compare shapes, kinds and codes with the potentials before any work starts."""
        if not isinstance(theta, SegmentTables):
            raise TypeError(
                "within is a SegmentRestriction, which is for segments, but the potentials are "
                f"{type(theta).__name__}: give a Restriction"
            )
        super().check(theta)
        if self.segment is not None:
            segment = np.asarray(self.segment)
            check_mask("within.segment", segment)
            if segment.shape != theta.segment.shape:
                raise ValueError(f"within.segment has shape {segment.shape}, expected {theta.segment.shape}")


def contradictions(codes: Known, n_labels: int, max_length: int) -> np.ndarray:
    """Whether each segment (rows, max_length, labels) differs from an annotation at a known row."""
    begins, inside = np.split(~possible_codes(codes, 2 * n_labels), 2, axis=1)
    out = np.empty((len(codes), max_length, n_labels), bool)
    out[:, 0] = begins
    for d in range(1, max_length):
        out[:, d] = out[:, d - 1]
        out[:-d, d] |= inside[d:]
    return out


@dataclass(frozen=True)
class Prepared:
    """What kernels read: whole scores of segments and edges; a state is ``label * n_flags + flag``."""

    whole: np.ndarray
    edge: np.ndarray
    step: int
    n_flags: int
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def tables(self) -> tuple[Any, ...]:
        """The first arguments of every kernel."""
        return self.whole, self.edge, self.step, self.offsets

    def labels(self, codes: np.ndarray) -> np.ndarray:
        """Codes of states without their flags."""
        inside, state = np.divmod(codes, self.whole.shape[2])
        return inside * (self.whole.shape[2] // self.n_flags) + state // self.n_flags


def prepare(theta: SegmentTables, cost: Any, within: Any, sign: float = 1.0) -> Prepared:
    """``sign * (theta + cost)`` as whole segments, -inf on forbidden ones; labels with flags if one must contradict."""
    from palmette.structures.segments.kernels.parts import whole_scores

    tables = combined(theta, cost, within, sign)
    whole = np.empty_like(tables.segment)
    whole_scores(tables.node, tables.segment, tables.longest, tables.offsets, whole)
    plain = Prepared(whole, tables.edge, tables.edge_step, 1, tables.offsets)
    if within is None or within.contradicts is None:
        return plain
    return _with_contradiction(plain, within.contradicts)


def combined(theta: SegmentTables, cost: Any, within: Any, sign: float = 1.0) -> SegmentTables:
    """``sign * (theta + cost)`` with -inf on forbidden parts."""
    if not isinstance(theta, SegmentTables):
        raise TypeError(f"the potentials of segments are SegmentTables, got {type(theta).__name__}")
    tables = combine(theta, cost, within, sign)
    if tables.triple is not None:
        raise ValueError(
            "segments have potentials, costs and restrictions for pairs of neighbours, not for triples"
        )
    segment = theta.segment
    if isinstance(cost, SegmentTables):
        rows, labels = theta.node.shape
        if cost.segment.shape not in ((rows, 1, labels), segment.shape):
            raise ValueError(
                f"cost.segment has shape {cost.segment.shape}, expected ({rows}, 1 or {theta.max_length}, {labels})"
            )
        segment = segment + cost.segment
    if sign != 1.0:
        segment = np.where(np.isneginf(segment), segment, sign * segment)
    allowed = getattr(within, "segment", None)
    if allowed is not None:
        segment = np.where(allowed, segment, -np.inf)
    return SegmentTables(tables.node, tables.edge, tables.offsets, segment=segment, longest=theta.longest)


def _with_contradiction(plain: Prepared, codes: Known) -> Prepared:
    """Segmentations that must contradict ``codes``: every label carries one of three flags.

    Whether a segment contradicts depends on its length, so a flag says what was known before it and after it: nothing
    and still nothing (0), nothing and now it has (1), it has already (2). An output has exactly one state path. Once a
    segment contradicts, a longer one does, too: the order of states keeps that of labels and lengths.
    """
    rows, lengths, labels = plain.whole.shape
    contra = contradictions(codes, labels, lengths)
    whole = np.repeat(plain.whole[..., None], N_FLAGS, axis=3)
    whole[contra, 0] = -np.inf
    whole[~contra, 1] = -np.inf
    whole[plain.offsets[:-1], :, :, 2] = -np.inf
    # d that ends the sample
    last = np.repeat(plain.offsets[1:], np.diff(plain.offsets)) - np.arange(rows) - 1
    ends = np.flatnonzero(last < lengths)
    whole[ends, last[ends], :, 0] = -np.inf
    edge = np.full((len(plain.edge), labels, N_FLAGS, labels, N_FLAGS), -np.inf)
    for before, then in ((0, 0), (0, 1), (1, 2), (2, 2)):
        edge[:, :, before, :, then] = plain.edge
    states = labels * N_FLAGS
    return replace(
        plain,
        whole=whole.reshape(rows, lengths, states),
        edge=edge.reshape(-1, states, states),
        n_flags=N_FLAGS,
    )


def without_flags(array: np.ndarray, n_flags: int, n_axes: int, reduce: Any = np.sum) -> np.ndarray:
    """Fold the flags of the last ``n_axes`` axes away: marginals add, max-marginals take ``reduce=np.max``."""
    if n_flags == 1:
        return array
    kept = array.ndim - n_axes
    shape = array.shape[:kept]
    for size in array.shape[kept:]:
        shape += (size // n_flags, n_flags)
    return reduce(array.reshape(shape), axis=tuple(range(kept + 1, kept + 2 * n_axes, 2)))


def code_costs(table: np.ndarray) -> np.ndarray:
    """Costs of label confusions (K, K) as costs of codes (2K, 2K).

    A position with the right label on the wrong side of a boundary costs as much as the dearest confusion of that
    label, or 1 where there is only one label.

    >>> code_costs(np.array([[0.0, 2.0], [1.0, 0.0]]))
    array([[0., 2., 2., 2.],
           [1., 0., 1., 1.],
           [2., 2., 0., 2.],
           [1., 1., 1., 0.]])
    """
    boundary = np.diag(table.max(axis=1) if len(table) > 1 else np.ones(1))
    return np.block([[table, table + boundary], [table + boundary, table]])
