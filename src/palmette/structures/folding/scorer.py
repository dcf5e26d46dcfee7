"""From named weights to the tables of loops: ``tables = M w`` with a sparse matrix of 0 and 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse

from palmette.registry import register
from palmette.structures.folding.batch import FoldingBatch
from palmette.structures.folding.feature_names import (
    EXPLICIT_MOST,
    explicit_name,
    feature_names,
    pair_name,
    stacking_name,
)
from palmette.structures.folding.layout import LETTERS, MAX_HAIRPIN, MAX_INTERIOR, SHAPES, START, TABLE_SIZE
from palmette.structures.folding.tables import FoldingTables

Entry = tuple[int, ...]


def names_of_entry(section: str, at: Entry) -> list[str]:
    """The weights whose sum is an entry of the tables; none for an unknown letter and for loops that cannot be.

    >>> names_of_entry("helix_stacking", (3, 0, 2, 1))
    ['helix_stacking_CGAU']
    >>> names_of_entry("interior", (2, 1))[:3]
    ['internal_explicit_1_2', 'internal_length_at_least_2', 'internal_length_at_least_3']
    """
    if section == "hairpin_length":
        return _at_least("hairpin_length", 0, at[0])
    if section == "interior":
        return _of_interior(*at)
    if any(letter >= len(LETTERS) for letter in at):
        return []
    text = "".join(LETTERS[letter] for letter in at)
    if section == "base_pair":
        return [pair_name(section, *text)]
    if section == "internal_1x1":
        return [pair_name("internal_1x1_nucleotides", *text)]
    if section == "helix_stacking":
        return [stacking_name(*text)]
    if section == "bulge_nucleotide":
        return [f"bulge_0x1_nucleotides_{text}"]
    return [f"{section}_{text}" if text else section]


def _of_interior(left: int, right: int) -> list[str]:
    if not 1 <= left + right <= MAX_INTERIOR:
        return []
    if left == 0 or right == 0:
        return _at_least("bulge_length", 1, left + right)
    found = [explicit_name(left, right)] if max(left, right) <= EXPLICIT_MOST else []
    found += _at_least("internal_length", 2, left + right)
    if left == right:
        found += _at_least("internal_symmetric_length", 1, left)
    return found + _at_least("internal_asymmetry", 1, abs(left - right))


def _at_least(section: str, first: int, last: int) -> list[str]:
    return [f"{section}_at_least_{k}" for k in range(first, last + 1)]


@cache
def weights_to_tables() -> sparse.csr_array:
    """The matrix M, shape (2577, 708)."""
    place = {name: k for k, name in enumerate(feature_names())}
    rows, columns = [], []
    for section, shape in SHAPES.items():
        for number, at in enumerate(product(*map(range, shape))):
            for name in names_of_entry(section, at):
                rows.append(START[section] + number)
                columns.append(place[name])
    assert MAX_HAIRPIN + 1 == SHAPES["hairpin_length"][0]
    ones = np.ones(len(rows))
    return sparse.csr_array((ones, (rows, columns)), shape=(TABLE_SIZE, len(place)))


@cache
def _transposed() -> sparse.csr_array:
    return weights_to_tables().T.tocsr()


@register("scorer", "loops")
@dataclass(frozen=True)
class FoldingScorer:
    """One weight for each of the 708 names (:func:`palmette.structures.folding.feature_names.feature_names`).

    Examples
    --------
    Weights by name, such as those of a published parameter file, to a vector and back:

    >>> scorer = FoldingScorer()
    >>> w = scorer.weights({"base_pair_CG": 1.5})
    >>> scorer.named(w)["base_pair_CG"], scorer.tables(w)[7], scorer.tables(w)[11]  # C with G, G with C
    (1.5, np.float64(1.5), np.float64(1.5))
    """

    n_labels = 2  # unpaired and paired
    has_edges = False

    @property
    def n_params(self) -> int:
        """Number of weights."""
        return len(feature_names())

    @property
    def blocks(self) -> dict[str, slice]:
        """All weights are features."""
        return {"node": slice(0, self.n_params)}

    def weights(self, named: Mapping[str, float]) -> np.ndarray:
        """Weights by name as a vector; 0 for those that are not named."""
        place = {name: k for k, name in enumerate(feature_names())}
        w = np.zeros(self.n_params)
        for name, value in named.items():
            if name not in place:
                raise ValueError(f"there is no weight {name!r}; names are those of feature_names()")
            w[place[name]] = value
        return w

    def named(self, w: np.ndarray) -> dict[str, float]:
        """The weights by name."""
        return dict(zip(feature_names(), np.asarray(w, float).tolist()))

    def tables(self, w: np.ndarray) -> np.ndarray:
        """The scores of loops, ``M w``."""
        return weights_to_tables() @ w

    def score(self, w: np.ndarray, batch: FoldingBatch) -> FoldingTables:
        """Potentials of a batch."""
        return batch.potentials(self.tables(w))

    def part_norms(self, batch: FoldingBatch) -> FoldingTables:
        """Norms of the features of every part, in the shape of potentials: those of the rows of M."""
        return batch.potentials(np.sqrt(weights_to_tables().power(2).sum(axis=1)))

    def pull_back(self, counts: FoldingTables, batch: Any, out: np.ndarray) -> None:
        """Add ``M' counts`` to ``out``."""
        out += _transposed() @ counts.tables

    def touched(self, batch: Any) -> np.ndarray:
        """Positions of the weights that samples can change: all."""
        return np.arange(self.n_params)

    def joined(self, old: FoldingScorer) -> FoldingScorer:
        """This one: the weights are always the same."""
        return self

    def carry_over(self, old: Any, w: np.ndarray, labels: np.ndarray, columns: Any = None) -> np.ndarray:
        """The same weights."""
        return np.array(w, float)

    def check_inputs(self, n_columns: int, n_more: int) -> None:
        """Nothing depends on columns."""

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays for a model file."""
        return {"n_params": self.n_params}, {}

    @classmethod
    def from_state(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> FoldingScorer:
        """Inverse of :meth:`state`."""
        scorer = cls()
        if header.get("n_params") != scorer.n_params:
            raise ValueError(f"the model has {header.get('n_params')!r} weights, expected {scorer.n_params}")
        return scorer

    def check(self) -> None:
        """Nothing can be wrong."""
