"""A tracker: a model of events together with what it measures of movies."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from palmette.apps.interrupted import handing_over
from palmette.apps.tracking.assembling import Assembly, shared_frames
from palmette.apps.tracking.movies import (
    Movie,
    check_truth,
    longest_link,
    restricted,
    shared_measurements,
    training_samples,
    windows,
)
from palmette.apps.tracking.pins import Pins
from palmette.apps.tuning import check_folds, check_tuning, fit_tuned
from palmette.data.annotation import UNKNOWN
from palmette.data.checks import check_type, check_whole, entry
from palmette.errors import ModelFileError
from palmette.estimators.folds import Part
from palmette.features.encoded import EncodedInputs
from palmette.structures.tracking.candidates import Candidates
from palmette.structures.tracking.detections import Detections
from palmette.structures.tracking.direct import EventScores, Explanation, explain
from palmette.structures.tracking.lineage import Lineage
from palmette.structures.tracking.tracking import Tracking
from palmette.structures.tracking.truth import Repair

EVENTS = ("move", "divide", "appear", "disappear")
L2 = 10.0
TOL = 1e-2  # relative duality gap: scores settle long before
MARGIN = 1.25  # links may be this much longer than the longest true one


@dataclass(frozen=True)
class Tracked:
    """The result of tracking a movie.

    Parameters
    ----------
    lineage : Lineage
    counts : dict of str to int
        Events by kind.
    lost : float
        By how much the score of the best solution may be higher, where a time limit was reached; 0: it is the best.
    score : float
        Of all events.
    false : tuple of (frame, id)
        Detections that are no objects ("false" events); the lineage is without them.
    empty : tuple of int
        Frames without detections between the first and the last one that has some: pairs of frames link nothing there.
    """

    lineage: Lineage
    counts: dict[str, int]
    score: float
    lost: float
    false: tuple[tuple[int, int], ...] = ()
    empty: tuple[int, ...] = ()

    def headline(self) -> str:
        """Detections, tracks and events in a few words."""
        events = ", ".join(f"{n:,} {kind}" for kind, n in self.counts.items())
        return f"{len(self.lineage):,} detections, {len(self.lineage.tracks()):,} tracks ({events})"


@dataclass(frozen=True)
class Tracker:
    """Links the detections of movies to lineages.

    Made by :meth:`train`, :meth:`load` or :meth:`pretrained`.

    Parameters
    ----------
    model : SSVM or Perceptron
        Fitted on a :class:`~palmette.Tracking` structure.
    measurements : tuple of str
        What it uses of the features of detections; "boxes" are bounding boxes.
    window : int
        Frames that are explained together; 2: pairs of frames, one by one.
    repairs : tuple of Repair
        What the training movies had that events cannot express, and what was learnt instead.
    seconds : dict of str to float

    Examples
    --------
    >>> from palmette.datasets import make_cells
    >>> movie, other = (make_cells(n_cells=8, n_frames=6, random_state=seed) for seed in (0, 1))
    >>> tracker = Tracker.train([(movie.frames, movie.lineage)])
    >>> tracked = tracker.track(other.frames)
    >>> len(tracked.lineage) == sum(map(len, other.frames))
    True
    """

    model: Any
    measurements: tuple[str, ...]
    window: int = 2
    repairs: tuple[Repair, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)

    # -- training -----------------------------------------------------------------------------------------------

    @classmethod
    def train(
        cls,
        movies: Sequence[Movie],
        *,
        events: Sequence[Any] | None = None,
        max_distance: float | None = None,
        measurements: Sequence[str] | None = None,
        window: int = 2,
        complete: bool = True,
        learner: str = "ssvm",
        l2: float | None = None,
        l1: float | None = None,
        tune: str | int | None = None,
        dev: Sequence[Movie] = (),
        **options: Any,
    ) -> Tracker:
        """Learn from one or several movies.

        Parameters
        ----------
        movies : list of (frames, lineage)
            Frames are :class:`~palmette.Detections`; the lineage has the true links between them.
        events : sequence of str or EventKind, optional
            Kinds of events; by default "move", "divide", "appear", "disappear", in windows also "skip" and "false".
        max_distance : float, optional
            No link is longer; by default 1.25 times the longest true link.
        measurements : sequence of str, optional
            Features of detections to use; by default all that every frame has.
        window : int
            Frames that are explained together; 2: pairs of frames.
        complete : bool
            Whether the lineages are complete. If not, only what their links say is learnt from, and what is not linked
            is unknown (bridge loss).
        learner : {"ssvm", "perceptron"}
        l2, l1 : float, optional
            Penalties of the SSVM; ``l2=10`` by default.
        tune : "dev" or int, optional
            Choose ``l2`` by the F1 of events on the movies of `dev`, or on so many runs of successive frames.
        dev : list of (frames, lineage)
        **options
            Of the learner: ``solver``, ``tol``, ``max_iter``, ``n_jobs``, ``random_state``, ``callbacks``.

        Raises
        ------
        TrainingInterrupted
            After Ctrl-C, a KeyboardInterrupt whose ``application`` is the tracker with the best weights so far.
        """
        if learner not in ("ssvm", "perceptron"):
            raise ValueError(f"learner must be 'ssvm' or 'perceptron', got {learner!r}")
        if not isinstance(window, int) or window < 2:
            raise ValueError(f"window must be a whole number of at least 2 frames, got {window!r}")
        movies = [(list(frames), lineage) for frames, lineage in movies]
        if not movies or not any(len(frames) > 1 for frames, _ in movies):
            raise ValueError("there is nothing to learn from: give movies of at least two frames")
        check_truth(movies)
        if isinstance(measurements, str):
            raise TypeError(
                f"measurements must be a list of names, got {measurements!r}: write [{measurements!r}]"
            )
        kinds = events if events is not None else EVENTS if window == 2 else (*EVENTS, "skip", "false")
        named = {getattr(kind, "name", kind) for kind in kinds}
        if not {"appear", "disappear"} <= named:
            raise ValueError(
                f"events={list(kinds)}: 'appear' and 'disappear' are needed, since detections without a link must be "
                "explained, too"
            )
        known = shared_measurements(movies) if measurements is None else tuple(measurements)
        reach = MARGIN * longest_link(movies) if max_distance is None else max_distance
        structure = Tracking(kinds, max_distance=reach)
        X, Y, repairs = training_samples(movies, structure, known, window, complete)
        if not complete and all(each is UNKNOWN for codes in Y for each in codes):
            why = f": {repairs[0]}" if repairs else ""
            raise ValueError(
                f"none of the links can be learnt from{why}. Give links between successive frames"
            )
        model = _learner(structure, learner, complete, l2, l1, tune is not None, options)
        check_tuning(model, tune, bool(dev))
        check_folds(tune, len(X), "pairs of frames" if window == 2 else "windows")
        tracker = cls(model, known, window, tuple(repairs))
        with handing_over(tracker):
            if tune is None:
                model.fit(X, Y)
            else:
                _fit_tuned(model, X, Y, tune, training_samples(dev, structure, known, window, True)[:2])
        return replace(tracker, seconds=dict(model.fit_seconds_))

    # -- tracking -----------------------------------------------------------------------------------------------

    def track(
        self,
        movie: Iterable[Detections],
        *,
        pins: Pins | None = None,
        time_limit: float | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> Tracked:
        """The lineage of a movie. Only the frames of two windows are in memory at a time.

        Parameters
        ----------
        movie : iterable of Detections
            Frames in the order of time.
        pins : Pins, optional
            Links that are decided.
        time_limit : float, optional
            Seconds for all of the movie. When they are over, the rest is solved roughly, and ``lost`` of the result
            says by how much a better solution could be better.
        progress : function, optional
            Called with the number of frames that are done.
        """
        kinds = self.model.structure.kinds
        shared = min(shared_frames(kinds), self.window - 1)
        assembly, clock, lost, scores = Assembly(kinds), _Clock(time_limit), 0.0, EventScores(self.model)
        if pins is not None:
            pins.used.clear()
        own = (restricted(frame, self.measurements) for frame in movie)
        for window, is_last in _with_last(windows(own, self.window, shared)):
            first = assembly.enter(window)
            if len(window) > 1:
                candidates = self.model.structure.candidates(window)
                score = scores(candidates)
                found = _solved(score, candidates, assembly.taken(window, first), pins, clock)
                assembly.commit(
                    candidates, first, found.chosen, score, None if is_last else len(window) - shared
                )
                lost += found.lost
            if progress is not None:
                progress(assembly.n_frames)
        if pins is not None:
            pins.check_used()
        return Tracked(
            assembly.lineage(), assembly.counts, assembly.score, lost, assembly.false, assembly.empty
        )

    @property
    def kinds(self) -> tuple[str, ...]:
        """Names of the kinds of events."""
        return tuple(kind.name for kind in self.model.structure.kinds)

    def candidates(self, frames: Sequence[Detections]) -> Candidates:
        """Candidate events of a window of frames."""
        own = [restricted(frame, self.measurements) for frame in frames]
        return self.model.structure.candidates(own) if len(own) > 1 else Candidates(tuple(own), ())

    # -- files --------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tracker to one file; a file that was there is replaced when the new one is complete."""
        own = {"measurements": list(self.measurements), "window": self.window}
        self.model.save(path, extra={"task": "tracking", **own})

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, events: Sequence[Any] | None = None) -> Tracker:
        """Read a tracker; other model files are refused (`palmette.load` reads them).

        Files hold no code: if one of its kinds of events is an :class:`~palmette.structures.EventKind` of your own,
        give all `events` again, as in :meth:`train`.
        """
        from palmette.estimators import load

        own = {} if events is None else {"events": events}
        return cls.from_model(load(path, **own), os.fspath(path))

    @classmethod
    def from_model(cls, model: Any, source: str) -> Tracker:
        """Return the tracker whose model was loaded from the file `source`."""
        extra = getattr(model, "extra_", None)
        if not isinstance(extra, dict) or extra.get("task") != "tracking":
            raise ModelFileError(
                f"{source}: this {type(model).__name__} is not a tracker: neither 'palmette train --task tracking' nor "
                "Tracker.save wrote it; read it in Python with palmette.load"
            )
        try:
            window = check_whole("window", extra.get("window"), 2)
            names = [check_type("a measurement", each, str) for each in entry(extra, "measurements", list)]
            if not isinstance(model.structure, Tracking):
                raise ValueError(f"its structure is {type(model.structure).__name__}")
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"{source}: the tracker is damaged ({error})") from error
        return cls(model, tuple(names), window)

    @classmethod
    def pretrained(cls, measurements: Iterable[str]) -> Tracker:
        """The tracker of simulated cells that fits what is measured: position, area and intensity, or less.

        ``measurements`` are names, such as ``frame.features``.

        It serves to begin with: a tracker that is trained on a few links of your own movies is better.
        """
        from palmette.apps.tracking.pretrained import load_pretrained

        return load_pretrained({measurements} if isinstance(measurements, str) else set(measurements))


