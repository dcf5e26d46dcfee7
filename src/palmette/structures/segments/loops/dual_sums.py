"""What dual ascent asks of segmentations: which weights they have, and passes over their sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.contracts.problem import SampledProblem
from palmette.loops.table import compiled_as
from palmette.structures.positions.dual_rows import RowLayout, RowSums, bias_of_all, columns_of


class SegmentSums(RowSums):
    """Segmentations without features of whole segments or of edges: each row scores labels inside, begun and ended."""

    @classmethod
    def why_not(cls, problem: SampledProblem) -> str | None:
        """What it cannot take of a problem."""
        scorer = problem.scorer
        if compiled_as(scorer) != "segments":
            return None
        if "segment" in scorer.others:
            return "has no room for the marginals of features of whole segments"
        if compiled_as(scorer.tokens) != "linear":
            return "has no room for the marginals of edge features"
        return ""

    def layout(self) -> RowLayout:
        """Weights of columns in up to three places for each label, and tables of edges and lengths."""
        scorer: Any = self.problem.scorer
        k, blocks = scorer.n_labels, scorer.blocks
        parts = {"node": scorer.tokens, **scorer.others}
        columns = [columns_of(own, blocks[name], k * i) for i, (name, own) in enumerate(parts.items())]
        edge = np.full(k * k, -1)
        edge[scorer.tokens.pairs] = np.arange(blocks["edge"].start, blocks["edge"].stop)
        lengths = np.empty(0, np.int64)
        if "length" in blocks:
            own = np.arange(blocks["length"].start, blocks["length"].stop).reshape(-1, k)
            lengths = own[scorer.bucket].ravel()
        table = np.concatenate([edge, lengths])
        return RowLayout(len(columns) * k, columns, bias_of_all(scorer.tokens), table)

    def run(self, x: Any, tables: Any, ascent: Any, mode: int, order: np.ndarray) -> int:
        """A pass over the samples of ``order``; returns how many were out of range and left as they are."""
        from palmette.structures.segments.kernels.dual import dual_pass

        samples = self.problem.samples
        own = samples.batch.offsets, samples.codes, samples.weight, self.problem.scorer.longest
        return dual_pass(x, tables, ascent, mode, order, *own)
