"""Takes the place of sklearn_crfsuite.utils."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any


def flatten(y: Iterable[Iterable[Any]]) -> list[Any]:
    """The labels of all sequences as one list.

    >>> flatten([["A", "B"], ["A"]])
    ['A', 'B', 'A']
    """
    return list(chain.from_iterable(y))
