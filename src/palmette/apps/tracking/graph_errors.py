"""The operations that turn a predicted graph of detections into the true one, as the Cell Tracking Challenge counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palmette.apps.tracking.matching import NONE, NodeMatching
from palmette.structures.tracking.lineage import Lineage

WEIGHTS = {"ns": 5.0, "fn": 10.0, "fp": 1.0, "ed": 1.0, "ea": 1.5, "ec": 1.0}


@dataclass(frozen=True)
class GraphErrors:
    """Operations by kind, and the measures made of them (Matula et al., PLoS ONE 2015).

    ::

        AOGM   = 5 ns + 10 fn + fp + ed + 1.5 ea + ec
        AOGM_0 = 10 n_nodes + 1.5 n_links                        to build the true graph from nothing
        TRA    = 1 - min(AOGM, AOGM_0) / AOGM_0

    DET is the same for detections alone (ns, fn, fp), LNK for links alone (ed, ea, ec).

    Parameters
    ----------
    n_nodes, n_links : int
        Of the truth.
    ns : int
        Splits of detections that cover several cells: one less than the number of cells, for each.
    fn, fp : int
        Detections to add, detections to remove.
    ed, ea, ec : int
        Links to delete, to add, and to change: a move where the truth has a branch, or the other way round. Links of
        detections that are removed or split are not counted in ed: they go with them.

    Examples
    --------
    >>> GraphErrors(10, 9, fn=1, ea=2).aogm
    13.0
    >>> round(GraphErrors(10, 9, fn=1, ea=2).tra, 3)
    0.885
    """

    n_nodes: int
    n_links: int
    ns: int = 0
    fn: int = 0
    fp: int = 0
    ed: int = 0
    ea: int = 0
    ec: int = 0

    @property
    def aogm(self) -> float:
        """The weighted number of operations."""
        return self._cost("ns", "fn", "fp") + self._cost("ed", "ea", "ec")

    @property
    def tra(self) -> float:
        """Of detections and links, from 0 to 1; NaN if the truth is empty."""
        return _share(self.aogm, WEIGHTS["fn"] * self.n_nodes + WEIGHTS["ea"] * self.n_links)

    @property
    def det(self) -> float:
        """Of detections, from 0 to 1; NaN if the truth has none."""
        return _share(self._cost("ns", "fn", "fp"), WEIGHTS["fn"] * self.n_nodes)

    @property
    def lnk(self) -> float:
        """Of links, from 0 to 1; NaN if the truth has none."""
        return _share(self._cost("ed", "ea", "ec"), WEIGHTS["ea"] * self.n_links)

    def _cost(self, *names: str) -> float:
        return sum(WEIGHTS[name] * getattr(self, name) for name in names)


def count_graph_errors(true: Lineage, predicted: Lineage, matching: NodeMatching) -> GraphErrors:
    """Count the operations.

    Examples
    --------
    >>> true = Lineage.from_links([(0, 1), (1, 1), (1, 2)], [((0, 1), (1, 1)), ((0, 1), (1, 2))])
    >>> moved = Lineage.from_links([(0, 1), (1, 1), (1, 2)], [((0, 1), (1, 1))])
    >>> count_graph_errors(true, moved, NodeMatching.of(true, moved))  # a link is missing, the other was no branch
    GraphErrors(n_nodes=3, n_links=2, ns=0, fn=0, fp=0, ed=0, ea=1, ec=1)
    """
    correct, judged = correct_links(true, predicted, matching)
    found = correct[correct != NONE]
    branch = is_branch(true)[found] != is_branch(predicted)[correct != NONE]
    return GraphErrors(
        len(true),
        len(true.edges),
        ns=int(np.maximum(matching.n_found - 1, 0).sum()),
        fn=int((matching.finder == NONE).sum()),
        fp=int((matching.n_found == 0).sum()),
        ed=int((judged & (correct == NONE)).sum()),
        ea=len(true.edges) - len(found),
        ec=int(branch.sum()),
    )


def correct_links(true: Lineage, predicted: Lineage, matching: NodeMatching) -> tuple[np.ndarray, np.ndarray]:
    """For each predicted link the number of the true one, -1 if it is wrong; and whether both ends find one cell."""
    ends = matching.alone[predicted.edges]
    judged = (ends != NONE).all(axis=1)
    key, wanted = true.edges @ [len(true), 1], ends @ [len(true), 1]
    order = np.argsort(key, kind="stable")
    place = np.searchsorted(key, wanted, sorter=order)
    number = np.append(order, NONE)[place]
    right = judged & (np.append(key, NONE)[number] == wanted)
    return np.where(right, number, NONE), judged


def is_branch(lineage: Lineage) -> np.ndarray:
    """Which links leave a detection with several children, or enter one with several parents."""
    parent, child = lineage.edges.T
    return (lineage.n_children[parent] > 1) | (lineage.n_parents[child] > 1)


def _share(cost: float, worst: float) -> float:
    return 1 - min(cost, worst) / worst if worst else float("nan")
