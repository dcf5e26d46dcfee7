"""What is asked for a batch, the rescaled maximum of every sample, and the answer to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from palmette.contracts.structure import Structure
from palmette.data.ragged import gather


class RescaledBest(NamedTuple):
    """Rescaled maxima of a batch: outputs, their values and losses, and proven upper bounds of the maxima."""

    codes: np.ndarray
    values: np.ndarray  # (n_samples,), at least 0: the value of the truth
    losses: np.ndarray  # (n_samples,): D(y, codes)
    upper: np.ndarray  # (n_samples,), equal to the values where the search is exact


@dataclass(frozen=True)
class Question:
    """``max_y' G(D) (f(y') - f(y)) + margin D`` with ``D = D(y, y')`` for every sample of a batch."""

    task_loss: Any
    structure: Structure
    theta: Any
    true: np.ndarray
    truth: np.ndarray  # (n_samples,): f(y)
    rescaling: Any
    margin: bool

    def __len__(self) -> int:
        return len(self.theta)

    @property
    def offsets(self) -> np.ndarray:
        """Where the codes of each sample start and stop."""
        return self.structure.output_offsets(self.theta)

    def take(self, samples: np.ndarray) -> Question:
        """The same for the samples of these numbers; a sample may be taken more than once."""
        rows = gather(self.offsets, samples)[0]
        return Question(
            self.task_loss, self.structure, self.theta.take(samples), self.true[rows], self.truth[samples],
            self.rescaling, self.margin,
        )  # fmt: skip

    def place(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Losses ``D`` and gaps ``f(y') - f(y)`` of one output of each sample."""
        losses = self.task_loss.value(self.structure, self.theta, self.true, codes)
        return losses, self.structure.score(self.theta, codes) - self.truth

    def worth(self, losses: np.ndarray, gaps: np.ndarray) -> np.ndarray:
        """What outputs with these losses and gaps are worth."""
        return self.rescaling.gamma(losses) * gaps + self.margin * losses

    def note(
        self, best: RescaledBest, samples: np.ndarray, codes: np.ndarray, losses: Any, values: Any
    ) -> None:
        """Put outputs of some samples into the answer."""
        best.codes[gather(self.offsets, samples)[0]] = codes
        best.values[samples], best.losses[samples] = values, losses