def _solved(
    score: np.ndarray, candidates: Candidates, taken: np.ndarray, pins: Pins | None, clock: _Clock
) -> Explanation:
    """Which events happen on the cells that are not taken; ``score`` becomes -inf where pins forbid an event."""
    allowed = None if pins is None else pins.allowed(candidates)
    if allowed is not None:
        score[~allowed] = -np.inf
    found = explain(score, candidates.layout, taken, clock.left())
    if found is None:
        numbers = [int(frame.frame) for frame in candidates.frames]
        raise ValueError(
            f"frames {numbers[0]} to {numbers[-1]}: no events explain every detection; pins may contradict each "
            "other, or 'appear' and 'disappear' are missing from the kinds of events"
        )
    return found


def _with_last(items: Iterable[Any]) -> Iterator[tuple[Any, bool]]:
    """Each item, and whether it is the last."""
    own = iter(items)
    for item in own:
        for later in own:
            yield item, False
            item = later
        yield item, True


class _Clock:
    """How much time is left."""

    def __init__(self, seconds: float | None) -> None:
        import time

        if seconds is not None and not seconds > 0.0:
            raise ValueError(f"time_limit must be above 0 seconds, got {seconds!r}")
        self._now, self._end = time.perf_counter, None if seconds is None else time.perf_counter() + seconds

    def left(self) -> float | None:
        """Seconds that are left, None if there is no limit."""
        return None if self._end is None else self._end - self._now()


