"""Every answer on graphs of any shape, as one class."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from palmette.contracts.structure import Best
from palmette.structures.graph.sums import GraphSums
from palmette.structures.graph.tables import combined
from palmette.structures.positions.checks import _expected_losses
from palmette.structures.positions.labelled import LabelledPositions


class GraphInference(GraphSums, LabelledPositions):
    """The answers of :class:`palmette.Graph` on potentials; see there."""

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_tally_now", None)  # what is being noted in a call that goes on
        return state

    def min_risk(
        self, theta: Any, risk: np.ndarray | None = None, *, cost: Any = None, within: Any = None
    ) -> Best:
        """Output of least expected loss among the allowed ones; values are the expected losses.

        Parameters
        ----------
        risk : ndarray of shape (n_labels, n_labels), optional
            ``risk[i, j]`` is the loss of answering j where i is true; by default 1 unless i = j (Hamming).
        """
        expected: Any = _expected_losses(self.expectation(theta, cost=cost, within=within).counts.node, risk)
        tables = combined(theta, cost, None)
        node, edge, *factors = (  # what potentials forbid is not an answer either
            np.where(np.isneginf(values), -np.inf, number)
            for values, number in zip(
                (tables.node, tables.edge, *tables.factors), (expected, 0.0, *(0.0 for _ in tables.factors))
            )
        )
        return self.worst(replace(tables, node=node, edge=edge, factors=tuple(factors)), within=within)
