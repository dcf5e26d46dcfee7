"""Estimators: thin scikit-learn faces over structure, surrogate and solver."""

from ramify.estimators.combined import CombinedDecoder
from ramify.estimators.crf import CRF
from ramify.estimators.perceptron import Perceptron
from ramify.estimators.persistence import load
from ramify.estimators.plackett_luce import PlackettLuce
from ramify.estimators.ssvm import SSVM

__all__ = ["CRF", "SSVM", "CombinedDecoder", "Perceptron", "PlackettLuce", "load"]
