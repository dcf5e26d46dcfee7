"""Scores of events, the cells that they explain, and restrictions on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from palmette.contracts.structure import Allowed
from palmette.data.ragged import gather, offsets_from_lengths

N_CODES = 2  # an event happens or not


class Layout(NamedTuple):
    """Which cells the events of a batch explain.

    A *cell* is a detection on one side: its future if it is in an earlier frame of the sample, its past if it is in a
    later one (a detection between two frames of a sample has both). Every cell must be explained by exactly one event.
    """

    offsets: np.ndarray  # int64 (n_samples + 1,): events of the samples
    ptr: np.ndarray  # int64 (n_events + 1,)
    cell: np.ndarray  # int64: event e explains cell[ptr[e]:ptr[e + 1]], ascending, numbered within its sample
    n_cells: np.ndarray  # int64 (n_samples,)
    n_before: np.ndarray  # int64 (n_samples,): the first cells, which are futures
    kind: np.ndarray  # int64 (n_events,): the kind of each event

    def slice(self, start: int, stop: int) -> Layout:
        """Samples ``start:stop``."""
        offsets = self.offsets[start : stop + 1]
        lo, hi = int(offsets[0]), int(offsets[-1])
        ptr = self.ptr[lo : hi + 1]
        cell = self.cell[ptr[0] : ptr[-1]]
        own = self.n_cells[start:stop], self.n_before[start:stop], self.kind[lo:hi]
        return Layout(offsets - lo, ptr - ptr[0], cell, *own)

    def take(self, samples: np.ndarray) -> Layout:
        """Copies of the samples of these numbers, in their order."""
        samples = np.asarray(samples, np.int64)
        events, offsets = gather(self.offsets, samples)
        entries, ptr = gather(self.ptr, events)
        own = self.n_cells[samples], self.n_before[samples], self.kind[events]
        return Layout(offsets, ptr, self.cell[entries], *own)

    def check(self) -> None:
        """Raise ValueError unless compiled loops can read it, and every cell may be explained."""
        for name, array in self._asdict().items():
            if not isinstance(array, np.ndarray) or array.dtype != np.int64 or array.ndim != 1:
                raise ValueError(f"{name} must be an array of int64 with one dimension")
        from palmette.structures.tracking.kernels import layout as faults

        n_events, n_samples = len(self.ptr) - 1, len(self.offsets) - 1
        if len(self.n_cells) != n_samples or len(self.n_before) != n_samples or len(self.kind) != n_events:
            raise ValueError("n_cells and n_before have an entry per sample, kind has one per event")
        for name, offsets, end in (("offsets", self.offsets, n_events), ("ptr", self.ptr, len(self.cell))):
            if not len(offsets) or offsets[0] != 0 or offsets[-1] != end:
                raise ValueError(f"{name} must not fall, from 0 to {end}")
        if np.any(self.n_before < 0) or np.any(self.n_before > self.n_cells):
            raise ValueError("n_before must be between 0 and n_cells")
        fault, event = faults.fault_of(self.offsets, self.ptr, self.cell, self.n_cells)
        if fault == faults.FALLING:
            raise ValueError(f"offsets and ptr must not fall, to {n_events} and {len(self.cell)}")
        if fault == faults.EMPTY:
            raise ValueError(f"event {event} explains nothing")
        if fault == faults.OUTSIDE:
            raise ValueError(f"event {event} names a cell that its sample does not have")
        if fault == faults.UNSORTED:
            raise ValueError(f"the cells of event {event} must be in ascending order, all different")


@dataclass(frozen=True)
class EventTables:
    """A number for every event and for whether it happens: potentials, costs or counts.

    Parameters
    ----------
    node : ndarray of float64, shape (n_events, 2)
        Column 1 if the event happens, column 0 if it does not.
    offsets, ptr, cell, n_cells, n_before, kind : ndarrays of int64
        See :class:`Layout`.
    """

    node: np.ndarray
    offsets: np.ndarray
    ptr: np.ndarray
    cell: np.ndarray
    n_cells: np.ndarray
    n_before: np.ndarray
    kind: np.ndarray

    n_codes = N_CODES

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def layout(self) -> Layout:
        """Which cells events explain."""
        return Layout(self.offsets, self.ptr, self.cell, self.n_cells, self.n_before, self.kind)

    def zeros(self) -> EventTables:
        """Zeros in this shape."""
        return replace(self, node=np.zeros_like(self.node))

    def take(self, samples: np.ndarray) -> EventTables:
        """Copies of the samples of these numbers, in their order."""
        events, _ = gather(self.offsets, np.asarray(samples, np.int64))
        return EventTables(self.node[events], *self.layout.take(samples))

    def dot(self, other: EventTables) -> float:
        """Inner product."""
        return float(self.node.ravel() @ other.node.ravel())

    def plus(self, other: EventTables) -> EventTables:
        """The sums."""
        return replace(self, node=self.node + other.node)

    def relabelled(self, place: np.ndarray) -> EventTables:
        """The same scores, since all models have the same two codes."""
        return self

    def any(self) -> bool:
        """Whether two outputs differ, given the difference of their counts."""
        return bool(np.any(self.node))

    def distance(self) -> float:
        """In how many events two outputs differ, given the difference of their counts."""
        return 0.5 * float(np.abs(self.node).sum())

    def position_cost(self, costs: np.ndarray) -> EventTables:
        """Costs of codes of events, shape (n_events, 2), as tables."""
        return replace(self, node=np.ascontiguousarray(costs, float))

    def check(self) -> None:
        """Refuse what would let a kernel read past an array, and scores that cannot be compared."""
        self.layout.check()
        if self.node.dtype != np.float64 or self.node.shape != (len(self.kind), N_CODES):
            raise ValueError(
                f"scores are {self.node.dtype} of shape {self.node.shape}, expected float64 of shape "
                f"{(len(self.kind), N_CODES)}"
            )
        if not np.all(np.isfinite(self.node)):
            event = int(np.flatnonzero(~np.isfinite(self.node).all(axis=1))[0])
            sample = int(np.searchsorted(self.offsets, event, side="right")) - 1
            raise ValueError(
                f"sample {sample}, event {event - self.offsets[sample]}: its score is {self.node[event].tolist()}, "
                "since feature values or weights are too large; forbid events with within="
            )


@dataclass(frozen=True)
class EventRestriction(Allowed):
    """Which covers are allowed.

    Parameters
    ----------
    allowed : ndarray of bool, shape (n_events,), optional
        Events that may happen.
    touch : tuple of ndarrays of bool, shape (n_events,)
        Of each of these sets some event must happen, in every sample.
    """

    allowed: np.ndarray | None = None
    touch: tuple[np.ndarray, ...] = ()

    def __and__(self, other: EventRestriction) -> EventRestriction:
        """What both allow."""
        mine, theirs = self.allowed, other.allowed
        both = theirs if mine is None else mine if theirs is None else mine & theirs
        return EventRestriction(both, self.touch + other.touch)

    def check(self, theta: EventTables) -> None:
        """Compare shapes with the potentials before any work starts."""
        named = [("within.touch", mask) for mask in self.touch]
        if self.allowed is not None:
            named.append(("within.allowed", self.allowed))
        for name, mask in named:
            if not isinstance(mask, np.ndarray) or mask.dtype != bool or mask.shape != (len(theta.kind),):
                raise ValueError(f"{name} must be bool, one per event, {len(theta.kind)}")


def conflicting(layout: Layout, codes: np.ndarray) -> np.ndarray:
    """Events that contradict an annotation if they happen, bool (n_events,): codes 1, 0, or -1 where unknown.

    These are the events that are known not to happen, and those that share a cell with another one that is known to
    happen. Every cell is explained, so that an output contradicts the annotation just if such an event happens in it.

    >>> pairs = Layout(*map(np.array, ([0, 3], [0, 2, 3, 4], [0, 1, 0, 1], [2], [1], [0, 1, 2])))
    >>> conflicting(pairs, np.array([1, -1, -1]))
    array([False,  True,  True])
    """
    first = offsets_from_lengths(layout.n_cells)
    sizes = np.diff(layout.ptr)
    event = np.repeat(np.arange(len(sizes)), sizes)
    sample = np.repeat(np.arange(len(layout.n_cells)), np.diff(layout.offsets))
    cell = layout.cell + first[sample[event]] if len(event) else layout.cell
    happens = codes == 1
    taken = np.bincount(
        cell[happens[event]], minlength=int(first[-1])
    )  # how often a cell is explained by these
    others = taken[cell] - happens[event]
    shared = np.zeros(len(sizes), bool)
    shared[event[others > 0]] = True
    return shared | (codes == 0)


def explained(layout: Layout, codes: np.ndarray) -> np.ndarray:
    """How often the events that happen explain each cell, int (all cells of the batch)."""
    first = offsets_from_lengths(layout.n_cells)
    sizes = np.diff(layout.ptr)
    sample = np.repeat(np.arange(len(layout.n_cells)), np.diff(layout.offsets))
    cell = layout.cell + np.repeat(first[sample], sizes)
    return np.bincount(cell[np.repeat(codes == 1, sizes)], minlength=int(first[-1]))


def code_sets(annotation: Any) -> np.ndarray:
    """Codes of an annotation, -1 where both are possible.

    >>> from palmette.data import Annotation
    >>> code_sets(Annotation(np.array([1, 2, 3]), np.array([[True, True], [True, False]])))
    array([ 1, -1,  0])
    """
    from palmette.data.annotation import Annotation

    if not isinstance(annotation, Annotation) or annotation.sets is None:
        return np.asarray(getattr(annotation, "codes", annotation))
    possible = annotation.possible()
    return np.where(possible.all(axis=1), -1, np.where(possible[:, 1], 1, 0))
