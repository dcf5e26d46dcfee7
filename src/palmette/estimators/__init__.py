"""Estimators: a thin scikit-learn interface to structure, surrogate and solver."""

from palmette.estimators.combined import CombinedDecoder
from palmette.estimators.crf import CRF
from palmette.estimators.perceptron import Perceptron
from palmette.estimators.persistence import load
from palmette.estimators.regression_cv import SORRCV, SOSCCV
from palmette.estimators.settings import Encoding, KernelOptions, LossOptions
from palmette.estimators.sorr import SORR
from palmette.estimators.sosc import SOSC
from palmette.estimators.ssvm import SSVM
from palmette.estimators.tuned import CRFCV, SSVMCV

__all__ = [
    "CRF", "CRFCV", "SORR", "SORRCV", "SOSC", "SOSCCV", "SSVM", "SSVMCV", "CombinedDecoder", "Encoding",
    "KernelOptions", "LossOptions", "Perceptron", "load",
]  # fmt: skip
