"""References outside of the model: the structure of the model that keeps most of their pairs, and what was dropped.

A reference may have pairs of letters that may not pair, pairs that are too close, pairs that cross, and interior loops
that are too long. Likelihood and hinge would be infinite. Of all structures of the model that have no other pairs than
the reference, that with most of them is a best structure for a score of 1 per pair.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from palmette.data.annotation import UNKNOWN_CODE, Annotation
from palmette.data.samples import Samples
from palmette.structures.folding.codec import both_ends
from palmette.structures.folding.layout import TABLE_SIZE
from palmette.structures.folding.restrictions import FoldingRestriction
from palmette.structures.folding.tables import FoldingTables, PairCost


class Projection(NamedTuple):
    """What was dropped from references for training."""

    samples: np.ndarray  # numbers of the references with dropped pairs
    n_samples: int
    letters: int  # pairs of letters that may not pair
    close: int  # pairs with too few positions between
    others: int  # pairs that cross others, or around too long interior loops
    pairs: int  # pairs in all references

    @property
    def dropped(self) -> int:
        """Pairs in all."""
        return self.letters + self.close + self.others

    def __str__(self) -> str:
        return (
            f"{len(self.samples):,} of {self.n_samples:,} references have pairs outside of the model, {self.dropped:,} "
            f"of {self.pairs:,} pairs in all, which are dropped for training (scores use the full references): "
            f"{self.letters:,} of letters that may not pair, {self.close:,} too close, {self.others:,} that cross "
            "others or belong to too long interior loops"
        )


def project(structure: Any, samples: Samples) -> tuple[Samples, Projection]:
    """Samples with references that the structure has, and what was dropped."""
    batch: Any = samples.batch
    theta = batch.potentials(np.zeros(TABLE_SIZE))
    codes = both_ends(samples.codes, theta.offsets)
    at = np.arange(len(codes)) - np.repeat(theta.offsets[:-1], np.diff(theta.offsets))
    left = np.flatnonzero(codes - 1 > at)
    right = left + codes[left] - 1 - at[left]
    may = structure.can_pair()[theta.letters[left], theta.letters[right]]
    near = codes[left] - 1 - at[left] - 1 < structure.min_hairpin
    bad = ~may | near
    dropped = np.zeros(len(codes), bool)
    dropped[left[bad]] = dropped[right[bad]] = True
    kept = np.where(dropped, 0, codes)
    flawed = _flawed(structure, theta, kept)
    others = 0
    if len(flawed):
        found = _most_pairs(structure, theta.take(flawed), kept, theta.offsets, flawed)
        for s, own in zip(flawed.tolist(), found):
            span = slice(int(theta.offsets[s]), int(theta.offsets[s + 1]))
            lost = (kept[span] > 0) & (own == 0)
            others += int(lost.sum()) // 2
            dropped[span] |= lost
    touched = np.unique(np.searchsorted(theta.offsets, np.flatnonzero(dropped), side="right") - 1)
    report = Projection(touched, len(theta), int((~may).sum()), int((may & near).sum()), others, len(left))
    # What was a pair is unpaired in a reference that is known as a whole, and not known in others.
    partial = np.zeros(len(theta), bool)
    if samples.annotation is not None:
        unknown = np.flatnonzero(samples.codes == UNKNOWN_CODE)
        partial[np.searchsorted(theta.offsets, unknown, side="right") - 1] = True
    instead = np.where(np.repeat(partial, np.diff(theta.offsets)), UNKNOWN_CODE, 0)
    codes = samples.codes.copy()
    dropped &= codes != UNKNOWN_CODE
    codes[dropped] = instead[dropped]
    annotation = samples.annotation
    if annotation is not None:
        own = annotation.codes.copy()
        own[dropped] = instead[dropped]
        annotation = Annotation(own, annotation.sets, annotation.pairs)
    return samples._replace(codes=codes, annotation=annotation), report


def _flawed(structure: Any, theta: FoldingTables, codes: np.ndarray) -> np.ndarray:
    """Numbers of the samples whose known pairs, with nothing else, are no structure of the model."""
    from palmette.structures.folding.kernels.given import FINE, first_flaw

    plain, found = np.maximum(codes, 0).astype(np.int32), []
    rules = structure.can_pair(), structure.min_hairpin, structure.max_interior
    for s in range(len(theta)):
        own = slice(int(theta.offsets[s]), int(theta.offsets[s + 1]))
        offsets = np.array([0, own.stop - own.start])
        if first_flaw(theta.letters[own], offsets, *rules, plain[own])[0] != FINE:
            found.append(s)
    return np.array(found, np.int64)


def _most_pairs(
    structure: Any, theta: FoldingTables, codes: np.ndarray, offsets: np.ndarray, flawed: np.ndarray
) -> list[np.ndarray]:
    """For each of the flawed samples the structure with most of its pairs; unknown positions may pair anyhow."""
    partner, may, entries = [], [], []
    for s in flawed.tolist():
        own = codes[offsets[s] : offsets[s + 1]]
        n = len(own)
        left = np.flatnonzero(own - 1 > np.arange(n))
        entries.append(left * n + own[left] - 1)
        square = np.zeros((n, n), bool)
        free = own < 0
        square[np.ix_(free, free)] = True
        square[left, own[left] - 1] = True
        may.append(square.ravel())
        partner.append(np.where(own == 0, 0, -1).astype(np.int32))
    lengths = [len(each) for each in entries]
    ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    entry = np.concatenate(entries).astype(np.int64)
    cost = PairCost.none(theta.offsets, entry_ptr=ptr, entry=entry, value=np.ones(len(entry)))
    nothing = FoldingTables(np.zeros(TABLE_SIZE), theta.letters, theta.offsets, np.zeros(len(theta.letters)))
    within = FoldingRestriction(pairs=np.concatenate(may), partner=np.concatenate(partner))
    found = structure.best(nothing, cost=cost, within=within).codes
    return [found[a:b] for a, b in zip(theta.offsets[:-1], theta.offsets[1:])]
