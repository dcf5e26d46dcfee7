"""What a solver sees of a learning problem: a data term and its penalty."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from palmette.contracts.structure import Structure
    from palmette.regularizers.elastic import ElasticNet


class Problem(Protocol):
    """A data term and its penalty: ``loss(w) + sum_j (l2_j / 2) w_j^2 + l1_j |w_j|``.

    Attributes
    ----------
    n_params : int
        Number of weights P.
    regularizer : ElasticNet
        ``l2`` and ``l1``, each of shape (P,).
    smooth : bool
        Whether the data term is differentiable.

    Optional attributes are ``convex`` (true where it is missing), ``decomposition`` (None where it is missing), and for
    values that may be too low, since maxima are found to a tolerance, ``bounded_loss(w)``, which adds by how much at
    most, and ``refine()``, which asks for better maxima or sums and says whether there are any. ``loosen(error)``
    allows sums that lack so much of the value, until then.
    """

    regularizer: ElasticNet

    @property
    def n_params(self) -> int:
        """Number of weights P."""

    @property
    def smooth(self) -> bool:
        """Whether the data term is differentiable."""

    def loss(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Value >= 0 of the data term at ``w`` (P,), and its (sub)gradient (P,) in memory of its own."""


class SampledProblem(Problem, Protocol):
    """A data term that is a sum over N samples, ``sum_i weight_i loss_i(w)``, which solvers may visit one by one.

    Attributes
    ----------
    n_samples : int
        N.
    samples : Samples
        ``batch`` (inputs), ``codes`` (true outputs) and ``weight`` (N,).
    structure, scorer, surrogate
        What an output is, how it is scored, and what is minimised.
    whole : Batch
        The inputs as they are before a decomposition cuts them.
    memory : dict
        What compiled loops make of the whole inputs, kept from call to call.
    executor : Executor
    placed : dict
        What the executor keeps of the samples, by name.
    """

    samples: Any
    structure: Structure
    scorer: Any
    surrogate: Any
    whole: Any
    memory: dict[Any, Any]
    executor: Any
    placed: dict[str, Any]

    @property
    def n_samples(self) -> int:
        """Number of samples N, or of their pieces."""

    @property
    def sample_of_piece(self) -> np.ndarray | None:
        """The sample of each piece that a decomposition has cut, ascending; None where samples are whole."""

    def visits(self, rng: np.random.Generator) -> np.ndarray:
        """An order to visit the samples in: a random one; the pieces of a sample one after the other, as they stand."""

    def value(self, w: np.ndarray) -> float:
        """Value of the data term at ``w``, without a gradient where that is cheaper."""

    def in_sequence(self, function: Callable[..., Any], *broadcast: Any) -> Any:
        """``function(problem, state, *broadcast)`` where all samples are: a pass sample by sample, as one call."""

    def sample_loss(self, i: int, w: np.ndarray) -> tuple[float, Any, Any]:
        """Sample ``i``: its unweighted value, its weighted gradient in the shape of its potentials, its inputs.

        ``scorer.pull_back(gradient, inputs, into)`` adds the gradient to a vector of shape (P,).
        """
