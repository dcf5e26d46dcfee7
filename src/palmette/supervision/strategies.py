"""How uncertain a model is of samples and of parts: one small class per measure, on packed batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from palmette.contracts.structure import require
from palmette.errors import InfeasibleError, MissingCapability

if TYPE_CHECKING:
    from palmette.contracts.structure import Structure

STRATEGIES: dict[str, type[Strategy]] = {}
"""The measures by name."""

Class = TypeVar("Class", bound="type[Strategy]")


def strategy(name: str) -> Callable[[Class], Class]:
    """Decorate a measure that users choose by name."""

    def note(cls: Class) -> Class:
        cls.name = name
        STRATEGIES[name] = cls
        return cls

    return note


class Strategy:
    """A measure of uncertainty.

    :meth:`samples` and :meth:`parts` return *keys*, higher for more uncertain ones; :meth:`uncertainty` turns keys into
    what is reported and averaged. Keys of the margin measures are exponents, which keep their order where the
    exponential does not. ``theta`` are potentials of a block of samples, ``known`` is what has been answered of their
    parts (None: nothing), and ``squares`` has the squared length of every feature row.
    """

    name: ClassVar[str] = ""
    sample_needs: ClassVar[tuple[str, ...]] = ()
    part_needs: ClassVar[tuple[str, ...] | None] = ()
    """Answers that a structure must have; None: the measure is for whole samples only."""

    def check(self, structure: Structure, unit: str) -> None:
        """Raise :class:`~palmette.errors.MissingCapability` unless the structure has what the measure needs."""
        user = f"ActiveLearner(strategy={self.name!r}, unit={unit!r})"
        if unit == "sample":
            require(
                structure, self.sample_needs, user=user, remedy="Use strategy='best_vs_second' or 'random'."
            )
        elif self.part_needs is None:
            raise MissingCapability(
                f"{user}: {self.name} compares whole outputs; use unit='sample', or strategy='best_vs_second'"
            )
        else:
            require(structure, self.part_needs, user=user, remedy="Use unit='sample' or strategy='random'.")

    def samples(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        """Keys of samples, shape (n_samples,)."""
        raise NotImplementedError

    def parts(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        """Keys of parts, shape (n_parts,)."""
        raise NotImplementedError

    def uncertainty(self, keys: np.ndarray) -> np.ndarray:
        """What is reported for keys."""
        return keys

    def reason(self, key: float, unit: str) -> str:
        """In words, why something with this key is asked."""
        raise NotImplementedError


class _Margin(Strategy):
    """``q = exp(-gap)``; keys are ``-gap``."""

    between: ClassVar[str]

    def uncertainty(self, keys: np.ndarray) -> np.ndarray:
        """``exp(key)``, finite for every key."""
        return np.exp(np.minimum(keys, 700.0))

    def reason(self, key: float, unit: str) -> str:
        """The gap."""
        return f"{self.between} {-key:.3g}"


@strategy("scoring")
class Scoring(_Margin):
    """``q(x) = exp(-max_y f(x, y))``: a low score of the best output. Whole samples only."""

    sample_needs = ("best",)
    part_needs = None
    between = "the best output scores only"

    def samples(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        """``-max_y f(x, y)``."""
        return -structure.best(theta, within=_within(structure, theta, known)).values


@strategy("best_vs_worst")
class BestVsWorst(_Margin):
    """``q(x) = exp(-(max_y f(x, y) - min_y f(x, y)))``; of a part: the max-marginals of its best and worst label."""

    sample_needs = ("best", "worst")
    part_needs = ("max_marginals",)
    between = "the best output leads the worst by only"

    def samples(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        """``min_y f(x, y) - max_y f(x, y)``."""
        within = _within(structure, theta, known)
        return structure.worst(theta, within=within).values - structure.best(theta, within=within).values

    def parts(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        """``min_k m_tk - max_k m_tk`` over the labels that are possible."""
        table = _max_marginals(structure, theta, known)
        return np.where(np.isneginf(table), np.inf, table).min(axis=1) - table.max(axis=1)


@strategy("best_vs_second")
class BestVsSecond(_Margin):
    """``q(x) = exp(-(f(x, y1) - f(x, y2)))`` of the two best outputs; of a part: of its two best labels.

    The value of a label at a part is its max-marginal ``m_tk = max_{y: y_t = k} f(x, y)``.
    """

    sample_needs = ("best", "contradicting")
    part_needs = ("max_marginals",)
    between = "the best output leads the second best by only"

    def samples(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        """``f(x, y2) - f(x, y1)``; -inf where there is one output only."""
        within = _within(structure, theta, known)
        if structure.exact and structure.can("k_best"):
            found = structure.k_best(theta, 2, within=within)
            return np.array([own[1][1] - own[0][1] if len(own) > 1 else -np.inf for own in found])
        best = structure.best(theta, within=within)
        try:
            return np.minimum(
                structure.best_contradicting(theta, best.codes, within=within).values - best.values, 0.0
            )
        except InfeasibleError:
            if len(theta) == 1:
                return np.array([-np.inf])
        offsets = structure.output_offsets(theta)
        return np.concatenate(
            [
                self.samples(
                    structure,
                    theta.take(np.array([s])),
                    None if known is None else known[offsets[s] : offsets[s + 1]],
                    squares,
                )
                for s in range(len(theta))
            ]
        )

    def parts(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        """``m_t2 - m_t1`` of the two best labels; -inf where there is one label only."""
        table = _max_marginals(structure, theta, known)
        if table.shape[1] < 2:
            return np.full(len(table), -np.inf)
        two = np.partition(table, -2, axis=1)[:, -2:]
        return two[:, 0] - two[:, 1]

    def reason(self, key: float, unit: str) -> str:
        """The gap."""
        if unit == "sample":
            return super().reason(key, unit)
        return f"the best label leads the second best by only {-key:.3g}"


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
        within = _within(structure, theta, known)
        log_z = structure.log_partition(theta, within=within)
        return -np.expm1(np.minimum(structure.best(theta, within=within).values - log_z, 0.0))

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
        total = np.add.reduceat(self._mean_squares(structure, theta, known, squares), theta.offsets[:-1])
        return np.sqrt(total)

    def parts(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        """``|x_t| sqrt(1 - |p_t|^2)``."""
        return np.sqrt(self._mean_squares(structure, theta, known, squares))

    def _mean_squares(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        p = _marginals(structure, theta, known)
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
        best = structure.best(theta, within=_within(structure, theta, known)).codes
        return best, _marginals(structure, theta, known)

    def _changed(
        self, structure: Structure, theta: Any, known: Any, best: np.ndarray, sample: np.ndarray, rows: np.ndarray,
        labels: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        """Codes that differ from the best output's once a row has a label, for several such rows."""
        from palmette.data.ragged import gather

        copies = theta.take(sample)
        own, offsets = gather(theta.offsets, sample)
        fixed = np.full(len(own), -1, np.int32)
        fixed[offsets[:-1] + rows - theta.offsets[sample]] = labels
        within = structure.agreeing(copies, fixed)
        if known is not None:
            within = within & structure.agreeing(copies, known[own])
        found = structure.best(copies, within=within).codes
        return np.add.reduceat((found != best[own]).astype(np.int64), offsets[:-1])

    def reason(self, key: float, unit: str) -> str:
        """The expected number."""
        return f"the answer is expected to change {key:.3g} predicted labels"


