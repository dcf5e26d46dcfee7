"""Sequences as users write them: strings, or strings with evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.data.batch import Batch
from palmette.data.checks import check_type, entry
from palmette.data.ragged import offsets_from_lengths
from palmette.features.base import Encoder, check_lengths
from palmette.registry import register
from palmette.structures.folding.alphabet import letter_codes, reading
from palmette.structures.folding.batch import FoldingBatch
from palmette.structures.folding.layout import LETTERS, N_LETTERS


@dataclass(frozen=True, eq=False)
class RNA:
    """A sequence with soft evidence: scores that are added where positions are unpaired, or paired with each other.

    Probing data (SHAPE, DMS) and modified bases enter here: a score of ``log p(data | unpaired) - log p(data |
    paired)`` for each position is the usual choice.

    Parameters
    ----------
    sequence : str
    unpaired : array of shape (n,), optional
        Score of each position if it is unpaired.
    pairs : mapping of (i, j) to float, or array of shape (n, n), optional
        Score of each pair, positions from 0. Of an array the entries with i < j count.

    Examples
    --------
    >>> len(RNA("GGGAAACCC", unpaired=[0, 0, 0, 1, 1, 1, 0, 0, 0], pairs={(0, 8): 2.0}))
    9
    """

    sequence: str
    unpaired: Any = None
    pairs: Any = None

    def __len__(self) -> int:
        return len(self.sequence)

    def __str__(self) -> str:
        return self.sequence


@register("encoder", "letters")
class FoldingEncoder(Encoder):
    """Letters of sequences as numbers, with what users know of positions and pairs beside them.

    Parameters
    ----------
    alphabet : mapping of str to str, optional
        Letters beyond :data:`palmette.structures.folding.alphabet.ALPHABET`, each read as A, C, G, U or N (unknown).
    """

    kind = "sparse"
    named = True
    of = "sequences of nucleotides"
    layouts = ("sequences",)

    def __init__(self, alphabet: Mapping[str, str] | None = None) -> None:
        super().__init__("sequences")
        self.alphabet = dict(alphabet or {})
        self._reading = reading(self.alphabet)

    @property
    def n_columns(self) -> int:
        """The letters."""
        return N_LETTERS

    @property
    def feature_names(self) -> list[str]:
        """The letters."""
        return [*LETTERS, "N"]

    def fit_transform(self, X: Any, *, allow_empty: bool = False) -> FoldingBatch:
        """Encode; there is nothing to learn from X."""
        return self.transform(X, allow_empty=allow_empty)

    def transform(self, X: Any, *, allow_empty: bool = True) -> FoldingBatch:
        """Encode sequences."""
        texts = [x.sequence if isinstance(x, RNA) else x for x in X]
        own = [letter_codes(text, f"X[{i}]", self._reading) for i, text in enumerate(texts)]
        lengths = np.array([len(codes) for codes in own], np.int64)
        check_lengths(lengths, allow_empty)
        offsets = offsets_from_lengths(lengths)
        unpaired = np.concatenate([np.empty(0), *(_unpaired(x, i) for i, x in enumerate(X))])
        pairs = None
        if any(isinstance(x, RNA) and x.pairs is not None for x in X):
            pairs = np.concatenate([np.empty(0), *(_pairs(x, i) for i, x in enumerate(X))])
        return FoldingBatch.of(np.concatenate([np.empty(0, np.int8), *own]), offsets, unpaired, pairs)

    def extended(self, X: Any) -> FoldingEncoder:
        """This encoder: the alphabet does not grow."""
        return self

    def check(self, batch: Batch) -> None:
        """Raise ValueError unless a batch is one that this encoder could have made."""
        if not isinstance(batch, FoldingBatch):
            raise ValueError(f"the inputs are sequences to fold, but their batch is a {type(batch).__name__}")
        batch.check()

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays for a model file."""
        return {"layout": self.layout, "n_columns": self.n_columns, "alphabet": self.alphabet}, {}

    @classmethod
    def from_state(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> FoldingEncoder:
        """Inverse of :meth:`state`."""
        own = {
            check_type("a letter", key, str): check_type("its meaning", value, str)
            for key, value in entry(header, "alphabet", dict).items()
        }
        return cls(own)


def _unpaired(x: Any, i: int) -> np.ndarray:
    if not isinstance(x, RNA) or x.unpaired is None:
        return np.zeros(len(x))
    return _finite(np.asarray(x.unpaired, float), (len(x),), f"X[{i}].unpaired")


def _pairs(x: Any, i: int) -> np.ndarray:
    n = len(x)
    if not isinstance(x, RNA) or x.pairs is None:
        return np.zeros(n * n)
    if not isinstance(x.pairs, Mapping):
        return np.triu(_finite(np.asarray(x.pairs, float), (n, n), f"X[{i}].pairs"), 1).ravel()
    square = np.zeros((n, n))
    for pair, score in x.pairs.items():
        try:
            a, b = sorted(int(t) for t in pair)
        except (TypeError, ValueError):
            raise ValueError(f"X[{i}].pairs names {pair!r}: a pair is (i, j)") from None
        if not 0 <= a < b < n:
            raise ValueError(f"X[{i}].pairs names {(a, b)}, expected 0 <= i < j < {n}")
        square[a, b] += score
    return _finite(square, (n, n), f"X[{i}].pairs").ravel()


def _finite(scores: np.ndarray, shape: tuple[int, ...], where: str) -> np.ndarray:
    if scores.shape != shape:
        raise ValueError(f"{where} has shape {scores.shape}, expected {shape} for {shape[0]} letters")
    if not np.all(np.isfinite(scores)):
        at = np.argwhere(~np.isfinite(scores))[0].tolist()
        raise ValueError(
            f"{where}{at} is {scores[tuple(at)]}: evidence is finite; 0 says nothing, and within= forbids"
        )
    return scores
