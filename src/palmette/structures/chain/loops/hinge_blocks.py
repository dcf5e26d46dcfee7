"""Visits of samples in the dual of the structured hinge, by compiled loops over packed chains."""

from __future__ import annotations

import numpy as np

from palmette.contracts.problem import SampledProblem
from palmette.loops.active_set import ActiveSet
from palmette.loops.table import CompiledLoop, compiled_as
from palmette.structures.chain.loops.packed import are_even, packed, packs_plain, told_costs

HINGES = ("hinge", "annotated hinge")
INNER_STEPS = 5  # pairwise steps a visit, where each scores the sample anew
# with inner products of rows: fewer, since the search for the best labeling costs as much as steps
INNER_GRAM = 4
GRAM_BYTES = 256e6  # the most that inner products of rows may take


class PackedBlocks(CompiledLoop):
    """Visits by the compiled loops over packed chains.

    Parameters
    ----------
    gram : bool, optional
        Whether inner products of the rows of each sample are kept (see ``gram_pass``); by default where every column
        has all labels and they take little memory.
    """

    variables = ActiveSet

    @classmethod
    def accepts(cls, problem: SampledProblem) -> bool:
        """Chains of order 1 without edge features, under a hinge whose loss is a table of costs.

        Where annotation is partial it is a table of costs, too, with rows for sets of labels and for nothing.
        """
        surrogate, annotation = problem.surrogate, problem.samples.annotation
        return (
            packs_plain(problem)
            and compiled_as(surrogate) in HINGES
            and compiled_as(surrogate.task_loss) == "parts"
            and (annotation is None or annotation.pairs is None)
        )

    def __init__(self, problem: SampledProblem, gram: bool | None = None) -> None:
        super().__init__(problem)
        chains = self.chains = packed(problem, np.float64)
        self.cost, rows = told_costs(problem, chains)
        self.data, self.truth = chains.view(problem.samples)._replace(codes=rows), problem.samples.codes
        self.inverse = chains.pack(1.0 / problem.regularizer.l2)
        self.scratch = chains.zeros()
        lengths = np.diff(chains.offsets)
        can = not len(problem.scorer.ptr) and are_even(problem)
        self._gram: tuple[np.ndarray, np.ndarray] | None = None
        if can if gram is None else gram:
            starts = np.concatenate([[0], np.cumsum(lengths**2)])
            if 8 * starts[-1] <= GRAM_BYTES:
                self._gram = self._products(starts)
        self.inner = INNER_STEPS if self._gram is None else INNER_GRAM

    def _products(self, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from palmette.structures.chain.kernels.frank_wolfe import row_products

        chains = self.chains
        gram = np.empty(starts[-1])
        strengths = chains.per_row(1.0 / self.problem.regularizer.l2).rows
        row_products(chains.inputs, strengths, chains.offsets, starts, gram)
        return gram, starts

    def visit(self, active: ActiveSet, order: np.ndarray) -> None:
        """Visit the samples of ``order``."""
        from palmette.structures.chain.kernels.frank_wolfe import frank_wolfe_pass, gram_pass

        chains = self.chains
        w = chains.pack_weights(active.w)
        arguments = (
            self.data, w, self.inverse, self.cost, np.asarray(order, np.int64), active.path, active.mass, active.loss,
            active.gap, self.scratch, self.inner,
        )  # fmt: skip
        crowded = frank_wolfe_pass(*arguments) if self._gram is None else gram_pass(*arguments, *self._gram)
        active.w = chains.unpack(w)
        if crowded:
            active.grow()

    def follow(self, active: ActiveSet, before: np.ndarray, after: np.ndarray, factor: np.ndarray) -> None:
        """Change the labels of active labelings that are those of ``before`` to those of ``after``.

        What blocks lack to their targets then changes little, and the weights with it. Where labels restrict each
        other, only whole labelings are changed.
        """
        if self.chains.rules is None:
            np.copyto(active.path, after, where=active.path == before)
        else:
            active.follow(self.chains.offsets, before, after)

    def refresh(self, active: ActiveSet) -> None:
        """Compute weights and losses from the masses: what visits added up has rounding errors."""
        from palmette.structures.chain.kernels.frank_wolfe import dual_counts

        counts = self.chains.zeros()
        dual_counts(self.data, self.truth, active.path, active.mass, self.cost, counts, active.loss)
        active.w = -self.chains.unpack(counts) / self.problem.regularizer.l2

    def value(self, w: np.ndarray) -> tuple[float, float]:
        """The data term at ``w``, by exact maxima."""
        from palmette.structures.chain.kernels.frank_wolfe import hinge_value

        return float(hinge_value(self.data, self.truth, self.chains.pack_weights(w), self.cost)), 0.0
