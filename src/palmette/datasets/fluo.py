"""Cells of two movies each, found and tracked."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from palmette.datasets import store
from palmette.datasets.fluo_format import Cell, Covered, carried_over, read_csv
from palmette.datasets.registry import get_dataset
from palmette.structures.tracking.detections import Detections
from palmette.structures.tracking.lineage import Lineage

_NAMES = {"hela": "fluo-n2dl-hela", "sim": "fluo-n2dh-sim"}
_FEATURES = ("area", "int_std", "int_max", "ecc", "major", "minor", "orient", "solidity", "extent", "perim")


def load_fluo(name: str = "hela", sequence: str = "01", *, detections: str = "truth") -> Bunch:
    """Load the cells of a movie of the Cell Tracking Challenge, measured, with their lineage.

    Where the data is taken from see :func:`palmette.datasets.where`.

    Parameters
    ----------
    name : {"hela", "sim"}, default="hela"
        Fluo-N2DL-HeLa (92 frames per movie) or the simulated Fluo-N2DH-SIM+ (65 and 150).
    sequence : {"01", "02"}, default="01"
        Which movie.
    detections : {"truth", "auto"}, default="truth"
        The true cells, or, for movie 01 of HeLa, those of an automatic segmentation with its real errors.

    Returns
    -------
    Bunch
        frames : list of Detections
            One for each frame from 0 on. ``ids`` are unique within the movie; ``boxes`` and ``shape`` are in pixels.
            Features are ``area``, ``intensity`` (mean minus the median of the background), ``int_std``, ``int_max``,
            ``ecc``, ``major``, ``minor``, ``orient``, ``solidity``, ``extent`` and ``perim``.
        lineage : Lineage
            The true links; some of HeLa 02 go over frames in which a cell was not annotated. With
            ``detections="auto"`` they are carried over: a detection holds the true cells whose marker it covers by more
            than half, so it may hold several (they merge and split) and pieces of a cell may be fragments.
            :func:`palmette.datasets.fluo_format.carried_over` has the rules. False detections have no links.
        labels : list of ndarray of int64
            The track of each detection in ``man_track.txt``. With ``detections="auto"`` that of the cell with the
            largest overlap, 0 if there is none.
        n_cells : list of ndarray of int64
            How many true cells each detection covers: 1, or of a segmentation also 0 (false or a fragment), 2, ...
        DESCR : str

    Examples
    --------
    >>> from palmette.datasets import load_fluo
    >>> movie = load_fluo("hela", "01")  # doctest: +SKIP
    >>> len(movie.frames), len(movie.frames[0]), len(movie.lineage.edges)  # doctest: +SKIP
    (92, 43, 8562)
    """
    for what, value, known in (
        ("name", name, tuple(_NAMES)),
        ("sequence", sequence, ("01", "02")),
        ("detections", detections, ("truth", "auto")),
    ):
        if value not in known:
            raise ValueError(f"{what} must be one of {', '.join(map(repr, known))}, got {value!r}")
    if detections == "auto" and (name, sequence) != ("hela", "01"):
        raise ValueError(
            f"load_fluo({name!r}, {sequence!r}): only movie '01' of 'hela' was segmented automatically; pass "
            "detections='truth'"
        )
    auto = detections == "auto"
    needed = ["counts", "detections", "links", *(["detections_auto"] if auto else [])]
    contents = store.read(_NAMES[name], needed)
    counts = json.loads(contents["counts"])[sequence]
    truth = read_csv(contents["detections"], sequence)
    links = read_csv(contents["links"], sequence)
    table = read_csv(contents["detections_auto"], sequence) if auto else truth
    frame, ids = table["frame"].astype(np.int64), table["seg_id" if auto else "det_id"].astype(np.int64)
    n_cells = table["n_gt"].astype(np.int64) if auto else np.ones(len(ids), np.int64)
    labels = table["main_gt" if auto else "label"].astype(np.int64)
    rows = [np.flatnonzero(frame == t) for t in range(counts["frames"])]
    return Bunch(
        frames=_frames(table, ids, rows, tuple(map(float, counts["shape"]))),
        lineage=_carried(table, frame, ids, links) if auto else _true_lineage(frame, ids, links),
        labels=[labels[own] for own in rows],
        n_cells=[n_cells[own] for own in rows],
        DESCR=get_dataset(_NAMES[name]).DESCR,
    )


def _frames(
    table: dict[str, np.ndarray], ids: np.ndarray, rows: list[np.ndarray], shape: tuple[float, ...]
) -> list[Detections]:
    def numbers(*names: str) -> Any:
        return np.stack([table[each].astype(float) for each in names], axis=1)

    position, boxes = numbers("y", "x"), numbers("y0", "x0", "y1", "x1")
    features = {each: numbers(each)[:, 0] for each in _FEATURES}
    features["intensity"] = numbers("int_mean")[:, 0] - numbers("int_bg")[:, 0]
    return [
        Detections(
            position[own],
            {each: features[each][own] for each in ("area", "intensity", *_FEATURES[1:])},
            ids[own],
            boxes[own],
            t,
            shape,
        )
        for t, own in enumerate(rows)
    ]


def _true_lineage(frame: np.ndarray, ids: np.ndarray, links: dict[str, np.ndarray]) -> Lineage:
    ends = (
        links[each].astype(np.int64).tolist() for each in ("frame_from", "det_from", "frame_to", "det_to")
    )
    return Lineage.from_links(
        zip(frame.tolist(), ids.tolist()), [((a, i), (b, j)) for a, i, b, j in zip(*ends)]
    )


def _carried(
    table: dict[str, np.ndarray], frame: np.ndarray, ids: np.ndarray, links: dict[str, np.ndarray]
) -> Lineage:
    found = [
        Covered(t, own, tuple(map(int, cells.split())), main, overlap)
        for t, own, cells, main, overlap in zip(
            frame.tolist(),
            ids.tolist(),
            table["gt_labels"].tolist(),
            table["main_gt"].astype(np.int64).tolist(),
            table["main_overlap"].astype(np.int64).tolist(),
        )
    ]
    ends = (
        links[each].astype(np.int64).tolist() for each in ("frame_from", "label_from", "frame_to", "label_to")
    )
    parents: dict[Cell, Cell] = {(b, j): (a, i) for a, i, b, j in zip(*ends)}
    return Lineage.from_links(((each.frame, each.id) for each in found), carried_over(found, parents))
