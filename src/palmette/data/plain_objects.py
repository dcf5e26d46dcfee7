"""Objects of users as JSON values, and back with the same types: texts, numbers, truth values, None, lists, tuples."""

from __future__ import annotations

from typing import Any


def to_json(value: Any, whole: Any = None) -> Any:
    """A plain object as a JSON value; ``whole`` is what messages name if a part of it cannot be stored.

    >>> to_json(("a", [1, None]))
    {'tuple': ['a', {'list': [1, None]}]}
    """
    whole = value if whole is None else whole
    if value is None or type(value) in (str, int, float, bool):
        return value
    for kind in (tuple, list):
        if type(value) is kind:
            return {kind.__name__: [to_json(part, whole) for part in value]}
    raise TypeError(
        f"the label {whole!r} cannot be saved: a model file keeps labels of type str, int, float, bool, None "
        f"and tuples of these, not {type(value).__name__}"
    )


def from_json(value: Any) -> Any:
    """Inverse of :func:`to_json`; anything else raises ValueError."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    for kind in (tuple, list):
        if isinstance(value, dict) and list(value) == [kind.__name__]:
            parts = value[kind.__name__]
            if isinstance(parts, list):
                return kind(map(from_json, parts))
    raise ValueError(f"{value!r:.60} stands for no label")
