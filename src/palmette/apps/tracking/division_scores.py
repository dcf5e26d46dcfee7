"""How many divisions are right: the same parent, the same daughters, in the same frame or a few frames away."""

from __future__ import annotations

from palmette.apps.tracking.lineage_events import Family
from palmette.apps.tracking.matching import NONE, NodeMatching
from palmette.structures.tracking.lineage import Lineage


class DivisionCounts:
    """Divisions of the truth and of a prediction, and the pairs of them that are the same.

    A predicted division is right if it has the parent and the daughters of a true one. With a tolerance it may also be
    up to so many frames earlier or later, if the earlier parent is an ancestor of the later one, and the later
    daughters descend from the earlier ones, one from each, without another branch between.

    Attributes
    ----------
    true, predicted : list of int
        Numbers of the detections that divide.
    pairs : list of tuple of int
        A true and a predicted one.
    """

    def __init__(self, true: Lineage, predicted: Lineage, matching: NodeMatching, tolerance: int = 0) -> None:
        if tolerance < 0:
            raise ValueError(f"tolerance must be a number of frames >= 0, got tolerance={tolerance}")
        self._true, self._predicted = (Family(len(g), g.edges) for g in (true, predicted))
        self.true, self.predicted = self._true.divisions(), self._predicted.divisions()
        # One-to-one in both directions, so that the two graphs can change places.
        alone = matching.alone.tolist()
        to_predicted = [
            f if f != NONE and alone[f] == k else NONE for k, f in enumerate(matching.finder.tolist())
        ]
        frames = (true.frame.tolist(), predicted.frame.tolist())
        left = (set(self.true), set(self.predicted))
        self.pairs: list[tuple[int, int]] = []
        for node in self.true:
            other = to_predicted[node]
            if other in left[1] and self._same_daughters(node, other, to_predicted):
                self._take(node, other, left)
        for shift in range(1, tolerance + 1):
            for node in sorted(left[1]):  # predicted too late
                early = self._shifted(node, shift, self._predicted, self._true, alone, frames[1], left[0])
                if early != NONE:
                    self._take(early, node, left)
            for node in sorted(left[0]):  # predicted too early
                early = self._shifted(
                    node, shift, self._true, self._predicted, to_predicted, frames[0], left[1]
                )
                if early != NONE:
                    self._take(node, early, left)

    def _take(self, true: int, predicted: int, left: tuple[set[int], set[int]]) -> None:
        self.pairs.append((true, predicted))
        left[0].discard(true)
        left[1].discard(predicted)

    def _same_daughters(self, node: int, other: int, to_predicted: list[int]) -> bool:
        own = [to_predicted[child] for child in self._true.children[node]]
        return NONE not in own and set(own) == set(self._predicted.children[other])

    @staticmethod
    def _shifted(
        late: int,
        shift: int,
        own: Family,
        others: Family,
        to_other: list[int],
        frame: list[int],
        left: set[int],
    ) -> int:
        """The division of the other graph, `shift` frames earlier, that is the same as `late`; -1 if there is none."""
        ancestor = late
        while frame[ancestor] > frame[late] - shift:
            if len(own.parents[ancestor]) != 1:
                return NONE
            ancestor = own.parents[ancestor][0]
        early = to_other[ancestor] if frame[ancestor] == frame[late] - shift else NONE
        if early not in left:
            return NONE
        wanted = {to_other[child] for child in own.children[late]}
        if NONE in wanted or len(others.children[early]) != len(wanted):
            return NONE
        for node in others.children[early]:
            for _ in range(shift):
                if node in wanted or len(others.children[node]) != 1:
                    break
                node = others.children[node][0]
            if node not in wanted:
                return NONE
            wanted.remove(node)
        return early
