"""Which compiled loop serves a problem: one table, by solver and by what the structure is compiled as."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Protocol

ANY = "*"  # a loop that any structure may be served by: asked last

_TABLE: dict[tuple[str, str], str] = {}


class Loop(Protocol):
    """What every entry of the table is: a class whose objects run one solver's loop on one problem.

    The protocols of its methods stand beside the generic loops: ``loops.block_state.Blocks``,
    ``loops.stochastic_pass.Pass``, ``loops.online_pass.OnlineLoop``, ``loops.pegasos_epoch.Stretches``,
    ``loops.kernel_visits.Visits``.
    """

    def __init__(self, problem: Any) -> None: ...

    compiled: bool  # False: it runs in Python, for a structure whose answers need a loop of their own

    @staticmethod
    def accepts(problem: Any) -> bool:
        """Whether the loop serves this problem: the only place where its conditions are written."""


def kind_of(part: object) -> str | None:
    """What compiled loops may take a structure, scorer, surrogate or task loss for: ``compiled_as`` of its own class.

    A subclass may override anything, so it does not inherit the name; one that changes nothing that loops rely on
    declares it again.

    >>> class Plain: compiled_as = "plain"
    >>> class Other(Plain): pass
    >>> kind_of(Plain()), kind_of(Other())
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


def find(solver: str, problem: Any) -> Any:
    """The class of the loop that serves ``problem`` under a solver, or None: then the generic loop runs."""
    for layout in (kind_of(getattr(problem, "structure", None)), ANY):
        target = _TABLE.get((solver, layout or ""))
        if target is not None and (loop := _loaded(target)).accepts(problem):
            return loop
    return None


def why_not(solver: str, problem: Any, otherwise: str) -> str:
    """What the loop of this layout cannot take of a problem, empty if it serves; ``otherwise`` without a loop."""
    target = _TABLE.get((solver, kind_of(problem.structure) or ""))
    return otherwise if target is None else _loaded(target).why_not(problem)


@cache
def _loaded(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)
