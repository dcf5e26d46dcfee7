"""Counts of texts as arrays, to be kept in model files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from palmette.data.checks import check_array, needed
from palmette.features.texts import TextIndex

Counts = Counter[tuple[str, ...]]


def counts_state(counts: Counts) -> dict[str, np.ndarray]:
    """Counts of tuples of texts, all of one length, as arrays.

    >>> counts_from_state(counts_state(Counter({("a", "X"): 2, ("b", "X"): 1})), 2) == {("a", "X"): 2, ("b", "X"): 1}
    True
    """
    arrays = {"counts": np.fromiter(counts.values(), np.int64, len(counts))}
    for k, texts in enumerate(zip(*counts)):
        index = TextIndex()
        arrays[f"codes_{k}"] = index.add(list(texts)).astype(np.int32)
        arrays |= index.trimmed().state(f"texts_{k}")
    return arrays


def counts_from_state(arrays: Mapping[str, np.ndarray], width: int) -> Counts:
    """The counts from which `counts_state` made arrays; ValueError if they are damaged."""
    counts = check_array("counts", needed(arrays, "counts"), np.int64, 1)
    if not len(counts):
        return Counter()
    texts = []
    for k in range(width):
        known = TextIndex.from_state(arrays, f"texts_{k}").strings()
        codes = check_array(f"codes_{k}", needed(arrays, f"codes_{k}"), np.int32, 1, len(counts))
        if len(codes) and not 0 <= codes.min() <= codes.max() < len(known):
            raise ValueError(f"codes_{k} are not those of {len(known)} texts")
        texts.append([known[code] for code in codes.tolist()])
    return Counter(dict(zip(zip(*texts), counts.tolist())))
