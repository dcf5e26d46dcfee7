"""Measures by probabilities of labels and outputs; they need sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.data.ragged import gather
from palmette.errors import MissingCapability
from palmette.supervision.measures import Strategy, strategy, within

if TYPE_CHECKING:
    from palmette.contracts.structure import Structure


@strategy("token_entropy")
class TokenEntropy(Strategy):
    """``H_t = -sum_k p_tk log p_tk`` of the marginals of a part, in nats; of a sample the mean over its parts."""

    sample_needs = part_needs = ("expectation",)

    def samples(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        """``mean_t H_t``."""
        return _means(self.parts(structure, theta, known, squares), structure.output_offsets(theta))

    def parts(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        """``H_t``."""
        p = _marginals(structure, theta, known)
        return np.maximum(-(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=1), 0.0)

    def reason(self, key: float, unit: str) -> str:
        """The entropy."""
        return f"the entropy of its {'labels is' if unit == 'part' else 'parts is on average'} {key:.3g} nats"


@strategy("least_confidence")
class LeastConfidence(Strategy):
    """``1 - max_y p(y | x)``; of a part ``1 - max_k p_tk``."""

    sample_needs = ("best", "log_partition")
    part_needs = ("expectation",)

    def samples(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        """``1 - max_y p(y | x)``."""
        limit = within(structure, theta, known)
        log_z = structure.log_partition(theta, within=limit)
        return -np.expm1(np.minimum(structure.best(theta, within=limit).values - log_z, 0.0))

    def parts(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        """``1 - max_k p_tk``."""
        return np.maximum(1.0 - _marginals(structure, theta, known).max(axis=1), 0.0)

    def reason(self, key: float, unit: str) -> str:
        """The probability of the prediction."""
        return f"the predicted {'output' if unit == 'sample' else 'label'} has probability {1 - key:.3g}"


@strategy("expected_model_change")
class ExpectedModelChange(Strategy):
    """Length of the gradient of the log-likelihood that an answer is expected to make, root of its mean square.

    The gradient of the weights of features at a part t answered k is ``x_t (e_k - p_t)``, so that the mean of its
    square under the model is ``|x_t|^2 (1 - |p_t|^2)``. Of a sample the sum over its parts is taken, which leaves out
    products of different parts: exact where their feature rows are orthogonal.
    """

    sample_needs = part_needs = ("expectation",)

    def samples(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        """``sqrt(sum_t |x_t|^2 (1 - |p_t|^2))``."""
        squares = self._mean_squares(structure, theta, known, squares)
        return np.sqrt(np.add.reduceat(squares, structure.output_offsets(theta)[:-1]))

    def parts(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        """``|x_t| sqrt(1 - |p_t|^2)``."""
        return np.sqrt(self._mean_squares(structure, theta, known, squares))

    def _mean_squares(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        p, offsets = _marginals(structure, theta, known), structure.output_offsets(theta)
        if offsets is not theta.offsets:  # all parts of a sample have its features
            squares = np.repeat(np.add.reduceat(squares, theta.offsets[:-1]), np.diff(offsets))
        return squares * np.maximum(1.0 - np.einsum("rk,rk->r", p, p), 0.0)

    def reason(self, key: float, unit: str) -> str:
        """The expected length."""
        return f"the answer is expected to change the weights by a gradient of length {key:.3g}"


@strategy("expected_prediction_change")
class ExpectedPredictionChange(Strategy):
    """How many predicted labels an answer is expected to change.

    Of a sample ``E_y |{t: y_t != y1_t}| = sum_t (1 - p_t(y1_t))``, where y1 is the best output. Of a part
    ``sum_k p_tk |{u: y1_u != y1(t=k)_u}|``, where y1(t=k) is the best output with label k at t. Labels with a
    probability below ``floor`` are counted as one change each, without a search.

    Parameters
    ----------
    floor : float, default=0.05
    """

    sample_needs = ("best", "expectation")
    part_needs = ("best", "expectation", "agreeing")
    at_once = 4096

    def __init__(self, floor: float = 0.05) -> None:
        self.floor = floor

    def check(self, structure: Structure, unit: str) -> None:
        """Parts need structures with one label per row, whose marginals are of codes."""
        super().check(structure, unit)
        if unit != "sample" and not structure.label_per_row:
            raise MissingCapability(
                f"ActiveLearner(strategy={self.name!r}, unit={unit!r}) needs outputs with one label per row, which "
                f"{type(structure).__name__} does not have; use unit='sample' or strategy='token_entropy'"
            )

    def samples(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        """``sum_t (1 - p_t(y1_t))``."""
        best, p = self._best(structure, theta, known)
        doubt = 1.0 - p[np.arange(len(p)), best % p.shape[1]]
        return np.maximum(np.add.reduceat(doubt, structure.output_offsets(theta)[:-1]), 0.0)

    def parts(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        """``sum_k p_tk |{u: y1_u != y1(t=k)_u}|``."""
        best, p = self._best(structure, theta, known)
        others = p.copy()
        others[np.arange(len(p)), best] = 0.0
        keys = others.sum(axis=1)
        rows, labels = np.nonzero(others > self.floor)
        sample = np.searchsorted(theta.offsets, rows, side="right") - 1
        for a in range(0, len(rows), self.at_once):
            some = slice(a, a + self.at_once)
            changed = self._changed(structure, theta, known, best, sample[some], rows[some], labels[some])
            np.add.at(keys, rows[some], others[rows[some], labels[some]] * (changed - 1))
        return keys

    def _best(self, structure: Structure, theta: Any, known: Any) -> tuple[np.ndarray, np.ndarray]:
        best = structure.best(theta, within=within(structure, theta, known)).codes
        return best, _marginals(structure, theta, known)

    def _changed(
        self, structure: Structure, theta: Any, known: Any, best: np.ndarray, sample: np.ndarray, rows: np.ndarray,
        labels: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        """Codes that differ from the best output's once a row has a label, for several such rows."""
        copies = theta.take(sample)
        own, offsets = gather(theta.offsets, sample)
        fixed = np.full(len(own), -1, np.int32)
        fixed[offsets[:-1] + rows - theta.offsets[sample]] = labels
        limit = structure.agreeing(copies, fixed)
        if known is not None:
            limit = limit & structure.agreeing(copies, known[own])
        found = structure.best(copies, within=limit).codes
        return np.add.reduceat((found != best[own]).astype(np.int64), offsets[:-1])

    def reason(self, key: float, unit: str) -> str:
        """The expected number."""
        return f"the answer is expected to change {key:.3g} predicted labels"


def _marginals(structure: Structure, theta: Any, known: Any) -> np.ndarray:
    return structure.part_marginals(theta, within=within(structure, theta, known))


def _means(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    return np.add.reduceat(values, offsets[:-1]) / np.diff(offsets)
