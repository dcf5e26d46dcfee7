"""Encoded pairs of sequences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.data.batch import Batch, SparseRows
from palmette.data.ragged import gather
from palmette.structures.alignment.cost import check_array
from palmette.structures.alignment.tables import boundaries_of, cells_of

N_COUNTS = 7
"""Hydrophilic residues around a boundary: 0..6."""
END = N_COUNTS
"""The context of a boundary before or after a whole sequence."""
N_CONTEXTS = N_COUNTS + 1


@dataclass(frozen=True)
class AlignmentBatch(Batch):
    """Symbols of pairs, contexts of their boundaries, and features of positions and cells.

    Parameters
    ----------
    rows, offsets
        A row has its symbol as the only feature.
    letters : ndarray of int16, shape (n_positions,)
    splits : ndarray of int64, shape (n_samples,)
        Lengths of the first sequences.
    contexts : ndarray of int8, shape (n_boundaries,)
        0..6: inner boundaries with so many hydrophilic residues around them; 7: ends.
    scores : ndarray of float64, shape (sum of n m,), or None
        Added to the scores of matches.
    profiles : ndarray of float64, shape (n_positions, n_profile), or None
        The product of both columns is a feature of a match.
    cells : ndarray of float64, shape (sum of n m, n_cells), or None
        Features of matches.
    """

    letters: np.ndarray
    splits: np.ndarray
    contexts: np.ndarray
    scores: np.ndarray | None = None
    profiles: np.ndarray | None = None
    cells: np.ndarray | None = None

    @classmethod
    def of(cls, letters: np.ndarray, offsets: np.ndarray, n_symbols: int, *others: Any) -> AlignmentBatch:
        """The batch of these symbols; ``others`` are the fields from ``splits`` on."""
        rows = SparseRows(np.arange(len(letters) + 1), letters.astype(np.int32), np.empty(0), n_symbols)
        return cls(rows, offsets, letters, *others)

    @property
    def starts(self) -> np.ndarray:
        """Where the cells of samples begin and end."""
        return cells_of(self.offsets, self.splits)

    def slice(self, start: int, stop: int) -> AlignmentBatch:
        """Samples ``start:stop``; arrays are views of the same memory."""
        part = super().slice(start, stop)
        lo, hi = int(self.offsets[start]), int(self.offsets[stop])
        cell = slice(int(self.starts[start]), int(self.starts[stop]))
        scores, cells = (None if own is None else own[cell] for own in (self.scores, self.cells))
        profiles = None if self.profiles is None else self.profiles[lo:hi]
        return AlignmentBatch(
            part.rows, part.offsets, self.letters[lo:hi], self.splits[start:stop],
            self.contexts[lo + 2 * start : hi + 2 * stop], scores, profiles, cells,
        )  # fmt: skip

    def take(self, samples: np.ndarray) -> AlignmentBatch:
        """Copies of the samples of these numbers, in their order."""
        samples = np.asarray(samples, np.int64)
        rows, offsets = gather(self.offsets, samples)
        cell = gather(self.starts, samples)[0]
        scores, cells = (None if own is None else own[cell] for own in (self.scores, self.cells))
        return AlignmentBatch.of(
            self.letters[rows], offsets, self.n_columns, self.splits[samples],
            self.contexts[gather(boundaries_of(self.offsets), samples)[0]], scores,
            None if self.profiles is None else self.profiles[rows], cells,
        )  # fmt: skip

    def without(self, empty: np.ndarray) -> AlignmentBatch:
        """The samples for which ``empty`` is false."""
        return self if not np.any(empty) else self.take(np.flatnonzero(~empty))

    def match_features(self) -> int:
        """How many features matches have beside their symbols."""
        return sum(0 if own is None else own.shape[1] for own in (self.profiles, self.cells))

    def cell_scores(self, w: np.ndarray) -> np.ndarray | None:
        """Scores of cells with these weights of profile columns and cell features; None if there are none."""
        if self.scores is None and self.profiles is None and self.cells is None:
            return None
        out = np.zeros(int(self.starts[-1])) if self.scores is None else self.scores.copy()
        n_profile = 0 if self.profiles is None else self.profiles.shape[1]
        if self.cells is not None:
            out += self.cells @ w[n_profile:]
        if self.profiles is not None:
            for a, b, cell in self._rectangles():
                out[cell] += ((self.profiles[a] * w[:n_profile]) @ self.profiles[b].T).ravel()
        return out

    def pull_cells(self, counts: np.ndarray) -> np.ndarray:
        """The adjoint of :meth:`cell_scores`, without the given scores."""
        found = []
        if self.profiles is not None:
            own = np.zeros(self.profiles.shape[1])
            for a, b, cell in self._rectangles():
                first, second = self.profiles[a], self.profiles[b]
                own += np.einsum("id,id->d", first, counts[cell].reshape(len(first), len(second)) @ second)
            found.append(own)
        if self.cells is not None:
            found.append(self.cells.T @ counts)
        return np.concatenate([np.empty(0), *found])

    def _rectangles(self) -> list[tuple[Any, Any, Any]]:
        """Positions of both sequences of each sample, and its cells."""
        bounds = zip(self.offsets.tolist(), self.splits.tolist(), self.offsets[1:].tolist())
        cells = self.starts.tolist()
        return [
            (slice(lo, lo + n), slice(lo + n, hi), slice(cells[s], cells[s + 1]))
            for s, (lo, n, hi) in enumerate(bounds)
        ]

    def check(self) -> None:
        """Raise ValueError unless compiled loops can read the batch."""
        super().check()
        size, lengths = len(self.letters), self.lengths
        check_array("letters", self.letters, np.int16, (int(self.offsets[-1]),))
        check_array("splits", self.splits, np.int64, (len(self),))
        if np.any((self.splits < 0) | (self.splits > lengths)):
            raise ValueError("splits has a length beyond that of its pair")
        check_array("contexts", self.contexts, np.int8, (size + 2 * len(self),))
        for name, array, most in (
            ("letters", self.letters, self.n_columns),
            ("contexts", self.contexts, N_CONTEXTS),
        ):
            if len(array) and not 0 <= array.min() <= array.max() < most:
                raise ValueError(f"{name} must be in 0..{most - 1}")
        n_cells = int(self.starts[-1])
        for name, own, rows in (
            ("scores", self.scores, n_cells),
            ("profiles", self.profiles, size),
            ("cells", self.cells, n_cells),
        ):
            if own is not None and (len(own) != rows or not np.all(np.isfinite(own))):
                raise ValueError(f"{name} must have {rows} rows of finite numbers")
