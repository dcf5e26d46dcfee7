"""Choice of the encoder for given inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from numbers import Integral
from typing import Any

import numpy as np

from palmette.data.checks import check_type, check_whole
from palmette.data.sequences import listed
from palmette.errors import ModelFileError
from palmette.features.arrays import DenseEncoder, SparseEncoder
from palmette.features.base import Encoder
from palmette.features.columns import ColumnEncoder
from palmette.features.encoded import EncodedInputs
from palmette.features.hashed import HashedNamesEncoder, check_n_hash
from palmette.features.hashed_columns import HashedColumnEncoder
from palmette.features.kinds import Layout, kind_of
from palmette.features.named_rows import Stream
from palmette.features.names import NamesEncoder
from palmette.features.templates import ColumnSentences
from palmette.registry import find

_LOOKED_AT = 100  # samples read from an iterator to see what it holds


def admitted(X: Any, layout: Layout) -> Any:
    """`X` as `make_encoder` takes it: an iterator of named sequences becomes a stream, any other iterator a list.

    A stream is encoded piece by piece, so that its features need not be in memory at the same time.

    >>> admitted(([["w=a"], ["w=b"]] for _ in range(3)), "sequences")  # doctest: +ELLIPSIS
    Stream(samples=<itertools.chain object at ...>)
    >>> admitted(([[0.5], [1.5]] for _ in range(2)), "sequences")
    [[[0.5], [1.5]], [[0.5], [1.5]]]
    """
    if isinstance(X, Stream | ColumnSentences | EncodedInputs):
        return X
    if not isinstance(X, Iterator) or layout == "items":
        return listed(X)
    first = listed(islice(X, _LOOKED_AT))
    if kind_of(first, layout) == "names":
        return Stream(chain(first, X))
    return listed(chain(first, X))


def make_encoder(X: Any, layout: Layout, *, min_count: int = 1, n_hash: int | None = None) -> Encoder:
    """The encoder for the kind of features that `X` holds, not fitted yet.

    Parameters
    ----------
    X : the inputs of some samples
        Free of iterators, since looking at one would use it up: pass iterators through `admitted`.
    layout : {"sequences", "items"}
        "sequences": `X` is a list of sequences, each a list of dicts or of lists of strings, a 2-D array or a
        sparse matrix. "items": `X` is one such sequence, whose rows are the samples.
    min_count : int, default=1
        Named features that occur fewer times get no column.
    n_hash : int, optional
        Hash named features to so many columns instead of keeping a vocabulary.

    Examples
    --------
    >>> encoder = make_encoder([[{"w": "a"}], [{"w": "b"}, {"w": "a"}]], "sequences")
    >>> encoder.kind, encoder.fit_transform([[["w:a"]]]).n_columns
    ('names', 1)
    >>> make_encoder(np.eye(2), "items").kind
    'dense'
    """
    check_options(min_count, n_hash)
    if isinstance(X, ColumnSentences):
        if layout == "items":
            raise TypeError(
                "X is ColumnSentences, but the structure has one label per sample: use Chain(), or give the attributes "
                "of each position as a list of strings (Template.apply makes them)"
            )
        if n_hash is not None:
            return HashedColumnEncoder(X.template, int(n_hash))
        return ColumnEncoder(X.template, min_count=int(min_count))
    kind = "names" if isinstance(X, Stream) else kind_of(X, layout)
    if kind in ("dense", "sparse"):
        for name, value, default in (("min_count", min_count, 1), ("n_hash", n_hash, None)):
            if value != default:
                raise ValueError(
                    f"{name}={value!r} is for named features (dicts, lists of strings); X holds arrays"
                )
    if kind == "dense":
        return DenseEncoder(layout)
    if kind == "sparse":
        return SparseEncoder(layout)
    if n_hash is not None:
        return HashedNamesEncoder(layout, int(n_hash))
    # also where nothing is there to look at, which fit_transform explains
    return NamesEncoder(layout, min_count=int(min_count))


def check_options(min_count: Any, n_hash: Any) -> None:
    """Raise ValueError for settings of named features that make no sense."""
    if not isinstance(min_count, Integral) or isinstance(min_count, bool) or int(min_count) < 1:
        raise ValueError(f"min_count must be an integer of at least 1, got {min_count!r}")
    if n_hash is None:
        return
    if not isinstance(n_hash, Integral) or isinstance(n_hash, bool) or not 1 <= int(n_hash) < 2**31:
        raise ValueError(f"n_hash must be an integer from 1 to 2**31 - 1, or None, got {n_hash!r}")
    if int(min_count) > 1:
        raise ValueError(
            f"min_count={min_count} and n_hash={n_hash} exclude each other: hashes are not counted"
        )
    check_n_hash(int(n_hash))


def encoder_from_state(header: Any, arrays: Mapping[str, np.ndarray]) -> Encoder:
    """The encoder of which :func:`palmette.registry.stored` returned `header` and `arrays`."""
    try:
        made: Any = find("encoder", check_type("the encoder", header, dict).get("kind"))
        if header.get("layout") not in made.layouts:
            raise ValueError(f"layout {header.get('layout')!r:.60} of {header['kind']!r}")
        check_whole("n_columns", header.get("n_columns"), 1)
    except ValueError as error:
        raise ModelFileError(f"damaged encoder in a model file: {error}") from None
    return made.from_state(header, arrays)
