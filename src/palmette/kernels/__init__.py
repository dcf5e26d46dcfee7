"""Kernels: inner products of inputs in implicit feature spaces.

``SSVM(Chain(), kernel=Polynomial(3))`` is a kernelised max-margin Markov network. Names mean what they mean in
scikit-learn: ``gamma="scale"`` is ``1 / (n_features * X.var())`` of the training rows. Kernels of rows compare the rows
of tables; kernels of objects (``NGram``, ``Dirac``, ``Hamming``, ``CommonPath``) strings, sequences, labels and paths.
"""

from __future__ import annotations

from palmette.kernels.base import Kernel, resolve_kernel
from palmette.kernels.combined import Power, Product, Scaled, Sum
from palmette.kernels.definite import NotPositiveSemidefinite
from palmette.kernels.given import Custom, Precomputed, Transformed
from palmette.kernels.images import Blurred, Directions
from palmette.kernels.labels import Dirac, Hamming
from palmette.kernels.ngrams import NGram
from palmette.kernels.nystroem import Nystroem
from palmette.kernels.paths import CommonPath
from palmette.kernels.products import RBF, Linear, Polynomial
from palmette.kernels.sequences import Joined

__all__ = [
    "RBF",
    "Blurred",
    "CommonPath",
    "Custom",
    "Dirac",
    "Directions",
    "Hamming",
    "Joined",
    "Kernel",
    "Linear",
    "NGram",
    "NotPositiveSemidefinite",
    "Nystroem",
    "Polynomial",
    "Power",
    "Precomputed",
    "Product",
    "Scaled",
    "Sum",
    "Transformed",
    "resolve_kernel",
]
