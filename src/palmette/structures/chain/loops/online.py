"""Mistake-driven learners on chains, by the compiled loop."""

from __future__ import annotations

import numpy as np

from palmette.loops.online_pass import OnlineState
from palmette.loops.table import CompiledLoop
from palmette.structures.chain.loops.packed import packs_plain


class ChainOnline(CompiledLoop):
    """The compiled loop over chains of order 1 without edge features or rules."""

    accepts = staticmethod(packs_plain)

    def run(
        self, state: OnlineState, order: np.ndarray, rule: int, strength: float, root_cost: bool
    ) -> tuple[float, int]:
        """Visit each sample of ``order``: the sum of the losses and the number of wrong predictions."""
        from palmette.structures.chain.kernels.online import online_pass

        samples, scorer = self.problem.samples, self.problem.scorer
        return online_pass(
            rule, strength, root_cost, *scorer.raw(samples.batch), samples.batch.offsets, samples.codes, samples.weight,
            scorer.n_labels, order, state.w, state.drift, state.variance, state.age,
        )  # fmt: skip
