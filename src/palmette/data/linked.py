"""What an annotation says of edges: which labels their two ends may have together."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.data.annotation import UNKNOWN, Annotation, OneOf
from palmette.data.ragged import offsets_from_lengths


class Linked(Sequence[Any]):
    """Labels of the nodes of a graph, with allowed labels of some of its edges.

    Parameters
    ----------
    labels : sequence
        One label per node, each of which may be ``UNKNOWN`` or :class:`~palmette.OneOf`.
    pairs : dict
        ``{(u, v): OneOf((a, b), ...)}``: node u has the label a while node v has the label b, or another of these
        pairs. There must be an edge between u and v, in this direction or the other.

    Examples
    --------
    Two neighbours are equal, whatever they are:

    >>> from palmette import CRF, UNKNOWN, Graph, Linked
    >>> same = Linked([UNKNOWN, "a"], {(0, 1): OneOf(("a", "a"), ("b", "b"))})
    >>> model = CRF(Graph(), l2=0.1).fit([([["x"], ["y"]], [(0, 1)]), ([["z"]], [])], [same, ["b"]])
    >>> model.predict([([["x"]], [])])
    [['a']]
    """

    __slots__ = ("labels", "pairs")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, labels: Any, pairs: Mapping[tuple[int, int], OneOf]) -> None:
        if not isinstance(pairs, Mapping):
            raise TypeError(f"Linked: pairs must be a dict {{(u, v): OneOf((a, b), ...)}}, got {pairs!r:.60}")
        self.labels = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
        self.pairs = dict(pairs)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, node: Any) -> Any:
        return self.labels[node]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Linked) and (self.labels, self.pairs) == (other.labels, other.pairs)

    def __repr__(self) -> str:
        return f"Linked({self.labels!r}, {self.pairs!r})"

    def right(self, labels: Sequence[Any], where: str) -> int:
        """How many edges have a pair of these labels that is allowed; ``where`` is the name of this in messages."""
        return sum((labels[u], labels[v]) in several.labels for _, (u, v), several in self.said(where))

    def said(self, where: str) -> Iterator[tuple[str, tuple[int, int], OneOf]]:
        """Of each annotated edge: its name in messages, its ends, and the pairs of labels; checked."""
        for ends, several in self.pairs.items():
            at = f"{where}, edge {ends!r}"
            try:
                u, v = map(operator.index, ends)
            except (TypeError, ValueError):
                raise TypeError(f"{at}: an edge is named by the numbers (u, v) of two nodes") from None
            if not (0 <= u < len(self) and 0 <= v < len(self)):
                raise ValueError(f"{at}: there is no such node; nodes have the numbers 0 to {len(self) - 1}")
            if u != v and (v, u) in self.pairs:
                raise ValueError(
                    f"{at} is annotated in both directions: give one, with the pairs that both allow"
                )
            if not isinstance(several, OneOf):
                raise TypeError(f"{at}: {several!r:.60} must be OneOf((a, b), ...), pairs of labels")
            for pair in several.labels:
                if not (type(pair) is tuple and len(pair) == 2) or any(
                    label is UNKNOWN or isinstance(label, OneOf) for label in pair
                ):
                    raise ValueError(
                        f"{at}: {pair!r:.60} is not a pair of labels: name all pairs that are possible"
                    )
            yield at, (u, v), several


@dataclass(frozen=True)
class Pairs:
    """Allowed codes of pairs of parts.

    Parameters
    ----------
    places : ndarray of int64, shape (n_pairs, 2)
        The two parts of each pair, as places in the codes of an annotation; the first ones ascend.
    table : ndarray of int64, shape (n_pairs,)
        Which of the tables says what is allowed.
    tables : ndarray of bool, shape (n_tables, n_kinds, n_kinds)
        The code of the first part in rows, that of the second in columns.
    """

    places: np.ndarray
    table: np.ndarray
    tables: np.ndarray

    def __len__(self) -> int:
        return len(self.places)

    def take(self, rows: slice | np.ndarray, n_codes: int) -> Pairs | None:
        """Those of some of the codes, of whole samples, of which there may be copies; None if there are none."""
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(n_codes))
        first, step = self.places[:, 0], self.places[:, 1] - self.places[:, 0]
        lo, hi = (np.searchsorted(first, rows, side) for side in ("left", "right"))
        place = np.repeat(np.arange(len(rows)), hi - lo)
        if not len(place):
            return None
        own = np.arange(len(place)) + np.repeat(lo - offsets_from_lengths(hi - lo)[:-1], hi - lo)
        # a sample keeps its parts in a row
        return Pairs(np.column_stack([place, place + step[own]]), self.table[own], self.tables)

    def broken(self, codes: np.ndarray) -> np.ndarray:
        """Whether each pair has codes that are not allowed, bool (n_pairs,).

        >>> equal = Pairs(np.array([[0, 1], [1, 2]]), np.zeros(2, int), np.eye(2, dtype=bool)[None])
        >>> equal.broken(np.array([1, 1, 0]))
        array([False,  True])
        """
        return ~self.tables[(self.table, *codes[self.places].T)]

    def links_of(self, links: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The link, of those with these ends (n_links, 2), that joins each pair, -1 if none; whether it is reversed."""
        size = 1 + max(self.places.max(initial=0), links.max(initial=0))
        wanted, known = (ends.min(axis=1) * size + ends.max(axis=1) for ends in (self.places, links))
        order = np.argsort(known, kind="stable")
        at = np.searchsorted(known[order], wanted)
        link = np.append(order, -1)[at]
        link[np.append(known, -1)[link] != wanted] = -1
        return link, np.vstack([links, [[-1, -1]]])[link, 0] != self.places[:, 0]

    def on(self, links: np.ndarray) -> np.ndarray:
        """Which codes each link allows, bool (n_links, n_kinds, n_kinds).

        >>> some = Pairs(np.array([[0, 1]]), np.array([0]), np.array([[[True, True], [False, False]]]))
        >>> some.on(np.array([[1, 0], [1, 2]])).astype(int).tolist()
        [[[1, 0], [1, 0]], [[1, 1], [1, 1]]]
        """
        link, turned = self.links_of(links)
        if np.any(link < 0):
            a, b = self.places[np.argmax(link < 0)].tolist()
            raise ValueError(
                f"the annotation has allowed codes for the parts {a} and {b}, which no edge joins"
            )
        allowed = np.ones((len(links), *self.tables.shape[1:]), bool)
        own = self.tables[self.table]
        np.logical_and.at(allowed, link, np.where(turned[:, None, None], own.swapaxes(1, 2), own))
        return allowed

    def readings(self, known: np.ndarray, possible: np.ndarray) -> Iterator[np.ndarray]:
        """Codes, -1 where unknown, so often that each pair has each of the codes that it allows."""
        own = self.tables[self.table]
        own = own & possible[self.places[:, 0]][:, :, None] & possible[self.places[:, 1]][:, None, :]
        turn = _turns(self.places)
        for k in range(int(turn.max(initial=-1)) + 1):
            mine = np.flatnonzero(turn == k)
            codes = [np.argwhere(own[p]) for p in mine.tolist()]
            for j in range(max(map(len, codes))):
                reading = known.copy()
                reading[self.places[mine]] = [each[j % len(each)] for each in codes]
                yield reading


