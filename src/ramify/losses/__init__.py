"""Task losses: what a mistake costs."""

from ramify.losses.base import BoundLoss, TaskLoss, resolve_loss
from ramify.losses.hamming import Hamming
from ramify.losses.ranking import NDCG, MeanAveragePrecision, Pairwise, PrecisionAt
from ramify.losses.rescaling import Rescaling, rescaled_best, resolve_rescaling
from ramify.losses.zero_one import ZeroOne

__all__ = [
    "NDCG",
    "BoundLoss",
    "Hamming",
    "MeanAveragePrecision",
    "Pairwise",
    "PrecisionAt",
    "Rescaling",
    "TaskLoss",
    "ZeroOne",
    "rescaled_best",
    "resolve_loss",
    "resolve_rescaling",
]
