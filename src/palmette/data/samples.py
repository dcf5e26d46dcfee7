"""Training samples: encoded inputs with their true outputs and weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from palmette.data.annotation import Annotation, AnnotationCounts, Known, counts_of
from palmette.data.batch import Batch
from palmette.data.ragged import gather


class Partly(NamedTuple):
    """Outputs of which only some parts are annotated.

    Where losses subtract the score of the truth, any output that agrees with the annotation will do: it cancels out.
    """

    codes: np.ndarray  # whole outputs that agree with the annotation
    annotation: Annotation


def told(truth: Any) -> tuple[Any, np.ndarray]:
    """What is annotated, and whole outputs that agree with it; of complete annotation both are the codes."""
    return (truth.annotation.plain, truth.codes) if isinstance(truth, Partly) else (truth, truth)


class Samples(NamedTuple):
    """Encoded training samples.

    Parameters
    ----------
    batch : Batch
    codes : ndarray of int32, shape (n_codes,)
        True outputs of all samples, one after the other; where annotation is partial, outputs that agree with it.
    weight : ndarray of float64, shape (n_samples,)
    offsets : ndarray of int64, shape (n_samples + 1,), optional
        Sample ``i`` owns the codes ``offsets[i]:offsets[i + 1]``. None: an output has one code per row of its sample.
    annotation : Annotation, optional
        What is known of the outputs. None: everything.
    """

    batch: Batch
    codes: np.ndarray
    weight: np.ndarray
    offsets: np.ndarray | None = None
    annotation: Annotation | None = None

    @property
    def truth(self) -> np.ndarray | Partly:
        """What losses compare outputs with."""
        return self.codes if self.annotation is None else Partly(self.codes, self.annotation)

    @property
    def known(self) -> Known:
        """What is annotated."""
        return self.codes if self.annotation is None else self.annotation.plain

    @property
    def counts(self) -> AnnotationCounts:
        """How much is annotated."""
        if self.annotation is None:
            return AnnotationCounts(len(self.codes), 0, 0, len(self.weight), 0)
        return counts_of(self.annotation, self.code_offsets)

    @property
    def code_offsets(self) -> np.ndarray:
        """Where the codes of each sample start and stop."""
        return self.batch.offsets if self.offsets is None else self.offsets

    def take(self, samples: np.ndarray) -> Samples:
        """Copies of the samples of these numbers, in their order."""
        places, offsets = gather(self.code_offsets, samples)
        own = None if self.offsets is None else offsets
        annotation = None if self.annotation is None else self.annotation[places]
        return Samples(self.batch.take(samples), self.codes[places], self.weight[samples], own, annotation)

    def slice(self, start: int, stop: int) -> Samples:
        """Samples ``start:stop`` as views."""
        own = self.code_offsets[start : stop + 1]
        offsets = None if self.offsets is None else own - own[0]
        codes, weight = self.codes[own[0] : own[-1]], self.weight[start:stop]
        annotation = None if self.annotation is None else self.annotation[own[0] : own[-1]]
        return Samples(self.batch.slice(start, stop), codes, weight, offsets, annotation)
