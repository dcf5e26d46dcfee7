"""A structure from outside the package: matchings between the points of two sets, each point used at most once.

A sample is a pair ``(left, right)`` of tables of points. An output gives every left point its right partner or none:
one code per *left* point, 0 for none and j + 1 for the right point j. A sample has as many rows as points, so that
there are fewer codes than rows. Users write an output as a list of pairs ``(i, j)``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations, permutations
from types import MappingProxyType

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp

from palmette.contracts.structure import Allowed, Best, Expectation, Structure
from palmette.data.batch import Batch
from palmette.data.checks import entry
from palmette.data.labels import LabelCodec
from palmette.data.ragged import Ragged, gather, offsets_from_lengths
from palmette.errors import InfeasibleError
from palmette.features.base import Encoder
from palmette.losses.weighted_maximum import sums_by
from palmette.registry import register

PAIR = "pair"  # the one label: what features of pairs have weights for


# -- what a sample is ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairBatch(Batch):
    """Points of both sets, the left ones of a sample first; ``n_left`` counts them."""

    n_left: np.ndarray

    def slice(self, start, stop):
        part = super().slice(start, stop)
        return PairBatch(part.rows, part.offsets, self.n_left[start:stop])

    def take(self, samples):
        part = super().take(samples)
        return PairBatch(part.rows, part.offsets, self.n_left[samples])

    def without(self, empty):
        return replace(super().without(empty), n_left=self.n_left[~empty])


@register("encoder", "matching points")
class PairEncoder(Encoder):
    kind = "dense"
    of = "pairs of point sets"
    layouts = ("sequences",)

    def __init__(self, n_columns=0):
        super().__init__("sequences")
        self._n = n_columns

    n_columns = property(lambda self: self._n)

    def fit_transform(self, X, *, allow_empty=False):
        self._n = int(np.shape(X[0][0])[1])
        return self.transform(X, allow_empty=allow_empty)

    def transform(self, X, *, allow_empty=True):
        tables = [np.asarray(points, float).reshape(-1, self._n) for x in X for points in x]
        offsets = offsets_from_lengths([len(x[0]) + len(x[1]) for x in X])
        rows = np.ascontiguousarray(np.concatenate([np.empty((0, self._n)), *tables]))
        return PairBatch(rows, offsets, np.array([len(x[0]) for x in X], np.int64))

    def extended(self, X):
        return self

    def check(self, batch):
        batch.check()

    @property
    def column_counts(self):
        return self._n, 0

    @property
    def makes_dense_rows(self):
        return False

    def state(self):
        return {"layout": self.layout, "n_columns": self._n}, {}

    @classmethod
    def from_state(cls, header, arrays):
        return cls(entry(header, "n_columns", int))


@register("codec", "matching")
class PairCodec(LabelCodec):
    def __init__(self):
        super().__init__([PAIR])

    def encode_outputs(self, Y, lengths):
        codes = [np.zeros(int(n), np.int32) for n in lengths]
        for own, pairs in zip(codes, Y):
            for i, j in pairs:
                own[i] = j + 1
        return np.concatenate([np.empty(0, np.int32), *codes])

    def decode(self, codes):
        return [(i, int(code) - 1) for i, code in enumerate(codes) if code > 0]

    def decode_sequences(self, codes: Ragged):
        return [self.decode(own) for own in codes]

    def positions(self, Y, lengths):
        return [self.encode_outputs([y], [n]).tolist() for y, n in zip(Y, lengths)]

    def state(self):
        return []

    @classmethod
    def from_state(cls, state):
        return cls()


# -- potentials and scores -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairTables:
    """A number for every left point and every code: a table (n_left, n_right + 1) per sample, one after the other."""

    pair: np.ndarray  # (n_entries,)
    n_left: np.ndarray
    n_right: np.ndarray

    def __len__(self):
        return len(self.n_left)

    @property
    def code_offsets(self):
        return offsets_from_lengths(self.n_left)

    @property
    def offsets(self):
        return offsets_from_lengths(self.n_left + self.n_right)

    @property
    def entry_offsets(self):
        return offsets_from_lengths(self.n_left * (self.n_right + 1))

    def table(self, s):
        own = self.pair[self.entry_offsets[s] : self.entry_offsets[s + 1]]
        return own.reshape(self.n_left[s], self.n_right[s] + 1)

    def places(self, codes):
        """Where the entries of given outputs stand."""
        width = np.repeat(self.n_right + 1, self.n_left)
        first = np.arange(len(codes)) - np.repeat(self.code_offsets[:-1], self.n_left)
        return np.repeat(self.entry_offsets[:-1], self.n_left) + first * width + codes

    def zeros(self):
        return replace(self, pair=np.zeros_like(self.pair))

    def take(self, samples):
        entries, _ = gather(self.entry_offsets, np.asarray(samples, np.int64))
        return PairTables(self.pair[entries], self.n_left[samples], self.n_right[samples])

    def dot(self, other):
        return float(self.pair @ other.pair)

    def distance(self):
        return 0.5 * float(np.abs(self.pair).sum())

    def any(self):
        return bool(np.any(self.pair))


@register("scorer", "matching")
@dataclass(frozen=True)
class PairScorer:
    """The score of a pair is ``<w, -|l - r|> + bias``; a point without partner scores 0."""

    n_columns: int
    n_labels: int = 1
    has_edges: bool = False

    n_params = property(lambda self: self.n_columns + 1)
    blocks = property(
        lambda self: {"node": slice(0, self.n_columns), "bias": slice(self.n_columns, self.n_params)}
    )

    def _features(self, batch, s):
        rows = batch.rows[batch.offsets[s] : batch.offsets[s + 1]]
        left, right = rows[: batch.n_left[s]], rows[batch.n_left[s] :]
        out = np.zeros((len(left), len(right) + 1, self.n_params))
        out[:, 1:, :-1] = -np.abs(left[:, None] - right[None])
        out[:, 1:, -1] = 1.0
        return out.reshape(-1, self.n_params)

    def score(self, w, batch):
        own = [self._features(batch, s) @ w for s in range(len(batch))]
        return PairTables(np.concatenate([np.empty(0), *own]), batch.n_left, batch.lengths - batch.n_left)

    def pull_back(self, counts, batch, out):
        for s in range(len(batch)):
            out += counts.table(s).ravel() @ self._features(batch, s)

    def carry_over(self, old, w, labels, columns=None):
        return w.copy()

    def joined(self, old):
        return self

    def touched(self, batch):
        return np.arange(self.n_params)

    def weight_columns(self):
        return np.full(self.n_params, -1)

    def edge_table(self, w):
        return np.empty((0, 1, 1))

    def check(self):
        if self.n_columns < 1:
            raise ValueError("there are no columns")

    def check_inputs(self, n_columns, n_more):
        if n_columns != self.n_columns:
            raise ValueError("other columns")

    def state(self):
        return {"n_columns": self.n_columns}, {}

    @classmethod
    def from_state(cls, header, arrays):
        return cls(entry(header, "n_columns", int))


# -- the structure ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairRestriction(Allowed):
    """Annotations (a code per left point, -1 where unknown) to agree with, and at most one to contradict."""

    agrees: tuple = ()
    contradicts: tuple = ()

    def __and__(self, other):
        return PairRestriction(self.agrees + other.agrees, self.contradicts + other.contradicts)

    def allows(self, codes, rows):
        same = [np.all((a[rows] < 0) | (a[rows] == codes)) for a in self.agrees]
        return all(same) and all(np.any((a[rows] >= 0) & (a[rows] != codes)) for a in self.contradicts)


@dataclass(frozen=True)
class CodeLoss:
    """Left points with a wrong partner: a task loss of the structure's own, as a cost of its entries."""

    way: str = field(default="parts", init=False)

    def bind(self, structure, classes):
        return self

    def cost(self, theta, true):
        return self.weighted_cost(None, theta, true, 1.0)

    def weighted_cost(self, structure, theta, true, weight):
        weight = np.broadcast_to(weight, len(theta))
        cost = np.repeat(weight, np.diff(theta.entry_offsets)).astype(float)
        cost[theta.places(true)] = 0.0
        return replace(theta, pair=cost)

    def value(self, structure, theta, true, codes):
        return sums_by((true != codes).astype(float), theta.code_offsets)

    def largest(self, structure, theta, true):
        return theta.n_left.astype(float)

    def augmented_best(self, structure, theta, true):
        return structure.best(theta, cost=self.cost(theta, true))

    def weighted_best(self, structure, theta, true, weight):
        return structure.best(theta, cost=self.weighted_cost(structure, theta, true, weight))


