"""The tree of classes: its nodes in the order in which a walk from the top meets them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from palmette.data.labels import _in_order
from palmette.data.paths import nodes_of, read_path

Node = tuple[Any, ...]


@dataclass(frozen=True)
class Tree:
    """A tree without its root; node ``v`` stands before all nodes below it, which stand together.

    Parameters
    ----------
    nodes : tuple of tuple
        Every node as the labels from the top to it.

    Examples
    --------
    >>> tree = Tree.of([("b",), ("a", "x"), ("a", "y")])
    >>> tree.nodes
    (('a',), ('a', 'x'), ('a', 'y'), ('b',))
    >>> tree.parent, tree.stop
    (array([-1,  0,  0, -1]), array([3, 2, 3, 4]))
    """

    nodes: tuple[Node, ...]

    @classmethod
    def of(cls, paths: Iterable[Node], *, ordered: bool = True) -> Tree:
        """The tree of all nodes on paths; labels below a node are in their order, or as they appear."""
        below: dict[Node, list[Any]] = {(): []}
        for node in paths:
            for k in range(len(node)):
                if node[: k + 1] not in below:
                    below[node[: k + 1]] = []
                    below[node[:k]].append(node[k])
        found: list[Node] = []
        open_: list[Node] = [()]
        while open_:
            node = open_.pop()
            if node:
                found.append(node)
            labels = _in_order(below[node]) if ordered else below[node]
            open_ += [(*node, label) for label in reversed(labels)]
        return cls(tuple(found))

    def __len__(self) -> int:
        return len(self.nodes)

    def check(self) -> None:
        """Raise ValueError unless every node stands right below its parent or after that one's other nodes.

        >>> Tree((("a", "x"), ("a",))).check()
        Traceback (most recent call last):
        ...
        ValueError: node 0 of the tree, ('a', 'x'), does not follow its parent ('a',)
        """
        if not self.nodes:
            raise ValueError("the tree has no node")
        last: Node = ()
        for k, node in enumerate(self.nodes):
            fits = isinstance(node, tuple) and node and len(node) <= len(last) + 1
            if not fits or node[:-1] != last[: len(node) - 1]:
                above = node[:-1] if isinstance(node, tuple) else ()
                raise ValueError(
                    f"node {k} of the tree, {node!r:.60}, does not follow its parent {above!r:.60}"
                )
            last = node
        if len(set(self.nodes)) != len(self.nodes):
            raise ValueError("the tree has a node twice")

    @cached_property
    def place(self) -> dict[Node, int]:
        """The number of each node."""
        return {node: v for v, node in enumerate(self.nodes)}

    @cached_property
    def level(self) -> np.ndarray:
        """The level of each node, from 1."""
        return np.array([len(node) for node in self.nodes], np.int64)

    @property
    def depth(self) -> int:
        """The number of levels."""
        return int(self.level.max(initial=0))

    @cached_property
    def parent(self) -> np.ndarray:
        """The number of each node's parent; -1 at the top."""
        return np.array([self.place.get(node[:-1], -1) for node in self.nodes], np.int64)

    @cached_property
    def stop(self) -> np.ndarray:
        """The nodes below node v are ``v + 1 .. stop[v] - 1``."""
        stop = np.arange(1, len(self) + 1)
        for v in range(len(self) - 1, -1, -1):
            above = self.parent[v]
            if above >= 0:
                stop[above] = max(stop[above], stop[v])
        return stop

    @cached_property
    def leaf(self) -> np.ndarray:
        """Whether nothing is below a node, bool."""
        return self.stop == np.arange(1, len(self) + 1)

    def along(self, values: np.ndarray) -> np.ndarray:
        """Sums of ``values`` (one per node) along the path from the top to each node.

        >>> Tree.of([("a", "x"), ("b",)]).along(np.array([1.0, 2.0, 4.0]))
        array([1., 3., 4.])
        """
        total = np.array(values, float)
        for v in range(len(self)):
            if self.parent[v] >= 0:
                total[v] += total[self.parent[v]]
        return total


def given_tree(tree: Any, separator: str) -> Tree:
    """The tree that a user gives: nested dicts, a dict from nodes to parents, or a list of paths.

    >>> given_tree({"a": {"x": {}, "y": {}}, "b": []}, ".").nodes
    (('a',), ('a', 'x'), ('a', 'y'), ('b',))
    >>> given_tree({"x": "a", "a": None}, ".").nodes
    (('a',), ('a', 'x'))
    >>> given_tree(["a.x", ("b",)], ".").nodes
    (('a',), ('a', 'x'), ('b',))
    """
    if isinstance(tree, Mapping):
        nested = all(isinstance(each, Mapping | list | tuple) for each in tree.values())
        paths = list(_nested(tree, ())) if nested else _from_parents(tree)
    elif isinstance(tree, str | bytes) or not isinstance(tree, Iterable):
        raise TypeError(
            f"tree={tree!r:.60} is a {type(tree).__name__}; give nested dicts, a dict {{node: parent}} or a list of "
            "paths (palmette.structures.tree_from_edges makes a dict of edges)"
        )
    else:
        found = [read_path(each, separator, f"tree[{k}]") for k, each in enumerate(tree)]
        for k, path in enumerate(found):
            if path.open:
                raise ValueError(f"tree[{k}] has UNKNOWN in it; the paths of a tree are known to their ends")
        paths = list(nodes_of(found))
    if not paths:
        raise ValueError(f"tree={tree!r:.60} has no node; leave it out to read the tree off the paths of y")
    return Tree.of(paths, ordered=False)


def tree_from_edges(edges: Sequence[tuple[Any, Any]]) -> dict[Any, Any]:
    """Edges ``(parent, child)`` as a dict ``{child: parent}``; the parent of a node at the top is None, or not named.

    >>> tree_from_edges([("animal", "dog"), ("animal", "cat")])
    {'animal': None, 'dog': 'animal', 'cat': 'animal'}
    """
    parents: dict[Any, Any] = {}
    for k, edge in enumerate(edges):
        if isinstance(edge, str) or len(edge) != 2:
            raise ValueError(f"edges[{k}] = {edge!r:.60} is not a pair (parent, child)")
        parent, child = edge
        if parents.get(child) is not None and parents[child] != parent:
            raise ValueError(
                f"edges[{k}] = {edge!r:.60} gives {child!r} the parent {parent!r}, and an earlier edge "
                f"{parents[child]!r}: in a tree a node has one parent; give copies of the node different names"
            )
        if parent is not None:
            parents.setdefault(parent, None)
        parents[child] = parent
    return parents


def _nested(tree: Any, above: Node) -> Iterable[Node]:
    """Nodes of nested dicts, whose leaves may be a list of labels."""
    for label in tree:
        node = (*above, *read_path((label,), where="tree").labels)
        yield node
        if isinstance(tree, Mapping):
            yield from _nested(tree[label], node)


def _from_parents(parents: Mapping[Any, Any]) -> list[Node]:
    """Nodes by their parents; a parent that has none itself is at the top."""
    found: dict[Any, Node] = {}
    for start in parents:
        way: list[Any] = []
        node = start
        while node is not None and node not in found:
            if node in way:
                circle = " -> ".join(map(repr, [*way[way.index(node) :], node]))
                raise ValueError(f"tree has a cycle, from node to parent: {circle}; a tree has none")
            way.append(node)
            node = parents.get(node)
        for each in reversed(way):
            above = parents.get(each)
            found[each] = (*(() if above is None else found[above]), *read_path((each,), where="tree").labels)
    return list(found.values())
