"""Task losses: what a mistake costs."""

from typing import Any

from palmette.losses.base import BoundLoss, TaskLoss, resolve_loss
from palmette.losses.hamming import Hamming
from palmette.losses.rescaling import Rescaling, rescaled_best, resolve_rescaling
from palmette.losses.zero_one import ZeroOne
from palmette.registry import find

__all__ = [
    "BoundLoss", "Hamming", "Rescaling", "TaskLoss", "ZeroOne", "rescaled_best", "resolve_loss", "resolve_rescaling",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Losses of one structure, which live with it and are found by their kind."""
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return find("loss", name)
    except ValueError:
        raise AttributeError(f"module 'palmette.losses' has no attribute {name!r}") from None
