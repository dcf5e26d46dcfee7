"""Training samples: encoded inputs with their true outputs and weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.data.batch import Batch
from palmette.data.ragged import gather


class Samples(NamedTuple):
    """Encoded training samples.

    Parameters
    ----------
    batch : Batch
    codes : ndarray of int32, shape (n_codes,)
        True outputs of all samples, one after the other.
    weight : ndarray of float64, shape (n_samples,)
    offsets : ndarray of int64, shape (n_samples + 1,), optional
        Sample ``i`` owns the codes ``offsets[i]:offsets[i + 1]``. None: an output has one code per row of its sample.
    """

    batch: Batch
    codes: np.ndarray
    weight: np.ndarray
    offsets: np.ndarray | None = None

    @property
    def code_offsets(self) -> np.ndarray:
        """Where the codes of each sample start and stop."""
        return self.batch.offsets if self.offsets is None else self.offsets

    def take(self, samples: np.ndarray) -> Samples:
        """Copies of the samples of these numbers, in their order."""
        places, offsets = gather(self.code_offsets, samples)
        own = None if self.offsets is None else offsets
        return Samples(self.batch.take(samples), self.codes[places], self.weight[samples], own)

    def slice(self, start: int, stop: int) -> Samples:
        """Samples ``start:stop`` as views."""
        own = self.code_offsets[start : stop + 1]
        offsets = None if self.offsets is None else own - own[0]
        codes, weight = self.codes[own[0] : own[-1]], self.weight[start:stop]
        return Samples(self.batch.slice(start, stop), codes, weight, offsets)
