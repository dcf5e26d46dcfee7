"""What references share whose outputs are one code per row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from palmette.data.annotation import Annotation
from palmette.testing.reference import Reference


class RowReference(Reference):
    """Outputs are tuples of labels, one for each row of the sample; ``theta`` has ``node`` and ``offsets``.

    Left to say are the parts of an output, their potentials and the restrictions.
    """

    def outputs(self, theta: Any, s: int) -> list[tuple[int, ...]]:
        """All labelings in lexicographic order."""
        length = int(theta.offsets[s + 1] - theta.offsets[s])
        return list(product(range(theta.node.shape[1]), repeat=length))

    def pack(self, theta: Any, outputs: Sequence[tuple[Any, ...]]) -> Any:
        """All codes one after the other; sets of codes make an annotation."""
        return packed_codes([code for y in outputs for code in y], theta)

    def unpack(self, theta: Any, codes: np.ndarray) -> list[tuple[int, ...]]:
        """Cut the codes into samples."""
        if np.shape(codes) != (len(theta.node),):
            raise AssertionError(
                f"codes have shape {np.shape(codes)}, expected one per row: ({len(theta.node)},)"
            )
        bounds = theta.offsets.tolist()
        return [tuple(codes[lo:hi].tolist()) for lo, hi in zip(bounds, bounds[1:])]

    def draw_annotations(self, rng: np.random.Generator, theta: Any) -> Iterator[list[tuple[Any, ...]]]:
        """A full annotation, one with open rows (-1), and one with rows that have one of several codes."""
        n_rows, n_labels = theta.node.shape
        full: Any = rng.integers(0, n_labels, n_rows)
        yield self.unpack(theta, full)
        partial = np.where(rng.random(n_rows) < 0.5, full, -1)
        yield self.unpack(theta, partial)
        yield [with_sets(rng, y, n_labels) for y in self.unpack(theta, partial)]

    def contradicts(self, y: tuple[int, ...], annotation: Sequence[Any]) -> bool:
        """Whether a known row differs."""
        return any(not allows(known, label) for label, known in zip(y, annotation))

    def draw_risks(self, rng: np.random.Generator, theta: Any) -> Iterator[tuple[dict[str, Any], Any]]:
        """Hamming loss (the default) and a random table of costs."""
        yield {}, lambda true, y: float(sum(a != b for a, b in zip(true, y)))
        table = rng.random((theta.n_codes, theta.n_codes))
        yield {"risk": table}, lambda true, y: math.fsum(table[a, b] for a, b in zip(true, y))

    def plant(self, rng: np.random.Generator, theta: Any) -> np.ndarray:
        """An output of each sample that potentials do not forbid, so that restrictions may allow it."""
        outputs = [self.outputs(theta, s) for s in range(len(theta))]
        finite = [[y for y in ys if self.score(theta, s, y) > -math.inf] for s, ys in enumerate(outputs)]
        return self.pack(theta, [ys[rng.integers(len(ys))] for ys in finite])


def labelled_rows(rng: np.random.Generator, n_samples: int = 8) -> tuple[list[np.ndarray], list[list[str]]]:
    """Sequences of rows of three features, of which the largest tells the label of the row."""
    X = [rng.normal(size=(int(rng.integers(2, 6)), 3)) for _ in range(n_samples)]
    return X, [["abc"[k] for k in x.argmax(axis=1)] for x in X]


def with_sets(rng: np.random.Generator, annotation: Sequence[int], n_codes: int) -> tuple[Any, ...]:
    """An annotation in which some known codes are one of several, as frozen sets."""
    return tuple(
        frozenset({code, int(rng.integers(n_codes))}) if code >= 0 and rng.random() < 0.6 else code
        for code in annotation
    )


def allows(known: Any, code: int) -> bool:
    """Whether an annotated part, a code, -1 or a set of codes, may have this code."""
    return code in known if isinstance(known, frozenset) else known in (-1, code)


def packed_codes(codes: Sequence[Any], theta: Any) -> np.ndarray | Annotation:
    """Codes as an array; with sets among them as an annotation."""
    sets = list(dict.fromkeys(code for code in codes if isinstance(code, frozenset)))
    if not sets:
        return np.array(codes, np.int32)
    n_codes = theta.n_codes
    table = np.zeros((len(sets), n_codes), bool)
    for k, own in enumerate(sets):
        table[k, list(own)] = True
    plain = [n_codes + sets.index(code) if isinstance(code, frozenset) else code for code in codes]
    return Annotation(np.array(plain, np.int32), table)


def rows_of(theta: Any, samples: Sequence[int]) -> np.ndarray:
    """Numbers of the samples' rows, counted through the batch."""
    return np.array([r for s in samples for r in range(theta.offsets[s], theta.offsets[s + 1])], int)
