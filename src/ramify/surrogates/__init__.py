"""Surrogates: what is minimised in place of the task loss.

Each is ``A(theta) - f(y)`` with another inference answer A: the log-partition, the augmented maximum, or the
maximum; :class:`Difference` is one of them minus another, and :class:`PlackettLuceLoss`, a likelihood of rankings,
needs none. Value and gradient with respect to the potentials follow, and are all that the rest of ramify sees.
"""

from ramify.surrogates.base import Surrogate
from ramify.surrogates.difference import Difference
from ramify.surrogates.hinge import Hinge
from ramify.surrogates.log import LogLoss
from ramify.surrogates.perceptron import PerceptronLoss
from ramify.surrogates.plackett_luce import PlackettLuceLoss
from ramify.surrogates.ramp import ramp_loss
from ramify.surrogates.rescaled import RescaledHinge, RescaledPerceptron
from ramify.surrogates.soft_hinge import SoftHinge
from ramify.surrogates.ties import TiedPerceptronLoss, TieLoss

__all__ = [
    "Difference",
    "Hinge",
    "LogLoss",
    "PerceptronLoss",
    "PlackettLuceLoss",
    "RescaledHinge",
    "RescaledPerceptron",
    "SoftHinge",
    "Surrogate",
    "TieLoss",
    "TiedPerceptronLoss",
    "ramp_loss",
]
