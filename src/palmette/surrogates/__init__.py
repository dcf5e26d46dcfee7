"""Surrogates: losses minimised instead of the task loss.

Each is ``A(theta) - f(y)`` with another inference answer A: the log-partition, the augmented maximum, or the
maximum; :class:`Difference` is one of them minus another. Value and gradient with respect to the potentials follow,
and are all that the rest of palmette sees.
"""

from palmette.surrogates.base import Surrogate
from palmette.surrogates.difference import Difference
from palmette.surrogates.hinge import Hinge
from palmette.surrogates.log import LogLoss
from palmette.surrogates.partial import (
    AgreeingMaximum,
    AnnotatedHinge,
    AnnotatedSoftHinge,
    IgnoringBridge,
    MarginalLogLoss,
    PartialPerceptronLoss,
    bridge_loss,
)
from palmette.surrogates.perceptron import PerceptronLoss
from palmette.surrogates.ramp import ramp_loss
from palmette.surrogates.rescaled import RescaledHinge, RescaledPerceptron
from palmette.surrogates.soft_hinge import SoftHinge
from palmette.surrogates.ties import TiedPerceptronLoss, TieLoss

__all__ = [
    "AgreeingMaximum", "AnnotatedHinge", "AnnotatedSoftHinge", "Difference", "Hinge", "IgnoringBridge", "LogLoss",
    "MarginalLogLoss", "PartialPerceptronLoss", "PerceptronLoss", "RescaledHinge", "RescaledPerceptron", "SoftHinge",
    "Surrogate", "TieLoss", "TiedPerceptronLoss", "bridge_loss", "ramp_loss",
]  # fmt: skip
