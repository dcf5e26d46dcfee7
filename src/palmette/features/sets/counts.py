"""Counts of tuples of texts as arrays, to be kept in model files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import accumulate, chain

import numpy as np

from palmette.data.checks import check_array, check_codes, needed
from palmette.features.texts import TextIndex

Counts = Counter[tuple[str, ...]]


def counts_state(counts: Counts) -> dict[str, np.ndarray]:
    """Counts of tuples of texts as arrays.

    >>> counts_from_state(counts_state(Counter({("a", "X"): 2, ("b",): 1}))) == {("a", "X"): 2, ("b",): 1}
    True
    """
    index = TextIndex()
    codes = index.add(list(chain.from_iterable(counts))).astype(np.int32)
    return {
        "counts": np.fromiter(counts.values(), np.int64, len(counts)),
        "lengths": np.fromiter(map(len, counts), np.int32, len(counts)),
        "codes": codes,
        **index.trimmed().state("texts"),
    }


def counts_from_state(arrays: Mapping[str, np.ndarray], width: int | None = None) -> Counts:
    """The counts from which `counts_state` made arrays; ValueError if they are damaged.

    With ``width`` every tuple must have so many texts.
    """
    counts = check_array("counts", needed(arrays, "counts"), np.int64)
    lengths = check_array("lengths", needed(arrays, "lengths"), np.int32, 1, len(counts))
    shortest, stop = (0, 2**31) if width is None else (width, width + 1)
    ends = list(accumulate(check_codes("lengths", lengths, stop, shortest).tolist(), initial=0))
    codes = check_array("codes", needed(arrays, "codes"), np.int32, 1, ends[-1])
    texts = TextIndex.from_state(arrays, "texts").strings()
    flat = [texts[code] for code in check_codes("codes", codes, len(texts)).tolist()]
    return Counter(dict(zip((tuple(flat[a:b]) for a, b in zip(ends, ends[1:])), counts.tolist())))
