"""Task losses: what a mistake costs."""

from palmette.losses.base import BoundLoss, TaskLoss, resolve_loss
from palmette.losses.hamming import Hamming
from palmette.losses.ranking import NDCG, MeanAveragePrecision, Pairwise, PrecisionAt
from palmette.losses.rescaling import Rescaling, rescaled_best, resolve_rescaling
from palmette.losses.zero_one import ZeroOne

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
