"""Features of whole segments, beside those of positions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from palmette.data.batch import Batch, SparseRows, squares
from palmette.data.checks import check_whole, entry, group
from palmette.data.ragged import gather, offsets_from_lengths
from palmette.features.attributes import attributes
from palmette.features.base import Encoder
from palmette.features.choose_encoder import encoder_from_state
from palmette.features.named_rows import Stream
from palmette.features.names import NamesEncoder
from palmette.memory import check_size
from palmette.registry import register, stored


@dataclass(frozen=True)
class SegmentBatch(Batch):
    """Encoded sequences with features of their segments.

    Parameters
    ----------
    rows, offsets : as for :class:`~palmette.data.batch.Batch`
    segments : SparseRows
        Row ``t * max_length + d`` belongs to the ``d + 1`` positions from row t on; empty where they leave the sample.
    max_length : int
    """

    segments: SparseRows
    max_length: int

    def feature_tables(self) -> list[tuple[Any, np.ndarray]]:
        """Features of positions and of segments."""
        return [*super().feature_tables(), (self.segments, self.offsets * self.max_length)]

    def squared(self) -> SegmentBatch:
        """The same sequences with the squares of all features."""
        return replace(self, rows=squares(self.rows), segments=self.segments.squared())

    def slice(self, start: int, stop: int) -> SegmentBatch:
        """Samples ``start:stop``; arrays are views of the same memory."""
        part = super().slice(start, stop)
        lo, hi = int(self.offsets[start]) * self.max_length, int(self.offsets[stop]) * self.max_length
        return SegmentBatch(part.rows, part.offsets, self.segments[lo:hi], self.max_length)

    def take(self, samples: np.ndarray) -> SegmentBatch:
        """Copies of the samples of these numbers, in their order."""
        part = super().take(samples)
        places, _ = gather(self.offsets * self.max_length, samples)
        return SegmentBatch(part.rows, part.offsets, self.segments[places], self.max_length)

    def check(self) -> None:
        """Raise ValueError unless compiled loops can read the batch."""
        super().check()
        if not isinstance(self.segments, SparseRows):
            raise ValueError(f"segments must be SparseRows, found {type(self.segments).__name__}")
        self.segments.check("segments")
        check_whole("max_length", self.max_length, 1)
        if len(self.segments) != self.n_rows * self.max_length:
            raise ValueError(
                f"there are {len(self.segments)} segments, expected {self.n_rows} * {self.max_length}"
            )


@register("encoder", "segments")
class SegmentEncoder(Encoder):
    """Encodes positions by another encoder, and segments by what a user's function says of them.

    Parameters
    ----------
    tokens : Encoder
        Of the positions.
    function : callable
        ``function(sequence, start, stop)`` is a dict or a list of strings.
    max_length : int
        Longest segment that is looked at.

    Examples
    --------
    >>> from palmette.features.choose_encoder import make_encoder
    >>> X = [[["a"], ["b"], ["a"]]]
    >>> encoder = SegmentEncoder(make_encoder(X, "sequences"), lambda x, start, stop: [str(x[start:stop])], 2)
    >>> encoder.fit_transform(X).segments.indptr  # 3 starts, 2 lengths; the last start has one only
    array([0, 1, 2, 3, 4, 5, 5])
    """

    layouts = ("sequences",)

    @property
    def named_tables(self) -> tuple[bool, ...]:
        """Whether features of positions have names; those of segments have."""
        return self.named, True

    @property
    def column_counts(self) -> tuple[int, int]:
        """Columns of positions and of segments."""
        return self.tokens.n_columns, self.segments.n_columns

    def __init__(
        self,
        tokens: Encoder,
        function: Callable[..., Any] | None,
        max_length: int,
        segments: NamesEncoder | None = None,
    ) -> None:
        super().__init__("sequences")
        self.tokens, self.function, self.max_length = tokens, function, int(max_length)
        if segments is None:
            segments = NamesEncoder("items", min_count=getattr(tokens, "min_count", 1))
        self.segments = segments

    @property
    def kind(self) -> Any:  # type: ignore[override]
        """What the features of positions are."""
        return self.tokens.kind

    @property
    def named(self) -> bool:  # type: ignore[override]
        """Whether the features of positions have names."""
        return self.tokens.named

    @property
    def n_columns(self) -> int:
        """Columns of positions and of segments together."""
        return self.tokens.n_columns + self.segments.n_columns

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the columns of positions, then of segments; None where positions have none."""
        return self._and_segments(self.tokens.feature_names)

    @property
    def readable_names(self) -> list[str] | None:
        """Names of the columns as reports show them."""
        return self._and_segments(self.tokens.readable_names)

    def _and_segments(self, names: list[str] | None) -> list[str] | None:
        return (
            None if names is None else [*names, *(f"segment {name}" for name in self.segments.feature_names)]
        )

    def fit_transform(self, X: Any, *, allow_empty: bool = False) -> SegmentBatch:
        """Fix the columns of positions and of segments from `X`, and encode it."""
        X = _kept(X)
        return self._packed(
            self.tokens.fit_transform(X, allow_empty=allow_empty), self.segments.fit_transform, X
        )

    def transform(self, X: Any, *, allow_empty: bool = True) -> SegmentBatch:
        """Encode `X`; features without a column are ignored."""
        X = _kept(X)
        return self._packed(self.tokens.transform(X, allow_empty=allow_empty), self.segments.transform, X)

    def extended(self, X: Any) -> SegmentEncoder:
        """An encoder with these columns, each kind followed by those that only `X` has."""
        tokens = self.tokens.extended(X)
        segments = self._encoded(self.segments.extended, X, tokens.transform(X).offsets)
        return SegmentEncoder(tokens, self.function, self.max_length, segments)

    def restricted(self, keep: np.ndarray) -> SegmentEncoder:
        """An encoder with those columns for which `keep` is true."""
        n = self.tokens.n_columns
        tokens, segments = self.tokens.restricted(keep[:n]), self.segments.restricted(keep[n:])
        return SegmentEncoder(tokens, self.function, self.max_length, segments)

    def _encoded(self, encode: Callable[[list[Any]], Any], X: Any, offsets: np.ndarray) -> Any:
        """``encode`` of what the function says of every segment; what cannot be read is named."""
        if self.function is None:
            raise ValueError(
                "the model needs its segment_features: palmette.load(path, segment_features=...)"
            )
        features = [self.function(X[i], start, stop) for i, start, stop in self._segments(offsets)]
        try:
            return encode(features)
        except (TypeError, ValueError) as error:
            for found, (i, start, stop) in zip(features, self._segments(offsets)):
                _check(found, f"segment_features(X[{i}], {start}, {stop})")
            raise ValueError(f"segment_features: {error}") from error

    def _check(self, batch: Batch) -> None:
        """Refuse more segments than memory has room for, before the function is called for any."""
        check_size(
            f"segment_features of up to {self.max_length:,} positions from each of {batch.n_rows:,} on",
            16 * batch.n_rows * self.max_length,
            "give SemiMarkov a smaller max_length",
        )

    def _segments(self, offsets: np.ndarray) -> Iterator[tuple[int, int, int]]:
        """Sample, start and stop of every segment."""
        for i, n in enumerate(np.diff(offsets).tolist()):
            for start in range(n):
                for stop in range(start + 1, min(start + self.max_length, n) + 1):
                    yield i, start, stop

    def _packed(self, batch: Batch, encode: Callable[[list[Any]], Any], X: Any) -> SegmentBatch:
        self._check(batch)
        rows = self._encoded(encode, X, batch.offsets).rows
        assert isinstance(rows, SparseRows)
        # positions up to the end
        left = np.repeat(batch.offsets[1:], batch.lengths) - np.arange(batch.n_rows)
        there = np.arange(self.max_length) < left[:, None]
        sizes = np.zeros(there.shape, np.int64)
        sizes[there] = np.diff(rows.indptr)
        segments = SparseRows(offsets_from_lengths(sizes.ravel()), rows.indices, rows.values, rows.n_columns)
        return SegmentBatch(batch.rows, batch.offsets, segments, self.max_length)

    def check(self, batch: Batch) -> None:
        """Raise ValueError unless a batch, made by whomever, is one that this encoder could have made."""
        if not isinstance(batch, SegmentBatch):
            raise ValueError(f"the features are segments, but their batch is a {type(batch).__name__}")
        batch.check()
        found = batch.n_columns, batch.segments.n_columns, batch.max_length
        wanted = self.tokens.n_columns, self.segments.n_columns, self.max_length
        if found != wanted:
            raise ValueError(
                f"columns of positions, of segments and longest segment are {found} in the batch, {wanted} in its "
                "encoder"
            )

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays; the function is not among them."""
        header: dict[str, Any] = {
            "layout": self.layout, "n_columns": self.n_columns, "max_length": self.max_length,
        }  # fmt: skip
        arrays: dict[str, np.ndarray] = {}
        for name, encoder in (("tokens", self.tokens), ("segments", self.segments)):
            header[name], own = stored(encoder)
            arrays |= {f"{name}.{key}": array for key, array in own.items()}
        return header, arrays

    @classmethod
    def from_state(cls, header: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> SegmentEncoder:
        """Inverse of :meth:`state`."""
        tokens, segments = (
            encoder_from_state(entry(header, name, dict), group(arrays, name))
            for name in ("tokens", "segments")
        )
        if not isinstance(segments, NamesEncoder) or tokens.layout != "sequences":
            raise ValueError(
                f"the features of segments are of kind {segments.kind}, of tokens {tokens.layout}"
            )
        max_length = check_whole("max_length of segments", header.get("max_length"), 1)
        encoder = cls(tokens, None, max_length, segments)
        check_whole("n_columns", header["n_columns"], encoder.n_columns, encoder.n_columns)
        return encoder


def _kept(X: Any) -> Any:
    """`X` itself, but a stream as a list: positions and segments are read one after the other."""
    return list(X.samples) if isinstance(X, Stream) else X


def _check(found: Any, where: str) -> None:
    try:
        values = attributes(found)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{where}: {error}") from None
    bad = [name for name, value in values if not np.isfinite(value)]
    if bad:
        raise ValueError(f"{where}: attribute {bad[0]!r} is not finite; NaN and infinite values are refused")