def _turns(places: np.ndarray) -> np.ndarray:
    """A number for each pair, low ones first, so that no two pairs of one part have the same."""
    used: dict[int, int] = {}
    turns = []
    for a, b in places.tolist():
        taken = used.get(a, 0) | used.get(b, 0)
        free = ~taken & (taken + 1)  # the lowest bit that is not set
        used[a], used[b] = used.get(a, 0) | free, used.get(b, 0) | free
        turns.append(free.bit_length() - 1)
    return np.array(turns, np.int64)


def coded_pairs(
    nested: Sequence[Any], lengths: Any, code_of: Callable[[Any, str], int], n_kinds: int
) -> Pairs | None:
    """The pairs that outputs with :class:`Linked` among them name, by their codes; None if they name none."""
    starts, places, numbers = offsets_from_lengths(lengths), [], []
    number: dict[OneOf, int] = {}
    tables: list[np.ndarray] = []
    for i, labels in enumerate(nested):
        for at, (u, v), several in labels.said(f"y[{i}]") if isinstance(labels, Linked) else ():
            if several not in number:
                number[several] = len(tables)
                tables.append(np.zeros((n_kinds, n_kinds), bool))
                for a, b in several.labels:
                    tables[-1][code_of(a, at), code_of(b, at)] = True
            places.append((starts[i] + u, starts[i] + v))
            numbers.append(number[several])
    if not places:
        return None
    ends = np.array(places, np.int64)
    order = np.argsort(ends[:, 0], kind="stable")
    return Pairs(ends[order], np.array(numbers, np.int64)[order], np.stack(tables))


def check_pairs(
    annotation: Annotation, links: np.ndarray, offsets: np.ndarray, classes: Sequence[Any]
) -> None:
    """Refuse allowed codes of parts that no link joins, and those that contradict what is known of the parts."""
    pairs, possible = annotation.pairs, annotation.possible()
    ends = pairs.places
    left = pairs.tables[pairs.table] & possible[ends[:, 0]][:, :, None] & possible[ends[:, 1]][:, None, :]
    for bad, what in (
        (
            pairs.links_of(links)[0] < 0,
            "no edge joins these nodes: add it to the graph, or leave the pair out",
        ),
        (
            ~left.any(axis=(1, 2)),
            "{} are not among the allowed pairs: correct the labels of the nodes or the pairs",
        ),
    ):
        for p in np.flatnonzero(bad)[:1].tolist():
            sample = int(np.searchsorted(offsets, ends[p, 0], side="right")) - 1
            u, v = (ends[p] - offsets[sample]).tolist()
            shown = " and ".join(_shown(possible[row], classes) for row in ends[p])
            raise ValueError(f"y[{sample}], edge {(u, v)}: {what.format(f'the labels {shown}')}")


def _shown(possible: np.ndarray, classes: Sequence[Any]) -> str:
    return (
        "UNKNOWN"
        if possible.all()
        else " or ".join(repr(classes[k]) for k in np.flatnonzero(possible).tolist())
    )
