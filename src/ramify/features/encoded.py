"""Inputs that are encoded already, so that models need not encode them again and again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ramify.data.batch import Batch
from ramify.features.base import Encoder


@dataclass(frozen=True, eq=False)
class EncodedInputs:
    """Samples as a model sees them; made by the ``encode`` of an estimator, taken by its ``fit`` and ``predict``.

    ``encoded[start:stop]`` are some of the samples, without a copy.

    Parameters
    ----------
    batch : Batch
    encoder : Encoder
        What made the batch; models with another encoder refuse it.

    Examples
    --------
    >>> from ramify import CRF, Chain
    >>> X, y = [[["the"], ["dog"]], [["a"], ["dog"]]], [["D", "N"], ["D", "N"]]
    >>> encoded = CRF(Chain()).encode(X)
    >>> [CRF(Chain(), l2=l2).fit(encoded, y).predict(encoded[:1]) for l2 in (0.1, 1.0)]
    [[['D', 'N']], [['D', 'N']]]
    """

    batch: Batch
    encoder: Encoder

    def __len__(self) -> int:
        return len(self.batch)

    def __getitem__(self, samples: slice) -> EncodedInputs:
        if not isinstance(samples, slice):
            raise TypeError(f"encoded inputs are cut by slices such as [10:20], got {samples!r}")
        start, stop, step = samples.indices(len(self))
        if step != 1:
            raise ValueError(f"encoded inputs are cut into runs of samples, got step {step}")
        return EncodedInputs(self.batch.slice(start, max(start, stop)), self.encoder)

    @property
    def lengths(self) -> np.ndarray:
        """Positions of each sample."""
        return self.batch.lengths

    def of(self, encoder: Encoder) -> Batch:
        """The batch, for a model with this encoder.

        Raises
        ------
        ValueError
            Another encoder made the batch, so its columns mean something else.
        """
        if encoder is not self.encoder:
            raise ValueError(
                f"X was encoded by another model ({self.encoder.n_columns} columns of {self.encoder.kind} features): "
                "encode it with the encode() of this one"
            )
        return self.batch
