"""The best explanation of one sample by the short way: scores without rows of features, and a cover of what is left.

``model.predict`` takes the long way, by the encoder and the scorer. Both give the same events; this one does not write
down a row of features for each of thousands of candidates.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from palmette.structures.tracking.candidates import Candidates
from palmette.structures.tracking.cover import SampleCover
from palmette.structures.tracking.encoder import TrackingEncoder
from palmette.structures.tracking.event_features import BENDS
from palmette.structures.tracking.tables import Layout


class Explanation(NamedTuple):
    """Which events happen, bool (n_events,), and by how much the best score may be above theirs."""

    chosen: np.ndarray
    lost: float


class EventScores:
    """Scores of candidates under a fitted model, ``scores(candidates)`` of shape (n_events,)."""

    def __init__(self, model: Any) -> None:
        self.model, self.encoder = model, model.encoder_
        self.plain = (
            isinstance(self.encoder, TrackingEncoder) and model.scorer_.n_columns == self.encoder.n_columns
        )
        self._terms = []
        if self.plain:  # of each kind: all that the kernel needs but the features
            own = zip(self.encoder.names, self.encoder.middle, self.encoder.spread, self.encoder.bends)
            starts = self.encoder.starts
            for k, (names, middle, spread, bends) in enumerate(own):
                weights = model.coef_[starts[k] : starts[k + 1]].copy()
                weights[: 1 + len(names)] *= self.encoder.plain
                bent = np.array([name in BENDS for name in names], bool)
                rows = np.where(bent, np.cumsum(bent) - 1, -1)
                self._terms.append((middle, spread, rows, bends, weights))

    def __call__(self, candidates: Candidates) -> np.ndarray:
        """Scores of all candidates of a sample."""
        if not self.plain:  # features of a kernel
            batch = self.encoder.transform([candidates])
            return self.model.scorer_.score(self.model.coef_, batch).node[:, 1].copy()
        from palmette.structures.tracking.kernels.direct import add_scores

        self.encoder.check_names(candidates, 0)
        scores, start = np.empty(len(candidates)), 0
        for block, terms in zip(candidates.blocks, self._terms):
            if len(block):
                own = scores[start : start + len(block)]
                add_scores(np.ascontiguousarray(block.values.T), *terms, own)
            start += len(block)
        return scores


def explain(
    score: np.ndarray, layout: Layout, taken: np.ndarray, time_limit: float | None = None
) -> Explanation | None:
    """The best cover of the cells of one sample that are not ``taken`` (bool); None if there is none.

    A taken cell stands for itself, as an event that explains it alone.
    """
    from palmette.structures.tracking.kernels.direct import needed_events

    events, needed, ptr, cell = needed_events(score, layout.ptr, layout.cell, taken.view(np.uint8))
    kind = np.zeros(len(needed), np.int64)  # which no cover asks for
    small = Layout(np.array([0, len(needed)]), ptr, cell, layout.n_cells, layout.n_before, kind)
    cover = SampleCover(needed, small, time_limit=time_limit)
    if cover.chosen is None:
        return None
    chosen = np.zeros(len(score), bool)
    chosen[events[cover.chosen[: len(events)]]] = True
    return Explanation(chosen, cover.lost)
