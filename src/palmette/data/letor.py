"""Files of graded documents for ranking: LETOR, SVMlight-rank.

One document per line: its grade of relevance, its query, features by number, a comment::

    2 qid:10 1:0.031 2:0.667 5:1.0 #docid = 244338
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import IO, Any, Literal

import numpy as np
from scipy import sparse

from palmette.data.letor_lines import LetorLines
from palmette.data.outside import checked_csr
from palmette.errors import DataFileError
from palmette.io.atomic import write_atomically
from palmette.io.lines import read_raw_lines, source_name


@dataclass(frozen=True)
class Queries:
    """Queries with graded documents, as `Ranking` takes them.

    Parameters
    ----------
    X : list of ndarray (or CSR matrices) of shape (n_documents, n_features)
    y : list of ndarray of int64, shape (n_documents,)
        Grades, 0 for documents that are not relevant.
    ids : list of str
        Names of the queries.
    comments : list of list of str
        What follows ``#`` in each line, without blanks around it.
    lines : list of ndarray of int64
        Lines of the documents in the file, from 1.
    source : str
        Name of the file.
    """

    X: list[Any]
    y: list[np.ndarray]
    ids: list[str]
    comments: list[list[str]]
    lines: list[np.ndarray]
    source: str

    def __len__(self) -> int:
        return len(self.y)

    @property
    def n_documents(self) -> int:
        """Documents of all queries."""
        return sum(map(len, self.y))

    @property
    def n_features(self) -> int:
        """Columns of the tables."""
        return int(self.X[0].shape[1]) if self.X else 0

    @classmethod
    def joined(cls, parts: Sequence[Queries]) -> Queries:
        """The queries of several files in one; features that a file does not have are 0 there."""
        width = max(part.n_features for part in parts)
        first: dict[str, str] = {}
        for part in parts:
            for name, lines in zip(part.ids, part.lines):
                here = f"{part.source}:{lines[0]}"
                if name in first:
                    raise DataFileError(
                        f"{here}: query {name} is in {first[name]} already; rename one, or give each file once"
                    )
                first[name] = here
        return cls(
            X=[widened(table, width) for part in parts for table in part.X],
            y=[grades for part in parts for grades in part.y],
            ids=[name for part in parts for name in part.ids],
            comments=[texts for part in parts for texts in part.comments],
            lines=[lines for part in parts for lines in part.lines],
            source=", ".join(part.source for part in parts),
        )

    def facts(self) -> dict[str, int]:
        """Numbers of queries, documents, features and grades, and of queries that teach nothing.

        Queries with a single document or with equal grades are kept: every order of theirs is right, so that they
        teach nothing, but they count in means. Of them, those without relevant documents score 0.
        """
        return {
            "queries": len(self),
            "documents": self.n_documents,
            "features": self.n_features,
            "grades": len(np.unique(np.concatenate(self.y))) if self.y else 0,
            "single_document": sum(len(y) == 1 for y in self.y),
            "equal_grades": sum(len(y) > 1 and y.min() == y.max() for y in self.y),
            "without_relevant": sum(not y.any() for y in self.y),
        }

    def describe(self) -> str:
        """The facts in words.

        >>> import io
        >>> print(read_letor("-", stream=io.StringIO("1 qid:a 1:2\\n0 qid:a 1:3\\n0 qid:b 1:1\\n")).describe())
        2 queries, 3 documents, 1 features, 2 grades; 1 with a single document, 1 without relevant documents (score 0)
        """
        facts = self.facts()
        words = {
            "single_document": "with a single document",
            "equal_grades": "with equal grades",
            "without_relevant": "without relevant documents (score 0)",
        }
        special = ", ".join(f"{facts[key]:,} {text}" for key, text in words.items() if facts[key])
        sizes = ", ".join(f"{facts[key]:,} {key}" for key in ("queries", "documents", "features", "grades"))
        return f"{sizes}; {special}" if special else sizes


def read_letor(
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    missing: float | Literal["error", "minimum"] = "error",
    split: Literal["refuse", "merge"] = "refuse",
    zero_based: bool = False,
    as_sparse: bool = False,
    stream: IO[Any] | None = None,
) -> Queries:
    """Read a file of graded documents.

    Features that a line leaves out are 0. Blank lines and lines that begin with ``#`` are skipped.

    Parameters
    ----------
    path : path
        A file, compressed if its name ends in ``.gz`` or ``.xz``; ``-`` is `stream` (standard input by default).
    n_features : int, optional
        Columns of the tables; by default the largest number of a feature in the file. Give that of the training data
        where sparse test data may lack the last ones.
    missing : float or {"error", "minimum"}, default="error"
        What ``NULL`` stands for: a number, or the smallest value of the feature within the query (0 if it has none),
        as in LETOR's normalised files.
    split : {"refuse", "merge"}, default="refuse"
        What to do if the lines of a query are not together: documents of two queries may have got the same name.
    zero_based : bool, default=False
        Whether features are numbered from 0.
    as_sparse : bool, default=False
        Return CSR matrices instead of arrays.

    Returns
    -------
    Queries

    Raises
    ------
    DataFileError
        A line that is not as above; the message starts with ``file:line``.

    Examples
    --------
    >>> import io
    >>> text = "2 qid:10 1:0.5 3:1 #docid = 7\\n0 qid:10 2:0.25\\n1 qid:11 1:1\\n"
    >>> queries = read_letor("-", stream=io.StringIO(text))
    >>> queries.X[0], queries.y[0], queries.ids
    (array([[0.5 , 0.  , 1.  ],
           [0.  , 0.25, 0.  ]]), array([2, 0]), ['10', '11'])
    >>> queries.comments
    [['docid = 7', ''], ['']]
    """
    check_reading(missing, split, zero_based)
    lines = LetorLines(source_name(path), missing, split, int(not zero_based), n_features)
    for number, raw in enumerate(read_raw_lines(path, stream), 1):
        lines.add(number, raw)
    return Queries(**lines.finish(as_sparse))


def check_reading(missing: Any = "error", split: Any = "refuse", zero_based: Any = False) -> None:
    """Refuse options of `read_letor` that make no sense."""
    if missing not in ("error", "minimum") and not (
        isinstance(missing, Real) and np.isfinite(float(missing))
    ):
        raise ValueError(f"missing must be a finite number, 'error' or 'minimum', got {missing!r}")
    if split not in ("refuse", "merge"):
        raise ValueError(f"split must be 'refuse' or 'merge', got {split!r}")
    if not isinstance(zero_based, bool):
        raise ValueError(f"zero_based must be True or False, got {zero_based!r}")


def write_letor(
    path: str | os.PathLike[str],
    X: Sequence[Any],
    y: Sequence[Any],
    *,
    ids: Sequence[Any] | None = None,
    comments: Sequence[Sequence[str]] | None = None,
    skip_zeros: bool = False,
) -> None:
    """Write queries to a file that `read_letor` reads back exactly.

    Parameters
    ----------
    path : path
        Complete, or not there at all.
    X : list of arrays or sparse matrices of shape (n_documents, n_features)
    y : list of arrays of int
    ids : list, optional
        Names of the queries without blanks; 1, 2, ... by default.
    comments : list of list of str, optional
    skip_zeros : bool, default=False
        Leave out features that are 0; those of sparse matrices always are.
    """
    names = [str(i) for i in (range(1, len(X) + 1) if ids is None else ids)]
    notes = [[""] * len(grades) for grades in y] if comments is None else comments
    for what, given in (("y", y), ("ids", names), ("comments", notes)):
        if len(given) != len(X):
            raise ValueError(f"X has {len(X)} queries but {what} has {len(given)}")
    for i, name in enumerate(names):
        if not name or len(name.split()) != 1 or "#" in name:
            raise ValueError(
                f"ids[{i}] is {name!r}, but the name of a query has no blanks and no '#'; rename it"
            )
    if len(set(names)) != len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"two queries have the name {twice!r}; give each a name of its own")
    with write_atomically(path) as file:
        for i, (table, grades, name, note) in enumerate(zip(X, y, names, notes)):
            rows = checked_csr(table, f"X[{i}]") if sparse.issparse(table) else np.asarray(table, np.float64)
            rows = sparse.csr_array(rows) if skip_zeros else rows
            if not rows.shape[0] == len(grades) == len(note):
                raise ValueError(
                    f"query {i} ({name}): X[{i}] has {rows.shape[0]} documents, y[{i}] {len(grades)}, "
                    f"comments[{i}] {len(note)}"
                )
            values = rows.data if sparse.issparse(rows) else rows
            if not np.isfinite(values).all():
                document = next(d for d in range(len(grades)) if not np.isfinite(_row(rows, d)[1]).all())
                raise ValueError(f"X[{i}] has a value that is not finite in document {document}; replace it")
            for row, grade, text in zip(range(rows.shape[0]), grades, note):
                if grade != int(grade) or grade < 0:
                    raise ValueError(f"y[{i}][{row}] is {grade}, but grades are integers of at least 0")
                if "\n" in text or "\r" in text:
                    raise ValueError(f"comments[{i}][{row}] has a line break: {text!r:.60}; remove it")
                cells = zip(*_row(rows, row))
                features = "".join(f" {j + 1}:{v!r}" for j, v in cells)
                file.write(f"{int(grade)} qid:{name}{features}{' #' + text if text else ''}\n".encode())


def widened(table: Any, width: int) -> Any:
    """The table with columns of zeros behind it, `width` in all."""
    n, found = table.shape
    if found == width:
        return table
    if sparse.issparse(table):
        return sparse.csr_array((table.data, table.indices, table.indptr), (n, width))
    return np.hstack([table, np.zeros((n, width - found))])


def _row(table: Any, row: int) -> tuple[Sequence[int], list[float]]:
    """Columns and values of a row."""
    if not sparse.issparse(table):
        return range(table.shape[1]), table[row].tolist()
    part = slice(table.indptr[row], table.indptr[row + 1])
    return table.indices[part].tolist(), table.data[part].tolist()
