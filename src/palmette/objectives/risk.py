"""The data term of every objective: a surrogate summed over training samples, in shards."""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Any, NamedTuple

import numpy as np

from palmette.contracts.executor import Executor, State, summed
from palmette.contracts.structure import Structure, require
from palmette.data.batch import Batch
from palmette.data.ragged import gather
from palmette.data.samples import Samples
from palmette.executors.shards import MAX_SHARDS, ROWS_A_SHARD, blocks, cut
from palmette.executors.telling import run_telling
from palmette.executors.threads import ThreadExecutor
from palmette.loops.batch_loss import BatchLoss
from palmette.loops.table import find

ROWS_A_BLOCK = 4096  # rows scored and inferred at once: their tables stay in the cache


def rows_a_block(scorer: Any) -> int:
    """Rows that a scorer scores at once, if it says so: fewer than others, since its tables are larger, or more, since
    its samples are inferred several at once."""
    usual = ROWS_A_BLOCK * getattr(scorer, "usual_blocks", 1)
    return min(getattr(scorer, "rows_a_block", usual), usual)


class Shard(NamedTuple):
    """A run of samples in blocks, and the layout of the weights."""

    scorer: Any
    blocks: list[Samples]


class Tangent(NamedTuple):
    """A data term linearised: its value, and ``slope = sum_i weight_i factor_i (counts of target_i - true counts)``."""

    value: float
    slope: np.ndarray  # (n_params,)
    targets: np.ndarray  # codes of outputs
    factor: np.ndarray  # (n_samples,)


