"""Features of candidate events as rows: scaled, with hinges, a block of columns for each kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.data.batch import Batch, SparseRows
from palmette.data.checks import check_finite, check_type, check_whole, entry, needed
from palmette.data.ragged import offsets_from_lengths
from palmette.features.base import Encoder, check_lengths
from palmette.registry import register
from palmette.structures.tracking.batch import TrackingBatch
from palmette.structures.tracking.candidates import Candidates
from palmette.structures.tracking.event_features import BENDS
from palmette.structures.tracking.tables import Layout

# Scores of events bend: between true and near candidates they fall steeply, and are flat beyond. A penalty that is as
# strong on hinges as on features in deviations prefers straight lines; this factor makes it 16 times stronger on the
# latter. Event losses cross-validated inside each movie of HeLa fell at all steps, by 12 % in the mean.
PLAIN = 0.25


@register("encoder", "events")
class TrackingEncoder(Encoder):
    """Turns candidates into rows: per kind a constant, each feature in standard deviations, and its hinges.

    A hinge of a feature x is ``max(0, x - q)`` for a quantile q of the training candidates, for features in ``BENDS``.
    The constant and the features themselves are multiplied by ``plain``.

    Parameters
    ----------
    kinds : tuple of str
    knots : int
        Hinges per feature.
    plain : float
        Factor of the constant and of features without hinges: the smaller, the more they are penalised.
    """

    kind = "sparse"
    named = False
    of = "pairs of frames"
    layouts = ("sequences",)

    def __init__(self, kinds: tuple[str, ...], knots: int = 4, plain: float = PLAIN) -> None:
        super().__init__("sequences")
        self.kinds, self.knots, self.plain = kinds, knots, plain
        self.names: list[tuple[str, ...]] = []
        self.middle: list[np.ndarray] = []  # per kind: means, deviations, (features, knots) quantiles
        self.spread: list[np.ndarray] = []
        self.bends: list[np.ndarray] = []

    # -- columns ------------------------------------------------------------------------------------------------

    def _widths(self) -> list[int]:
        return [1 + len(names) + bends.size for names, bends in zip(self.names, self.bends)]

    @property
    def starts(self) -> np.ndarray:
        """The first column of each kind, and the number of all columns."""
        return offsets_from_lengths(self._widths())

    @property
    def n_columns(self) -> int:
        """Number of columns of all kinds."""
        return sum(self._widths())

    @property
    def makes_dense_rows(self) -> bool:
        """Never: an event has features in the columns of its kind only."""
        return False

    @property
    def feature_names(self) -> list[str]:
        """Names such as ``move: distance`` and ``move: distance > 1.3``."""
        found = []
        for k, kind in enumerate(self.kinds):
            found += [kind, *(f"{kind}: {name}" for name in self.names[k])]
            bent = [name for name in self.names[k] if name in BENDS]
            for name, row in zip(bent, self.bends[k]):
                at = self.names[k].index(name)
                found += [f"{kind}: {name} > {q * self.spread[k][at] + self.middle[k][at]:.3g}" for q in row]
        return found

    # -- encoding -----------------------------------------------------------------------------------------------

    def fit_transform(self, X: Any, *, allow_empty: bool = False) -> TrackingBatch:
        """Fix names, scales and hinges from all candidates, and encode them."""
        self.names, self.middle, self.spread, self.bends = [], [], [], []
        for k, kind in enumerate(self.kinds):
            blocks = [sample.blocks[k] for sample in X if len(sample.blocks[k])]
            empty = (sample.blocks[k].names for sample in X if sample.blocks[k].names)
            names = blocks[0].names if blocks else next(empty, ())
            for block in blocks:
                if block.names != names:
                    raise ValueError(
                        f"{kind}: frame {block_frame(X, block)} has the features {block.names}, others have {names}: "
                        "measure the same of all frames"
                    )
            values = (
                np.concatenate([block.values for block in blocks]) if blocks else np.empty((0, len(names)))
            )
            middle = values.mean(axis=0) if len(values) else np.zeros(len(names))
            spread = values.std(axis=0) if len(values) else np.ones(len(names))
            spread = np.where(spread > 1e-12, spread, 1.0)
            bent = [at for at, name in enumerate(names) if name in BENDS]
            levels = quantile_levels(self.knots)
            quantiles = np.empty((len(bent), self.knots))
            if len(values) and bent and self.knots:
                quantiles = (np.quantile(values[:, bent], levels, axis=0) - middle[bent]).T / spread[bent][
                    :, None
                ]
            elif bent:
                quantiles = np.zeros((len(bent), self.knots))
            self.names.append(names)
            self.middle.append(middle)
            self.spread.append(spread)
            self.bends.append(np.ascontiguousarray(quantiles))
        return self.transform(X, allow_empty=allow_empty)

    def transform(self, X: Any, *, allow_empty: bool = True) -> TrackingBatch:
        """Encode candidates of known kinds and measurements."""
        lengths = np.array([len(sample) for sample in X], np.int64)
        check_lengths(lengths, allow_empty)
        starts = self.starts
        for i, sample in enumerate(X):
            self.check_names(sample, i)
        rows = [self._rows(sample, starts) for sample in X]
        indptr = offsets_from_lengths(np.concatenate([np.empty(0, np.int64), *(own[0] for own in rows)]))
        indices = np.concatenate([np.empty(0, np.int32), *(own[1] for own in rows)])
        values = np.concatenate([np.empty(0), *(own[2] for own in rows)])
        offsets = offsets_from_lengths(lengths)
        return TrackingBatch(
            SparseRows(indptr, indices, values, self.n_columns),
            offsets,
            _stacked([s.layout for s in X], offsets),
            np.concatenate([np.empty((0, 2), np.int64), *(s.cell_nodes for s in X)]),
        )

    def check_names(self, sample: Candidates, number: int) -> None:
        """Raise ValueError if the features of a sample are not those of the training data."""
        for kind, block, names in zip(self.kinds, sample.blocks, self.names):
            if len(block) and block.names != names:
                raise ValueError(
                    f"X[{number}]: {kind} has the features {block.names}, but the model was trained with {names}: "
                    "give the same measurements, or train again if the model is of another version"
                )

    def _rows(self, sample: Candidates, starts: np.ndarray) -> tuple[np.ndarray, ...]:
        """Entries per row, columns and values of one sample."""
        sizes, columns, entries = [], [], []
        for k, block in enumerate(sample.blocks):
            if not len(block):
                continue
            scaled = (block.values - self.middle[k]) / self.spread[k]
            bent = [at for at, name in enumerate(self.names[k]) if name in BENDS]
            hinges = np.maximum(scaled[:, bent][:, :, None] - self.bends[k], 0.0).reshape(len(block), -1)
            plain = np.concatenate([np.ones((len(block), 1)), scaled], axis=1)
            table = np.concatenate([self.plain * plain, hinges], axis=1)
            there = table != 0.0
            sizes.append(there.sum(axis=1))
            columns.append((np.nonzero(there)[1] + starts[k]).astype(np.int32))
            entries.append(table[there])
        if not sizes:
            return np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0)
        return np.concatenate(sizes), np.concatenate(columns), np.concatenate(entries)

    def extended(self, X: Any) -> TrackingEncoder:
        """This encoder: kinds of events have the columns of the first training data."""
        return self

    def check(self, batch: Batch) -> None:
        """Raise ValueError unless a batch is one that this encoder could have made."""
        if not isinstance(batch, TrackingBatch):
            raise ValueError(f"the features are events, but their batch is a {type(batch).__name__}")
        batch.check()
        if batch.n_columns != self.n_columns:
            raise ValueError(f"the batch has {batch.n_columns} columns, its encoder {self.n_columns}")

    # -- files --------------------------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays for a model file."""
        names = [list(own) for own in self.names]
        own = {"kinds": list(self.kinds), "knots": self.knots, "plain": self.plain, "names": names}
        header = {"layout": self.layout, "n_columns": self.n_columns, **own}
        arrays: dict[str, np.ndarray] = {}
        for k in range(len(self.kinds)):
            arrays |= {f"middle{k}": self.middle[k], f"spread{k}": self.spread[k], f"bends{k}": self.bends[k]}
        return header, arrays

    @classmethod
    def from_state(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> TrackingEncoder:
        """Inverse of :meth:`state`."""
        kinds = [check_type("a kind", kind, str) for kind in entry(header, "kinds", list)]
        knots = check_whole("knots", entry(header, "knots", int))
        plain = check_type(
            "plain", header.get("plain", 1.0), float
        )  # files of earlier versions do not have it
        if not 0.0 < plain < np.inf:
            raise ValueError(f"plain must be a number above 0, got {plain}")
        encoder = cls(tuple(kinds), knots, plain)
        names = entry(header, "names", list)
        if len(names) != len(kinds):
            raise ValueError(f"there are names for {len(names)} of {len(kinds)} kinds of events")
        for k, own in enumerate(names):
            own = tuple(check_type("a feature", name, str) for name in check_type("names", own, list))
            n_bent = sum(name in BENDS for name in own)
            shapes = {"middle": (len(own),), "spread": (len(own),), "bends": (n_bent, knots)}
            for name, shape in shapes.items():
                array = needed(arrays, f"{name}{k}")
                if array.dtype != np.float64 or array.shape != shape:
                    raise ValueError(
                        f"{name}{k} is {array.dtype} of shape {array.shape}, expected float64 of {shape}"
                    )
                check_finite(f"{name}{k}", array)
            if np.any(arrays[f"spread{k}"] <= 0.0):
                raise ValueError(f"spread{k} must be above 0")
            encoder.names.append(own)
            encoder.middle.append(arrays[f"middle{k}"])
            encoder.spread.append(arrays[f"spread{k}"])
            encoder.bends.append(arrays[f"bends{k}"])
        check_whole("n_columns", entry(header, "n_columns", int), encoder.n_columns, encoder.n_columns)
        return encoder


def block_frame(X: Any, block: Any) -> int:
    """The number of the frame that a block of candidates belongs to, for messages."""
    return next(int(sample.frames[0].frame) for sample in X if any(own is block for own in sample.blocks))


def _stacked(layouts: list[Layout], offsets: np.ndarray) -> Layout:
    """The layouts of single samples as that of a batch."""
    empty = [np.empty(0, np.int64)]
    sizes = np.concatenate(empty + [np.diff(own.ptr) for own in layouts])
    return Layout(
        offsets,
        offsets_from_lengths(sizes),
        np.concatenate(empty + [own.cell for own in layouts]),
        np.concatenate(empty + [own.n_cells for own in layouts]),
        np.concatenate(empty + [own.n_before for own in layouts]),
        np.concatenate(empty + [own.kind for own in layouts]),
    )


def quantile_levels(knots: int) -> np.ndarray:
    """Which quantiles are knots: more of the low ones, since true events are short, near and alike.

    >>> quantile_levels(3)
    array([0.0625, 0.25  , 0.5625])
    """
    return (np.arange(1, knots + 1) / (knots + 1)) ** 2
