"""Grades of relevance outside, one code per document inside; flat tables with query ids as lists of queries.

A document has the code ``rank | grade << 20``. A true output has the grade of every document and its rank in one order
that is best for these grades; a predicted one has ranks only (grade 0).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from palmette.data.annotation import UNKNOWN, UNKNOWN_CODE, Annotation, Known, OneOf
from palmette.data.labels import LabelCodec
from palmette.data.outside import checked_csr, refuse_masked
from palmette.data.ragged import Ragged
from palmette.data.sequences import listed
from palmette.errors import ModelFileError
from palmette.registry import register

RANK_BITS = 20
MOST_DOCUMENTS = 1 << RANK_BITS
HIGHEST_GRADE = (1 << (31 - RANK_BITS)) - 1
SCORE = "relevance"  # the one label of documents: what features have weights for


def ranks_of(codes: np.ndarray) -> np.ndarray:
    """The ranks in codes, from 0.

    >>> ranks_of(np.array([1 | 2 << 20])), grades_of(np.array([1 | 2 << 20]))
    (array([1]), array([2]))
    """
    return codes & (MOST_DOCUMENTS - 1)


def grades_of(codes: np.ndarray) -> np.ndarray:
    """The grades in codes; 0 in predicted ones."""
    return codes >> RANK_BITS


def annotated_grades(annotation: Known) -> np.ndarray:
    """The grades in an annotation, -1 where a document has none."""
    return grades_of(annotation.codes if isinstance(annotation, Annotation) else np.asarray(annotation))


def order_of(codes: np.ndarray) -> np.ndarray:
    """The documents of one query from the first to the last.

    >>> order_of(np.array([2, 0, 1]))
    array([1, 2, 0])
    """
    return np.argsort(ranks_of(np.asarray(codes)), kind="stable")


@register("codec", "ranking")
class RankingCodec(LabelCodec):
    """Grades of the documents of queries to codes, and codes to orders of documents.

    Examples
    --------
    >>> codec = RankingCodec()
    >>> codes = codec.encode_outputs([[0, 2, 1, 2]], [4])
    >>> ranks_of(codes), grades_of(codes)
    (array([3, 0, 2, 1], dtype=int32), array([0, 2, 1, 2], dtype=int32))
    >>> codec.decode(codes)
    array([1, 3, 2, 0])
    """

    def __init__(self) -> None:
        super().__init__([SCORE])

    def encode_outputs(self, Y: Any, lengths: Sequence[int] | np.ndarray) -> np.ndarray:
        """Codes (int32) of all documents; ties of grades are in the order given."""
        codes = np.empty(int(np.sum(lengths)), np.int32)
        at = 0
        for i, (grades, n) in enumerate(zip(_queries(Y), lengths)):
            found = checked_grades(grades, i)
            if len(found) != n:
                raise ValueError(
                    f"query {i}: X[{i}] has {n} documents but y[{i}] has {len(found)} grades; give one per document"
                )
            if n > MOST_DOCUMENTS:
                raise ValueError(f"query {i} has {n} documents; at most {MOST_DOCUMENTS} can be ranked")
            rows = codes[at : at + int(n)]
            rows[np.argsort(-found, kind="stable")] = np.arange(n)
            rows |= (found << RANK_BITS).astype(np.int32)
            at += int(n)
        return codes

    def encode_annotation(
        self, Y: Any, lengths: Sequence[int] | np.ndarray, layout: str = "sequences"
    ) -> Annotation:
        """Codes of grades, -1 where a document has none (UNKNOWN): it may stand anywhere.

        >>> grades_of(RankingCodec().encode_annotation([[2, UNKNOWN, 0]], [3]).codes)
        array([ 2, -1,  0], dtype=int32)
        """
        queries = _queries(Y)
        unknown = [_unknown(grades, i) for i, grades in enumerate(queries)]
        known = [
            grades if not own.any() else [0 if u else g for g, u in zip(grades, own)]
            for grades, own in zip(queries, unknown)
        ]
        codes = self.encode_outputs(known, lengths)
        codes[np.concatenate([np.empty(0, bool), *unknown])] = UNKNOWN_CODE
        return Annotation(codes, None)

    def encode_allowed(
        self, Y: Any, lengths: Iterable[int]
    ) -> tuple[dict[int, np.ndarray], dict[int, list[Any]]]:
        """Codes of the orders among `Y` that rank as many documents as each of the `lengths`, one order per row.

        There are no labels here that could be unknown, so that second there is nothing.

        >>> RankingCodec().encode_allowed([[1, 2, 0], [1, 0]], [3])
        ({3: array([[2, 0, 1]], dtype=int32)}, {})
        """
        orders = [_checked_order(order, i) for i, order in enumerate(_queries(Y))]
        codes = {
            n: np.array([np.argsort(order) for order in orders if len(order) == n], np.int32).reshape(-1, n)
            for n in lengths
        }
        return codes, {}

    def decode(self, codes: Sequence[int] | np.ndarray) -> Any:
        """The documents of one query, best first."""
        return order_of(np.asarray(codes))

    def decode_sequences(self, codes: Ragged) -> list[Any]:
        """The order of each query."""
        return [order_of(item.astype(np.int64)) for item in codes]

    def state(self) -> Any:
        """The codec as JSON values."""
        return None

    @classmethod
    def from_state(cls, state: Any) -> RankingCodec:
        """Inverse of :meth:`state`."""
        if state is not None:
            raise ModelFileError(f"damaged ranking labels in a model file: {state!r:.60}")
        return cls()


def _checked_order(order: Any, i: int) -> np.ndarray:
    """An allowed order as an array: every document once, the best first."""
    found = np.asarray(order)
    if found.ndim != 1 or not np.array_equal(np.sort(found), np.arange(len(found))):
        raise ValueError(
            f"within[{i}] = {order!r:.60} is not an order of documents: it must list each of 0..n-1 once, best first"
        )
    return found


def checked_grades(grades: Any, query: int) -> np.ndarray:
    """Grades of one query as int64; anything but integers from 0 on is refused, naming query and document.

    >>> checked_grades([0.0, 2.0], 0)
    array([0, 2])
    """
    if isinstance(grades, (str, bytes)) or not hasattr(grades, "__len__"):
        raise TypeError(
            f"y[{query}] must be the grades of the documents of query {query}, got {type(grades).__name__}: "
            f"{grades!r:.60}"
        )
    refuse_masked(grades, f"y[{query}]")
    try:
        found = np.asarray(grades)
        number = found.astype(np.float64) if found.dtype.kind in "biufO" else None
    except (TypeError, ValueError):
        number = None
    if number is None or number.ndim != 1:
        raise TypeError(
            f"y[{query}] must be one number per document, the grade of its relevance, got {grades!r:.60}"
        )
    wrong = ~(np.isfinite(number) & (number >= 0) & (number <= HIGHEST_GRADE))
    wrong[~wrong] = number[~wrong] != np.floor(number[~wrong])
    if wrong.any():
        d = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"query {query}, document {d}: y[{query}][{d}] = {number[d]:g} is not a grade: grades are integers "
            f"from 0 (not relevant) to {HIGHEST_GRADE}; number your levels 0, 1, 2, ..."
        )
    return number.astype(np.int64)


def _unknown(grades: Any, query: int) -> np.ndarray:
    """Which documents have no grade, bool."""
    if (isinstance(grades, np.ndarray) and grades.dtype.kind != "O") or not hasattr(grades, "__iter__"):
        return np.zeros(np.shape(grades)[:1], bool)
    for d, grade in enumerate(grades):
        if isinstance(grade, OneOf):
            raise ValueError(
                f"query {query}, document {d}: y[{query}][{d}] = {grade!r} leaves a general partial order of the "
                "documents, of which finding the best order is NP-hard: give one grade, or UNKNOWN"
            )
    return np.array([grade is UNKNOWN for grade in grades], bool)


def top_k(order: Sequence[int], n_documents: int) -> np.ndarray:
    """Grades of which only the first documents are known, in their order; the others follow in any order.

    >>> top_k([3, 1], n_documents=5)
    array([0, 1, 0, 2, 0])
    """
    chosen = np.asarray(order, np.int64)
    inside = (chosen >= 0) & (chosen < n_documents)
    if chosen.ndim != 1 or not inside.all() or len(np.unique(chosen)) != len(chosen):
        raise ValueError(
            f"order={order!r:.60} must list different documents of 0..{n_documents - 1}, best first"
        )
    grades = np.zeros(n_documents, np.int64)
    grades[chosen] = np.arange(len(chosen), 0, -1)
    return grades


def _queries(Y: Any) -> list[Any]:
    if isinstance(Y, (str, bytes)) or not isinstance(Y, Iterable):
        raise TypeError(
            f"y must be a list with the grades of the documents of each query, got {type(Y).__name__}: {Y!r:.60}; "
            "palmette.structures.by_query(X, y, qid) makes such lists from flat tables"
        )
    return list(listed(Y))


def by_query(X: Any, y: Any, qid: Any, *, split: str = "refuse") -> tuple[list[Any], list[Any], np.ndarray]:
    """Flat tables with the query of each row, as lists with one entry per query.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rows, n_features), or list of n_rows documents
    y : array of shape (n_rows,)
        Grades.
    qid : array of shape (n_rows,)
        Query ids, numbers or strings. From sizes of groups: ``np.repeat(np.arange(len(sizes)), sizes)``.
    split : {"refuse", "merge"}, default="refuse"
        What if the rows of a query do not stand together: an error that names the query and counts such queries, or the
        rows joined in their order, at the place of the first.

    Returns
    -------
    queries : list of arrays (of lists of documents)
    grades : list of arrays
    ids : array
        The query id of each, in the order of the file.

    Examples
    --------
    >>> X, y, ids = by_query([[1.0], [2.0], [3.0]], [0, 1, 2], ["q1", "q1", "q2"])
    >>> [x.tolist() for x in X], [g.tolist() for g in y], ids.tolist()
    ([[[1.0], [2.0]], [[3.0]]], [[0, 1], [2]], ['q1', 'q2'])
    """
    if split not in ("refuse", "merge"):
        raise ValueError(f"split must be 'refuse' or 'merge', got {split!r}")
    documents = isinstance(X, (list, tuple)) and not _is_table(X)
    for name, values in (("X", X), ("y", y), ("qid", qid)):
        refuse_masked(values, name)
    rows: Any = list(X) if documents else (checked_csr(X, "X") if sparse.issparse(X) else np.asarray(X))
    n = len(rows) if documents else rows.shape[0]
    y, qid = np.asarray(y), np.asarray(qid)
    for name, values in (("y", y), ("qid", qid)):
        if values.shape != (n,):
            raise ValueError(
                f"{name} has shape {values.shape}, but X has {n} rows: give one entry per row, shape ({n},)"
            )
    if not n:
        return [], [], qid
    starts = np.append(0, np.flatnonzero(qid[1:] != qid[:-1]) + 1)
    blocks: dict[Any, list[np.ndarray]] = {}
    for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), n]):
        blocks.setdefault(qid[start].item(), []).append(np.arange(start, stop))
    torn = {query: found for query, found in blocks.items() if len(found) > 1}
    if torn and split == "refuse":
        query, found = next(iter(torn.items()))
        raise ValueError(
            f"query {query!r} occurs in {len(found)} places, again from row {found[1][0]} on ({len(torn)} of "
            f"{len(blocks)} queries do): sort the rows by query, or join them with by_query(..., split='merge')"
        )
    places = [np.concatenate(found) for found in blocks.values()]
    ids = qid[[at[0] for at in places]]
    queries = [[rows[r] for r in at] for at in places] if documents else [rows[at] for at in places]
    return queries, [y[at] for at in places], ids


def _is_table(X: Any) -> bool:
    """Whether a list of rows is a table of numbers."""
    return (
        bool(len(X))
        and not any(isinstance(row, (dict, str)) for row in X)
        and np.asarray(X[0]).dtype.kind in "biuf"
    )