@register("structure")
class Matching(Structure):
    """Best by linear assignment, contradiction by one assignment per known code, sums by dynamic programming."""

    labelled = False
    default_loss = CodeLoss()
    part_kinds = MappingProxyType(
        {"codec": ("matching",), "encoder": ("matching points",), "scorer": ("matching",)}
    )

    def admit(self, X):
        return X if hasattr(X, "encoder") else list(X)

    def make_encoder(self, X, *, min_count=1, n_hash=None):
        return PairEncoder()

    def check_encoder(self, encoder):
        if not isinstance(encoder, PairEncoder):
            raise ValueError("X was not encoded as pairs of point sets")

    def make_codec(self, y, classes, lengths):
        return PairCodec()

    def make_scorer(self, data, options):
        return PairScorer(data.samples.batch.n_columns)

    def output_offsets(self, sized):
        return offsets_from_lengths(sized.n_left)

    def agreeing(self, theta, codes):
        return PairRestriction(agrees=(np.asarray(codes),))

    def contradicting(self, theta, codes):
        return PairRestriction(contradicts=(np.asarray(codes),))

    def _tables(self, theta, cost, within, sign=1.0):
        """For every sample its table with -inf on forbidden entries, and the annotation to contradict or None."""
        whole = sign * (theta.pair if cost is None else theta.pair + cost.pair)
        for s in range(len(theta)):
            table, rows = replace(theta, pair=whole).table(s).copy(), slice(*theta.code_offsets[s : s + 2])
            for known in () if within is None else within.agrees:
                for i, code in enumerate(known[rows]):
                    if code >= 0:
                        kept = table[i, code]
                        table[i], table[i, code] = -np.inf, kept
            contradicts = () if within is None else within.contradicts
            assert len(contradicts) < 2
            yield table, contradicts[0][rows] if contradicts else None

    def best(self, theta, *, cost=None, within=None):
        return self._extreme(theta, cost, within, 1.0)

    def worst(self, theta, *, cost=None, within=None):
        return self._extreme(theta, cost, within, -1.0)

    def _extreme(self, theta, cost, within, sign):
        codes, values = [np.empty(0, np.int32)], []
        for s, (table, other) in enumerate(self._tables(theta, cost, within, sign)):
            found = [_assigned(part) for part in _parts(table, other)]
            own, value = max(found, key=lambda each: each[1], default=(None, -np.inf))
            if value == -np.inf:
                raise InfeasibleError(f"sample {s}: no matching satisfies the restriction", s)
            codes.append(own)
            values.append(sign * value)
        return Best(np.concatenate(codes).astype(np.int32), np.array(values))

    def score(self, theta, codes, *, cost=None, within=None):
        whole = theta.pair if cost is None else theta.pair + cost.pair
        values = sums_by(whole[theta.places(codes)], theta.code_offsets)
        for s in range(len(theta)):
            rows = slice(*theta.code_offsets[s : s + 2])
            if within is not None and not within.allows(codes[rows], rows):
                values[s] = -np.inf
        return values

    def count(self, theta, codes, *, weight=None, into=None):
        into = theta.zeros() if into is None else into
        weight = np.ones(len(theta)) if weight is None else weight
        into.pair[theta.places(codes)] += np.repeat(weight, theta.n_left)
        return into

    def log_partition(self, theta, *, cost=None, within=None):
        return self.expectation(theta, cost=cost, within=within).log_z

    def expectation(self, theta, *, cost=None, within=None, weight=None):
        weight = np.ones(len(theta)) if weight is None else weight
        log_z, counts = np.empty(len(theta)), [np.empty(0)]
        for s, (table, other) in enumerate(self._tables(theta, cost, within)):
            sums = [_summed(part) for part in _parts(table, other)]
            log_z[s] = logsumexp([z for z, _ in sums]) if sums else -np.inf
            if log_z[s] == -np.inf:
                raise InfeasibleError(f"sample {s}: no matching satisfies the restriction", s)
            counts.append(weight[s] * sum(np.exp(z - log_z[s]) * mu for z, mu in sums).ravel())
        return Expectation(log_z, replace(theta, pair=np.concatenate(counts)))

    def log_proba(self, theta, codes, *, cost=None, within=None):
        given = self.score(theta, codes, cost=cost, within=within)
        return given - self.log_partition(theta, cost=cost, within=within)


