"""Factors on several nodes of a graph, as users give them."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

KINDS = ("table", "at_most_one", "parity", "agreement")
NO_LABEL = ("table", "agreement")  # kinds of factors that speak of no single label
MOST_NODES = 30  # of a factor with a table: two labels make 2^30 entries


class Factor:
    """Factors on several nodes at once; see :class:`Clique`, :class:`AtMostOne`, :class:`Parity`, :class:`Agreement`.

    ``nodes`` is int64 (n_factors, most nodes), -1 behind the nodes of smaller factors.
    """

    kind = "table"
    fewest = 2

    def __init__(self, nodes: Any, type: Any, label: Any = None) -> None:
        self.nodes, self.type, self.label = _scopes(nodes, self.fewest, self.__class__.__name__), type, label

    @property
    def arity(self) -> int:
        """Nodes of every factor, 0 where it does not matter."""
        return self.nodes.shape[1] if self.kind == "table" else 0

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({len(self.nodes)} factors, type={self.type!r})"


def _scopes(nodes: Any, fewest: int, name: str) -> np.ndarray:
    """Lists of nodes as a table, padded with -1."""
    given = nodes.tolist() if isinstance(nodes, np.ndarray) else list(nodes)
    lists = bool(given) and all(hasattr(row, "__len__") and not isinstance(row, str) for row in given)
    rows = [list(row) for row in given] if lists else [given]
    for row in rows:
        if len(row) < fewest or not all(isinstance(v, Integral) and not isinstance(v, bool) for v in row):
            raise ValueError(
                f"the nodes of {name} are lists of {fewest} or more node numbers, got {row!r:.60}"
                + ("; pairs are edges" if fewest == 3 and len(row) == 2 else "")
            )
        if min(row) < 0:
            raise ValueError(f"the nodes of {name} are numbered from 0, got {row!r:.60}")
    table = np.full((len(rows), max(map(len, rows))), -1, np.int64)
    for row, own in zip(rows, table):
        own[: len(row)] = row
    return table


class Clique(Factor):
    """Factors with a table of weights for the labels of their nodes; one table for each ``type``.

    Parameters
    ----------
    nodes : array of int, shape (n_factors, arity) or (arity,)
        The nodes of every factor, in the order of the axes of the table; three or more, all different.
    type : hashable, default="clique"
        Factors of one type share their weights and have as many nodes.

    Examples
    --------
    >>> Clique([[0, 1, 2], [1, 2, 3]])
    Clique(2 factors, type='clique')
    """

    fewest = 3

    def __init__(self, nodes: Any, type: Any = "clique") -> None:
        super().__init__(nodes, type)
        if np.any(self.nodes < 0):
            raise ValueError("the cliques of one type have as many nodes: give others another type")


class AtMostOne(Factor):
    """At most one node of each list has the label: a hard constraint, without weights.

    Examples
    --------
    >>> AtMostOne([0, 1, 2, 5], label="title")
    AtMostOne(1 factors, type='title')
    """

    kind = "at_most_one"

    def __init__(self, nodes: Any, label: Any) -> None:
        super().__init__(nodes, label, label)


class Parity(Factor):
    """Whether the number of nodes with the label is even or odd: two weights for each ``type``, lists of any length.

    Examples
    --------
    >>> Parity([[0, 1, 2], [3, 4]], label=1)
    Parity(2 factors, type='parity')
    """

    kind = "parity"

    def __init__(self, nodes: Any, label: Any, type: Any = "parity") -> None:
        super().__init__(nodes, type, label)


class Agreement(Factor):
    """Whether all nodes of a list have the same label (high-order Potts): a weight for each label, one for none.

    Examples
    --------
    >>> Agreement([[0, 1, 2], [3, 4]])
    Agreement(2 factors, type='agreement')
    """

    kind = "agreement"

    def __init__(self, nodes: Any, type: Any = "agreement") -> None:
        super().__init__(nodes, type)
