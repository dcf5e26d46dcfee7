"""Which compiled loop serves a problem: one table, by solver and by what the structure is compiled as."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, ClassVar

ANY = "*"  # a loop that any structure may be served by: asked last

_TABLE: dict[tuple[str, str], str] = {}


class Loop:
    """One solver's loop on one problem. Its methods are a protocol of this package, named after what it does.

    Parameters
    ----------
    problem : Problem
    """

    compiled: ClassVar[bool] = False

    def __init__(self, problem: Any) -> None:
        self.problem = problem

    @classmethod
    def accepts(cls, problem: Any) -> bool:
        """Whether the loop serves this problem: the only place where its conditions are written."""
        return cls.why_not(problem) == ""

    @classmethod
    def why_not(cls, problem: Any) -> str | None:
        """What it cannot take of a problem, for messages; empty if it serves, None if it is for others altogether."""
        return ""


class CompiledLoop(Loop):
    """A loop that runs outside the interpreter."""

    compiled = True


def compiled_as(part: object) -> str | None:
    """What compiled loops may take a structure, scorer, surrogate or task loss for: ``compiled_as`` of its own class.

    A subclass may override anything, so it does not inherit the name; one that changes nothing that loops rely on
    declares it again.

    >>> class Plain: compiled_as = "plain"
    >>> class Other(Plain): pass
    >>> compiled_as(Plain()), compiled_as(Other())
    ('plain', None)
    """
    return vars(type(part)).get("compiled_as")


def register(solver: str, layout: str, target: str) -> None:
    """Enter the loop ``"module:attribute"`` for a solver and structures that are ``compiled_as`` this layout.

    Raises
    ------
    ValueError
        If another loop stands there.
    """
    there = _TABLE.setdefault((solver, layout), target)
    if there != target:
        raise ValueError(
            f"{solver!r} has the loop {there} for {layout!r} already: {target} needs another layout"
        )


def is_registered(solver: str, structure: object) -> bool:
    """Whether a loop of this solver stands in the table for a structure, whatever it takes of a problem."""
    return (solver, compiled_as(structure) or "") in _TABLE


def find(solver: str, problem: Any) -> Any:
    """The class of the loop that serves ``problem`` under a solver, or None: then the generic loop runs."""
    for layout in (compiled_as(getattr(problem, "structure", None)), ANY):
        target = _TABLE.get((solver, layout or ""))
        if target is not None and (loop := _loaded(target)).accepts(problem):
            return loop
    return None


def why_not(solver: str, problem: Any, otherwise: str) -> str:
    """What the loop of this layout cannot take of a problem, empty if it serves; ``otherwise`` where there is none."""
    for layout in (compiled_as(problem.structure), ANY):
        target = _TABLE.get((solver, layout or ""))
        reason = None if target is None else _loaded(target).why_not(problem)
        if reason is not None:
            return reason
    return otherwise


@cache
def _loaded(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)
