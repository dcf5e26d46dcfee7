"""What long work is at: it names its stages, and who has started it may listen. Nothing is told where nobody does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol


class Listener(Protocol):
    """Who is told, such as the progress display of the command line."""

    def part(self, text: str) -> None:
        """A part of the work begins; an empty text: the last one is over."""

    def __call__(self, step: Any) -> object:
        """A solver has taken a step."""


class _Place(NamedTuple):
    listener: Listener
    names: tuple[str, ...]

    def tell(self) -> None:
        self.listener.part(": ".join(self.names))


_place: ContextVar[_Place | None] = ContextVar("place in the work", default=None)


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Within this context ``listener`` is told the stages of the work of this thread."""
    before = _place.set(_Place(listener, ()))
    try:
        yield
    finally:
        _place.reset(before)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Name what the body of a ``with`` statement does; stages may be parts of others, and one without a name is none.

    >>> class Heard(list):
    ...     part = list.append
    >>> heard = Heard()
    >>> with heard_by(heard), stage("word clusters"), stage("64 of them"):
    ...     pass
    >>> heard
    ['word clusters', 'word clusters: 64 of them', 'word clusters', '']
    """
    outer = _place.get()
    if outer is None or not name:
        yield
        return
    inner = _Place(outer.listener, (*outer.names, name))
    before = _place.set(inner)
    inner.tell()
    try:
        yield
    finally:
        _place.reset(before)
        outer.tell()


def step_callbacks() -> list[Any]:
    """Callbacks that tell the listener the steps of a solver; none if nobody listens."""
    place = _place.get()
    return [] if place is None else [place.listener]
