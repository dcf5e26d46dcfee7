"""Training problems of one structure that are problems of a simpler one, with the same weights in the same places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

REDUCTIONS: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {}
"""By the full name of a structure's class: training data and scorer of the simpler structure, or those given.

Who knows both structures registers here; the structures do not know each other.
"""
