"""Small movies of discs that move, divide, vanish and merge, as label images and as lineages."""

from __future__ import annotations

import numpy as np

from palmette.apps.tracking import measured
from palmette.structures.tracking.lineage import Lineage

SHAPE = (40, 60)

# frame, id, y, x: ids change from frame to frame, as those of a segmentation do
CELLS = [
    (0, 3, 10, 10), (0, 8, 30, 20),
    (1, 1, 11, 12), (1, 2, 30, 23),
    (2, 5, 11, 14), (2, 7, 25, 26), (2, 9, 35, 26),
    (3, 2, 24, 28), (3, 4, 36, 28), (3, 6, 5, 50),
    (4, 1, 11, 18), (4, 2, 24, 30), (4, 3, 36, 30), (4, 5, 6, 52),
]  # fmt: skip

# a cell that is not seen in frame 3; one that divides; one that appears and one that is alone
LINKS = [
    ((0, 3), (1, 1)), ((1, 1), (2, 5)), ((2, 5), (4, 1)),
    ((0, 8), (1, 2)), ((1, 2), (2, 7)), ((1, 2), (2, 9)), ((2, 7), (3, 2)), ((2, 9), (3, 4)), ((3, 2), (4, 2)),
    ((3, 4), (4, 3)),
]  # fmt: skip

MERGE = ((3, 6), (4, 2))


def nodes() -> list[tuple[int, int]]:
    return [(frame, own) for frame, own, _, _ in CELLS]


def lineage(*more) -> Lineage:
    return Lineage.from_links(nodes(), [*LINKS, *more])


def masks(n_frames: int = 5, dtype=np.uint16) -> list[np.ndarray]:
    """Label images; frames behind the last are empty."""
    found = [np.zeros(SHAPE, dtype) for _ in range(n_frames)]
    y, x = np.indices(SHAPE)
    for frame, own, cy, cx in CELLS:
        found[frame][(y - cy) ** 2 + (x - cx) ** 2 <= 9 + own] = own
    return found


def movie(n_frames: int = 5):
    return [measured(labels, frame=frame) for frame, labels in enumerate(masks(n_frames))]


def same(a: Lineage, b: Lineage) -> bool:
    """Whether two lineages have the same detections and links, in whatever order."""

    def content(each):
        keys = list(zip(each.frame.tolist(), each.id.tolist()))
        return set(keys), {(keys[u], keys[v]) for u, v in each.edges.tolist()}

    return content(a) == content(b)
