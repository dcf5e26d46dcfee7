"""From named weights to the scores of matches and gaps: ``tables = M w`` with a sparse matrix of 0 and 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import lsqr

from palmette.data.checks import check_type, entry
from palmette.errors import MissingCapability
from palmette.registry import register
from palmette.structures.alignment.alphabet import PROTEIN
from palmette.structures.alignment.batch import N_CONTEXTS, AlignmentBatch
from palmette.structures.alignment.feature_names import (
    GROUPS,
    feature_names,
    gap_names,
    insert_names,
    match_names,
)
from palmette.structures.alignment.tables import AlignmentTables


@register("scorer", "columns")
@dataclass(frozen=True)
class AlignmentScorer:
    """One weight for each name (:mod:`palmette.structures.alignment.feature_names`), profile column and cell feature.

    Parameters
    ----------
    letters : str
    tracks : str
        Values of tracks; a symbol is a letter with a value.
    groups : tuple of str
        Chosen groups of features.
    long_gaps, free_ends : bool
    n_profile, n_cells : int
        Columns of profiles, and features of cells.

    Examples
    --------
    Weights by name, such as those of a published parameter file, to a vector and back:

    >>> scorer = AlignmentScorer()
    >>> w = scorer.weights({"match_AR": 1.5, "match_to_insert": -2.0})
    >>> scorer.named(w)["match_AR"], scorer.tables(w)[0][1, 0]  # R with A
    (1.5, np.float64(1.5))
    """

    letters: str = PROTEIN
    tracks: str = ""
    groups: tuple[str, ...] = GROUPS
    long_gaps: bool = False
    free_ends: bool = False
    n_profile: int = 0
    n_cells: int = 0

    n_labels = 2  # against a gap and matched
    has_edges = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all weights."""
        own = feature_names(self.letters, self.tracks, self.groups, self.long_gaps, self.free_ends)
        profiles = (f"profile_{k}" for k in range(self.n_profile))
        return (*own, *profiles, *(f"cell_{k}" for k in range(self.n_cells)))

    @property
    def n_params(self) -> int:
        """Number of weights."""
        return self._n_named + self.n_profile + self.n_cells

    @property
    def _n_named(self) -> int:
        return len(feature_names(self.letters, self.tracks, self.groups, self.long_gaps, self.free_ends))

    @property
    def _key(self) -> tuple[Any, ...]:
        return self.letters, self.tracks, self.groups, self.long_gaps, self.free_ends

    @property
    def blocks(self) -> dict[str, slice]:
        """All weights are features."""
        return {"node": slice(0, self.n_params)}

    def weights(self, named: Mapping[str, float]) -> np.ndarray:
        """Weights by name as a vector; 0 for those that are not named."""
        place = {name: k for k, name in enumerate(self.names)}
        w = np.zeros(self.n_params)
        for name, value in named.items():
            if name not in place:
                raise ValueError(
                    f"there is no weight {name!r} with features={self.groups}; names are those of the scorer"
                )
            w[place[name]] = value
        return w

    def named(self, w: np.ndarray) -> dict[str, float]:
        """The weights by name."""
        return dict(zip(self.names, np.asarray(w, float).tolist()))

    def tables(self, w: np.ndarray) -> tuple[np.ndarray, ...]:
        """Scores of matches (symbols x symbols), of symbols against gaps, opens and extensions by context, changes."""
        return self._shaped(weights_to_tables(*self._key) @ w[: self._n_named])

    def _shaped(self, flat: np.ndarray) -> tuple[np.ndarray, ...]:
        shapes = _shapes(len(self.letters) * max(len(self.tracks), 1), 2 if self.long_gaps else 1)
        cuts = np.cumsum([int(np.prod(shape)) for shape in shapes])
        return tuple(
            np.ascontiguousarray(own).reshape(shape) for own, shape in zip(np.split(flat, cuts[:-1]), shapes)
        )

    def nearest(self, substitution: np.ndarray, open: float, extend: float, damp: float = 0.0) -> np.ndarray:
        """The weights whose tables come nearest to scores of matches, of opening and of extending gaps, all else 0.

        >>> scorer = AlignmentScorer("AC", groups=("substitution",))
        >>> w = scorer.nearest(np.array([[4.0, -1.0], [-1.0, 9.0]]), -11.0, -1.0)
        >>> scorer.tables(w)[0].round(6).tolist(), scorer.tables(w)[2][0, 0].round(6)
        ([[4.0, -1.0], [-1.0, 9.0]], np.float64(-11.0))
        """
        shapes = _shapes(len(substitution), 2 if self.long_gaps else 1)
        own = [np.zeros(shape) for shape in shapes]
        own[0][...], own[2][...], own[3][...] = substitution, open, extend
        wanted = np.concatenate([table.ravel() for table in own])
        w = np.zeros(self.n_params)
        w[: self._n_named] = lsqr(weights_to_tables(*self._key), wanted, damp=damp, atol=1e-12, btol=1e-12)[0]
        return w

    def score(self, w: np.ndarray, batch: AlignmentBatch) -> AlignmentTables:
        """Potentials of a batch."""
        return self._potentials(self.tables(w), batch, batch.cell_scores(w[self._n_named :]))

    def part_norms(self, batch: AlignmentBatch) -> AlignmentTables:
        """Norms of the features of every part, in the shape of potentials; without profiles and features of cells."""
        if self.n_profile + self.n_cells:
            raise MissingCapability("norms of profile columns and of features of cells are not known")
        norms = np.sqrt(weights_to_tables(*self._key).power(2).sum(axis=1))
        return self._potentials(self._shaped(norms), batch, None)

    def _potentials(
        self, tables: tuple[np.ndarray, ...], batch: AlignmentBatch, cells: np.ndarray | None
    ) -> AlignmentTables:
        substitution, units, opens, extends, change = tables
        unit, open_, extend = (
            np.ascontiguousarray(table[:, at])
            for table, at in ((units, batch.letters), (opens, batch.contexts), (extends, batch.contexts))
        )
        return AlignmentTables(
            substitution, batch.letters, batch.offsets, batch.splits, unit, open_, extend, change, cells
        )

    def pull_back(self, counts: AlignmentTables, batch: AlignmentBatch, out: np.ndarray) -> None:
        """Add the adjoint of :meth:`score`, applied to counts, to ``out``."""
        symbols = len(counts.substitution)
        flat = [
            counts.substitution.ravel(),
            *(np.bincount(batch.letters, own, symbols) for own in counts.unit),
            *(np.bincount(batch.contexts, own, N_CONTEXTS) for own in counts.open),
            *(np.bincount(batch.contexts, own, N_CONTEXTS) for own in counts.extend),
            counts.change,
        ]
        out[: self._n_named] += _transposed(*self._key) @ np.concatenate(flat)
        if counts.cells is not None and self.n_profile + self.n_cells:
            out[self._n_named :] += batch.pull_cells(counts.cells)

    def touched(self, batch: Any) -> np.ndarray:
        """Positions of the weights that samples can change: all."""
        return np.arange(self.n_params)

    def joined(self, old: AlignmentScorer) -> AlignmentScorer:
        """This one: the weights do not depend on samples."""
        return self

    def carry_over(self, old: Any, w: np.ndarray, labels: np.ndarray, columns: Any = None) -> np.ndarray:
        """The weights of the same names."""
        named = dict(zip(old.names, np.asarray(w, float).tolist()))
        return np.array([named.get(name, 0.0) for name in self.names])

    def check_inputs(self, n_columns: int, n_more: int) -> None:
        """Refuse inputs with another number of symbols."""
        symbols = len(self.letters) * max(len(self.tracks), 1)
        if n_columns != symbols:
            raise ValueError(f"the inputs have {n_columns} symbols, but the weights are those of {symbols}")

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays for a model file."""
        return {
            "n_params": self.n_params, "letters": self.letters, "tracks": self.tracks, "groups": list(self.groups),
            "long_gaps": self.long_gaps, "free_ends": self.free_ends, "n_profile": self.n_profile,
            "n_cells": self.n_cells,
        }, {}  # fmt: skip

    @classmethod
    def from_state(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> AlignmentScorer:
        """Inverse of :meth:`state`."""
        groups = tuple(check_type("a group of features", own, str) for own in entry(header, "groups", list))
        texts = entry(header, "letters", str), entry(header, "tracks", str)
        flags = entry(header, "long_gaps", bool), entry(header, "free_ends", bool)
        scorer = cls(*texts, groups, *flags, entry(header, "n_profile", int), entry(header, "n_cells", int))
        scorer.check()
        if header.get("n_params") != scorer.n_params:
            raise ValueError(f"the model has {header.get('n_params')!r} weights, expected {scorer.n_params}")
        return scorer

    def check(self) -> None:
        """Raise ValueError for groups of features that there are not, and for negative numbers of columns."""
        unknown = [own for own in self.groups if own not in GROUPS]
        if unknown or min(self.n_profile, self.n_cells) < 0:
            raise ValueError(f"features has {unknown}, expected some of {', '.join(GROUPS)}")


def _shapes(symbols: int, kinds: int) -> tuple[tuple[int, ...], ...]:
    return (symbols, symbols), (kinds, symbols), (kinds, N_CONTEXTS), (kinds, N_CONTEXTS), (1,)


@cache
def weights_to_tables(
    letters: str, tracks: str, groups: tuple[str, ...], long_gaps: bool, free_ends: bool
) -> sparse.csr_array:
    """The matrix M: a row for each entry of the tables, a column for each name."""
    names = feature_names(letters, tracks, groups, long_gaps, free_ends)
    place = {name: k for k, name in enumerate(names)}
    protein, kinds = letters == PROTEIN, range(2 if long_gaps else 1)
    symbols = [(letter, value) for letter in letters for value in tracks or ("",)]
    entries: list[list[str]] = []
    for a, first in symbols:
        for b, second in symbols:
            own = match_names(a, b, groups, protein)
            entries.append(own + (["track_" + "".join(sorted((first, second)))] if tracks else []))
    for kind in kinds:
        for letter, value in symbols:
            own = insert_names(letter, kind, groups, protein)
            entries.append(own + ([f"track_insert_{value}"] if tracks else []))
    for is_first in (True, False):
        for kind in kinds:
            for context in range(N_CONTEXTS):
                entries.append(gap_names(is_first, kind, context, groups, protein, free_ends))
    entries.append(["insert_change"])
    rows = np.repeat(np.arange(len(entries)), [len(own) for own in entries])
    columns = [place[name] for own in entries for name in own]
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(entries), len(names)))


@cache
def _transposed(*key: Any) -> sparse.csr_array:
    return weights_to_tables(*key).T.tocsr()