def _parts(table, other):
    """Tables whose matchings are those that contradict ``other``, parted by the first row that does."""
    if other is None:
        yield table
        return
    for i in np.flatnonzero(other >= 0):
        part = table.copy()
        for j in np.flatnonzero(other[:i] >= 0):
            kept = part[j, other[j]]
            part[j], part[j, other[j]] = -np.inf, kept
        part[i, other[i]] = -np.inf
        yield part


def _assigned(table):
    """The best codes and their value: a column of its own for every point that stays alone."""
    n, width = table.shape
    alone = np.where(np.eye(n, dtype=bool), table[:, :1], -np.inf)
    gain = np.where(np.isneginf(square := np.hstack([table[:, 1:], alone])), -1e12, square)
    columns = linear_sum_assignment(gain, maximize=True)[1]
    codes = np.where(columns < width - 1, columns + 1, 0)
    return codes, float(table[np.arange(n), codes].sum())


def _summed(table):
    """Log-partition and marginals, by a sum over sets of right points that are taken."""
    n, width = table.shape
    full = 1 << (width - 1)

    def steps(i, taken):
        yield 0, taken
        for j in range(1, width):
            if not taken >> (j - 1) & 1:
                yield j, taken | 1 << (j - 1)

    forward, backward = np.full((n + 1, full), -np.inf), np.full((n + 1, full), -np.inf)
    forward[0, 0], backward[n] = 0.0, 0.0
    for i in range(n):
        for taken in range(full):
            for j, then in steps(i, taken):
                forward[i + 1, then] = np.logaddexp(forward[i + 1, then], forward[i, taken] + table[i, j])
    log_z, mu = logsumexp(forward[n]), np.zeros_like(table)
    for i in range(n - 1, -1, -1):
        for taken in range(full):
            terms = [(j, table[i, j] + backward[i + 1, then]) for j, then in steps(i, taken)]
            backward[i, taken] = logsumexp([value for _, value in terms])
            for j, value in terms:
                if forward[i, taken] + value > -np.inf:
                    mu[i, j] += np.exp(forward[i, taken] + value - log_z)
    return log_z, mu


def all_matchings(n_left, n_right):
    """Every output as a tuple of codes, from the definition."""
    for k in range(min(n_left, n_right) + 1):
        for left in combinations(range(n_left), k):
            for right in permutations(range(n_right), k):
                codes = [0] * n_left
                for i, j in zip(left, right):
                    codes[i] = j + 1
                yield tuple(codes)


def make_points(n_samples, seed=0):
    """Noisy copies of points, some without a partner, and who belongs together."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n_samples):
        left = rng.normal(size=(rng.integers(1, 4), 2))
        kept = np.flatnonzero(rng.random(len(left)) < 0.7)
        order = rng.permutation(len(kept))
        right = left[kept][order] + 0.1 * rng.normal(size=(len(kept), 2))
        X.append((left, np.concatenate([right, 4.0 + rng.normal(size=(1, 2))])))
        Y.append(sorted((int(kept[o]), j) for j, o in enumerate(order)))
    return X, Y