@strategy("random")
class Random(Strategy):
    """``q ~ uniform(0, 1)``: nothing is computed."""

    part_needs = ()

    def reason(self, key: float, unit: str) -> str:
        """There is none."""
        return "drawn at random"


class Given(Strategy):
    """A function of the user's: ``function(model, encoded)`` returns keys of all samples, or of all parts."""

    name = "function"

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function

    def reason(self, key: float, unit: str) -> str:
        """The value."""
        return f"{getattr(self.function, '__name__', 'the given function')} is {key:.3g}"


def resolve_strategy(given: Any) -> Strategy:
    """A measure from its name, from a measure, or from a function.

    >>> resolve_strategy("random").name
    'random'
    """
    if isinstance(given, Strategy):
        return given
    if callable(given):
        return Given(given)
    if given not in STRATEGIES:
        raise ValueError(
            f"strategy={given!r} is unknown; the measures are {', '.join(STRATEGIES)}, or give a function of model and "
            "encoded pool"
        )
    return STRATEGIES[given]()


def _within(structure: Structure, theta: Any, known: Any) -> Any:
    return None if known is None else structure.agreeing(theta, known)


def _max_marginals(structure: Structure, theta: Any, known: Any) -> np.ndarray:
    return structure.max_marginals(theta, within=_within(structure, theta, known)).node


def _marginals(structure: Structure, theta: Any, known: Any) -> np.ndarray:
    return structure.expectation(theta, within=_within(structure, theta, known)).counts.node


def _means(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    return np.add.reduceat(values, offsets[:-1]) / np.diff(offsets)
