"""How long the feature vectors of the parts of outputs are: what generalisation bounds ask of inputs."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np


def part_norms(scorer: Any, batch: Any) -> Any:
    """The norm of the features of every part, in the shape of potentials.

    For scorers where a weight occurs at most once in a part: squared features at weights of 1 are squared norms. Parts
    without weights, and those that are forbidden, stay as they are, 0 and -inf.
    """
    return roots(scorer.score(np.ones(scorer.n_params), batch.squared()))


def roots(theta: Any) -> Any:
    """Potentials with the roots of all numbers that are not forbidden (-inf)."""
    return replace(theta, **{own.name: _root(getattr(theta, own.name)) for own in fields(theta)})


def _root(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_root, value))
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return np.sqrt(value, where=value > 0.0, out=value.copy())
    return value
