"""Compiled feature templates without a vocabulary: attributes are hashed to a fixed number of columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from palmette.data.batch import Batch
from palmette.data.checks import entry
from palmette.errors import DataFileError, ModelFileError
from palmette.features.column_reader import (
    Block,
    Line,
    Readings,
    encode_blocks,
    lines_of,
    outside_texts,
    table_of,
)
from palmette.features.column_table import ColumnTable
from palmette.features.hashed import HashedNamesEncoder, hash_columns, kept_columns, read_hashes
from palmette.features.template_syntax import Macro
from palmette.features.templates import ColumnSentences, Template
from palmette.features.texts import Spans, spans_of
from palmette.registry import register


class _Hashes(NamedTuple):
    """Hashes of some texts, and what each text multiplies the hash of the text before it by."""

    hashes: np.ndarray
    powers: np.ndarray

    @classmethod
    def of(cls, spans: Spans) -> _Hashes:
        from palmette._kernels.texts import MULTIPLIER

        lengths = spans.stops - spans.starts
        powers = np.full(int(lengths.max(initial=0)) + 1, MULTIPLIER)
        powers[0] = 1
        return cls(spans.hashes, np.multiply.accumulate(powers)[lengths])


@register("encoder", "hashed columns")
class HashedColumnEncoder(HashedNamesEncoder):
    """Encoder of sentences in columns by a feature template, with a fixed number of columns and no vocabulary.

    The columns are those that `HashedNamesEncoder` gives to the names of the attributes, though no name is ever
    written: the hash of an attribute is put together from those of its cells.

    Parameters
    ----------
    template : Template
    n_hash : int
        Number of columns.
    columns : ndarray of int32, shape (n_hash + 1,), optional
        As for `HashedNamesEncoder`.

    Examples
    --------
    >>> from palmette.features.hashed import HashedNamesEncoder
    >>> template, table = Template.parse("U0:%x[-1,0]/%X[0,0]"), ColumnTable.from_sentences([[("The",), ("Cat",)]])
    >>> HashedColumnEncoder(template, 1000).transform(table).rows.indices
    array([719,  80], dtype=int32)
    >>> HashedNamesEncoder("sequences", 1000).transform([[["U0:_B-1/the"], ["U0:The/cat"]]]).rows.indices
    array([719,  80], dtype=int32)
    """

    kind = "hashed columns"
    layouts = ("sequences",)

    def __init__(self, template: Template, n_hash: int, columns: np.ndarray | None = None) -> None:
        super().__init__("sequences", n_hash, columns)
        self.template = template
        self._lines = lines_of(template)
        self._readings = Readings(self._lines)

    def fit_transform(self, X: Any, *, allow_empty: bool = False) -> Batch:
        """Encode `X`, which must hold something; there is nothing to fix."""
        batch = self.transform(X, allow_empty=allow_empty)
        if not len(batch):
            raise ValueError("X is empty: there is no sample to learn from")
        return batch

    def transform(self, X: Any, *, allow_empty: bool = True) -> Batch:
        """Encode `X`: sentences in columns, or what the template makes of them."""
        if not isinstance(X, ColumnSentences | ColumnTable):
            return super().transform(X, allow_empty=allow_empty)
        table = table_of(X, self.template, allow_empty)
        values = {reading: _Hashes.of(spans) for reading, spans in self._readings.texts(table)}
        outside = _Hashes.of(spans_of(outside_texts(self.template)))

        def fill(block: Block, matrix: np.ndarray) -> None:
            for f, line in enumerate(self._lines):
                matrix[f] = kept_columns(self._hashed(line, block, values, outside), self._columns)

        rows = encode_blocks(table, len(self._lines), fill)
        return Batch(replace(rows, n_columns=self.n_columns), table.offsets)

    def _hashed(self, line: Line, block: Block, values: dict[Macro, _Hashes], outside: _Hashes) -> np.ndarray:
        """The column of a line's attribute at each token, -1 where there is none."""
        from palmette._kernels.templates import append_cells

        literals = _Hashes.of(spans_of(line.literals))
        present = block.only(line.only) >= 0
        total = np.full(block.n_tokens, literals.hashes[0])
        skip = self.template.boundary == "skip"
        for macro, hash_, power in zip(line.macros, literals.hashes[1:], literals.powers[1:]):
            append_cells(
                block.codes[macro.column], *values[macro.reading], block.offsets, macro.row, *outside, skip,
                total, present,
            )  # fmt: skip
            total *= power
            total += hash_
        return np.where(present, hash_columns(total, self.n_hash), np.int32(-1))

    def _with(self, columns: np.ndarray) -> HashedColumnEncoder:
        return HashedColumnEncoder(self.template, self.n_hash, columns)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header, and the columns of the hashes if some were dropped."""
        header, arrays = super().state()
        return {**header, "template": self.template.text}, arrays

    @classmethod
    def from_state(cls, header: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> HashedColumnEncoder:
        """Encoder from what `state` returned."""
        n_hash, columns = read_hashes(header, arrays)
        try:
            template = Template.parse(entry(header, "template", str), "the template of the model")
        except (ValueError, DataFileError) as error:
            raise ModelFileError(
                f"damaged encoder in a model file ({type(error).__name__}: {error})"
            ) from error
        return cls(template, n_hash, columns)
