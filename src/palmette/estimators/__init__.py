"""Estimators: thin scikit-learn faces over structure, surrogate and solver."""

from palmette.estimators.combined import CombinedDecoder
from palmette.estimators.crf import CRF
from palmette.estimators.perceptron import Perceptron
from palmette.estimators.persistence import load
from palmette.estimators.plackett_luce import PlackettLuce
from palmette.estimators.ssvm import SSVM
from palmette.estimators.tuned import CRFCV, SSVMCV, PlackettLuceCV

__all__ = [
    "CRF", "CRFCV", "SSVM", "SSVMCV", "CombinedDecoder", "Perceptron", "PlackettLuce", "PlackettLuceCV", "load",
]  # fmt: skip
