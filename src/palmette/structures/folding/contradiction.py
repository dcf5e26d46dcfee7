"""Structures that contradict an annotation, as disjoint sets that masks describe: by the first position that does.

A structure contradicts an annotation just if one of its parts does. So the best one has the contradicting part with
the highest max-marginal. Sums are sums over pieces: the structures that agree before position t and contradict at t,
for every t that is known. Nothing is subtracted, so nothing cancels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.data.annotation import Annotation, Known
from palmette.structures.folding.restrictions import FoldingRestriction, possible_parts
from palmette.structures.folding.tables import FoldingTables


def possible_of_one(annotation: Known, n: int) -> np.ndarray:
    """Which codes each position of the only sample may have, bool (n, n + 1)."""
    codes = annotation.codes if isinstance(annotation, Annotation) else np.asarray(annotation)
    kinds = (
        annotation.n_kinds if isinstance(annotation, Annotation) and annotation.sets is not None else n + 1
    )
    may = np.zeros((n, n + 1), bool)
    for t, code in enumerate(codes.tolist()):
        if code < 0:
            may[t] = True
        elif code < kinds:
            may[t, code] = True
        else:
            allowed = annotation.sets[code - kinds][: n + 1]  # type: ignore[union-attr]
            may[t, : len(allowed)] = allowed
    return may


def pieces(annotation: Known, n: int) -> FoldingRestriction | None:
    """The restrictions of all pieces of one sample, as if each piece were a sample; None if there is none."""
    may = possible_of_one(annotation, n)
    known = np.flatnonzero(~may.all(axis=1))
    if not len(known):
        return None
    free, pairs = [], []
    for t in known.tolist():
        allowed = np.concatenate([may[:t], ~may[t : t + 1], np.ones((n - t - 1, n + 1), bool)])
        free.append(allowed[:, 0])
        pairs.append((allowed[:, 1:] & allowed[:, 1:].T).ravel())
    return FoldingRestriction(np.concatenate(free), np.concatenate(pairs))


def repeated(within: FoldingRestriction, times: int) -> FoldingRestriction:
    """The restriction of one sample for copies of it."""
    own: list[Any] = [
        None if array is None else np.tile(array, times)
        for array in (within.unpaired, within.pairs, within.partner)
    ]
    return FoldingRestriction(*own)


def contradicting_parts(annotation: Known, theta: FoldingTables) -> tuple[np.ndarray, np.ndarray]:
    """Positions that contradict if they are unpaired, and pairs (i, j), i < j, that do, of the only sample."""
    free, pairs = possible_parts(annotation, theta)
    n = len(free)
    i, j = np.nonzero(np.triu(~pairs.reshape(n, n), 1))
    return np.flatnonzero(~free), np.stack([i, j], axis=1)


def forced(parts: list[tuple[int, ...]], n: int) -> FoldingRestriction:
    """For copies of one sample: each has one of the parts, a position (t,) that is unpaired or a pair (i, j)."""
    partner = np.full((len(parts), n), -1, np.int32)
    for row, part in zip(partner, parts):
        if len(part) == 1:
            row[part[0]] = 0
        else:
            row[part[0]], row[part[1]] = part[1] + 1, part[0] + 1
    return FoldingRestriction(partner=partner.ravel())
