"""Kernels: inner products of inputs in feature spaces that are never written down.

``SSVM(Chain(), kernel=Polynomial(3))`` is a kernelised max-margin Markov network. Names mean what they mean in
scikit-learn: ``gamma="scale"`` is ``1 / (n_features * X.var())`` of the training rows.
"""

from __future__ import annotations

from ramify.kernels.base import Kernel, resolve_kernel
from ramify.kernels.definite import NotPositiveSemidefinite
from ramify.kernels.given import Custom, Precomputed, Transformed
from ramify.kernels.images import Blurred, Directions
from ramify.kernels.nystroem import Nystroem
from ramify.kernels.products import RBF, Linear, Polynomial

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
