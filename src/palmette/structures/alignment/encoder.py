"""Pairs of sequences as users write them: two strings, or two strings with tracks, profiles and features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.data.batch import Batch
from palmette.data.checks import check_type, entry
from palmette.data.ragged import offsets_from_lengths
from palmette.features.base import Encoder, check_lengths
from palmette.registry import register
from palmette.structures.alignment.alphabet import HYDROPHILIC, letter_codes, letters_of, reading
from palmette.structures.alignment.batch import END, N_COUNTS, AlignmentBatch

AROUND = 3
"""Residues on either side of a boundary that count for its context."""


@dataclass(frozen=True, eq=False)
class SequencePair:
    """Two sequences to align with more than their letters.

    Parameters
    ----------
    a, b : str
    tracks : (str, str), optional
        A letter for each position, such as its secondary structure; ``Alignment(tracks="HEC")`` names the values.
    profiles : (array of shape (n, d), array of shape (m, d)), optional
        Columns of features of the positions. A match has the product of both columns as features, with d weights.
    cells : array of shape (n, m, d), optional
        Features of each match, with d weights.
    scores : array of shape (n, m), optional
        Added to the score of each match as they are, without weights: evidence, or a position-specific matrix
        (:meth:`with_pssm`).

    Examples
    --------
    >>> len(SequencePair("ACDE", "ADE", tracks=("HHCC", "HCC")))
    7
    """

    a: str
    b: str
    tracks: Any = None
    profiles: Any = None
    cells: Any = None
    scores: Any = None

    def __len__(self) -> int:
        return len(self.a) + len(self.b)

    @classmethod
    def with_pssm(
        cls, a: str, b: str, pssm: Any, letters: str = "ARNDCQEGHILKMFPSTWYV", **more: Any
    ) -> SequencePair:
        """A pair with a position-specific score matrix of ``a``, shape (n, n_letters): the scores of letters of ``b``.

        Letters of ``b`` that are none of ``letters`` score 0.

        >>> SequencePair.with_pssm("AC", "CA", [[2.0, 0.0], [0.0, 3.0]], "AC").scores
        array([[0., 2.],
               [3., 0.]])
        """
        matrix = np.asarray(pssm, float)
        if matrix.shape != (len(a), len(letters)):
            raise ValueError(f"pssm has shape {matrix.shape}, expected {(len(a), len(letters))}")
        wide = np.concatenate([matrix, np.zeros((len(a), 1))], axis=1)
        return cls(a, b, scores=wide[:, [letters.find(each) for each in b.upper()]], **more)


def as_pair(x: Any, where: str) -> SequencePair:
    """A pair from two strings; anything else is refused."""
    if isinstance(x, SequencePair):
        return x
    if (
        isinstance(x, str)
        or not isinstance(x, Sequence)
        or len(x) != 2
        or not all(isinstance(t, str) for t in x)
    ):
        raise TypeError(f"{where} must be a pair of sequences such as ('ACDE', 'ADE'), got {x!r:.60}")
    return SequencePair(str(x[0]), str(x[1]))


@register("encoder", "pairs")
class AlignmentEncoder(Encoder):
    """Letters of pairs as numbers, the contexts of their boundaries, and what users know beside them.

    Parameters
    ----------
    alphabet : str
        ``"protein"``, ``"dna"``, ``"rna"`` or letters of your own.
    letters : mapping of str to str, optional
        What further letters are read as.
    tracks : str
        The values of tracks; none by default.
    """

    kind = "sparse"
    named = True
    of = "pairs of sequences"
    layouts = ("sequences",)

    def __init__(
        self, alphabet: str = "protein", letters: Mapping[str, str] | None = None, tracks: str = ""
    ) -> None:
        super().__init__("sequences")
        self.alphabet, self.letters, self.tracks = alphabet, dict(letters or {}), tracks
        self.symbols = letters_of(alphabet)
        self._reading = reading(alphabet, self.letters)
        self._values = {value: k for k, value in enumerate(tracks)}
        hydrophilic = alphabet == "protein"
        self._hydrophilic = np.array([hydrophilic and each in HYDROPHILIC for each in self.symbols], np.int64)
        self.n_profile = self.n_cells = 0

    @property
    def n_columns(self) -> int:
        """The symbols: letters, times the values of tracks."""
        return len(self.symbols) * max(len(self.tracks), 1)

    @property
    def feature_names(self) -> list[str]:
        """The symbols."""
        return [letter + value for letter in self.symbols for value in self.tracks or ("",)]

    def fit_transform(self, X: Any, *, allow_empty: bool = False) -> AlignmentBatch:
        """Encode; the first pair says how many columns profiles and cells have."""
        first = next((as_pair(x, "X[0]") for x in X), None)
        if first is not None:
            self.n_profile = 0 if first.profiles is None else _width(first.profiles[0], 2, "X[0].profiles")
            self.n_cells = 0 if first.cells is None else _width(first.cells, 3, "X[0].cells")
        return self.transform(X, allow_empty=allow_empty)

    def transform(self, X: Any, *, allow_empty: bool = True) -> AlignmentBatch:
        """Encode pairs."""
        pairs = [as_pair(x, f"X[{i}]") for i, x in enumerate(X)]
        lengths = np.array([len(pair) for pair in pairs], np.int64)
        check_lengths(lengths, allow_empty)
        letters, contexts = [np.empty(0, np.int16)], [np.empty(0, np.int8)]
        for i, pair in enumerate(pairs):
            for which, text in enumerate((pair.a, pair.b)):
                if not text and len(pair):
                    raise ValueError(
                        f"X[{i}][{which}] is an empty sequence; an alignment needs two with letters"
                    )
                codes = letter_codes(text, f"X[{i}][{which}]", self._reading)
                contexts.append(self._contexts(codes))
                letters.append(self._with_track(codes, pair, i, which))
        splits = np.array([len(pair.a) for pair in pairs], np.int64)
        scores = None
        if any(pair.scores is not None for pair in pairs):
            scores = np.concatenate([np.empty(0), *(_scores(pair, i) for i, pair in enumerate(pairs))])
        profiles = cells = None
        if self.n_profile:
            own = [_profile(pair, i, k, self.n_profile) for i, pair in enumerate(pairs) for k in (0, 1)]
            profiles = np.concatenate([np.empty((0, self.n_profile)), *own])
        if self.n_cells:
            found = [_cells(pair, i, self.n_cells) for i, pair in enumerate(pairs)]
            cells = np.concatenate([np.empty((0, self.n_cells)), *found])
        for i, pair in enumerate(pairs):
            for name, width in (("profiles", self.n_profile), ("cells", self.n_cells)):
                if getattr(pair, name) is not None and not width:
                    raise ValueError(
                        f"X[{i}] has {name}, but the pairs that the model was fitted to had none"
                    )
        return AlignmentBatch.of(
            np.concatenate(letters), offsets_from_lengths(lengths), self.n_columns, splits, np.concatenate(contexts),
            scores, profiles, cells,
        )  # fmt: skip

    def _contexts(self, codes: np.ndarray) -> np.ndarray:
        """Of each boundary how many of the residues around it are hydrophilic; ends apart."""
        before = np.concatenate([[0], np.cumsum(self._hydrophilic[codes])])
        at = np.arange(len(codes) + 1)
        inner = before[np.minimum(at + AROUND, len(codes))] - before[np.maximum(at - AROUND, 0)]
        out = np.minimum(inner, N_COUNTS - 1).astype(np.int8)
        out[0] = out[-1] = END
        return out

    def _with_track(self, codes: np.ndarray, pair: SequencePair, i: int, which: int) -> np.ndarray:
        if not self.tracks:
            if pair.tracks is not None:
                raise ValueError(
                    f"X[{i}] has tracks; name their values with Alignment(tracks='HEC'), or leave them out"
                )
            return codes
        if pair.tracks is None:
            raise ValueError(
                f"X[{i}] has no tracks, but Alignment(tracks={self.tracks!r}) needs them: SequencePair(a, b, tracks)"
            )
        text = pair.tracks[which]
        if len(text) != len(codes):
            raise ValueError(f"X[{i}].tracks[{which}] has {len(text)} letters, its sequence has {len(codes)}")
        values = letter_codes(text, f"X[{i}].tracks[{which}]", self._values, "track")
        return codes * np.int16(len(self.tracks)) + values

    def extended(self, X: Any) -> AlignmentEncoder:
        """This encoder: the alphabet does not grow."""
        return self

    def check(self, batch: Batch) -> None:
        """Raise ValueError unless a batch is one that this encoder could have made."""
        if not isinstance(batch, AlignmentBatch):
            raise ValueError(f"the inputs are pairs to align, but their batch is a {type(batch).__name__}")
        batch.check()
        widths = tuple(0 if own is None else own.shape[1] for own in (batch.profiles, batch.cells))
        if widths != (self.n_profile, self.n_cells):
            raise ValueError(
                f"the batch has {widths} columns of profiles and cells, its encoder {self.n_profile, self.n_cells}"
            )

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays for a model file."""
        own = {
            name: getattr(self, name) for name in ("alphabet", "letters", "tracks", "n_profile", "n_cells")
        }
        return {"layout": self.layout, "n_columns": self.n_columns, **own}, {}

    @classmethod
    def from_state(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> AlignmentEncoder:
        """Inverse of :meth:`state`."""
        own = {
            check_type("a letter", key, str): check_type("its meaning", value, str)
            for key, value in entry(header, "letters", dict).items()
        }
        encoder = cls(entry(header, "alphabet", str), own, entry(header, "tracks", str))
        encoder.n_profile, encoder.n_cells = entry(header, "n_profile", int), entry(header, "n_cells", int)
        if min(encoder.n_profile, encoder.n_cells) < 0:
            raise ValueError("a model file has a negative number of columns")
        return encoder


def _width(array: Any, n_axes: int, where: str) -> int:
    shape = np.shape(array)
    if len(shape) != n_axes:
        raise ValueError(f"{where} has shape {shape}, expected {n_axes} axes, the last one with the features")
    return int(shape[-1])


def _scores(pair: SequencePair, i: int) -> np.ndarray:
    shape = len(pair.a), len(pair.b)
    if pair.scores is None:
        return np.zeros(shape[0] * shape[1])
    return _finite(pair.scores, shape, f"X[{i}].scores").ravel()


def _profile(pair: SequencePair, i: int, which: int, width: int) -> np.ndarray:
    if pair.profiles is None:
        raise ValueError(f"X[{i}] has no profiles, but the pairs that the model was fitted to had some")
    if len(pair.profiles) != 2:
        raise ValueError(f"X[{i}].profiles must be two arrays, one for each sequence")
    size = len((pair.a, pair.b)[which])
    return _finite(pair.profiles[which], (size, width), f"X[{i}].profiles[{which}]")


def _cells(pair: SequencePair, i: int, width: int) -> np.ndarray:
    if pair.cells is None:
        raise ValueError(f"X[{i}] has no cells, but the pairs that the model was fitted to had some")
    found = _finite(pair.cells, (len(pair.a), len(pair.b), width), f"X[{i}].cells")
    return found.reshape(-1, width)


def _finite(given: Any, shape: tuple[int, ...], where: str) -> np.ndarray:
    numbers = np.asarray(given, float)
    if numbers.shape != shape:
        raise ValueError(f"{where} has shape {numbers.shape}, expected {shape}")
    if not np.all(np.isfinite(numbers)):
        at = np.argwhere(~np.isfinite(numbers))[0].tolist()
        raise ValueError(f"{where}{at} is {numbers[tuple(at)]}: features are finite; forbid with within=")
    return numbers
