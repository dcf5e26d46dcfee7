"""Paths in a tree: votes are summed from the top down, and the best end wins."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from palmette.data.checks import check_array, check_codes
from palmette.kernels import CommonPath, Kernel
from palmette.kernels.paths import Tree
from palmette.outputs.base import PreImages
from palmette.outputs.explicit import ExplicitOutputs
from palmette.outputs.hamming import check_symbols, kind_of_sequences, sequence_of
from palmette.registry import register


@register("output")
class PathOutputs(ExplicitOutputs):
    r"""Paths under the kernel of common beginnings; the pre-image is exact.

    The value of a path is a sum over its nodes, so that one pass from the top down gives those of all paths:
    ``value(node) = value(parent) + weight - 2 sqrt(weight) v[node]``.

    Parameters
    ----------
    kernel : CommonPath, optional
    tree : list of paths, optional
        All paths to leaves; by default the training paths are the tree.
    ends : {"seen", "leaves", "any"}, default="seen"
        Where predictions may end: at leaves and wherever a training path ends, at leaves only, or at any node.

    Examples
    --------
    >>> space = PathOutputs(CommonPath(separator=".")).fit(["1.1", "1.2", "2.1"])
    >>> votes = space.rows.toarray().mean(axis=0, keepdims=True)
    >>> found = space.pre_images(votes)
    >>> found.outputs, found.exact
    (['1.1'], array([ True]))
    """

    kept: ClassVar[tuple[str, ...]] = ("ends", "ends_", "made_of_")

    def __init__(self, kernel: Any = None, tree: Any = None, ends: str = "seen") -> None:
        self.kernel = kernel
        self.tree = tree
        self.ends = ends

    def make_kernel(self) -> Kernel:
        """The kernel of paths."""
        return CommonPath() if self.kernel is None else self.kernel

    def make_support(self, outputs: list[Any]) -> list[Any]:
        """The given tree, or the training paths."""
        return outputs if self.tree is None else list(self.tree)

    def learn(self, outputs: list[Any], X: Any) -> None:
        """Which nodes paths may end at."""
        if self.ends not in ("seen", "leaves", "any"):
            raise ValueError(f"PathOutputs: ends must be 'seen', 'leaves' or 'any', got {self.ends!r}")
        self.made_of_ = kind_of_sequences(outputs)
        tree = self.kernel_.tree_
        ends = np.full(len(tree), self.ends == "any")
        if self.ends != "any":
            ends[list(set(range(len(tree))) - set(tree.parents))] = True
        for i, path in enumerate(outputs):
            node = self._end(path, f"y[{i}]")
            if self.ends == "leaves" and not ends[node]:
                raise ValueError(
                    f"y[{i}] = {path!r:.60} ends inside of the tree, and ends='leaves'; take ends='seen' or 'any'"
                )
            ends[node] = True
        self.ends_ = np.flatnonzero(ends)
        norms = _down(tree, self._weights()[None])[0, self.ends_]
        self.constant_norm = bool(self.kernel_.normalize or np.allclose(norms, norms[0]))

    def _weights(self) -> np.ndarray:
        return self.kernel_.weights_of(np.array(self.kernel_.tree_.levels))

    def _end(self, path: Any, where: str) -> int:
        """The node at the end of a path, which must be in the tree."""
        names = self.kernel_.names(path, where)
        nodes = self.kernel_.tree_.along(names)
        if not names:
            raise ValueError(f"{where} is an empty path; a path has at least one name")
        if len(nodes) < len(names):
            missing = names[len(nodes)]
            raise ValueError(
                f"{where} = {path!r:.60} is not in the tree: there is no {missing!r} at level {len(nodes)} below "
                f"{names[: len(nodes)]!r}. Add the path to tree=..., and name every level"
            )
        return nodes[-1]

    def check_kept(self) -> None:
        """Ends in the tree."""
        if not isinstance(self.kernel_, CommonPath):
            raise ValueError("the outputs are not those of a kernel of paths")
        check_codes("ends_", check_array("ends_", self.ends_, np.int64), len(self.kernel_.tree_))
        check_symbols("tuple" if self.kernel_.separator is None else "str", self.kernel_.tree_.names)

    def pre_images(self, votes: np.ndarray, X: Any = None) -> PreImages:
        """The best end of all, for every row of votes."""
        tree, weights = self.kernel_.tree_, self._weights()
        sums = _down(tree, votes * np.sqrt(weights))[:, self.ends_]
        norms = _down(tree, weights[None])[:, self.ends_]
        each = 1.0 - 2.0 * sums / np.sqrt(norms) if self.kernel_.normalize else norms - 2.0 * sums
        best = each.argmin(axis=1)
        values = each[np.arange(len(each)), best]
        return PreImages([self._path(int(self.ends_[k])) for k in best], values, values, "tree")

    def _path(self, node: int) -> Any:
        names = self.kernel_.tree_.path(node)
        if self.kernel_.separator is not None:
            return self.kernel_.separator.join(names)
        return sequence_of(self.made_of_, list(names))


def _down(tree: Tree, values: np.ndarray) -> np.ndarray:
    """Sums of the values of nodes, one row each, along the paths from the top to every node."""
    sums, parents, levels = values.astype(float), np.array(tree.parents), np.array(tree.levels)
    for level in range(1, int(levels.max(initial=0)) + 1):
        nodes = np.flatnonzero(levels == level)
        sums[:, nodes] += sums[:, parents[nodes]]
    return sums
