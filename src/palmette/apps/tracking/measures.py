"""How good a predicted lineage is: measures of the Cell Tracking Challenge, links, divisions, tracks and events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.apps.tracking.division_scores import DivisionCounts
from palmette.apps.tracking.graph_errors import GraphErrors, correct_links, count_graph_errors
from palmette.apps.tracking.lineage_events import KINDS, event_nodes
from palmette.apps.tracking.matching import NONE, NodeMatching
from palmette.structures.tracking.lineage import Lineage


@dataclass(frozen=True)
class Hits:
    """How many of the true things were predicted, and how many of the predicted ones are true.

    Examples
    --------
    >>> links = Hits(correct=8, true=10, predicted=9)
    >>> links.recall, round(links.precision, 3), round(links.f1, 3), round(links.loss, 3)
    (0.8, 0.889, 0.842, 0.158)
    """

    correct: int
    true: int
    predicted: int

    @property
    def precision(self) -> float:
        """Share of the predicted ones that are true; NaN if none was predicted."""
        return self.correct / self.predicted if self.predicted else float("nan")

    @property
    def recall(self) -> float:
        """Share of the true ones that were predicted; NaN if there are none."""
        return self.correct / self.true if self.true else float("nan")

    @property
    def f1(self) -> float:
        """``2 correct / (true + predicted)``; NaN if there are none."""
        both = self.true + self.predicted
        return 2 * self.correct / both if both else float("nan")

    @property
    def loss(self) -> float:
        """``|y sym. diff. y*| / (|y| + |y*|) = 1 - f1``; 0 if there are none."""
        both = self.true + self.predicted
        return (both - 2 * self.correct) / both if both else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Counts, precision, recall and f1."""
        return {
            "correct": self.correct, "true": self.true, "predicted": self.predicted,
            "precision": self.precision, "recall": self.recall, "f1": self.f1,
        }  # fmt: skip


@dataclass(frozen=True)
class TrackingReport:
    """All measures of a predicted lineage.

    Parameters
    ----------
    errors : GraphErrors
        Operations that correct the prediction, with AOGM, TRA, DET and LNK.
    links : Hits
        Links between detections that find one cell each.
    divisions : Hits
        Divisions with the right parent and daughters; `tolerance` frames away, if so asked.
    tracks : Hits
        Whole tracks: the same detections from the same first to the same last one. Recall is the fraction of complete
        tracks, f1 the measure CT of the challenge.
    events : mapping of str to Hits
        By kind of event.
    tolerance : int

    Examples
    --------
    >>> nodes = [(0, 1), (1, 1), (1, 2), (2, 1), (2, 2)]
    >>> links = [((0, 1), (1, 1)), ((0, 1), (1, 2)), ((1, 1), (2, 1)), ((1, 2), (2, 2))]
    >>> true = Lineage.from_links(nodes, links)
    >>> report = evaluate_lineage(true, Lineage.from_links(nodes, [links[0], *links[2:]]))
    >>> print(report.format())
    AOGM 2.5, TRA 0.9554, DET 1.0000, LNK 0.5833; event loss 0.4286
    to correct: 0 to split, 0 to add, 0 to remove; links: 0 to delete, 1 to add, 1 to change
    <BLANKLINE>
                   correct      true  predicted  precision   recall       F1
    links                3         4          3     1.0000   0.7500   0.8571
    divisions            0         1          0          -   0.0000   0.0000
    tracks               1         3          2     0.5000   0.3333   0.4000
    events               2         3          4     0.5000   0.6667   0.5714
      move               2         2          3     0.6667   1.0000   0.8000
      divide             0         1          0          -   0.0000   0.0000
      appear             0         0          1     0.0000        -   0.0000
    """

    errors: GraphErrors
    links: Hits
    divisions: Hits
    tracks: Hits
    events: Mapping[str, Hits]
    tolerance: int = 0

    @property
    def aogm(self) -> float:
        """Weighted number of operations that correct the prediction."""
        return self.errors.aogm

    @property
    def tra(self) -> float:
        """Tracking accuracy."""
        return self.errors.tra

    @property
    def det(self) -> float:
        """Detection accuracy."""
        return self.errors.det

    @property
    def lnk(self) -> float:
        """Linking accuracy."""
        return self.errors.lnk

    @property
    def complete_tracks(self) -> float:
        """Fraction of the true tracks that were found whole."""
        return self.tracks.recall

    @property
    def all_events(self) -> Hits:
        """Events of all kinds."""
        return Hits(
            sum(hits.correct for hits in self.events.values()),
            sum(hits.true for hits in self.events.values()),
            sum(hits.predicted for hits in self.events.values()),
        )

    @property
    def event_loss(self) -> float:
        """``|y sym. diff. y*| / (|y| + |y*|)`` over events."""
        return self.all_events.loss

    def to_dict(self) -> dict[str, Any]:
        """All figures by name; for files and comparisons."""
        operations = {name: getattr(self.errors, name) for name in ("ns", "fn", "fp", "ed", "ea", "ec")}
        return {
            "aogm": self.aogm, "tra": self.tra, "det": self.det, "lnk": self.lnk, "event_loss": self.event_loss,
            "complete_tracks": self.complete_tracks,
            "detections": self.errors.n_nodes,
            "operations": operations,
            "links": self.links.to_dict(),
            "divisions": {**self.divisions.to_dict(), "tolerance": self.tolerance},
            "tracks": self.tracks.to_dict(),
            "events": {kind: hits.to_dict() for kind, hits in self.events.items()},
        }  # fmt: skip

    def headline(self) -> str:
        """The figures in a few words."""
        return (
            f"TRA {self.tra:.4f}, DET {self.det:.4f}, LNK {self.lnk:.4f}, division F1 {_cell(self.divisions.f1)}, "
            f"event loss {self.event_loss:.4f}"
        )

    def format(self) -> str:
        """Write the measures as a table; kinds of events that do not occur are left out."""
        e = self.errors
        name = f"divisions +-{self.tolerance}" if self.tolerance else "divisions"
        rows = [
            ("links", self.links),
            (name, self.divisions),
            ("tracks", self.tracks),
            ("events", self.all_events),
        ]
        rows += [(f"  {kind}", hits) for kind, hits in self.events.items() if hits.true or hits.predicted]
        header = f"{'':14}{'correct':>8}{'true':>10}{'predicted':>11}{'precision':>11}{'recall':>9}{'F1':>9}"
        lines = [
            f"{name:14}{hits.correct:8,}{hits.true:10,}{hits.predicted:11,}{_cell(hits.precision):>11}"
            f"{_cell(hits.recall):>9}{_cell(hits.f1):>9}"
            for name, hits in rows
        ]
        return "\n".join(
            [
                f"AOGM {self.aogm:,.1f}, TRA {self.tra:.4f}, DET {self.det:.4f}, LNK {self.lnk:.4f}; event loss "
                f"{self.event_loss:.4f}",
                f"to correct: {e.ns:,} to split, {e.fn:,} to add, {e.fp:,} to remove; links: {e.ed:,} to delete, "
                f"{e.ea:,} to add, {e.ec:,} to change",
                "",
                header,
                *lines,
            ]
        )

    def __str__(self) -> str:
        return self.format()


