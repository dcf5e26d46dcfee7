"""Kernels: inner products of inputs in implicit feature spaces.

``SSVM(Chain(), kernel=Polynomial(3))`` is a kernelised max-margin Markov network. Names mean what they mean in
scikit-learn: ``gamma="scale"`` is ``1 / (n_features * X.var())`` of the training rows.
"""

from __future__ import annotations

from palmette.kernels.base import Kernel, resolve_kernel
from palmette.kernels.definite import NotPositiveSemidefinite
from palmette.kernels.given import Custom, Precomputed, Transformed
from palmette.kernels.images import Blurred, Directions
from palmette.kernels.nystroem import Nystroem
from palmette.kernels.products import RBF, Linear, Polynomial

__all__ = [
    "RBF",
    "Blurred",
    "Custom",
    "Directions",
    "Kernel",
    "Linear",
    "NotPositiveSemidefinite",
    "Nystroem",
    "Polynomial",
    "Precomputed",
    "Transformed",
    "resolve_kernel",
]
