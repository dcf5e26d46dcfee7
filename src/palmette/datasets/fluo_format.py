"""Tables of the tracking data sets: columns of texts, rows of one movie by frame, and the truth of a segmentation."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

Cell = tuple[int, int]  # frame, label
Link = tuple[tuple[int, int], tuple[int, int]]  # of two detections (frame, id)


def read_csv(content: bytes, sequence: str | None = None) -> dict[str, np.ndarray]:
    """Columns of a table as texts; of one movie if `sequence` is given.

    >>> read_csv(b"seq,frame\\n01,3\\n02,4\\n", "02")
    {'seq': array(['02'], dtype='<U2'), 'frame': array(['4'], dtype='<U1')}
    """
    header, *rows = csv.reader(io.StringIO(content.decode("ascii")))
    if sequence is not None:
        place = header.index("seq")
        rows = [row for row in rows if row[place] == sequence]
    columns = np.array(rows).reshape(len(rows), len(header)).T
    return {name: np.array(column.tolist(), str) for name, column in zip(header, columns)}


class Covered(NamedTuple):
    """A detection of an automatic segmentation, and the true cells in it.

    ``cells`` are the labels of those whose marker it covers by more than half; ``main`` is the label with the largest
    overlap, which is ``overlap`` pixels, 0 if it touches none.
    """

    frame: int
    id: int
    cells: tuple[int, ...]
    main: int
    overlap: int


def carried_over(detections: Iterable[Covered], parents: dict[Cell, Cell]) -> list[Link]:
    """The links of true cells as links of the detections of a segmentation.

    A cell is *held* by the detection that covers it; if none does, by the one that overlaps it most among those that
    cover no cell and overlap this one more than others. The remaining detections that cover none but overlap one are
    its *fragments*. `parents` maps each true cell ``(frame, label)`` to its true predecessor.

    * For each cell that is held, the holder of its nearest ancestor that is held is linked to its own holder. So cells
      in one detection merge and split, and a cell that nobody holds for some frames is linked over them.
    * Fragments of a cell and of the same track in the frame before are linked in pairs, the largest with the largest.
      A fragment that has no partner before it comes from the holder of the cell's predecessor (a cell that breaks up),
      one that has none after it goes to the holder of the cell's successor (a fragment that joins its cell). Where
      there is no such holder, or the cell divides, it has no such link.

    False detections have no links.

    >>> merged = [Covered(0, 1, (5,), 5, 9), Covered(0, 2, (6,), 6, 9), Covered(1, 1, (5, 6), 5, 9)]
    >>> carried_over(merged, {(1, 5): (0, 5), (1, 6): (0, 6)})
    [((0, 1), (1, 1)), ((0, 2), (1, 1))]
    """
    holder: dict[Cell, int] = {}
    loose: dict[Cell, list[Covered]] = {}
    for each in detections:
        for label in each.cells:
            holder[each.frame, label] = each.id
        if not each.cells and each.main:
            loose.setdefault((each.frame, each.main), []).append(each)
    fragments: dict[Cell, list[int]] = {}
    for cell, found in loose.items():
        own = [each.id for each in sorted(found, key=lambda each: (-each.overlap, each.id))]
        if cell not in holder:
            holder[cell] = own.pop(0)
        if own:
            fragments[cell] = own
    links: set[Link] = set()
    children: dict[Cell, list[Cell]] = {}
    for cell, parent in parents.items():
        children.setdefault(parent, []).append(cell)
    for cell, own_id in holder.items():
        above = parents.get(cell)
        while above is not None and above not in holder:
            above = parents.get(above)
        if above is not None:
            links.add(((above[0], holder[above]), (cell[0], own_id)))
    for cell, pieces in fragments.items():
        links |= _of_fragments(cell, pieces, fragments, holder, parents, children.get(cell, []))
    return sorted(links)


def _of_fragments(
    cell: Cell,
    pieces: list[int],
    fragments: dict[Cell, list[int]],
    holder: dict[Cell, int],
    parents: dict[Cell, Cell],
    children: list[Cell],
) -> set[Link]:
    links: set[Link] = set()
    before, after = parents.get(cell), children[0] if len(children) == 1 else None
    for k, piece in enumerate(pieces):
        own = (cell[0], piece)
        if before is not None and before in holder and k >= _n_followed(cell, before, fragments):
            links.add(((before[0], holder[before]), own))
        if after is not None:
            later = fragments.get(after, []) if after[1] == cell[1] else []
            if k < len(later):
                links.add((own, (after[0], later[k])))
            elif after in holder:
                links.add((own, (after[0], holder[after])))
    return links


def _n_followed(cell: Cell, before: Cell, fragments: dict[Cell, list[int]]) -> int:
    """How many fragments of a cell continue fragments of the frame before."""
    return len(fragments.get(before, [])) if before[1] == cell[1] else 0
