"""Inputs that are encoded already, so that models need not encode them again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.data.batch import Batch
from palmette.features.base import Encoder


@dataclass(frozen=True, eq=False)
class EncodedInputs:
    """Samples as a model sees them; made by the ``encode`` of an estimator, taken by its ``fit`` and ``predict``.

    ``encoded[start:stop]`` are some of the samples, without a copy; an index, an array of them or a mask selects
    samples too. So scikit-learn's cross-validation and searches take encoded inputs.

    Parameters
    ----------
    batch : Batch
    encoder : Encoder
        What made the batch; models whose encoder has other columns refuse it.

    Examples
    --------
    >>> from palmette import CRF, Chain
    >>> X, y = [[["the"], ["dog"]], [["a"], ["dog"]]], [["D", "N"], ["D", "N"]]
    >>> encoded = CRF(Chain()).encode(X)
    >>> [CRF(Chain(), l2=l2).fit(encoded, y).predict(encoded[:1]) for l2 in (0.1, 1.0)]
    [[['D', 'N']], [['D', 'N']]]
    >>> len(encoded[[1, 0, 1]]), len(encoded[-1])
    (3, 1)
    """

    batch: Batch
    encoder: Encoder

    def __len__(self) -> int:
        return len(self.batch)

    def __getitem__(self, samples: Any) -> EncodedInputs:
        if isinstance(samples, tuple) and len(samples) == 2 and samples[1] is ...:
            samples = samples[0]  # so does scikit-learn ask for rows of whatever has a shape
        if isinstance(samples, slice) and samples.step in (None, 1):
            start, stop, _ = samples.indices(len(self))
            return EncodedInputs(self.batch.slice(start, max(start, stop)), self.encoder)
        return EncodedInputs(self.batch.take(self._numbers(samples)), self.encoder)

    def _numbers(self, samples: Any) -> np.ndarray:
        """Numbers of the samples that an index, a slice, an array of indices or a mask selects."""
        if isinstance(samples, slice):
            return np.arange(len(self))[samples]
        chosen = np.asarray(samples)
        if chosen.dtype == bool and chosen.shape == (len(self),):
            return np.flatnonzero(chosen)
        if not chosen.size and chosen.ndim == 1:
            return np.empty(0, np.int64)
        if chosen.dtype.kind not in "iu" or chosen.ndim > 1:
            raise TypeError(
                f"encoded inputs are selected by an index, a slice, an array of indices or a mask of {len(self)} "
                f"samples, got {samples!r:.60}"
            )
        chosen = np.atleast_1d(chosen).astype(np.int64)
        outside = chosen[(chosen < -len(self)) | (chosen >= len(self))]
        if len(outside):
            raise IndexError(f"there is no sample {outside[0]}: {len(self)} samples are encoded")
        return chosen % len(self)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of samples and of columns."""
        return len(self), self.batch.n_columns

    @property
    def lengths(self) -> np.ndarray:
        """Positions of each sample."""
        return self.batch.lengths

    def of(self, encoder: Encoder) -> Batch:
        """The batch, for a model with this encoder.

        Raises
        ------
        ValueError
            The columns of the batch mean something else there, or the batch is broken.
        """
        if not self.encoder.same_columns(encoder):
            raise ValueError(
                f"X was encoded by another model ({self.encoder.n_columns} columns of {self.encoder.kind} features): "
                "encode it with the encode() of this one"
            )
        return self.checked().batch

    def checked(self) -> EncodedInputs:
        """These inputs, after a look at every index: anybody can make a batch, and compiled loops trust it."""
        try:
            self.encoder.check(self.batch)
        except ValueError as error:
            raise ValueError(
                f"X holds a broken batch: {error}; make it with the encode() of a model"
            ) from error
        return self
