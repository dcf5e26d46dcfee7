"""Whether codes of nodes are outputs."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from palmette.structures.hierarchy.tree import Tree


def first_flaw(tree: Tree, codes: np.ndarray, inner_ends: bool, multi_label: bool) -> tuple[int, str] | None:
    """The first of the complete outputs (rows without -1) that is none, and why; None if all are fine.

    >>> tree = Tree.of([("a", "x"), ("b",)])
    >>> first_flaw(tree, np.array([[1, 1, 0], [0, 1, 0]]), False, False)
    (1, "has the node ('a', 'x') and not its parent ('a',)")
    """
    n = len(tree)
    complete = np.flatnonzero(np.all(codes >= 0, axis=1))
    given = codes[complete]
    # Column n stands for the root.
    above = np.where(tree.parent < 0, n, tree.parent)
    whole = np.concatenate([given, np.ones((len(given), 1), given.dtype)], axis=1)
    orphan = (given == 1) & (whole[:, above] == 0)
    below = sparse.csr_array((np.ones(n), (np.arange(n), above)), shape=(n, n + 1))
    children = given @ below
    stuck = np.zeros_like(whole, bool)
    if not inner_ends:
        stuck[:, :n] = (given == 1) & (children[:, :n] == 0) & ~tree.leaf
    if not (inner_ends and multi_label):
        stuck[:, n] = children[:, n] == 0
    forked = (children > 1) & (not multi_label)
    for row in np.flatnonzero((orphan.any(axis=1)) | stuck.any(axis=1) | forked.any(axis=1))[:1].tolist():
        place = int(complete[row])
        if orphan[row].any():
            node = tree.nodes[int(np.flatnonzero(orphan[row])[0])]
            return place, f"has the node {node!r:.60} and not its parent {node[:-1]!r:.60}"
        which = np.flatnonzero(forked[row] if forked[row].any() else stuck[row])[0]
        name = f"{tree.nodes[which]!r:.60}" if which < n else "the root"
        if forked[row].any():
            return place, f"has several nodes below {name}: give one path, or use Hierarchy(multi_label=True)"
        return (
            place,
            f"ends at {name}, inside the tree: give the whole path, or use Hierarchy(inner_ends=True)",
        )
    return None
