"""What a dict or a list of strings means: a set of named attributes with values.

================================  ==========================================
a position                        its attributes
================================  ==========================================
``["the", "cap"]``                ``the`` = 1, ``cap`` = 1
``{"w": "the"}``                  ``w:the`` = 1
``{"cap": True, "num": False}``   ``cap`` = 1 (a value of 0 is no attribute)
``{"n": 2.5}``                    ``n`` = 2.5
``{"pos": {"cap": True}}``        ``pos:cap`` = 1
``{"tags": ["x", "y"]}``          ``tags:x`` = 1, ``tags:y`` = 1
================================  ==========================================

These are the names that python-crfsuite makes, so its users keep their feature functions. Bytes are UTF-8.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from numbers import Real
from typing import Any

import numpy as np

COLLECTIONS = (list, tuple, set, frozenset)
SCALARS = (float, int, Real, np.bool_)


def attributes(position: Any) -> list[tuple[str, float]]:
    """Names and values of the attributes of one position.

    Raises TypeError or ValueError with a message that names the attribute.

    >>> attributes({"w": "the", "n": 2.5, "next": {"w": "cat"}})
    [('w:the', 1.0), ('n', 2.5), ('next:w:cat', 1.0)]
    """
    if isinstance(position, Mapping):
        found: list[tuple[str, float]] = []
        _add_mapping(found, "", position)
        return found
    if isinstance(position, COLLECTIONS):
        return [(name, 1.0) for name in names_in_order(position)]
    raise TypeError(f"expected a dict or a list of strings, found {describe(position)}")


def _add_mapping(found: list[tuple[str, float]], prefix: str, mapping: Mapping[str, Any]) -> None:
    for key, value in mapping.items():
        name = prefix + attribute_name(key)
        if isinstance(value, (str, bytes)):
            found.append((f"{name}:{attribute_name(value)}", 1.0))
        elif isinstance(value, COLLECTIONS):
            found += [(f"{name}:{item}", 1.0) for item in names_in_order(value, name)]
        elif isinstance(value, SCALARS):
            try:
                found.append((name, float(value)))
            except OverflowError:
                raise ValueError(f"attribute {name!r} is {value!r:.60}, too large for a float") from None
        elif isinstance(value, Mapping):
            _add_mapping(found, f"{name}:", value)
        else:
            raise TypeError(
                f"attribute {name!r} has the value {describe(value)}; "
                "values are strings, numbers, booleans, dicts, or lists of strings"
            )


def names_in_order(names: Collection[Any], owner: str | None = None) -> list[str]:
    """The names as plain strings; those of a set sorted, for its own order changes from run to run."""
    try:
        plain = [attribute_name(name) for name in names]
    except TypeError as error:
        raise error if owner is None else TypeError(f"attribute {owner!r}: {error}") from None
    return sorted(plain) if isinstance(names, (set, frozenset)) else plain


def attribute_name(name: Any) -> str:
    """`name` as a plain string, also where it is of a subclass of str."""
    if type(name) is str:
        return name
    if isinstance(name, str):
        return str.__str__(name)
    if isinstance(name, bytes):
        return name.decode("utf-8")
    raise TypeError(f"attribute names are strings, found {describe(name)}")


def describe(value: Any) -> str:
    """A value for messages: its type and the start of its representation."""
    return f"{type(value).__name__} {value!r:.60}"
