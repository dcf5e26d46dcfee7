"""The best explanation of one sample by the short way: scores without rows of features, and a cover of what is left.

``model.predict`` takes the long way, by the encoder and the scorer. Both give the same events; this one does not write
down a row of features for each of thousands of candidates.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from palmette.data.ragged import gather, offsets_from_lengths
from palmette.structures.tracking.candidates import Candidates
from palmette.structures.tracking.cover import SampleCover
from palmette.structures.tracking.encoder import TrackingEncoder
from palmette.structures.tracking.event_features import BENDS
from palmette.structures.tracking.tables import Layout


class Explanation(NamedTuple):
    """Which events happen, bool (n_events,), and by how much the best score may be above theirs."""

    chosen: np.ndarray
    lost: float


def event_scores(model: Any, candidates: Candidates) -> np.ndarray:
    """Scores of all candidates of a sample under a fitted model, shape (n_events,)."""
    encoder = model.encoder_
    if not isinstance(encoder, TrackingEncoder) or model.scorer_.n_columns != encoder.n_columns:
        batch = encoder.transform([candidates])  # features of a kernel
        return model.scorer_.score(model.coef_, batch).node[:, 1].copy()
    from palmette.structures.tracking.kernels.direct import add_scores

    encoder.check_names(candidates, 0)
    starts = encoder.starts
    found = [np.empty(0)]
    for k, block in enumerate(candidates.blocks):
        score = np.empty(len(block))
        if len(block):
            bent, place = np.full(len(block.names), -1), 0
            for at, name in enumerate(block.names):
                if name in BENDS:
                    bent[at], place = place, place + 1
            weights = model.coef_[starts[k] : starts[k + 1]].copy()
            weights[: 1 + len(block.names)] *= encoder.plain
            columns = np.ascontiguousarray(block.values.T)
            add_scores(columns, encoder.middle[k], encoder.spread[k], bent, encoder.bends[k], weights, score)
        found.append(score)
    return np.concatenate(found)


def explain(
    score: np.ndarray, layout: Layout, taken: np.ndarray, time_limit: float | None = None
) -> Explanation | None:
    """The best cover of the cells of one sample that are not ``taken`` (bool); None if there is none.

    A taken cell stands for itself, as an event that explains it alone.
    """
    from palmette.structures.tracking.kernels.direct import needed_events

    kept = np.zeros(len(score), np.uint8)
    needed_events(score, layout.ptr, layout.cell, taken.astype(np.uint8), kept)
    events = np.flatnonzero(kept)
    entries, ptr = gather(layout.ptr, events)
    cells = np.flatnonzero(taken)
    small = Layout(
        np.array([0, len(events) + len(cells)]),
        offsets_from_lengths(np.concatenate([np.diff(ptr), np.ones(len(cells), np.int64)])),
        np.concatenate([layout.cell[entries], cells]),
        layout.n_cells,
        layout.n_before,
        np.concatenate([layout.kind[events], np.zeros(len(cells), np.int64)]),
    )
    cover = SampleCover(np.concatenate([score[events], np.zeros(len(cells))]), small, time_limit=time_limit)
    if cover.chosen is None:
        return None
    chosen = np.zeros(len(score), bool)
    chosen[events[cover.chosen[: len(events)]]] = True
    return Explanation(chosen, cover.lost)
