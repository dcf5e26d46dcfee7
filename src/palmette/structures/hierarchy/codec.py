"""Paths, and sets of paths, as users write them; inside one code per node: 1 where an output has it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from palmette.data.annotation import UNKNOWN, UNKNOWN_CODE, Annotation
from palmette.data.labels import LabelCodec
from palmette.data.outside import refuse_masked
from palmette.data.paths import ANY, Path, nodes_of, read_path, read_paths
from palmette.data.ragged import Ragged
from palmette.data.sequences import listed
from palmette.errors import ModelFileError
from palmette.registry import register
from palmette.structures.hierarchy.tree import Tree


@register("codec", "hierarchy")
class HierarchyCodec(LabelCodec):
    """Outputs of a hierarchy to codes and back; ``classes_`` are the nodes, each named by its path.

    ``predict`` answers in the form that ``fit`` was given: strings, or tuples of labels. Besides these an output may be
    one bool (or UNKNOWN) for each node.

    Examples
    --------
    >>> codec = HierarchyCodec(Tree.of([("a", "x"), ("a", "y"), ("b", "z")]))
    >>> codec.classes_
    (('a',), ('a', 'x'), ('a', 'y'), ('b',), ('b', 'z'))
    >>> codec.encode_outputs([("a", "y"), ("a", UNKNOWN)], [5, 5]).reshape(2, 5)
    array([[ 1,  0,  1,  0,  0],
           [ 1, -1, -1,  0,  0]], dtype=int32)
    >>> codec.decode([1, 0, 1, 0, 0])
    ('a', 'y')
    """

    def __init__(
        self,
        tree: Tree,
        *,
        separator: str = ".",
        text: bool = False,
        inner_ends: bool = False,
        multi_label: bool = False,
    ) -> None:
        super().__init__(tree.nodes)
        self.tree, self.separator, self.text = tree, separator, text
        self.inner_ends, self.multi_label = inner_ends, multi_label

    def encode_outputs(self, Y: Any, lengths: Sequence[int] | np.ndarray) -> np.ndarray:
        """Codes (int32) of the nodes of all outputs; -1 where nothing is known."""
        return self.encode_annotation(Y, lengths).codes

    def encode_annotation(
        self, Y: Any, lengths: Sequence[int] | np.ndarray, layout: str = "sequences"
    ) -> Annotation:
        """What outputs say that may be known in part: of a path its first levels."""
        given = outputs_of(Y)
        codes = np.zeros((len(given), len(self.tree)), np.int32)
        for i, (y, row) in enumerate(zip(given, codes)):
            self._encode_one(y, row, f"y[{i}]")
        return Annotation(codes.ravel(), np.empty((0, 2), bool))

    def _encode_one(self, y: Any, row: np.ndarray, where: str) -> None:
        if is_row_of_flags(y, len(row)):
            row[:] = [UNKNOWN_CODE if each is UNKNOWN else bool(each) for each in y]
            return
        ends = []
        for path in self._paths(y, where):
            above = self._place(path, where)
            ends.append(above)
            stop = len(row) if above < 0 else int(self.tree.stop[above])
            if path.open:  # all that is below may be in the output
                below = row[above + 1 : stop]
                below[below == 0] = UNKNOWN_CODE
            elif not self.inner_ends and not self.tree.leaf[above]:
                example = (*path.labels, self.tree.nodes[above + 1][-1])
                raise ValueError(
                    f"{where} = {y!r:.60} ends inside the tree, where {example!r:.60} goes on: give the whole path, "
                    "UNKNOWN for the levels that are not known, or allow such paths by Hierarchy(inner_ends=True)"
                )
        for v in ends:
            while v >= 0:
                row[v] = 1
                v = int(self.tree.parent[v])

    def _paths(self, y: Any, where: str) -> list[Path]:
        if not self.multi_label:
            return [read_path(y, self.separator, where)]
        found = read_paths(y, self.separator, where)
        if not found and not self.inner_ends:
            raise ValueError(
                f"{where} is an empty set of paths: name one, or allow none by Hierarchy(inner_ends=True)"
            )
        return found

    def _place(self, path: Path, where: str) -> int:
        """The number of the last node that is known of a path; -1 for the root."""
        if not path.labels:
            return -1
        v = self.tree.place.get(path.labels)
        if v is not None:
            return v
        k = next(k for k in range(len(path.labels)) if path.labels[: k + 1] not in self.tree.place)
        above = path.labels[:k]
        known = [node[-1] for node in self.tree.nodes if node[:-1] == above]
        shown = ", ".join(map(repr, known[:12])) + (", ..." if len(known) > 12 else "")
        under = f"below {above!r:.60}" if above else "at the top"
        there = f"there are [{shown}]" if known else "there is nothing"
        raise ValueError(
            f"{where} is the path {path.labels!r:.60}, which is not in the tree: {path.labels[k]!r} is no class "
            f"{under} (level {k + 1}), where {there}. Correct the path, or give the whole tree: Hierarchy(tree=...)"
        )

    def encode_allowed(
        self, Y: Any, lengths: Iterable[int]
    ) -> tuple[dict[int, np.ndarray], dict[int, list[Any]]]:
        """Codes of the outputs among `Y`, one per row; those that are not in the tree come second."""
        known: list[Any] = []
        strange: list[Any] = []
        for i, y in enumerate(outputs_of(Y, "within")):
            nodes = nodes_of(self._paths(y, f"within[{i}]"))
            (known if all(node in self.tree.place for node in nodes) else strange).append(y)
        n = len(self.tree)
        return {n: self.encode_outputs(known, [n] * len(known)).reshape(-1, n)}, {n: strange}

    def decode(self, codes: Sequence[int] | np.ndarray) -> Any:
        """The path, or the list of paths, of one output; UNKNOWN after what is known of a path."""
        codes = np.asarray(codes)
        ends = self._ends(codes)
        if not self.multi_label:
            return ends[0] if ends else UNKNOWN
        return ends

    def as_paths(self, y: Any) -> Any:
        """An output that has a bool for each node as paths; others as they are."""
        if not is_row_of_flags(y, len(self.tree)):
            return y
        return self.decode([UNKNOWN_CODE if each is UNKNOWN else int(each) for each in y])

    def _ends(self, codes: np.ndarray) -> list[Any]:
        """The paths to the nodes of an output below which there are no others."""
        tree, found = self.tree, []
        for v in np.flatnonzero(codes == 1).tolist():
            below = codes[v + 1 : tree.stop[v]]
            if not np.any(below == 1):
                found.append(self._written(tree.nodes[v], bool(np.any(below == UNKNOWN_CODE))))
        return found

    def _written(self, node: tuple[Any, ...], is_open: bool) -> Any:
        if self.text:
            return self.separator.join([*map(str, node), *([ANY] if is_open else [])])
        return (*node, UNKNOWN) if is_open else node

    def decode_sequences(self, codes: Ragged) -> list[Any]:
        """The output of each item of `codes`."""
        return [self.decode(item) for item in codes]

    def state(self) -> Any:
        """The codec as JSON values."""
        return {
            "nodes": super().state(), "separator": self.separator, "text": self.text, "inner_ends": self.inner_ends,
            "multi_label": self.multi_label,
        }  # fmt: skip

    @classmethod
    def from_state(cls, state: Any) -> HierarchyCodec:
        """Inverse of :meth:`state`."""
        flags = ("text", "inner_ends", "multi_label")
        if not isinstance(state, dict) or set(state) != {"nodes", "separator", *flags}:
            raise ModelFileError(f"damaged tree in a model file: {state!r:.60}")
        sound = all(isinstance(state[name], bool) for name in flags)
        if not sound or not isinstance(state["separator"], str) or not state["separator"]:
            raise ModelFileError(
                "damaged tree in a model file: its settings are not bool, bool, bool and str"
            )
        tree = Tree(LabelCodec.from_state(state["nodes"]).classes_)
        try:
            tree.check()
        except ValueError as error:
            raise ModelFileError(f"damaged tree in a model file: {error}") from None
        return cls(tree, separator=state["separator"], **{name: state[name] for name in flags})


def is_row_of_flags(y: Any, n_nodes: int) -> bool:
    """Whether an output is given as one bool, or UNKNOWN, for each node."""
    return (
        isinstance(y, list | tuple | np.ndarray)
        and len(y) == n_nodes
        and all(each is UNKNOWN or isinstance(each, bool | np.bool_) for each in y)
    )


def outputs_of(Y: Any, where: str = "y") -> list[Any]:
    """Outputs one by one, rows of arrays as lists."""
    if isinstance(Y, str | bytes) or not isinstance(Y, Iterable):
        raise TypeError(
            f"{where} must be a list with the path of each sample, got {type(Y).__name__}: {Y!r:.60}"
        )
    refuse_masked(Y, where)
    return [y.tolist() if isinstance(y, np.ndarray) else y for y in listed(Y)]
