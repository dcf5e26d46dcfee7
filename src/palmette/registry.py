"""Kinds: what a model file may hold, by group and name.

A class says its kind once, by the decorator :func:`register`; a file names kinds, and never a module. So loading a
file imports nothing that the file chooses, and a class of the user's own is known once its module was imported.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import MappingProxyType, ModuleType
from typing import Any, TypeVar

# The groups, and where palmette's own classes of each live; modules are imported until the one looked for is there.
_HOMES = {
    "codec": ("palmette.data.labels", "palmette.structures"),
    "columns": ("palmette.features",),
    "encoder": ("palmette.features", "palmette.structures"),
    "kernel": ("palmette.kernels",),
    "learner": ("palmette.estimators", "palmette.structures", "palmette.supervision"),
    "loss": ("palmette.losses", "palmette.structures"),
    "output": ("palmette.outputs",),
    "regularizer": ("palmette.regularizers",),
    "scorer": ("palmette.structures", "palmette.objectives"),
    "settings": ("palmette.estimators",),
    "solver": ("palmette.solvers",),
    "structure": ("palmette.structures",),
}
_WITHOUT_KINDS = ("kernels", "loops")  # folders of structures that register nothing

_kinds: dict[str, dict[str, type]] = {group: {} for group in _HOMES}
_group_of: dict[type, tuple[str, str]] = {}

Class = TypeVar("Class", bound=type)


def register(group: str, kind: str | None = None) -> Callable[[Class], Class]:
    """Decorate a class that may stand in a model file.

    Parameters
    ----------
    group : str
        "codec", "columns" (makers of columns), "encoder", "kernel", "learner", "loss", "output", "regularizer",
        "scorer", "settings" (a group of parameters), "solver" or "structure".
    kind : str, optional
        Its name in files; that of the class by default.

    Examples
    --------
    >>> @register("structure")
    ... class Tree:
    ...     pass
    >>> find("structure", "Tree") is Tree, kind_of(Tree())
    (True, 'Tree')
    """
    if group not in _kinds:
        raise ValueError(f"group must be one of {', '.join(_HOMES)}, got {group!r}")

    def note(cls: Class) -> Class:
        name = cls.__name__ if kind is None else kind
        there = _kinds[group].get(name)
        if there is not None and (there.__module__, there.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ValueError(
                f"the {group} kind {name!r} is taken by {there.__module__}.{there.__qualname__}: choose another, "
                f"register({group!r}, kind=...)"
            )
        _kinds[group][name] = cls
        _group_of[cls] = group, name
        return cls

    return note


def find(group: str, kind: Any) -> type:
    """The class of a kind; ValueError if nothing of that name is registered."""
    if isinstance(kind, str) and any(kind in _kinds[group] for _ in _importing(group)):
        return _kinds[group][kind]
    article = "an" if group.startswith("e") else "a"
    raise ValueError(
        f"there is {article} {group} of the kind {kind!r:.60}, which is not registered: if it is your own, first "
        "import the module that registers it (palmette.register); if it is one of palmette's, upgrade palmette"
    )


def members(group: str) -> dict[str, type]:
    """All classes of a group by kind, palmette's own and those that users have registered."""
    _import_all(group)
    return dict(_kinds[group])


def is_registered(value: Any) -> bool:
    """Whether a model file can hold this object: its class itself is registered, not only a base of it."""
    return type(value) in _group_of


def group_of(value: Any) -> str:
    """The group in which the class of an object is registered."""
    return _entry(value)[0]


def kind_of(value: Any) -> str:
    """The kind of an object in model files."""
    return _entry(value)[1]


def stored(value: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of an object for a model file: those of its ``state()``, and its kind."""
    header, arrays = value.state()
    return {"kind": kind_of(value), **header}, arrays


def revive(
    group: str, header: Any, arrays: Mapping[str, Any], functions: Mapping[str, Any] = MappingProxyType({})
) -> Any:
    """The object of a group that a header describes, by ``from_state(header, arrays)`` of its kind.

    A class whose attribute ``functions`` names some is given those, too: files hold no code.
    """
    if not isinstance(header, Mapping):
        raise ValueError(f"the {group} of a model file must be an object, found {type(header).__name__}")
    made: Any = find(group, header.get("kind"))
    needed = {name: functions.get(name) for name in getattr(made, "functions", ())}
    return made.from_state(header, arrays, **needed)


def _entry(value: Any) -> tuple[str, str]:
    if not is_registered(value):
        name = type(value).__name__
        raise TypeError(
            f"a model file cannot hold a {name}, a class of your own: register it (palmette.register), or pickle the "
            "model"
        )
    return _group_of[type(value)]


def _importing(group: str) -> Iterator[None]:
    """Once before anything is imported, and again after each module that may register kinds of the group."""
    yield
    for name in _HOMES[group]:
        for _ in _modules(name):
            yield


@cache  # to look for modules in folders takes longer than a small fit
def _import_all(group: str) -> None:
    for _ in _importing(group):
        pass


def _modules(name: str) -> Iterator[ModuleType]:
    module = importlib.import_module(name)
    yield module
    for info in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{name}."):
        if info.name.rsplit(".", 1)[1] not in _WITHOUT_KINDS:
            yield from _modules(info.name)