def _fit_tuned(
    model: Any, X: list[Any], Y: list[Any], tune: str | int, dev: tuple[list[Any], list[Any]]
) -> None:
    """Fit with the penalty that does best on held-out movies, or on runs of successive frames."""
    encoded = model.encode(X)
    if tune == "dev":
        inputs = EncodedInputs(encoded.encoder.transform(dev[0]), encoded.encoder)
        fit_tuned(model, Part(encoded, Y, None), held=Part(inputs, dev[1], None))
    else:
        runs = np.arange(len(X)) * int(tune) // len(X)
        fit_tuned(model, Part(encoded, Y, None), n_folds=int(tune), groups=runs)


def _learner(
    structure: Tracking, learner: str, complete: bool, l2: Any, l1: Any, tuned: bool, options: dict[str, Any]
) -> Any:
    from palmette.estimators import SSVM, Perceptron

    given = {name: value for name, value in options.items() if value is not None}
    if learner == "perceptron":
        if l2 is not None or l1 is not None:
            raise ValueError("learner='perceptron' has no penalty; leave l2 and l1 out")
        return Perceptron(structure, **given)
    if l1 is not None:
        given["l1"] = l1
    if complete and l1 is None:
        given.setdefault("solver", "n_slack")
    return SSVM(
        structure,
        l2=None if tuned else L2 if l2 is None else l2,
        loss="hinge" if complete else "bridge",
        **{"tol": TOL, **given},
    )
