"""Events between the detections of two frames, or of a window of frames: each detection is explained exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any

import numpy as np

from palmette.contracts.structure import Best, Structure, Words
from palmette.contracts.training import Encoded, WeightOptions
from palmette.data.annotation import UNKNOWN, Known
from palmette.data.labels import LabelCodec
from palmette.data.ragged import offsets_from_lengths
from palmette.errors import InfeasibleError
from palmette.features.encoded import EncodedInputs
from palmette.losses.weighted_maximum import sums_by
from palmette.registry import register
from palmette.structures.tracking.candidates import Candidates, propose
from palmette.structures.tracking.cover import (
    LIMIT,
    best_covers,
    changed_values,
    ranked_covers,
    touching_covers,
)
from palmette.structures.tracking.detections import Detections
from palmette.structures.tracking.encoder import TrackingEncoder
from palmette.structures.tracking.event_kinds import EventKind, event_kinds
from palmette.structures.tracking.scorer import EventScorer
from palmette.structures.tracking.tables import (
    EventRestriction,
    EventTables,
    code_sets,
    conflicting,
    explained,
)

_COUNTING = (
    "Summing over all explanations of two frames is intractable (it counts exact covers): use SSVM or Perceptron, "
    "which need maxima only."
)


@register("structure")
class Tracking(Structure):
    """Which events explain the detections of two successive frames.

    A sample is a pair of :class:`Detections` (or more of them: a window of frames, solved as a whole). Candidate events
    (a cell moves, divides, appears, disappears, ...) are proposed between near detections. An output says of each
    candidate whether it happens, 1 or 0, such that every detection of the earlier frame has exactly one future and
    every detection of the later one exactly one past. Its score is the sum of the scores of its events, linear in
    features of the event (:mod:`palmette.structures.tracking.event_features`).

    Best outputs are exact covers of highest score. Events that smaller ones dominate are left out, what is left falls
    into connected parts, and a part is solved by a search over sets of cells within dual bounds. One that needs too
    many sets is solved as a linear assignment, or by a linear and, where its solution is fractional, an integer program
    (HiGHS).

    Parameters
    ----------
    events : sequence of str or EventKind
        Kinds of events. Known are "move", "divide", "appear", "disappear"; "split" and "merge" of objects that are
        found in pieces or together; in windows also "skip" (a link over a frame in which the object was missed) and
        "false" (a detection that is no object). :class:`EventKind` makes new ones.
    max_distance : float, optional
        No link is longer. By default 3 times the root of the median area (or of the median distance to the nearest
        neighbour, where there are no areas).
    neighbours : int
        Links are proposed to this many nearest detections, from either side.
    division_neighbours : int
        Divisions, splits and merges are proposed among pairs of this many nearest detections.
    knots : int
        Features also count beyond this many of their quantiles (``max(0, x - q)``), so that scores may bend.

    Examples
    --------
    >>> from palmette import SSVM, Tracking
    >>> early, late = Detections([[0.0, 0.0], [9.0, 9.0]]), Detections([[0.5, 0.0], [9.0, 8.0], [9.0, 10.0]])
    >>> tracking = Tracking(max_distance=3.0)
    >>> candidates = tracking.candidates((early, late))
    >>> y = candidates.codes([("move", (0,), (0,)), ("divide", (1,), (1, 2))])
    >>> model = SSVM(tracking, l2=0.1).fit([candidates], [y])
    >>> [tuple(event)[:3] for event in candidates.events_of(model.predict([(early, late)])[0])]
    [('move', (0,), (0,)), ('divide', (1,), (1, 2))]
    """

    labelled = False
    label_per_row = True
    costly = True
    default_loss = "hamming"
    words = Words("tracks", "between events", "between events", "")
    lacks = dict.fromkeys(
        ("expectation", "log_partition", "marginals", "entropy", "sample", "log_proba", "min_risk"), _COUNTING
    )
    functions = ("events",)
    part_kinds = MappingProxyType({"codec": ("labels",), "encoder": ("events",), "scorer": ("events",)})

    limit = LIMIT

    def __init__(
        self,
        events: Sequence[Any] = ("move", "divide", "appear", "disappear"),
        max_distance: float | None = None,
        neighbours: int = 6,
        division_neighbours: int = 4,
        knots: int = 4,
    ) -> None:
        self.events = events
        self.max_distance = max_distance
        self.neighbours = neighbours
        self.division_neighbours = division_neighbours
        self.knots = knots

    # -- the door: what users give and get ----------------------------------------------------------------------

    @property
    def kinds(self) -> tuple[EventKind, ...]:
        """The kinds of events, checked."""
        return event_kinds(self.events)

    def candidates(self, frames: Sequence[Detections]) -> Candidates:
        """The events that are possible between two frames, or within a window of more."""
        self.bind(())
        return propose(frames, self.kinds, self.max_distance, self.neighbours, self.division_neighbours)

    def admit(self, X: Any) -> Any:
        """Frames or candidates as a list of candidates; what is encoded stays as it is."""
        if isinstance(X, EncodedInputs):
            return X
        if isinstance(X, Detections) or not hasattr(X, "__iter__"):
            raise TypeError(
                f"X must be a list of pairs of Detections, got {type(X).__name__}: give [(early, late), ...]"
            )
        found = []
        for i, frames in enumerate(X):
            if not isinstance(frames, Candidates):
                try:
                    frames = self.candidates(frames)
                except (TypeError, ValueError) as error:
                    raise type(error)(f"X[{i}]: {error}") from None
            elif frames.kinds != tuple(kind.name for kind in self.kinds):
                raise ValueError(
                    f"X[{i}] has candidates of the kinds {frames.kinds}, expected {tuple(self.events)}"
                )
            found.append(frames)
        return found

    def make_encoder(self, X: Any, *, min_count: int = 1, n_hash: int | None = None) -> TrackingEncoder:
        """The encoder of events; its columns are fixed by the kinds of events."""
        return TrackingEncoder(tuple(kind.name for kind in self.kinds), self._whole("knots", 0))

    def check_encoder(self, encoder: Any) -> None:
        """Raise ValueError for inputs of another structure."""
        if encoder.of != TrackingEncoder.of:
            raise ValueError(f"X was encoded as {encoder.of}, but Tracking needs pairs of frames")

    def check_model(self, encoder: Any, weights: Any, codec: Any) -> None:
        """Raise ValueError unless the events are those that the model has features of."""
        named = tuple(kind.name for kind in self.kinds)
        if isinstance(encoder, TrackingEncoder) and encoder.kinds != named:
            raise ValueError(f"events are {', '.join(named)}, but the model knows {', '.join(encoder.kinds)}")

    def make_codec(self, y: Any, classes: Any, lengths: np.ndarray) -> LabelCodec:
        """The codec of 0 and 1; there are no labels to declare."""
        if classes is not None:
            raise ValueError(f"classes={classes!r:.60}: an event happens (1) or not (0); leave classes out")
        return LabelCodec((0, 1))

    def make_scorer(self, data: Encoded, options: WeightOptions) -> EventScorer:
        """One weight per feature of each kind of events."""
        if options.edge_features is not None:
            raise ValueError("edge_features need the edges of a Chain; Tracking has none")
        return EventScorer.for_columns(data.samples.batch.n_columns)

    def bind(self, classes: Sequence[Any]) -> Tracking:
        """This structure, its settings checked."""
        self._whole("neighbours", 1), self._whole("division_neighbours", 0), self._whole("knots", 0)
        distance = self.max_distance
        if distance is not None and not (isinstance(distance, int | float) and 0.0 < distance < np.inf):
            raise ValueError(f"Tracking: max_distance must be a number above 0, got {distance!r}")
        if not self.kinds:
            raise ValueError("Tracking: events is empty; name the kinds of events")
        return self

    def _whole(self, name: str, least: int) -> int:
        value = getattr(self, name)
        if not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"Tracking: {name} must be a whole number of at least {least}, got {value!r}")
        return int(value)

    def check_outputs(self, codes: np.ndarray, offsets: np.ndarray, batch: Any = None) -> None:
        """Raise ValueError at the first detection that is not explained exactly once; unknown events may do it."""
        if batch is None:
            return
        layout, codes = batch.layout, np.asarray(codes)
        cells = offsets_from_lengths(layout.n_cells)
        sure, possible = explained(layout, codes), explained(layout, np.where(codes == 0, 0, 1))
        wrong = np.flatnonzero((sure > 1) | (possible == 0))
        if len(wrong):
            sample = int(np.searchsorted(cells, wrong[0], side="right")) - 1
            raise ValueError(
                f"y[{sample}]: {batch.cell_name(sample, int(wrong[0] - cells[sample]))} is explained by "
                f"{sure[wrong[0]]} events ({len(wrong)} such places in all), and must be by exactly one. "
                "Tracker.train repairs a lineage, and says what it changed"
            )

    def measure(self, model: Any, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """F1 of events, 1 - |y sym. diff. y*| / (|y| + |y*|): twice the right events, and all of both sides."""
        right, total = [], []
        for found, true in zip(model.predict(X), y, strict=True):
            known = np.array([each is not UNKNOWN for each in true], bool)
            a = np.array([bool(each) for each in found], bool)[known]
            b = np.array([each == 1 for each in true], bool)[known]
            right.append(2.0 * np.sum(a & b))
            total.append(float(np.sum(a) + np.sum(b)))
        return np.array(right), np.array(total)

    def links(self, batch: Any) -> np.ndarray:
        """Pairs of events that explain the same cell, and so depend on each other."""
        layout = batch.layout
        first = offsets_from_lengths(layout.n_cells)
        sizes = np.diff(layout.ptr)
        event = np.repeat(np.arange(len(sizes)), sizes)
        sample = np.repeat(np.arange(len(layout.n_cells)), np.diff(layout.offsets))
        cell = layout.cell + first[sample[event]]
        order = np.lexsort((event, cell))
        near = np.flatnonzero(cell[order][1:] == cell[order][:-1])
        return np.stack([event[order][near], event[order][near + 1]], axis=1)

    # -- answers ------------------------------------------------------------------------------------------------

    def best(self, theta: EventTables, *, cost: Any = None, within: Any = None) -> Best:
        """The cover of highest score of every sample."""
        return self._extreme(theta, cost, within, 1.0)

    def worst(self, theta: EventTables, *, cost: Any = None, within: Any = None) -> Best:
        """The cover of lowest score of every sample."""
        return self._extreme(theta, cost, within, -1.0)

    def _extreme(self, theta: EventTables, cost: Any, within: Any, sign: float) -> Best:
        _, chosen = self._covers(theta, self._scores(theta, cost, within, sign), within)
        codes = chosen.astype(np.int32)
        return Best(codes, self.score(theta, codes, cost=cost))

    def _covers(self, theta: EventTables, score: np.ndarray, within: Any) -> tuple[np.ndarray, np.ndarray]:
        """The best covers whatever they touch, and those that touch what they must, bool (n_events,)."""
        best, missing = best_covers(score, theta.layout, self.limit)
        if missing is not None:
            raise _infeasible(missing)
        if within is None or not within.touch:
            return best, best
        chosen, none = touching_covers(score, theta.layout, within.touch, best, self.limit)
        if none.any():
            raise _infeasible(int(np.flatnonzero(none)[0]))
        return best, chosen

    def k_best(
        self, theta: EventTables, k: int, *, cost: Any = None, within: Any = None
    ) -> list[list[tuple[np.ndarray, float]]]:
        """The k best distinct covers of every sample, best first; fewer where fewer exist."""
        score = self._scores(theta, cost, within, 1.0)
        touch = () if within is None else within.touch
        best, first = self._covers(theta, score, within)
        if k < 2:
            ranked = [[first[own]] for _, own, _ in _samples(theta)]
        elif k == 2:
            second, none = touching_covers(score, theta.layout, (*touch, ~first), best, self.limit)
            ranked = [
                [y[own] for y in ((first,) if none[s] else (first, second))] for s, own, _ in _samples(theta)
            ]
        else:
            ranked = [
                list(islice(ranked_covers(score[own], layout, tuple(t[own] for t in touch), self.limit), k))
                for _, own, layout in _samples(theta)
            ]
        node = theta.node if cost is None else theta.node + cost.node
        out = []
        for (_, own, _), covers in zip(_samples(theta), ranked):
            codes = [chosen.astype(np.int32) for chosen in covers]
            valued = [(y, float(node[own][np.arange(len(y)), y].sum())) for y in codes]
            out.append(
                sorted(valued, key=lambda pair: -pair[1])
            )  # bounds that meet may have changed their order
        return out

    def max_marginals(self, theta: EventTables, *, cost: Any = None, within: Any = None) -> EventTables:
        """The highest score with each event, and without it; -inf where there is no such cover."""
        score = self._scores(theta, cost, within, 1.0)
        best, chosen = self._covers(theta, score, within)
        touch = () if within is None else within.touch
        other = changed_values(score, theta.layout, touch, best, chosen, self.limit)
        node = theta.node if cost is None else theta.node + cost.node
        base = sums_by(node[:, 0], theta.offsets)
        top = base + sums_by(np.where(chosen, score, 0.0), theta.offsets)
        sample, happens = np.repeat(np.arange(len(theta)), np.diff(theta.offsets)), chosen.astype(int)
        out, events = np.empty_like(theta.node), np.arange(len(score))
        out[events, happens], out[events, 1 - happens] = top[sample], base[sample] + other
        return EventTables(out, *theta.layout)

    def score(self, theta: EventTables, codes: Any, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """Score plus cost of given covers; -inf for one that the restriction forbids."""
        self._check(theta, cost, within)
        codes = _checked(theta, codes)
        node = theta.node if cost is None else theta.node + cost.node
        values = sums_by(node[np.arange(len(codes)), codes], theta.offsets)
        if within is not None:
            happens = codes == 1
            broken = np.zeros(len(theta), bool)
            if within.allowed is not None:
                broken |= sums_by((happens & ~within.allowed).astype(float), theta.offsets) > 0
            for own in within.touch:
                broken |= sums_by((happens & own).astype(float), theta.offsets) == 0
            values[broken] = -np.inf
        return values

    def count(self, theta: EventTables, codes: Any, *, weight: Any = None, into: Any = None) -> EventTables:
        """Counts of given covers, times ``weight``; added to ``into`` if given."""
        self._check(theta, None, None)
        codes = _checked(theta, codes)
        into = theta.zeros() if into is None else into
        weight = np.ones(len(theta)) if weight is None else np.asarray(weight, float)
        into.node[np.arange(len(codes)), codes] += np.repeat(weight, np.diff(theta.offsets))
        return into

    def agreeing(self, theta: EventTables, codes: Known) -> EventRestriction:
        """Covers that agree with an annotation: without the events that contradict it."""
        theta.check()
        return EventRestriction(allowed=~conflicting(theta.layout, code_sets(codes)))

    def contradicting(self, theta: EventTables, codes: Known) -> EventRestriction:
        """Covers that contradict an annotation: with some event that does."""
        theta.check()
        return EventRestriction(touch=(conflicting(theta.layout, code_sets(codes)),))

    def adds(self, other: Structure) -> bool:
        """Whether the candidates of the other structure are the same, so that scores may be added."""
        return isinstance(other, Tracking) and self.get_params() == other.get_params()

    def _scores(self, theta: EventTables, cost: Any, within: Any, sign: float) -> np.ndarray:
        """What each event adds if it happens; -inf where it may not."""
        self._check(theta, cost, within)
        node = theta.node if cost is None else theta.node + cost.node
        score = sign * (node[:, 1] - node[:, 0])
        if within is not None and within.allowed is not None:
            score[~within.allowed] = -np.inf
        return score

    def _check(self, theta: EventTables, cost: Any, within: Any) -> None:
        theta.check()
        if cost is not None and (cost.node.shape != theta.node.shape or not np.all(np.isfinite(cost.node))):
            raise ValueError(f"cost must be finite, of shape {theta.node.shape}; forbid events with within=")
        if within is not None:
            within.check(theta)


def _checked(theta: EventTables, codes: Any) -> np.ndarray:
    """Codes of given outputs, 0 or 1 for every event."""
    codes = np.asarray(codes)
    if codes.shape != theta.kind.shape or np.any((codes != 0) & (codes != 1)):
        raise ValueError(f"codes must be 0 or 1 for each of the {len(theta.kind)} events")
    return codes


def _samples(theta: EventTables) -> Any:
    """Number, events and layout of each sample."""
    for s in range(len(theta)):
        yield s, slice(int(theta.offsets[s]), int(theta.offsets[s + 1])), theta.layout.slice(s, s + 1)


def _infeasible(sample: int) -> InfeasibleError:
    return InfeasibleError(
        f"sample {sample} : no set of allowed events explains every detection exactly once", sample
    )
