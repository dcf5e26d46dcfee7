"""Outputs as walks: one pass over the nodes of a tree, at each of which an output takes the node or leaves it.

A state is a node that is looked at, given that its parent is in the output. Leaving a node leaves all nodes below it,
so that each step decides a run of nodes, and every output is exactly one walk from the first state to the end. All
answers are recurrences over the two steps of each state.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palmette.structures.hierarchy.tree import Tree


@dataclass(frozen=True)
class Walk:
    """States in an order in which steps only go forward; the end is state ``n_states``.

    Parameters
    ----------
    node : ndarray of int64, shape (n_states,)
        The node that a state looks at.
    go : ndarray of int64, shape (n_states, 2)
        The next state if the node is left (0) or taken (1).
    stop : ndarray of int64, shape (n_states, 2)
        The step b leaves the nodes ``node + b .. stop[b] - 1``.
    dead : ndarray of bool, shape (n_states, 2)
        Steps that no output makes.

    Examples
    --------
    >>> walk = Walk.over(Tree.of([("a", "x"), ("a", "y"), ("b",)]), inner_ends=False, multi_label=False)
    >>> walk.go.tolist()  # a: left for b, or taken, which leads to x
    [[3, 1], [2, 4], [4, 4], [4, 4]]
    >>> walk.n_outputs
    3
    """

    node: np.ndarray
    go: np.ndarray
    stop: np.ndarray
    dead: np.ndarray

    @classmethod
    def over(cls, tree: Tree, inner_ends: bool, multi_label: bool) -> Walk:
        """All paths of a tree, or all subtrees that have the root; they end at leaves, or anywhere."""
        steps = _subtree_steps(tree, inner_ends) if multi_label else _path_steps(tree, inner_ends)
        start = (0, multi_label and not inner_ends)
        end = (len(tree), False)
        reached, at = {start, end}, [start]
        while at:
            for target, _ in steps(*at.pop()):
                if target is not None and target not in reached:
                    reached.add(target)
                    at.append(target)
        states = sorted(reached)  # a step goes to a later node
        number = {state: k for k, state in enumerate(states)}
        made = [steps(*state) for state in states[:-1]]
        return cls(
            np.array([v for v, _ in states[:-1]], np.int64),
            np.array([[number[end if t is None else t] for t, _ in own] for own in made], np.int64),
            np.array([[stop for _, stop in own] for own in made], np.int64),
            np.array([[t is None for t, _ in own] for own in made], bool),
        )

    def __len__(self) -> int:
        return len(self.node)

    @property
    def arguments(self) -> tuple[np.ndarray, ...]:
        """The arrays as kernels take them."""
        return self.node, self.go, self.stop, self.dead

    @property
    def n_outputs(self) -> int:
        """How many outputs there are."""
        return self._ways()[0]

    def first_besides(self, codes: np.ndarray) -> np.ndarray | None:
        """The lowest codes of an output that is none of the distinct outputs ``codes`` (n, n_nodes); None without one.

        At each state to the lower step after which there are more outputs than given ones.
        """
        ways = self._ways()
        if ways[0] <= len(codes):
            return None
        found, s, rest = np.zeros(codes.shape[1], np.int32), 0, codes
        while s < len(self):
            v, left = self.node[s], rest[:, self.node[s]] == 0
            b = 0 if not self.dead[s, 0] and ways[self.go[s, 0]] > np.count_nonzero(left) else 1
            found[v], s, rest = b, int(self.go[s, b]), rest[left == (b == 0)]
        return found

    def _ways(self) -> list[int]:
        """How many outputs go on from each state."""
        ways = [0] * len(self) + [1]
        for s in range(len(self) - 1, -1, -1):
            ways[s] = sum(ways[t] for t, dead in zip(self.go[s].tolist(), self.dead[s].tolist()) if not dead)
        return ways


State = tuple[int, bool]  # a node, and whether one of its siblings must still be taken
Step = tuple[State | None, int]  # the next state (None: no output does that), and where the nodes left end


def _path_steps(tree: Tree, inner_ends: bool):  # type: ignore[no-untyped-def]
    n, parent, stop, leaf = len(tree), tree.parent.tolist(), tree.stop.tolist(), tree.leaf.tolist()
    end = (n, False)

    def steps(v: int, _: bool) -> tuple[Step, Step]:
        # Below a node that is taken a path goes on at its first child; at a leaf it ends, and all the rest is left.
        taken: Step = (end, n) if leaf[v] else ((v + 1, False), v + 1)
        if stop[v] < n and parent[stop[v]] == parent[v]:
            return ((stop[v], False), stop[v]), taken  # the next sibling
        # No child is left to take: the path ends at the parent, if it may.
        return (end if inner_ends and parent[v] >= 0 else None, n), taken

    return steps


def _subtree_steps(tree: Tree, inner_ends: bool):  # type: ignore[no-untyped-def]
    n, parent, stop, leaf = len(tree), tree.parent.tolist(), tree.stop.tolist(), tree.leaf.tolist()

    def steps(v: int, needed: bool) -> tuple[Step, Step]:
        # Of the children of a node that is taken one must be, too, unless outputs end anywhere.
        taken: Step = (v + 1, not inner_ends and not leaf[v]), v + 1
        sibling = stop[v] < n and parent[stop[v]] == parent[v]
        if needed and not sibling:
            return (None, stop[v]), taken
        return ((stop[v], needed and sibling), stop[v]), taken

    return steps
