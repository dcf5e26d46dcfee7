"""What a segmentation finds of a colony in each frame: detections with errors, and the links between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from palmette.datasets.cell_colony import Cells, touching
from palmette.datasets.cell_frames import CellFrame, Outlines, SegmentationError
from palmette.datasets.cell_shapes import cut_fragments, joined_shape, measured

NONE = -1
NEVER = -9  # the frame in which a cell was found that never was
YOUNG = 4.0  # frames in which two sisters are not found as one
TOUCHES = 2.0  # pixels between the outlines of cells that may be found as one


@dataclass(frozen=True)
class ViewSettings:
    """What :func:`palmette.datasets.make_cells` takes of the errors and the noise of a segmentation."""

    shape: tuple[int, int]
    radius: float
    speed: float
    noise: float
    bleaching: float
    p_miss: float
    p_false: float
    p_split: float
    p_merge: float
    bridge: bool


class Memory(NamedTuple):
    """What is known of cells from earlier frames, sorted by their numbers."""

    number: np.ndarray
    frame: np.ndarray  # in which the cell was last found
    found: np.ndarray  # (n, 2): ids of its detections there; the second one is NONE but for fragments
    odd: np.ndarray  # whether it was in fragments or merged with another
    known: np.ndarray  # whether it was there at all


@dataclass
class Segmentation:
    """Looks at a colony frame by frame, makes its mistakes, and remembers what was found of whom.

    Fragments and merged cells last for one frame, and the cells are found one by one in the frames before and after it.
    So the links tell them from divisions.
    """

    settings: ViewSettings
    rng: np.random.Generator
    memory: Memory = field(init=False)

    def __post_init__(self) -> None:
        no, none = np.empty(0, bool), np.empty(0, int)
        self.memory = Memory(none, none, np.empty((0, 2), int), no, no)

    def look(self, frame: int, cells: Cells, dividing: np.ndarray, last: bool = False) -> CellFrame:
        """The detections of a frame, and their links to detections of earlier frames."""
        seen, born = self._recalled(cells)
        steady = ~(seen.odd | dividing | born) & (seen.frame == frame - 1) & self._stays(cells) & (not last)
        merged = self._merged(cells, steady)
        free = np.ones(len(cells), bool)
        free[merged.ravel()] = False
        missed = free & ~seen.odd & (self.rng.random(len(cells)) < self.settings.p_miss)
        split = free & steady & ~missed & (self.rng.random(len(cells)) < self.settings.p_split)
        plain = np.flatnonzero(free & ~missed & ~split)
        outlines = self._outlines(cells, plain, np.flatnonzero(split), merged)
        order = self.rng.permutation(len(outlines))  # ids tell nothing of the cells
        outlines = outlines.take(order)
        detections = measured(outlines, frame, self.settings, self.rng)
        found = self._found(len(cells), outlines)
        links = self._links(frame, seen, found)
        present = found[:, 0] != NONE
        self._remember(
            cells,
            np.where(present, frame, seen.frame),
            np.where(present[:, None], found, seen.found),
            split,
            merged,
        )
        errors = _errors(frame, cells, outlines, found, missed, split, merged)
        parents = np.where(born, cells.parent, np.where(seen.known, cells.number, 0))
        covering = _covering(found, outlines)
        return CellFrame(detections, links, cells.number, parents, covering, errors, cells, outlines)

    def _recalled(self, cells: Cells) -> tuple[Memory, np.ndarray]:
        """What is known of these cells, and which were just born: those inherit it from their parent."""
        past, n = self.memory, len(cells)
        known = np.isin(cells.number, past.number)
        born = ~known & (cells.parent > 0)
        frame, found, odd = np.full(n, NEVER), np.full((n, 2), NONE), np.zeros(n, bool)
        there = known | born
        at = np.searchsorted(past.number, np.where(born, cells.parent, cells.number)[there])
        frame[there], found[there], odd[there] = past.frame[at], past.found[at], past.odd[at]
        return Memory(cells.number, frame, found, odd, known), born

    def _stays(self, cells: Cells) -> np.ndarray:
        """Which cells are too far from the border to leave before the next frame."""
        s = self.settings
        inner = np.minimum(cells.position, np.array(s.shape) - cells.position).min(axis=1)
        return inner > s.radius + np.abs(cells.velocity).max(axis=1) + 3 * s.speed

    def _merged(self, cells: Cells, steady: np.ndarray) -> np.ndarray:
        """Pairs of cells found as one, shape (n, 2); no cell is in two pairs."""
        if not self.settings.p_merge:
            return np.empty((0, 2), int)
        first, second, _, _ = touching(cells, TOUCHES)
        young = (cells.parent > 0) & (cells.phase * cells.cycle < YOUNG)
        sisters = young[first] & young[second] & (cells.parent[first] == cells.parent[second])
        chosen = (self.rng.random(len(first)) < self.settings.p_merge) & ~sisters
        taken = ~steady
        pairs = []
        for a, b in zip(first[chosen].tolist(), second[chosen].tolist()):
            if not taken[a] and not taken[b]:
                taken[a] = taken[b] = True
                pairs.append((a, b))
        return np.array(pairs, int).reshape(-1, 2)

    def _outlines(self, cells: Cells, plain: np.ndarray, split: np.ndarray, merged: np.ndarray) -> Outlines:
        whole = Outlines.of(cells, plain)
        parts = [whole]
        if len(split):
            side = self.rng.choice([-1.0, 1.0], len(split)) * self.rng.uniform(0.15, 0.45, len(split))
            parts.append(cut_fragments(Outlines.of(cells, split), side))
        if len(merged):
            parts.append(joined_shape(Outlines.of(cells, merged[:, 0]), Outlines.of(cells, merged[:, 1])))
        if self.settings.p_false:
            parts.append(self._false(cells))
        return Outlines.joined(parts)

    def _false(self, cells: Cells) -> Outlines:
        """Detections of nothing: small and dim, away from cells and from each other."""
        s, rng = self.settings, self.rng
        n = rng.poisson(s.p_false * len(cells))
        tries = rng.random((4 * n, 2)) * s.shape
        long = s.radius * rng.uniform(0.3, 0.7, 4 * n)
        angle, dim = np.pi * rng.random(4 * n), rng.uniform(15, 45, 4 * n)
        kept: list[int] = []
        far = np.ones(4 * n, bool)
        if n and len(cells):
            far = cKDTree(cells.position).query(tries)[0] > 2.5 * s.radius
        for k in np.flatnonzero(far).tolist():
            if len(kept) == n:
                break
            if all(np.linalg.norm(tries[k] - tries[j]) > 2 * s.radius for j in kept):
                kept.append(k)
        rows = np.array(kept, int)
        axes = np.stack([long, 0.75 * long], axis=1)[rows]
        nobody = np.full((len(rows), 2), NONE)
        return Outlines(
            tries[rows], axes, angle[rows], np.pi * axes.prod(axis=1), dim[rows], np.zeros(len(rows)), nobody,
            np.zeros(len(rows)),
        )  # fmt: skip

    def _found(self, n: int, outlines: Outlines) -> np.ndarray:
        """Ids of the detections of each cell, shape (n, 2)."""
        found = np.full((n, 2), NONE)
        ids = np.arange(1, len(outlines) + 1)
        for column in (0, 1):
            owner = outlines.owner[:, column]
            rows = np.flatnonzero((owner != NONE) & (outlines.cut <= 0))
            found[owner[rows], 0] = ids[rows]
        second = np.flatnonzero(outlines.cut > 0)
        found[outlines.owner[second, 0], 1] = ids[second]
        return found

    def _links(self, frame: int, seen: Memory, found: np.ndarray) -> np.ndarray:
        """Rows (frame of the parent, id of the parent, id of the child)."""
        oldest = frame - (2 if self.settings.bridge else 1)
        linked = np.flatnonzero((found[:, 0] != NONE) & (seen.frame >= oldest) & (seen.frame >= 0))
        before, after, at = seen.found[linked], found[linked], seen.frame[linked]
        rows = [np.stack([at, before[:, 0], after[:, 0]], axis=1)]
        two_before, two_after = before[:, 1] != NONE, after[:, 1] != NONE
        rows.append(
            np.stack([at, np.where(two_before, before[:, 1], before[:, 0]), after[:, 1]], axis=1)[two_after]
        )
        rows.append(np.stack([at, before[:, 1], after[:, 0]], axis=1)[two_before & ~two_after])
        return np.unique(np.concatenate(rows), axis=0)

    def _remember(
        self, cells: Cells, frame: np.ndarray, found: np.ndarray, split: np.ndarray, merged: np.ndarray
    ) -> None:
        odd = split.copy()
        odd[merged.ravel()] = True
        order = np.argsort(cells.number)
        self.memory = Memory(
            cells.number[order], frame[order], found[order], odd[order], np.ones(len(order), bool)
        )


def _covering(found: np.ndarray, outlines: Outlines) -> np.ndarray:
    """For each cell the id of the detection that covers more than half of it, 0 if none does."""
    best = np.where(found[:, 0] == NONE, 0, found[:, 0])
    two = np.flatnonzero(found[:, 1] != NONE)
    first, second = found[two, 0] - 1, found[two, 1] - 1
    best[two] = np.where(outlines.area[first] >= outlines.area[second], first, second) + 1
    return best


def _errors(
    frame: int,
    cells: Cells,
    outlines: Outlines,
    found: np.ndarray,
    missed: np.ndarray,
    split: np.ndarray,
    merged: np.ndarray,
) -> list[SegmentationError]:
    number = cells.number.tolist()
    errors = [SegmentationError(frame, "miss", (), (number[k],)) for k in np.flatnonzero(missed).tolist()]
    for k in np.flatnonzero(split).tolist():
        errors.append(SegmentationError(frame, "split", tuple(sorted(found[k].tolist())), (number[k],)))
    for a, b in merged.tolist():
        errors.append(SegmentationError(frame, "merge", (int(found[a, 0]),), (number[a], number[b])))
    for k in np.flatnonzero(outlines.owner[:, 0] == NONE).tolist():
        errors.append(SegmentationError(frame, "false", (k + 1,), ()))
    return errors
