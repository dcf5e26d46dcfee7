"""Estimators: thin scikit-learn faces over structure, surrogate and solver."""

from palmette.estimators.combined import CombinedDecoder
from palmette.estimators.crf import CRF
from palmette.estimators.perceptron import Perceptron
from palmette.estimators.persistence import load
from palmette.estimators.plackett_luce import PlackettLuce
from palmette.estimators.ssvm import SSVM

__all__ = ["CRF", "SSVM", "CombinedDecoder", "Perceptron", "PlackettLuce", "load"]