class Risk:
    """``sum_i weight_i loss_i(w)`` with its gradient: what solvers see of data, structure and surrogate.

    Parameters
    ----------
    structure, scorer, surrogate
        The three parts of a loss: what an output is, how it is scored, what is minimised.
    samples : Samples
    regularizer : ElasticNet
        Kept beside the data term; solvers treat it on their own.
    executor : Executor
        Samples are placed there at the first use, and released by :meth:`close`.
    decomposition : Decomposition, optional
        Cuts the samples anew each epoch; sequential solvers take their steps on the pieces.
    """

    def __init__(
        self, structure: Structure, scorer: Any, surrogate: Any, samples: Samples, regularizer: Any,
        executor: Executor, decomposition: Any = None,
    ) -> None:  # fmt: skip
        remedy = "Choose a learner that needs only best(), such as SSVM."
        require(structure, surrogate.needs, user=type(surrogate).__name__, remedy=remedy)
        self.structure, self.scorer, self.surrogate = structure, scorer, surrogate
        self.samples, self.regularizer, self.executor = samples, regularizer, executor
        self.decomposition = decomposition
        self.placed: dict[str, Sized] = {}
        self.memory: dict[Any, Any] = {}  # what compiled loops make of the whole samples
        self.whole = samples.batch  # as it is before any decomposition
        self.sample_of_piece: np.ndarray | None = None  # ascending; None where samples are whole
        self._cut: tuple[int, int] | None = None
        self._cache: dict[str, Any] = {}

    @property
    def n_params(self) -> int:
        """Length of the weight vector."""
        return self.scorer.n_params

    @property
    def n_samples(self) -> int:
        """Number of training samples, or of their pieces."""
        return len(self.samples.weight) if self._cut is None else self.in_sequence(_count)

    def visits(self, rng: np.random.Generator) -> np.ndarray:
        """An order to visit the samples in: a random one; the pieces of a sample one after the other, as they stand."""
        return self.in_sequence(_visits, rng) if self._cut is not None else rng.permutation(self.n_samples)

    @property
    def smooth(self) -> bool:
        """Whether the data term is differentiable."""
        return self.surrogate.smooth

    @property
    def convex(self) -> bool:
        """Whether the data term is convex."""
        return self.surrogate.convex

    def with_surrogate(self, surrogate: Any, regularizer: Any = None) -> Risk:
        """The same samples under another loss, and another penalty if one is given."""
        require(self.structure, surrogate.needs, user=type(surrogate).__name__, remedy="Choose another loss.")
        return self._with(surrogate=surrogate, regularizer=regularizer or self.regularizer)

    def _with(self, **changes: Any) -> Risk:
        other = object.__new__(type(self))
        vars(other).update(vars(self), **changes)
        return other

    def _shards(self) -> Sized:
        """The samples in shards, placed."""
        if "shards" not in self.placed:
            samples, n_shards = self.samples, self.samples.batch.n_rows // ROWS_A_SHARD
            pieces = cut(samples.batch.offsets, int(np.clip(n_shards, 1, MAX_SHARDS)))
            n_rows = rows_a_block(self.scorer)
            shards = [Shard(self.scorer, _blocks(samples.slice(a, b), n_rows)) for a, b in pieces]
            self.placed["shards"] = self.executor.place(shards)
        return self.placed["shards"]

    def in_sequence(self, function: Callable[..., Any], *broadcast: Any) -> Any:
        """``function(problem, state, *broadcast)`` where all samples are: a pass sample by sample, as one call.

        ``problem`` is this one on threads of that place; ``state`` stays there from call to call.
        """
        if "whole" not in self.placed:
            self.placed["whole"] = self.executor.place([self._on(self.samples)])
        own = self.surrogate, self.regularizer, self._cut
        placed = self.placed["whole"]
        return run_telling(self.executor, _in_sequence, placed, self.structure, own, function, *broadcast)[0]

    def _on(self, samples: Samples) -> Risk:
        """The same problem on other samples, with threads of this process."""
        threads = self.executor if self.executor.shares_memory else ThreadExecutor(1)
        return self._with(samples=samples, executor=threads, placed={}, _cut=None, _cache={})

    def of(self, scorer: Any, samples: Samples) -> Risk:
        """The same loss of other samples, scored otherwise."""
        own = {"whole": samples.batch, "placed": {}, "memory": {}, "_cut": None, "_cache": {}}
        return self._with(scorer=scorer, samples=samples, **own)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "executor": ThreadExecutor(1), "placed": {}, "memory": {}, "_cache": {}}

    def close(self) -> None:
        """Release the samples where they were placed."""
        for placed in self.placed.values():
            self.executor.release(placed)
        self.placed.clear()
        self.memory.clear()

    def cut_anew(self, seed: int, epoch: int) -> Risk:
        """The problem on the pieces of this epoch, if there is a decomposition; they are cut where the samples are."""
        return self if self.decomposition is None else self._with(_cut=(seed, epoch))

    def pieces(self, seed: int, epoch: int) -> Risk:
        """The problem on the pieces of this epoch, cut here; compiled loops read the rows of the whole samples."""
        batch, sample = self.structure.in_pieces(
            self.samples, self.scorer.n_labels, self.decomposition, seed, epoch
        )
        pieces = self._on(self.samples._replace(batch=batch, weight=self.samples.weight[sample]))
        return pieces._with(sample_of_piece=sample)

    def loss(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and (sub)gradient of the data term at ``w``."""
        return self.bounded_loss(w)[:2]

    def bounded_loss(self, w: np.ndarray) -> tuple[float, np.ndarray, float]:
        """Value and (sub)gradient at ``w`` of what was found of the data term, which is at most value + slack there.

        The cut that they make is below the data term everywhere. The slack is 0 where maxima are exact; else
        :meth:`refine` may make it smaller.
        """
        if self._cut is not None:
            return self.in_sequence(_loss_on_pieces, w)
        compiled = self._compiled()
        return self._generic_loss(w) if compiled is None else (*compiled.loss(w), 0.0)

    def loosen(self, error: float) -> bool:
        """Sums may lack so much of the value until :meth:`refine`; False if nothing is gained."""
        return self.structure.loosen(error / max(float(self.samples.weight.sum()), 1e-300))

    def refine(self) -> bool:
        """Find maxima, and sums, to a higher accuracy from now on; False if that is not possible."""
        return self.structure.refine()

    def value(self, w: np.ndarray) -> float:
        """Value of the data term at ``w``, without a gradient where that is cheaper."""
        compiled = self._compiled()
        return self.loss(w)[0] if compiled is None else compiled.value(w)

    def _compiled(self) -> BatchLoss | None:
        loop = find("loss", self)
        return None if loop is None else loop(self)

    def _generic_loss(self, w: np.ndarray) -> tuple[float, np.ndarray, float]:
        return summed(
            run_telling(self.executor, shard_loss, self._shards(), self.structure, self.surrogate, w)
        )

    def tangent(self, w: np.ndarray) -> Tangent:
        """The tangent at ``w`` of a surrogate with ``rivals``, a maximum over outputs."""
        shards, structure = self._shards(), self.structure
        found = run_telling(self.executor, shard_tangent, shards, structure, self.surrogate, w)
        value, slope = 0.0, np.zeros(self.n_params)
        for own in found:
            value += own.value
            slope += own.slope
        codes, factor = (np.concatenate([own[k] for own in found]) for k in (2, 3))
        return Tangent(value, slope, codes, factor)

    def sample_loss(self, i: int, w: np.ndarray) -> tuple[float, Any, Batch]:
        """One sample: its unweighted value, its weighted gradient in theta's shape, and its inputs."""
        one = self.samples.slice(i, i + 1)
        theta = self.scorer.score(w, one.batch)
        found = self.surrogate.evaluate(self.structure, theta, one.truth, one.weight)
        return float(found.values[0]), found.counts, one.batch


def _blocks(samples: Samples, n_rows: int) -> list[Samples]:
    return [samples.slice(a, b) for a, b in blocks(samples.batch, n_rows)]


def shard_loss(
    shard: Shard, state: State, structure: Structure, surrogate: Any, w: np.ndarray
) -> tuple[float, np.ndarray, float]:
    """Value, (sub)gradient and slack of a shard; the memory of the gradient stays with the shard."""
    gradient = state.setdefault("gradient", np.empty(len(w)))
    gradient[:] = 0.0
    value = slack = 0.0
    for block in shard.blocks:
        theta = shard.scorer.score(w, block.batch)
        found = surrogate.evaluate(structure, theta, block.truth, block.weight)
        shard.scorer.pull_back(found.counts, block.batch, gradient)
        value += float(found.values @ block.weight)
        slack += float(np.sum(found.slack * block.weight))
    return value, gradient, slack


def shard_tangent(shard: Shard, state: State, structure: Structure, surrogate: Any, w: np.ndarray) -> Tangent:
    """The tangent of a shard."""
    value, slope, found = 0.0, np.zeros(len(w)), []
    for block in shard.blocks:
        theta = shard.scorer.score(w, block.batch)
        found.append(surrogate.rivals(structure, theta, block.truth))
        own = found[-1].evaluation(structure, theta, block.codes, block.weight)
        shard.scorer.pull_back(own.counts, block.batch, slope)
        value += float(own.values @ block.weight)
    codes = np.concatenate([rivals.codes for rivals in found])
    return Tangent(value, slope, codes, np.concatenate([rivals.factor for rivals in found]))


def _in_sequence(
    problem: Risk,
    state: State,
    structure: Structure,
    own: tuple[Any, Any, Any],
    function: Callable[..., Any],
    *broadcast: Any,
) -> Any:
    surrogate, regularizer, cut = own
    if cut is not None:
        if problem._cache.get("cut") != cut:
            problem._cache.update(cut=cut, pieces=problem.pieces(*cut))
        problem = problem._cache["pieces"]
    own_problem = problem._with(structure=structure, surrogate=surrogate, regularizer=regularizer)
    return function(own_problem, state, *broadcast)


def _count(problem: Risk, state: State) -> int:
    return problem.n_samples


def _visits(problem: Risk, state: State, rng: np.random.Generator) -> np.ndarray:
    sample = problem.sample_of_piece
    assert sample is not None
    first = np.flatnonzero(np.diff(sample, prepend=-1))  # of the pieces of each sample that has any
    return gather(np.append(first, len(sample)), rng.permutation(len(first)))[0]


def _loss_on_pieces(problem: Risk, state: State, w: np.ndarray) -> tuple[float, np.ndarray, float]:
    if "packed anew" not in problem._cache:  # with pieces in the place of samples
        problem._cache["packed anew"] = problem._with(whole=problem.samples.batch, memory={}, placed={})
    return problem._cache["packed anew"].bounded_loss(w)
