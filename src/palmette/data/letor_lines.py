"""Lines of graded documents collected into tables, with errors that name file and line."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from palmette.errors import DataFileError
from palmette.io.lines import check_utf8

_PLAIN = re.compile(rb"(?:[0-9]{1,9}:(?:[-+.0-9eE]+|NULL)(?:[ \t]+|$))*")
_BLOCK = 4096  # lines that are read as numbers at a time
_LARGEST = 2**31  # bytes of a dense table of one file


class LetorLines:
    """Collects lines; features become numbers by blocks, so that what is well formed costs little."""

    def __init__(self, source: str, missing: Any, split: str, base: int, n_features: int | None) -> None:
        self.source, self.missing, self.split, self.base = source, missing, split, base
        self.n_features = n_features
        self.grades: list[int] = []
        self.owners: list[int] = []
        self.comments: list[str] = []
        self.numbers: list[int] = []
        self.counts: list[int] = []
        self.place: dict[bytes, int] = {}  # of queries, by name
        self.ended = b""  # the name of the query whose lines are being read
        self.waiting: list[bytes] = []
        self.indices: list[np.ndarray] = []
        self.values: list[np.ndarray] = []

    def _fail(self, number: int, text: str) -> NoReturn:
        raise DataFileError(f"{self.source}:{number}: {text}")

    def add(self, number: int, raw: bytes) -> None:
        """Take a line of the file, whose number is counted from 1."""
        body, _, comment = raw.partition(b"#")
        cells = body.split(None, 2)
        if not cells:
            return
        check_utf8(raw, self.source, number)
        if len(cells) < 2 or not cells[1].startswith(b"qid:") or cells[1] == b"qid:":
            found = cells[1].decode()[:40] if len(cells) > 1 else "nothing"
            self._fail(
                number,
                f"expected qid:QUERY after the grade, found {found}; write GRADE qid:QUERY 1:VALUE ...",
            )
        self.grades.append(self._grade(number, cells[0]))
        self.owners.append(self._owner(number, cells[1][4:]))
        self.comments.append(comment.decode().strip())
        self.numbers.append(number)
        features = cells[2].rstrip() if len(cells) > 2 else b""
        if not _PLAIN.fullmatch(features):
            self._explain(number, features)
        self.counts.append(features.count(b":"))
        self.waiting.append(features)
        if len(self.waiting) == _BLOCK:
            self._flush()

    def _grade(self, number: int, text: bytes) -> int:
        if text.isdigit() and len(text) < 10:
            return int(text)
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not (0 <= value < 2**31 and value == int(value)):
            self._fail(
                number, f"the grade of relevance is {text.decode()[:40]}, but must be an integer of at least 0, where "
                "0 means not relevant; map the grades first"
            )  # fmt: skip
        return int(value)

    def _owner(self, number: int, name: bytes) -> int:
        if name != self.ended:
            if name in self.place and self.split == "refuse":
                last = max(n for n, owner in zip(self.numbers, self.owners) if owner == self.place[name])
                self._fail(
                    number, f"query {name.decode()} comes again, after its lines ended at line {last}; sort the file "
                    "by query, or read it with split='merge' (--split-queries merge) if they are the same query"
                )  # fmt: skip
            self.place.setdefault(name, len(self.place))
            self.ended = name
        return self.place[name]

    def _flush(self) -> None:
        """Turn the waiting features into numbers."""
        text = b" ".join(self.waiting)
        if b"NULL" in text:
            if self.missing == "error":
                first = next(i for i, each in enumerate(self.waiting) if b"NULL" in each)
                feature = self.waiting[first].partition(b":NULL")[0].rpartition(b" ")[2].decode()
                number = self.numbers[len(self.numbers) - len(self.waiting) + first]
                self._fail(
                    number, f"feature {feature} is NULL; say what it stands for with missing=0.0 or missing='minimum' "
                    "(--missing 0, --missing minimum)"
                )  # fmt: skip
            text = text.replace(b"NULL", b"nan")
        try:
            pairs = np.array(text.replace(b":", b" ").split(), np.float64).reshape(-1, 2)
        except ValueError:
            self._explain_block()
        self.indices.append(pairs[:, 0].astype(np.int64) - self.base)
        self.values.append(pairs[:, 1])
        if np.isinf(pairs[:, 1]).any():
            self._explain_block()
        self.waiting = []

    def _explain_block(self) -> NoReturn:
        """Name the line of the block whose features cannot be read."""
        for number, features in zip(self.numbers[-len(self.waiting) :], self.waiting):
            self._explain(number, features, well_formed=True)
        raise AssertionError("a block that could not be read has a bad line")

    def _explain(self, number: int, features: bytes, well_formed: bool = False) -> None:
        for cell in features.split():
            index, colon, value = cell.partition(b":")
            shown = cell.decode()[:40]
            if not colon or not index.isdigit() or len(index) > 9:
                self._fail(
                    number,
                    f"expected FEATURE:VALUE, a feature being a number of at most 9 digits, found {shown}",
                )
            try:
                finite = value == b"NULL" or np.isfinite(float(value))
            except ValueError:
                self._fail(
                    number, f"the value of feature {index.decode()} is not a number: {shown}; 1:0.5 is one"
                )
            if not finite:
                self._fail(
                    number,
                    f"the value of feature {index.decode()} is {value.decode()[:40]}; values must be finite",
                )
        if not well_formed:
            self._fail(
                number, f"cannot read the features {features.decode()[:60]!r}; write them as 1:0.5 2:1e-3"
            )

    def finish(self, as_sparse: bool) -> dict[str, Any]:
        """The fields of `palmette.data.letor.Queries`."""
        if not self.numbers:
            raise DataFileError(
                f"{self.source}:1: the file has no documents; expected lines GRADE qid:QUERY 1:VALUE ..."
            )
        self._flush()
        indices, values = np.concatenate(self.indices), np.concatenate(self.values)
        rows = np.repeat(np.arange(len(self.numbers)), self.counts)
        n_columns = self._columns(indices, rows)
        self._check_repeated(indices, rows, n_columns)
        owners = np.array(self.owners)
        order = np.argsort(owners, kind="stable")  # the identity unless queries were split
        bounds = np.flatnonzero(np.diff(owners[order])) + 1
        if np.isnan(values).any():
            values = _filled(values, indices, owners[rows], n_columns, self.missing)
        table = sparse.csr_array(
            (values, indices, np.append(0, np.cumsum(self.counts))), (len(owners), n_columns)
        )
        if not as_sparse and 8 * len(owners) * n_columns > _LARGEST:
            raise DataFileError(
                f"{self.source}:1: {len(owners):,} documents x {n_columns:,} features are too many for arrays; use "
                "as_sparse=True, or renumber the features"
            )
        if as_sparse:
            table.sort_indices()
        whole: Any = table if as_sparse else table.toarray()

        def cut(part: Any, pick: Callable[[Any, np.ndarray], Any]) -> list[Any]:
            return [pick(part, places) for places in np.split(order, bounds)]

        return dict(
            X=cut(whole, lambda part, places: part[places]),
            y=cut(np.array(self.grades, np.int64), lambda part, places: part[places]),
            ids=[name.decode() for name in self.place],
            comments=cut(self.comments, lambda part, places: [part[i] for i in places]),
            lines=cut(np.array(self.numbers), lambda part, places: part[places]),
            source=self.source,
        )

    def _columns(self, indices: np.ndarray, rows: np.ndarray) -> int:
        """The number of columns; features outside are refused."""
        largest = int(indices.max()) if len(indices) else -1
        limit = self.n_features if self.n_features is not None else min(largest + 1, 2**31 - 1)
        bad = np.flatnonzero((indices < 0) | (indices >= limit))
        if len(bad):
            feature, number = int(indices[bad[0]]) + self.base, self.numbers[rows[bad[0]]]
            if indices[bad[0]] < 0:
                self._fail(
                    number,
                    "features are numbered from 1, found feature 0; use zero_based=True (--zero-based)",
                )
            self._fail(number, f"feature {feature} is beyond the {limit} features expected; give n_features, or the "
                      "data that the model was trained on")  # fmt: skip
        return limit

    def _check_repeated(self, indices: np.ndarray, rows: np.ndarray, n_columns: int) -> None:
        key = rows * max(n_columns, 1) + indices
        if (np.diff(key) > 0).all():
            return  # sorted within every line, as usual
        key, first, count = np.unique(key, return_index=True, return_counts=True)
        twice = np.flatnonzero(count > 1)
        if len(twice):
            at = first[twice].min()
            self._fail(
                self.numbers[rows[at]], f"feature {indices[at] + self.base} comes twice in the line; keep one"
            )


def _filled(
    values: np.ndarray, indices: np.ndarray, owners: np.ndarray, n_columns: int, missing: float | str
) -> np.ndarray:
    """Values with NULL (NaN) replaced."""
    gaps = np.isnan(values)
    if missing != "minimum":
        return np.where(gaps, float(missing), values)
    key = owners * max(n_columns, 1) + indices
    cells, place = np.unique(key, return_inverse=True)
    least = np.full(len(cells), np.inf)
    np.minimum.at(least, place[~gaps], values[~gaps])
    least[np.isinf(least)] = 0.0
    return np.where(gaps, least[place], values)
