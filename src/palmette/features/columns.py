"""Compiled feature templates: from columns of cells straight to sparse rows, without a string for any attribute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from palmette.data.batch import Batch, SparseRows
from palmette.data.checks import check_array, check_pointers, entry, needed
from palmette.data.ragged import offsets_from_lengths
from palmette.errors import DataFileError, ModelFileError
from palmette.features.base import Encoder
from palmette.features.column_reader import Block, Readings, encode_blocks, lines_of, outside_texts, table_of
from palmette.features.column_table import ColumnTable
from palmette.features.named_rows import encode_names
from palmette.features.names import named_batch
from palmette.features.pairs import PairIndex
from palmette.features.readable import reader_of
from palmette.features.rows import frequent, renumbered, sparse_rows
from palmette.features.template_syntax import Macro
from palmette.features.templates import ColumnSentences, Template
from palmette.features.texts import Spans, TextIndex
from palmette.registry import register

# Codes of what each macro reads, by distinct cell; under None those of cells outside of sentences.
_Values = dict[Macro | None, np.ndarray]


@dataclass
class _Form:
    """The attributes of all lines with one literal text: tuples of values, as pairs of a beginning and a last."""

    literals: tuple[str, ...]
    tuples: PairIndex = field(default_factory=PairIndex)
    columns: np.ndarray = field(default_factory=lambda: np.empty(0, np.int32))  # by number of the tuple


@register("encoder", "columns")
class ColumnEncoder(Encoder):
    """Encoder of sentences in columns by a feature template.

    The values that macros read are numbered once for each distinct cell; an attribute is a line of the template and
    a tuple of such numbers, found by exact 64-bit keys. Names are written only when `feature_names` is asked for.

    Lines with the same literal text share their attributes, as in CRF++. Attributes are told apart by their
    values, not by their spelling: ``a/b`` + ``c`` and ``a`` + ``b/c`` are two attributes, though both are written
    ``a/b/c``.

    Parameters
    ----------
    template : Template
    min_count : int, default=1
        Attributes that `fit_transform` sees fewer times get no column.

    Examples
    --------
    >>> encoder = ColumnEncoder(Template.parse("U0:%x[0,0]\\nU1:%x[-1,1]/%x[0,1]"))
    >>> batch = encoder.fit_transform(ColumnTable.from_sentences([[("the", "DT"), ("cat", "NN")], [("a", "DT")]]))
    >>> encoder.feature_names
    ['U0:the', 'U0:cat', 'U0:a', 'U1:_B-1/DT', 'U1:DT/NN']
    >>> encoder.transform(ColumnTable.from_sentences([[("the", "NN"), ("dog", "NN")]])).rows.indices
    array([0], dtype=int32)
    >>> encoder.transform([[["U0:a", "U0:dog"]]]).rows.indices
    array([2], dtype=int32)
    """

    kind = "columns"
    named = True
    layouts = ("sequences",)

    def __init__(self, template: Template, *, min_count: int = 1) -> None:
        super().__init__("sequences")
        self.template, self.min_count = template, min_count
        self._lines = lines_of(template)
        self._forget()

    def _forget(self) -> None:
        self._values, self._readings = TextIndex(), Readings(self._lines)
        longest = max(len(line.macros) for line in self._lines)
        self._beginnings = [PairIndex() for _ in range(2, longest)]  # tuples of 2, 3, ... values
        self._forms = {line.literals: _Form(line.literals) for line in self._lines}
        self._n_columns = 0
        self._names: tuple[TextIndex, np.ndarray] | None = (
            None  # of all attributes and their columns, once asked for
        )

    @property
    def n_columns(self) -> int:
        """Number of attributes known."""
        return self._n_columns

    # -- encoding -----------------------------------------------------------------------------------------

    def fit_transform(self, X: Any, *, allow_empty: bool = False) -> Batch:
        """Number the attributes of `X` and encode it."""
        table = table_of(X, self.template, allow_empty)
        if not len(table):
            raise ValueError("X is empty: there is no sample to learn from")
        self._forget()
        rows = self._encode(table, grow=True)
        if not self.n_columns:
            raise ValueError("X has no features: the template makes no attribute of its sentences")
        if self.min_count > 1:
            columns, keep = frequent(rows.indices, self.n_columns, self.min_count)
            self._restrict(keep)
            rows = sparse_rows(rows.indptr, columns, None, self.n_columns)
        self._trim()
        return Batch(rows, table.offsets)

    def transform(self, X: Any, *, allow_empty: bool = True) -> Batch:
        """Encode `X`; attributes without a column are ignored.

        Instead of sentences in columns `X` may also be what the template makes of them: lists of attribute names.
        """
        if not isinstance(X, ColumnSentences | ColumnTable):
            entries = encode_names(X, self.layout, self._find_names, allow_empty)
            return named_batch(entries, self.n_columns)
        table = table_of(X, self.template, allow_empty)
        return Batch(self._encode(table, grow=False), table.offsets)

    def _find_names(self, spans: Spans) -> np.ndarray:
        if self._names is None:
            index = TextIndex()
            column = np.empty(self.n_columns + 1, np.int32)
            column[index.add(self.feature_names)[::-1]] = np.arange(self.n_columns, dtype=np.int32)[::-1]
            column[-1] = -1
            self._names = index.trimmed(), column
        index, column = self._names
        return column[index.find(spans)]

    def extended(self, X: Any) -> ColumnEncoder:
        """An encoder with these columns, followed by the attributes that only `X` has."""
        other = self._copy()
        other._encode(table_of(X, self.template, True), grow=True)
        other._trim()
        return other

    def _encode(self, table: ColumnTable, grow: bool) -> SparseRows:
        values = self._read(table, grow)
        rows = encode_blocks(
            table, len(self._lines), lambda block, matrix: self._fill(block, matrix, values, grow)
        )
        return replace(rows, n_columns=self.n_columns)

    def _read(self, table: ColumnTable, grow: bool) -> _Values:
        look_up = self._values.add if grow else self._values.find
        outside = outside_texts(self.template)
        skip = self.template.boundary == "skip"
        values: _Values = {None: np.full(len(outside), -1, np.int32) if skip else look_up(outside)}
        if grow:
            return values | {reading: look_up(texts) for reading, texts in self._readings.texts(table)}
        return values | self._readings.codes(table, look_up)

    def _fill(self, block: Block, matrix: np.ndarray, values: _Values, grow: bool) -> None:
        cells: dict[Macro, np.ndarray] = {}
        beginnings: dict[tuple[Macro, ...], np.ndarray] = {}
        for f, line in enumerate(self._lines):
            for macro in line.macros:
                if macro not in cells:
                    cells[macro] = block.values_at(macro, values[macro.reading], values[None])
            left, last = block.only(line.only), block.only("")
            if line.macros:
                last = cells[line.macros[-1]]
            if len(line.macros) > 1:
                left = self._beginning(line.macros[:-1], cells, beginnings, grow)
            form = self._forms[line.literals]
            if grow:
                numbers = form.tuples.add(left, last)
                new = len(form.tuples) - len(form.columns)
                form.columns = np.append(
                    form.columns, np.arange(self._n_columns, self._n_columns + new, dtype=np.int32)
                )
                self._n_columns += new
            else:
                numbers = form.tuples.find(left, last)
            matrix[f] = np.append(form.columns, np.int32(-1))[numbers]

    def _beginning(
        self, macros: tuple[Macro, ...], cells: dict[Macro, np.ndarray],
        known: dict[tuple[Macro, ...], np.ndarray], grow: bool,
    ) -> np.ndarray:  # fmt: skip
        """Numbers of the tuples of values that some macros read; a single value is its own number."""
        if len(macros) == 1:
            return cells[macros[0]]
        if macros not in known:
            index = self._beginnings[len(macros) - 2]
            look_up = index.add if grow else index.find
            known[macros] = look_up(self._beginning(macros[:-1], cells, known, grow), cells[macros[-1]])
        return known[macros]

    # -- columns ------------------------------------------------------------------------------------------

    @property
    def feature_names(self) -> list[str]:
        """Attribute names by column, written now."""
        return self._names_by(lambda form: "%s".join(form.literals).__mod__)  # only macros begin with %

    @property
    def readable_names(self) -> list[str]:
        """What the attributes of columns read and found there (:mod:`palmette.features.readable`)."""
        lines: dict[tuple[str, ...], list[Any]] = {}
        for line in self._lines:
            lines.setdefault(line.literals, []).append(line)

        def writer(form: _Form) -> Callable[[tuple[str, ...]], str]:
            mine = lines[form.literals]  # several lines with one name mean the same attribute
            own = reader_of(mine[0], self.template.columns) if len(mine) == 1 else None
            return "%s".join(form.literals).__mod__ if own is None else own

        return self._names_by(writer)

    def _names_by(self, writer: Callable[[_Form], Callable[[tuple[str, ...]], str]]) -> list[str]:
        """Names by column, by what writes those of a form from tuples of values."""
        names = np.empty(self.n_columns, object)
        values = np.array([*self._values.strings(), ""], object)
        for form in self._forms.values():
            write = writer(form)
            parts = [values[codes] for codes in self._tuple_values(form)]
            texts = [write(cells) for cells in zip(*parts)] if parts else [write(())] * len(form.columns)
            names[form.columns] = np.array([*texts, ""], object)[:-1]
        return names.tolist()

    def _tuple_values(self, form: _Form) -> list[np.ndarray]:
        """For each place in the tuples of a form the codes of the values there."""
        n_values = len(form.literals) - 1
        if not n_values:
            return []
        left, last = form.tuples.parts()
        places = [last]
        for size in range(n_values - 1, 1, -1):
            all_left, all_last = self._beginnings[size - 2].parts()
            places.append(all_last[left])
            left = all_left[left]
        if n_values > 1:
            places.append(left)
        return places[::-1]

    def restricted(self, keep: np.ndarray) -> ColumnEncoder:
        """An encoder with those columns for which `keep` is true."""
        other = self._copy()
        other._restrict(keep)
        return other

    def _restrict(self, keep: np.ndarray) -> None:
        new = renumbered(keep)
        for form in self._forms.values():
            mine = keep[form.columns]
            form.tuples, form.columns = form.tuples.kept(mine), new[form.columns[mine]]
        self._n_columns, self._names = int(keep.sum()), None

    def _trim(self) -> None:
        self._values.trimmed()
        self._beginnings = [index.trimmed() for index in self._beginnings]
        for form in self._forms.values():
            form.tuples = form.tuples.trimmed()

    def _copy(self) -> ColumnEncoder:
        other = ColumnEncoder(self.template, min_count=self.min_count)
        other._values = self._values.copy()
        other._beginnings = [index.trimmed() for index in self._beginnings]
        for literals, form in self._forms.items():
            other._forms[literals] = _Form(literals, form.tuples.trimmed(), form.columns.copy())
        other._n_columns = self._n_columns
        return other

    # -- files --------------------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays: the texts of the values, and tuples of their codes."""
        header = {
            "layout": self.layout, "n_columns": self.n_columns, "template": self.template.text,
        }  # fmt: skip
        forms = list(self._forms.values())
        arrays = self._values.state("values")
        arrays["tuples"] = np.concatenate([form.tuples.keys for form in forms])
        arrays["columns"] = np.concatenate([form.columns for form in forms])
        arrays["tuples_offsets"] = offsets_from_lengths([len(form.columns) for form in forms])
        for size, index in enumerate(self._beginnings, 2):
            arrays[f"beginnings_{size}"] = index.keys.copy()
        return header, arrays

    @classmethod
    def from_state(cls, header: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> ColumnEncoder:
        """Encoder from what `state` returned."""
        try:
            encoder = cls(Template.parse(entry(header, "template", str), "the template of the model"))
            encoder._load(arrays, header["n_columns"])
        except (KeyError, IndexError, TypeError, AttributeError, ValueError, DataFileError) as error:
            raise ModelFileError(
                f"damaged encoder in a model file ({type(error).__name__}: {error})"
            ) from error
        return encoder

    def _load(self, arrays: Mapping[str, np.ndarray], n_columns: int) -> None:
        self._values = TextIndex.from_state(arrays, "values")
        n_values = len(self._values)
        limits = [n_values]  # one more than the highest number of a beginning, by its size
        for size in range(2, 2 + len(self._beginnings)):
            index = PairIndex.checked(needed(arrays, f"beginnings_{size}"), limits[-1], n_values)
            self._beginnings[size - 2] = index
            limits.append(len(index))
        keys, columns, bounds = (needed(arrays, name) for name in ("tuples", "columns", "tuples_offsets"))
        check_array("columns", columns, np.int32, 1, n_columns)
        check_array("tuples", keys, np.int64, 1, n_columns)
        check_pointers("tuples_offsets", bounds, len(self._forms), n_columns)
        if not np.array_equal(np.sort(columns), np.arange(n_columns)):
            raise ValueError("the columns are not numbered from 0 without gaps")
        for form, a, b in zip(self._forms.values(), bounds.tolist(), bounds[1:].tolist()):
            size = len(form.literals) - 1
            # a tuple of one value begins with 0, and one without values is 0 twice
            left = limits[size - 2] if size > 1 else 1
            form.tuples = PairIndex.checked(keys[a:b], left, n_values if size else 1)
            form.columns = columns[a:b].copy()
        self._n_columns = n_columns
