"""The kernel of paths in a tree: how far two of them go together."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from palmette.data.checks import check_array, check_codes, needed
from palmette.data.ragged import offsets_from_lengths
from palmette.kernels.objects import ObjectKernel, feature_rows, hashable, revived_alphabet, stored_alphabet
from palmette.registry import register


@register("kernel")
class CommonPath(ObjectKernel):
    """Length of the common beginning of two paths, or the sum of the weights of its levels.

    A path is a sequence of names from below the root on, of any length. ``K(x, x)`` is the length of x.

    Parameters
    ----------
    weights : sequence of float, optional
        Of the levels, 1 by default; the last one is also that of deeper levels.
    separator : str, optional
        Paths are strings whose names it separates, such as "." in "1.2.3".
    normalize : bool, default=False
        Divide by ``sqrt(K(x, x) K(y, y))``.

    Examples
    --------
    >>> CommonPath(separator=".")(["1.2.3"], ["1.2.4", "1.3.3", "1.2"])
    array([[2., 1., 2.]])
    >>> CommonPath(weights=(0.5, 1.0))([("a", "b", "c")])
    array([[2.5]])
    """

    def __init__(self, weights: Any = None, separator: str | None = None, normalize: bool = False) -> None:
        self.weights = weights
        self.separator = separator
        self.normalize = normalize

    def check(self) -> None:
        """Refuse settings that make no sense."""
        super().check()
        own: list[Any] = [1.0] if self.weights is None else list(self.weights)
        if not own or any(not isinstance(w, Real) or not 0.0 < float(w) < np.inf for w in own):
            raise ValueError(f"CommonPath: weights must be positive numbers, got {self.weights!r}")
        if self.separator is not None and (not isinstance(self.separator, str) or not self.separator):
            raise ValueError(f"CommonPath: separator must be a text, got {self.separator!r}")

    def names(self, path: Any, where: str = "X") -> tuple[Any, ...]:
        """A path as the names on it."""
        if self.separator is not None:
            if not isinstance(path, str):
                raise TypeError(
                    f"{where} must be a text with names between {self.separator!r}, got {path!r:.60}"
                )
            found = tuple(path.split(self.separator)) if path else ()
            if "" in found:
                raise ValueError(
                    f"{where} = {path!r:.60} skips a level: there is no name at level {found.index('') + 1}; name "
                    "every level from the top"
                )
            return found
        if isinstance(path, str) or not isinstance(path, Iterable):
            raise TypeError(
                f"{where} must be a sequence of names, got {path!r:.60}; for texts give "
                "CommonPath(separator=...)"
            )
        found = hashable(list(path))
        if None in found:
            raise ValueError(
                f"{where} = {path!r:.60} skips a level: there is no name at level {found.index(None) + 1}; name "
                "every level from the top"
            )
        return found

    def weights_of(self, levels: np.ndarray) -> np.ndarray:
        """Weights of levels, the first of which is 0."""
        own = np.ones(1) if self.weights is None else np.asarray(self.weights, float)
        return own[np.minimum(levels, len(own) - 1)]

    def learn(self, objects: list[Any]) -> None:
        """The tree of the training paths; its nodes are numbered parents first."""
        self.tree_ = Tree()
        for i, path in enumerate(objects):
            self.tree_.add(self.names(path, f"{self.called}[{i}]"))

    @property
    def n_features(self) -> int:
        """Number of nodes."""
        return len(self.tree_)

    def learned(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The tree."""
        names = list(dict.fromkeys(self.tree_.names))
        code = {name: k for k, name in enumerate(names)}
        arrays = {
            "parents": np.array(self.tree_.parents, np.int64),
            "names": np.array([code[name] for name in self.tree_.names], np.int64),
        }
        return {"alphabet": stored_alphabet(names)}, arrays

    def relearn(self, header: Any, arrays: Any) -> None:
        """The tree."""
        names = revived_alphabet(header)
        parents = check_array("parents", needed(arrays, "parents"), np.int64)
        codes = check_array("names", needed(arrays, "names"), np.int64, 1, len(parents))
        check_codes("names", codes, len(names))
        self.tree_ = Tree(parents.tolist(), [names[code] for code in codes])

    def prepare(self, rows: Any) -> sparse.csr_array:
        """Indicators of the nodes on a path, times the square root of their level's weight."""
        paths = [self.names(path, f"{self.called}[{i}]") for i, path in enumerate(rows)]
        nodes = [self.tree_.along(path) for path in paths]
        offsets = offsets_from_lengths(list(map(len, nodes)))
        columns = np.fromiter((node for some in nodes for node in some), np.int64, int(offsets[-1]))
        owner = np.repeat(np.arange(len(paths)), np.diff(offsets))
        levels = np.arange(len(columns)) - np.repeat(offsets[:-1], np.diff(offsets))
        beyond = [np.arange(len(some), len(path)) for some, path in zip(nodes, paths)]
        rest = np.array([self.weights_of(levels).sum() for levels in beyond], float)
        return feature_rows(
            (len(paths), len(self.tree_)), owner, columns, np.sqrt(self.weights_of(levels)), rest
        )


class Tree:
    """Paths that share beginnings: node k has a parent, -1 at the top, a name and a level.

    >>> tree = Tree()
    >>> tree.add(("a", "b")), tree.add(("a",)), tree.along(("a", "c"))
    (1, 0, [0])
    """

    def __init__(self, parents: Iterable[int] = (), names: Iterable[Any] = ()) -> None:
        self.parents: list[int] = []
        self.names: list[Any] = []
        self.levels: list[int] = []
        self._child: dict[tuple[int, Any], int] = {}
        for parent, name in zip(parents, names, strict=True):
            if not -1 <= parent < len(self.parents):
                raise ValueError(
                    f"node {len(self.parents)} of a tree has the parent {parent}, which comes later"
                )
            if (parent, name) in self._child:
                raise ValueError(f"node {parent} of a tree has two children {name!r}")
            self._new(parent, name)

    def __len__(self) -> int:
        return len(self.parents)

    def _new(self, parent: int, name: Any) -> int:
        self._child[parent, name] = node = len(self.parents)
        self.parents.append(parent)
        self.names.append(name)
        self.levels.append(0 if parent < 0 else self.levels[parent] + 1)
        return node

    def add(self, path: tuple[Any, ...]) -> int:
        """Put a path into the tree; the node at its end."""
        node = -1
        for name in path:
            found = self._child.get((node, name))
            node = self._new(node, name) if found is None else found
        return node

    def along(self, path: tuple[Any, ...]) -> list[int]:
        """The nodes on a path, as far as the tree has it."""
        nodes: list[int] = []
        for name in path:
            found = self._child.get((nodes[-1] if nodes else -1, name))
            if found is None:
                break
            nodes.append(found)
        return nodes

    def path(self, node: int) -> tuple[Any, ...]:
        """The names from the top to a node."""
        names = []
        while node >= 0:
            names.append(self.names[node])
            node = self.parents[node]
        return tuple(reversed(names))
