"""Hashed features: attributes share a fixed number of columns, and no vocabulary is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from palmette.data.batch import Batch
from palmette.data.checks import check_array, check_codes, check_whole
from palmette.errors import ModelFileError
from palmette.features.base import Encoder
from palmette.features.item_columns import ItemColumns
from palmette.features.kinds import Kind, Layout
from palmette.features.named_rows import encode_names
from palmette.features.names import named_batch, refuse_nothing
from palmette.features.rows import renumbered
from palmette.features.texts import Spans
from palmette.memory import check_size
from palmette.registry import register

BYTES_A_COLUMN = 24  # at least: where its weights begin, where they are packed, one weight


@register("encoder", "hashed")
class HashedNamesEncoder(Encoder):
    """Encoder of dicts and lists of strings whose columns are hashes of the attribute names.

    The memory does not depend on the number of attributes, and attributes that training never had need no special
    case; some attributes share a column. The hash is the same on every machine and in every run.

    Parameters
    ----------
    layout : {"sequences", "items"}
    n_hash : int
        Number of columns.
    columns : ndarray of int32, shape (n_hash + 1,), optional
        The column of each hash, -1 for none, after columns were dropped; the last entry is -1.

    Examples
    --------
    >>> encoder = HashedNamesEncoder("sequences", 1000)
    >>> encoder.fit_transform([[{"w": "the"}, {"w": "cat"}], [["w:the"]]]).rows.indices
    array([134, 660, 134], dtype=int32)
    """

    kind: ClassVar[Kind] = "hashed"
    named = True

    def __init__(self, layout: Layout, n_hash: int, columns: np.ndarray | None = None) -> None:
        super().__init__(layout)
        self.n_hash = n_hash
        self._columns = columns
        self._known = ItemColumns()

    @property
    def n_columns(self) -> int:
        """Number of hashes, less the columns that were dropped."""
        return self.n_hash if self._columns is None else int(self._columns.max()) + 1

    def fit_transform(self, X: Any, *, allow_empty: bool = False) -> Batch:
        """Encode `X`, which must hold something; there is nothing to fix."""
        entries = encode_names(X, self.layout, self._look_up, allow_empty, self._known)
        refuse_nothing(entries, int(entries.columns.max(initial=-1)) + 1)
        return named_batch(entries, self.n_columns)

    def transform(self, X: Any, *, allow_empty: bool = True) -> Batch:
        """Encode `X`."""
        return named_batch(
            encode_names(X, self.layout, self._look_up, allow_empty, self._known), self.n_columns
        )

    def _look_up(self, spans: Spans) -> np.ndarray:
        return kept_columns(hash_columns(spans.hashes, self.n_hash), self._columns)

    def extended(self, X: Any) -> HashedNamesEncoder:
        """This encoder: hashes know every attribute."""
        self.transform(X)
        return self

    def restricted(self, keep: np.ndarray) -> HashedNamesEncoder:
        """An encoder with those columns for which `keep` is true."""
        before = self._columns
        if before is None:
            before = np.append(np.arange(self.n_hash, dtype=np.int32), np.int32(-1))
        return self._with(renumbered(keep)[before])

    def _with(self, columns: np.ndarray) -> HashedNamesEncoder:
        return HashedNamesEncoder(self.layout, self.n_hash, columns)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header, and the columns of the hashes if some were dropped."""
        header = {"layout": self.layout, "n_columns": self.n_columns, "n_hash": self.n_hash}
        return header, {} if self._columns is None else {"columns": self._columns}

    @classmethod
    def from_state(cls, header: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> HashedNamesEncoder:
        """Encoder from what `state` returned."""
        n_hash, columns = read_hashes(header, arrays)
        return cls(header["layout"], n_hash, columns)


def check_n_hash(n_hash: int) -> None:
    """Refuse more columns than memory has room for: each has some pointers, whatever its weights."""
    check_size(
        f"n_hash={n_hash:,} (--hash)", BYTES_A_COLUMN * n_hash, "take fewer columns; 2**20 to 2**24 are usual"
    )


def hash_columns(hashes: np.ndarray, n_hash: int) -> np.ndarray:
    """Columns ``0:n_hash`` (int32) for hashes of texts (uint64)."""
    from palmette._kernels.texts import hashed_columns

    out = np.empty(len(hashes), np.int32)
    hashed_columns(hashes, n_hash, out)
    return out


def kept_columns(columns: np.ndarray, new: np.ndarray | None) -> np.ndarray:
    """The columns, or what they became after some were dropped; -1 stays."""
    return columns if new is None else new[columns]


def read_hashes(header: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> tuple[int, np.ndarray | None]:
    """``n_hash`` and the table of columns of a model file, checked."""
    columns, n_columns = arrays.get("columns"), header["n_columns"]
    try:
        n_hash = check_whole("n_hash", header.get("n_hash"), 1)
        check_n_hash(n_hash)
        if columns is None:
            check_whole("n_columns", n_columns, n_hash, n_hash)
        else:
            check_codes("columns", check_array("columns", columns, np.int32, 1, n_hash + 1), n_columns, -1)
            if columns[-1] != -1 or columns.max() + 1 != n_columns:
                raise ValueError(f"hashes and {n_columns} columns do not fit")
    except ValueError as error:
        raise ModelFileError(f"damaged encoder in a model file: {error}") from None
    return n_hash, columns
