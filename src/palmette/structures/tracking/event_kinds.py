"""Kinds of events: which detections they explain, where they are proposed, and what is measured of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.structures.tracking import event_features as features
from palmette.structures.tracking.pair import Pair

Places = tuple[np.ndarray, np.ndarray]  # of detections before (n, n_before) and after (n, n_after)


@dataclass(frozen=True)
class EventKind:
    """A kind of events.

    Parameters
    ----------
    name : str
    n_before, n_after : int
        How many detections of the earlier and of the later frame it explains; at least one in all.
    propose : function
        ``propose(pair) -> (before, after)``: places of detections, int arrays of shapes (n, n_before) and (n, n_after).
    measure : function
        ``measure(pair, before, after) -> {name: values}``: features of these events, arrays of shape (n,).
    span : int
        How many frames the later one is after the earlier one. 0: both are the same frame, within a window.

    Examples
    --------
    A kind for cells that die and leave debris nearby, proposed like a move:

    >>> def near(pair):
    ...     return pair.before[:, None], pair.after[:, None]
    >>> def distance(pair, before, after):
    ...     return {"distance": pair.apart(pair.a.position[before[:, 0]], pair.b.position[after[:, 0]])}
    >>> EventKind("debris", 1, 1, near, distance).name
    'debris'
    """

    name: str
    n_before: int
    n_after: int
    propose: Callable[[Pair], Places]
    measure: Callable[[Pair, np.ndarray, np.ndarray], features.Named]
    span: int = 1

    savable = False  # it is made of functions, and model files hold no code

    def __post_init__(self) -> None:
        if self.n_before < 0 or self.n_after < 0 or self.n_before + self.n_after < 1 or self.span < 0:
            raise ValueError(
                f"EventKind {self.name!r}: n_before={self.n_before}, n_after={self.n_after}, span={self.span}: an "
                "event explains at least one detection and goes forward in time"
            )


def _none(n: int) -> np.ndarray:
    return np.empty((n, 0), np.int64)


def _links(pair: Pair) -> Places:
    return pair.before[:, None], pair.after[:, None]


def _link_features(pair: Pair, before: np.ndarray, after: np.ndarray) -> features.Named:
    return features.of_link(pair, before[:, 0], after[:, 0])


def _late(pair: Pair) -> Places:
    return _none(len(pair.b)), np.arange(len(pair.b))[:, None]


def _early(pair: Pair) -> Places:
    return np.arange(len(pair.a))[:, None], _none(len(pair.a))


def _two_after(pair: Pair) -> Places:
    single, two = pair.pairs_after()
    return single[:, None], two


def _two_before(pair: Pair) -> Places:
    single, two = pair.pairs_before()
    return two, single[:, None]


def _same(pair: Pair) -> Places:
    own = np.arange(len(pair.a))[:, None]
    return own, own


def _parting_features(pair: Pair, before: np.ndarray, after: np.ndarray) -> features.Named:
    return features.of_three(pair, before[:, 0], after, True)


def _joining_features(pair: Pair, before: np.ndarray, after: np.ndarray) -> features.Named:
    return features.of_three(pair, after[:, 0], before, False)


def _late_features(pair: Pair, before: np.ndarray, after: np.ndarray) -> features.Named:
    return features.of_one(pair, after[:, 0], True)


def _early_features(pair: Pair, before: np.ndarray, after: np.ndarray) -> features.Named:
    return features.of_one(pair, before[:, 0], False)


KINDS = {
    kind.name: kind
    for kind in (
        EventKind("move", 1, 1, _links, _link_features),
        EventKind("divide", 1, 2, _two_after, _parting_features),
        EventKind("appear", 0, 1, _late, _late_features),
        EventKind("disappear", 1, 0, _early, _early_features),
        EventKind("split", 1, 2, _two_after, _parting_features),
        EventKind("merge", 2, 1, _two_before, _joining_features),
        EventKind("skip", 1, 1, _links, _link_features, span=2),
        EventKind("false", 1, 1, _same, _early_features, span=0),
    )
}
"""The kinds that are known by name."""


def event_kinds(events: Sequence[Any]) -> tuple[EventKind, ...]:
    """Kinds by name or as they are; names must differ.

    >>> [kind.n_after for kind in event_kinds(["move", "divide"])]
    [1, 2]
    """
    if isinstance(events, str) or not hasattr(events, "__iter__"):
        raise TypeError(f"Tracking: events must be a list of kinds, got {events!r}")
    found = []
    for event in events:
        if isinstance(event, EventKind):
            found.append(event)
        elif event in KINDS:
            found.append(KINDS[event])
        else:
            raise ValueError(
                f"Tracking: events has {event!r}; known are {', '.join(KINDS)}, or give an EventKind"
            )
    names = [kind.name for kind in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"Tracking: events has {name!r} twice")
    return tuple(found)