def evaluate_lineage(
    true: Lineage,
    predicted: Lineage,
    matching: Any = None,
    *,
    tolerance: int = 0,
    step: int = 1,
) -> TrackingReport:
    """Compare a predicted lineage with the true one.

    Parameters
    ----------
    true, predicted : Lineage
    matching : array of int of shape (m, 2), optional
        Numbers of a true and of a predicted detection which are the same object, such as
        :func:`palmette.apps.tracking.matching.match_masks` finds. A predicted detection may find several true ones, not
        the other way round. By default detections with the same frame and id are the same.
    tolerance : int, default=0
        By how many frames a division may be too early or too late.
    step : int, default=1
        Events lead from each frame to that so many frames later; for lineages made by ``skipping(step)``.

    Returns
    -------
    TrackingReport

    Examples
    --------
    >>> from palmette.datasets import make_cells
    >>> movie = make_cells(n_cells=10, n_frames=20, p_miss=0.05, random_state=0)
    >>> report = evaluate_lineage(movie.cells, movie.lineage, movie.matching)
    >>> report.errors.fn == sum(error.kind == "miss" for error in movie.errors)
    True
    >>> evaluate_lineage(movie.cells, movie.cells).tra
    1.0
    """
    own = NodeMatching.of(true, predicted, matching)
    correct, _ = correct_links(true, predicted, own)
    divisions = DivisionCounts(true, predicted, own, tolerance)
    return TrackingReport(
        count_graph_errors(true, predicted, own),
        Hits(int((correct != NONE).sum()), len(true.edges), len(predicted.edges)),
        Hits(len(divisions.pairs), len(divisions.true), len(divisions.predicted)),
        _tracks(true, predicted, own),
        _events(true, predicted, own, step),
        tolerance,
    )


def _tracks(true: Lineage, predicted: Lineage, matching: NodeMatching) -> Hits:
    wanted = {track.nodes for track in true.tracks()}
    given = [tuple(matching.alone[list(track.nodes)].tolist()) for track in predicted.tracks()]
    return Hits(sum(nodes in wanted for nodes in given), len(wanted), len(given))


def _events(true: Lineage, predicted: Lineage, matching: NodeMatching, step: int) -> dict[str, Hits]:
    """Compare events by detections of the truth; predicted ones that find no single cell are like no other."""
    numbers = np.where(matching.alone == NONE, len(true) + np.arange(len(predicted)), matching.alone)
    at = np.concatenate([true.frame, predicted.frame])
    frames = range(int(at.min()), int(at.max()) - step + 1) if len(at) else range(0)
    wanted, given = (event_nodes(lineage, step, frames) for lineage in (true, predicted))
    hits = {}
    for kind in KINDS:
        y, z = wanted[kind], given[kind]
        if isinstance(y.before, list):
            keys = {(frozenset(a), frozenset(b)) for a, b in zip(y.before, y.after)}
            found = (
                (frozenset(numbers[a].tolist()), frozenset(numbers[b].tolist()))
                for a, b in zip(z.before, z.after)
            )
            correct = sum(key in keys for key in found)
        else:
            n = len(numbers) + len(true)
            own, other = _keys(y.before, y.after, n), _keys(numbers[z.before], numbers[z.after], n)
            correct = len(np.intersect1d(own, other, assume_unique=True))
        hits[kind] = Hits(correct, len(y.frame), len(z.frame))
    return hits


def _keys(before: np.ndarray, after: np.ndarray, n: int) -> np.ndarray:
    """One number for each event of one or two detections, which are numbers below n."""
    nodes = np.concatenate([before, after], axis=1)
    return nodes[:, 0] if nodes.shape[1] == 1 else nodes[:, 0] * n + nodes[:, 1]


def _cell(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.4f}"
