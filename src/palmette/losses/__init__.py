"""Task losses: what a mistake costs."""

from typing import Any

from palmette.losses.base import BoundLoss, TaskLoss, resolve_loss
from palmette.losses.hamming import Hamming
from palmette.losses.rescaling import Rescaling, rescaled_best, resolve_rescaling
from palmette.losses.zero_one import ZeroOne

__all__ = [
    "BoundLoss",
    "Hamming",
    "Rescaling",
    "TaskLoss",
    "ZeroOne",
    "rescaled_best",
    "resolve_loss",
    "resolve_rescaling",
]


def __getattr__(name: str) -> Any:
    """Losses of one structure, which live with it."""
    import palmette.structures

    if name in palmette.structures.LOSSES:
        return getattr(palmette.structures, name)
    raise AttributeError(f"module 'palmette.losses' has no attribute {name!r}")
