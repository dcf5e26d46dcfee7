"""The dual of a kernelised hinge: what a solver needs to know of data, kernel and structure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from palmette._kernels.constants import FREE
from palmette.contracts.executor import Executor
from palmette.contracts.structure import Structure
from palmette.data.samples import Samples
from palmette.kernels.gram import Gram
from palmette.loops.active_set import excess_counts
from palmette.objectives.kernel_edges import EdgePart, missing_counts
from palmette.objectives.kernel_scorer import bare
from palmette.surrogates.hinge import Hinge


@dataclass(frozen=True)
class KernelProblem:
    """``sum_i weight_i hinge_i(f, v) + (l2/2) |f|^2 + sum_j (l2_linear_j / 2) v_j^2`` over f in the kernel's space.

    ``f`` scores labels at rows, ``v`` are the weights of ``linear``, which scores the rest (transitions).

    Parameters
    ----------
    structure, task_loss
        What an output is, and what a mistake costs (bound to labels).
    samples : Samples
    unique : ndarray of int64
        For every row the number of its distinct row.
    gram : Gram
        Of the distinct rows.
    linear : LinearScorer or another scorer of weights, of rows without columns
    l2 : float
    l2_linear : ndarray
    executor : Executor
    edges : EdgePart, optional
        Edges that are scored by a kernel of their own, with a penalty of their own.
    """

    structure: Structure
    task_loss: Any
    samples: Samples
    unique: np.ndarray
    gram: Gram
    linear: Any
    l2: float
    l2_linear: np.ndarray
    executor: Executor
    edges: EdgePart | None = None

    @property
    def n_samples(self) -> int:
        """Number of training samples."""
        return len(self.samples.weight)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.linear.n_labels

    @cached_property
    def bare(self) -> Any:
        """The inputs without their columns."""
        return bare(self.samples.batch)

    @cached_property
    def surrogate(self) -> Hinge:
        """The loss of a sample."""
        return Hinge(self.task_loss)

    def theta(self, state: KernelState, sample: int | None = None) -> Any:
        """Potentials of all samples or of one."""
        rows, batch, edges = slice(None), self.bare, slice(None)
        if sample is not None:
            offsets = self.samples.batch.offsets
            rows, batch = slice(offsets[sample], offsets[sample + 1]), batch.slice(sample, sample + 1)
        theta = self.linear.score(state.linear, batch)
        own = self.unique[rows]
        theta.node[:] += (self.gram.scale[own] * state.table[:, own]).T
        if self.edges is None:
            return theta
        if sample is not None:
            edges = self.edges.of_sample(sample)
        return self.edges.added(theta, self.edges.scores(state.edge_table, edges))


@dataclass
class KernelState:
    """Dual variables: for every sample a distribution over a few labelings, and the scores that they imply."""

    table: np.ndarray  # (labels, stride) float32: scores at distinct rows, without the factor gram.scale
    linear: np.ndarray  # weights of transitions
    path: np.ndarray  # (places, rows) int32: active labelings
    mass: np.ndarray  # (samples, places): their weights, FREE where unused
    loss: np.ndarray  # (samples,): mean task loss of each block
    gap: np.ndarray  # (samples,): what each block lacked when it was last visited
    epoch: int = 0
    n_oracle: float = 0.0
    checked: int = 0  # epoch of the last certificate
    # of edges with a kernel
    edge_table: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    norm: float = 0.0  # l2 |f|^2, edges included, at the last refresh

    @classmethod
    def at_truth(cls, problem: KernelProblem, places: int = 8) -> KernelState:
        """All mass on the true labelings: every score is 0."""
        codes = problem.samples.codes
        path = np.zeros((places, len(codes)), np.int32)
        path[0] = codes
        mass = np.full((problem.n_samples, places), FREE)
        mass[:, 0] = 1.0
        table = np.zeros((problem.n_labels, problem.gram.stride), np.float32)
        linear = np.zeros(len(problem.l2_linear))
        n = problem.n_samples
        found = cls(table, linear, path, mass, np.zeros(n), np.full(n, np.inf))
        if problem.edges is not None:
            found.edge_table = problem.edges.zeros()
        return found

    def copy(self) -> KernelState:
        """An independent copy."""
        names = ("table", "linear", "path", "mass", "loss", "gap", "edge_table")
        return replace(self, **{name: getattr(self, name).copy() for name in names})

    def grow(self) -> None:
        """Twice as many places."""
        self.path = np.concatenate([self.path, np.zeros_like(self.path)])
        self.mass = np.concatenate([self.mass, np.full_like(self.mass, FREE)], axis=1)

    def coefficients(self, problem: KernelProblem) -> np.ndarray:
        """Coefficient of every distinct row and label that the active labelings imply."""
        samples, n_labels, n = problem.samples, problem.n_labels, problem.gram.n
        key, lengths = problem.unique * n_labels, np.diff(samples.batch.offsets)
        out = missing_counts(key, n * n_labels, lengths, samples.weight, samples.codes, self.path, self.mass)
        return out.reshape(n, n_labels) / problem.l2

    def weights(self, problem: KernelProblem) -> np.ndarray:
        """Weights of transitions that the active labelings imply."""
        if not len(self.linear):
            return self.linear
        return -excess_counts(problem, problem.linear, problem.bare, self.linear, self) / problem.l2_linear

    def refresh(self, problem: KernelProblem) -> np.ndarray:
        """Compute scores and weights anew from the active labelings; returns the coefficients, one after the other."""
        coef = self.coefficients(problem)
        self.linear = self.weights(problem)
        self.norm = problem.l2 * _rescored(problem.gram, coef, self.table)
        if problem.edges is None:
            return coef.ravel()
        edges = problem.edges.coefficients(problem.samples, self.path, self.mass)
        self.norm += problem.edges.l2 * _rescored(problem.edges.gram, edges, self.edge_table)
        return np.concatenate([coef.ravel(), edges.ravel()])

    def penalty(self, problem: KernelProblem) -> float:
        """Value of the penalty at the scores of the last :meth:`refresh`."""
        return 0.5 * self.norm + 0.5 * float(np.sum(problem.l2_linear * self.linear**2))


def _rescored(gram: Gram, coef: np.ndarray, table: np.ndarray) -> float:
    """Scores of distinct rows by coefficients, into ``table``; returns ``<coef, scores>``."""
    scores = gram.times(coef)
    inverse = np.divide(1.0, gram.scale, out=np.zeros_like(gram.scale), where=gram.scale > 0.0)
    table[:, : gram.n] = scores.T * inverse
    return float(np.sum(coef * scores, dtype=float))
