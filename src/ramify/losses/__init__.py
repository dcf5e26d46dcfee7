"""Task losses: what a mistake costs."""

from ramify.losses.base import BoundLoss, TaskLoss, resolve_loss
from ramify.losses.hamming import Hamming
from ramify.losses.zero_one import ZeroOne

__all__ = ["BoundLoss", "Hamming", "TaskLoss", "ZeroOne", "resolve_loss"]
