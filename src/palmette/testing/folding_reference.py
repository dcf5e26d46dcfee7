"""Nested structures of short sequences from their definition: every set of allowed pairs, scored loop by loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from palmette.structures.folding.folding import Folding
from palmette.structures.folding.layout import SHAPES, START, TABLE_SIZE, UNKNOWN_LETTER
from palmette.structures.folding.restrictions import FoldingRestriction
from palmette.structures.folding.tables import FoldingParts, FoldingTables, PairCost
from palmette.testing.chain_instances import _huge, _huge_whole, _moderate, _whole, _zeros
from palmette.testing.reference import Cost, Instance, Limit, Reference, register_reference
from palmette.testing.row_reference import allows, packed_codes, rows_of, with_sets

Output = tuple[int, ...]
Pairs = list[tuple[int, int]]
# name, scores, lengths of the samples, whether there is evidence
KINDS = [
    ("ties", _whole, (12, 1, 6), False),
    ("moderate", _moderate, (6, 13, 2), False),
    ("moderate, evidence", _moderate, (9, 3, 12), True),
    ("zeros", _zeros, (10, 5), False),
    ("huge", _huge, (8, 12), False),
    ("ties, evidence", _whole, (11, 7), True),
    ("huge ties", _huge_whole, (5, 12), True),
    ("one sample", _moderate, (13,), False),
]
MOST = 120
"""Structures of a sequence at most: pieces of longer lists would take too long to compare one by one."""


class FoldingReference(Reference):
    """Outputs are tuples of codes: 0 for an unpaired position, 1 + the partner for others."""

    def __init__(self, structure: Any = None) -> None:
        self.structure = Folding() if structure is None else structure

    def of(self, structure: Any) -> Reference:
        """The reference for the rules of one structure."""
        return FoldingReference(structure)

    # -- the definition -----------------------------------------------------------------------------------------

    def outputs(self, theta: FoldingTables, s: int) -> list[Output]:
        """All nested sets of pairs that the rules allow, in the order of their codes."""
        x = self._letters(theta, s)
        return sorted(_coded(pairs, len(x)) for pairs in self._nested(x, 0, len(x)) if self._short(x, pairs))

    def _nested(self, x: list[int], i: int, j: int) -> list[Pairs]:
        """All nested sets of allowed pairs within the positions i..j - 1."""
        if i >= j:
            return [[]]
        found = self._nested(x, i + 1, j)
        may = self.structure.can_pair()
        for k in range(i + 1 + self.structure.min_hairpin, j):
            if may[x[i], x[k]]:
                inner, outer = self._nested(x, i + 1, k), self._nested(x, k + 1, j)
                found = found + [[(i, k), *a, *b] for a in inner for b in outer]
        return found

    def _short(self, x: list[int], pairs: Pairs) -> bool:
        """Whether no interior loop is too long."""
        for i, j in pairs:
            inside = _branches(pairs, i, j)
            if len(inside) == 1:
                (p, q) = inside[0]
                if (p - i - 1) + (j - q - 1) > self.structure.max_interior:
                    return False
        return True

    def _letters(self, theta: FoldingTables, s: int) -> list[int]:
        return theta.letters[theta.offsets[s] : theta.offsets[s + 1]].tolist()

    def _square(self, theta: FoldingTables, flat: np.ndarray, s: int) -> np.ndarray:
        n = int(theta.offsets[s + 1] - theta.offsets[s])
        return flat[theta.squares[s] : theta.squares[s + 1]].reshape(n, n)

    def score(self, theta: FoldingTables, s: int, y: Output) -> float:
        """Entries of the tables, one by one, and evidence."""
        total = sum(float(theta.tables[e]) for e in table_entries(self._letters(theta, s), y))
        total += sum(float(theta.unpaired[theta.offsets[s] + t]) for t, code in enumerate(y) if code == 0)
        if theta.pair_scores is not None:
            square = self._square(theta, theta.pair_scores, s)
            total += sum(float(square[i, j]) for i, j in _pairs(y))
        return total

    def counts(self, theta: FoldingTables, weights: Sequence[Mapping[Output, float]]) -> FoldingTables:
        """One at each entry that scores, times the weights of outputs."""
        out = theta.zeros()
        for s, outputs in enumerate(weights):
            x = self._letters(theta, s)
            for y, weight in outputs.items():
                for e in table_entries(x, y):
                    out.tables[e] += weight
                for t, code in enumerate(y):
                    out.unpaired[theta.offsets[s] + t] += weight * (code == 0)
                if out.pair_scores is not None:
                    for i, j in _pairs(y):
                        self._square(theta, out.pair_scores, s)[i, j] += weight
        return out

    # -- batches ------------------------------------------------------------------------------------------------

    def instances(self, rng: np.random.Generator) -> Iterator[Instance]:
        """Short sequences with tables of random scores."""
        for name, draw, lengths, evidence in KINDS:
            tables = np.ascontiguousarray(draw(rng, TABLE_SIZE), float)
            letters = np.concatenate([self._sequence(rng, n) for n in lengths])
            offsets = np.cumsum([0, *lengths])
            theta = FoldingTables(tables, letters, offsets, np.zeros(len(letters)))
            if evidence:
                unpaired = np.ascontiguousarray(draw(rng, len(letters)), float)
                pairs = np.ascontiguousarray(draw(rng, int(theta.squares[-1])), float)
                theta = replace(theta, unpaired=unpaired, pair_scores=pairs)
            yield Instance(name, theta, exact=draw in (_whole, _zeros, _huge_whole))

    def _sequence(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Letters with a few structures, but not too many: letters that pair with nothing see to that."""
        x = rng.choice(5, n, p=(0.2, 0.27, 0.31, 0.2, 0.02)).astype(np.int8)
        while True:
            theta = FoldingTables(np.zeros(TABLE_SIZE), x, np.array([0, n]), np.zeros(n))
            if len(self.outputs(theta, 0)) <= MOST:
                return x
            x[rng.permutation(n)[: max(1, n // 6)]] = UNKNOWN_LETTER

    def pack(self, theta: FoldingTables, outputs: Sequence[tuple[Any, ...]]) -> Any:
        """All codes one after the other; sets of codes make an annotation."""
        return packed_codes([code for y in outputs for code in y], theta)

    def unpack(self, theta: FoldingTables, codes: np.ndarray) -> list[Output]:
        """Cut the codes into samples."""
        if np.shape(codes) != theta.letters.shape:
            raise AssertionError(f"codes have shape {np.shape(codes)}, expected {theta.letters.shape}")
        bounds = theta.offsets.tolist()
        return [tuple(np.asarray(codes[lo:hi]).tolist()) for lo, hi in zip(bounds, bounds[1:])]

    def select(self, theta: FoldingTables, samples: Sequence[int]) -> FoldingTables:
        """Some samples as a batch of their own."""
        return theta.take(np.array(samples, np.int64))

    def zeros(self, theta: FoldingTables) -> FoldingTables:
        """All scores 0."""
        return theta.zeros()

    def invalid(self, rng: np.random.Generator) -> Iterator[tuple[Instance, list[Any]]]:
        """Scores that are not finite, letters out of range, arrays of other sizes."""
        good, outputs = FoldingTables.of(["GAAAC"]), [(0, 0, 0, 0, 0)]
        for name, field, value in (
            ("NaN", "tables", np.full(TABLE_SIZE, np.nan)),
            ("infinite evidence", "unpaired", np.full(5, np.inf)),
            ("forbidding evidence", "pair_scores", np.full(25, -np.inf)),
            ("a letter too many", "letters", np.full(5, 5, np.int8)),
            ("a letter below 0", "letters", np.full(5, -1, np.int8)),
            ("short tables", "tables", np.zeros(TABLE_SIZE - 1)),
            ("offsets too long", "offsets", np.array([0, 6])),
            ("a small square", "pair_scores", np.zeros(24)),
        ):
            yield Instance(name, replace(good, **{field: value})), outputs

    # -- parts, costs, restrictions -----------------------------------------------------------------------------

    def parts(self, theta: FoldingTables, s: int, y: Output) -> list[tuple[Any, ...]]:
        """Unpaired positions and pairs."""
        free = [("unpaired", t) for t, code in enumerate(y) if code == 0]
        return [*free, *(("pair", i, j) for i, j in _pairs(y))]

    def read_parts(self, theta: FoldingTables, tables: FoldingParts) -> list[dict[Any, float]]:
        """A number for every position and pair; squares must be symmetric."""
        found = []
        for s in range(len(theta)):
            square, n = tables.of(s), int(theta.offsets[s + 1] - theta.offsets[s])
            if not np.array_equal(square, square.T):
                raise AssertionError("the numbers of pairs are not symmetric")
            own: dict[Any, float] = {
                ("unpaired", t): float(tables.unpaired[theta.offsets[s] + t]) for t in range(n)
            }
            own |= {("pair", i, j): float(square[i, j]) for i in range(n) for j in range(i + 1, n)}
            found.append(own)
        return found

    def draw_cost(self, rng: np.random.Generator, theta: FoldingTables, whole: bool) -> Cost:
        """A cost of unpaired positions, of all pairs alike, of single pairs, and of every pair."""
        kind = int(rng.integers(3))
        shape: Any = np.round if whole else np.asarray
        unpaired, uniform = shape(rng.normal(size=len(theta.letters))), shape(rng.normal(size=len(theta)))
        entry: list[int] = []
        ptr = [0]
        for n in np.diff(theta.offsets).tolist():
            places = [i * n + j for i in range(n) for j in range(i + 1, n)]
            chosen = rng.permutation(places)[: int(rng.integers(4))].tolist() if kind else []
            entry += chosen
            ptr.append(len(entry))
        value = shape(2.0 * rng.normal(size=len(entry)))
        dense = shape(rng.normal(size=int(theta.squares[-1]))) if kind == 2 else None
        given = PairCost.none(
            theta.offsets, unpaired=unpaired, uniform=uniform, entry_ptr=np.array(ptr, np.int64),
            entry=np.array(entry, np.int64), value=value, dense=dense,
        )  # fmt: skip
        parts = []
        for s, n in enumerate(np.diff(theta.offsets).tolist()):
            own: dict[Any, float] = {("unpaired", t): float(unpaired[theta.offsets[s] + t]) for t in range(n)}
            for i in range(n):
                for j in range(i + 1, n):
                    number = float(uniform[s])
                    number += sum(float(value[e]) for e in range(ptr[s], ptr[s + 1]) if entry[e] == i * n + j)
                    if dense is not None:
                        number += float(self._square(theta, dense, s)[i, j])
                    own["pair", i, j] = number
            parts.append(own)
        return Cost(f"cost of kind {kind}", given, parts)

    def select_cost(self, theta: FoldingTables, given: PairCost, samples: Sequence[int]) -> PairCost:
        """The cost of some samples."""
        return given.take(np.array(samples, np.int64), theta.offsets)

    def _drawn(self, rng: np.random.Generator, theta: FoldingTables) -> list[Output]:
        outputs = [self.outputs(theta, s) for s in range(len(theta))]
        return [ys[rng.integers(len(ys))] for ys in outputs]

    def draw_limits(self, rng: np.random.Generator, theta: FoldingTables) -> Iterator[Limit]:
        """Nothing allowed, known codes, allowed positions and pairs, contradiction, and combinations."""
        planted, other = self._drawn(rng, theta), self._drawn(rng, theta)
        n_positions = len(theta.letters)
        free, pairs = rng.random(n_positions) < 0.7, rng.random(int(theta.squares[-1])) < 0.6
        for s, y in enumerate(planted):
            for part in self.parts(theta, s, y):
                if part[0] == "unpaired":
                    free[theta.offsets[s] + part[1]] = True
                else:
                    self._square(theta, pairs, s)[part[1:]] = True
        codes = np.array([code for y in planted for code in y], np.int32)
        partner = np.where(rng.random(n_positions) < 0.4, codes, -1).astype(np.int32)
        nothing = free.copy()
        nothing[rows_of(theta, [len(theta) - 1])] = False
        none = np.zeros(int(theta.squares[-1]), bool)
        full = np.array([code for y in other for code in y], np.int32)
        partial = np.where(rng.random(n_positions) < 0.4, full, -1).astype(np.int32)
        for name, within in (
            ("nothing allowed", FoldingRestriction(nothing, none)),
            ("known partners", FoldingRestriction(partner=partner)),
            ("allowed positions", FoldingRestriction(free)),
            ("allowed positions and pairs", FoldingRestriction(free, pairs)),
            ("contradiction", FoldingRestriction(contradicts=full)),
            ("allowed pairs, contradiction", FoldingRestriction(pairs=pairs, contradicts=partial)),
            (
                "both of two",
                FoldingRestriction(free, None, partner) & FoldingRestriction(None, pairs, partner),
            ),
            ("everything", FoldingRestriction(free, pairs, partner, partial)),
        ):
            allowed = self._allows(theta, within)
            yield Limit(f"within {name}", within, allowed, contradicting=within.contradicts is not None)

    def _allows(self, theta: FoldingTables, within: FoldingRestriction) -> Any:
        def allowed(s: int, y: Output) -> bool:
            lo = int(theta.offsets[s])
            for part in self.parts(theta, s, y):
                if (
                    part[0] == "unpaired"
                    and within.unpaired is not None
                    and not within.unpaired[lo + part[1]]
                ):
                    return False
                if part[0] == "pair" and within.pairs is not None:
                    if not self._square(theta, within.pairs, s)[part[1:]]:
                        return False
            known = [-1] * len(y) if within.partner is None else within.partner[lo : lo + len(y)].tolist()
            if any(k not in (-1, code) for k, code in zip(known, y)):
                return False
            if within.contradicts is None:
                return True
            return self.contradicts(y, within.contradicts[lo : lo + len(y)].tolist())

        return allowed

    def select_within(
        self, theta: FoldingTables, given: FoldingRestriction, samples: Sequence[int]
    ) -> FoldingRestriction:
        """The restriction of some samples."""
        return given.take(np.array(samples, np.int64), theta.offsets)

    def draw_annotations(self, rng: np.random.Generator, theta: FoldingTables) -> Iterator[list[Any]]:
        """A full annotation, one with open positions, and one with positions that have one of several codes."""
        full = self._drawn(rng, theta)
        yield full
        partial = [tuple(code if rng.random() < 0.5 else -1 for code in y) for y in full]
        yield partial
        yield [with_sets(rng, y, len(y) + 1) for y in partial]

    def contradicts(self, y: Output, annotation: Sequence[Any]) -> bool:
        """Whether a known position has another code."""
        return any(not allows(known, code) for code, known in zip(y, annotation))

    def draw_risks(
        self, rng: np.random.Generator, theta: FoldingTables
    ) -> Iterator[tuple[dict[str, Any], Any]]:
        """Maximum expected accuracy and centroids."""
        yield {}, lambda true, y: float(sum(a != b for a, b in zip(true, y)))
        yield (
            {"gamma": 2.5},
            lambda true, y: sum((1.0 if a == 0 else 2.5) for a, b in zip(true, y) if a != b),
        )
        yield (
            {"gamma": 3.0, "kind": "centroid"},
            lambda true, y: (
                3.0 * len(set(_pairs(true)) - set(_pairs(y))) + len(set(_pairs(y)) - set(_pairs(true)))
            ),
        )

    def draw_samples(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """Hairpins of two or three pairs, with partners of all positions."""
        X, Y = [], []
        for k in range(8):
            stem = "".join(rng.choice(list("GC"), 2 + k % 2))
            back = stem[::-1].translate(str.maketrans("GC", "CG"))
            tail = "A" * int(rng.integers(0, 3))
            X.append(f"{stem}AAAA{back}{tail}")
            n, m = len(X[-1]), len(stem)
            last = 2 * m + 3
            Y.append([last - t if t < m or m + 4 <= t <= last else -1 for t in range(n)])
        return X, Y


def _pairs(y: Output) -> Pairs:
    return [(i, code - 1) for i, code in enumerate(y) if code - 1 > i]


def _coded(pairs: Pairs, n: int) -> Output:
    codes = [0] * n
    for i, j in pairs:
        codes[i], codes[j] = j + 1, i + 1
    return tuple(codes)


def _branches(pairs: Pairs, i: int, j: int) -> Pairs:
    """The pairs inside of (i, j) that no other pair inside encloses."""
    inside = [(p, q) for p, q in pairs if i < p and q < j]
    return [(p, q) for p, q in inside if not any(a < p and q < b for a, b in inside)]


def _entry(section: str, *at: int) -> int:
    place = np.ravel_multi_index(at, SHAPES[section]) if at else 0
    return START[section] + int(place)


def table_entries(x: Sequence[int], y: Output) -> list[int]:
    """The entries of the tables that the loops of a structure score, with repetitions."""
    pairs, n, found = _pairs(y), len(x), []

    def mismatched(left: int, right: int, after: int, before: int) -> list[int]:
        letters = x[left], x[right], x[after], x[before]
        return [_entry("helix_closing", *letters[:2]), _entry("terminal_mismatch", *letters)]

    def dangling(left: int, right: int, after: int, before: int) -> list[int]:
        own = [_entry("helix_closing", x[left], x[right])]
        if 0 <= after < n:
            own.append(_entry("dangle_left", x[left], x[right], x[after]))
        if 0 <= before < n:
            own.append(_entry("dangle_right", x[left], x[right], x[before]))
        return own

    for i, j in pairs:
        found.append(_entry("base_pair", x[i], x[j]))
        inside = _branches(pairs, i, j)
        unpaired = sum(y[t] == 0 and not any(p < t < q for p, q in inside) for t in range(i + 1, j))
        if not inside:
            found += [*mismatched(i, j, i + 1, j - 1), _entry("hairpin_length", min(j - i - 1, 30))]
        elif len(inside) == 1:
            (p, q) = inside[0]
            left, right = p - i - 1, j - q - 1
            if left == right == 0:
                found.append(_entry("helix_stacking", x[i], x[j], x[p], x[q]))
                continue
            found += [*mismatched(i, j, i + 1, j - 1), *mismatched(q, p, q + 1, p - 1)]
            found.append(_entry("interior", left, right))
            if (left, right) in ((0, 1), (1, 0)):
                found.append(_entry("bulge_nucleotide", x[i + 1] if left else x[j - 1]))
            if left == right == 1:
                found.append(_entry("internal_1x1", x[i + 1], x[j - 1]))
        else:
            found += [_entry("multi_base"), _entry("multi_paired"), *dangling(i, j, i + 1, j - 1)]
            found += [_entry("multi_unpaired")] * unpaired
            for p, q in inside:
                found += [_entry("multi_paired"), *dangling(q, p, q + 1, p - 1)]
    outside = _branches(pairs, -1, n)
    for p, q in outside:
        found += [_entry("external_paired"), *dangling(q, p, q + 1, p - 1)]
    free = sum(y[t] == 0 and not any(p < t < q for p, q in outside) for t in range(n))
    return found + [_entry("external_unpaired")] * free


register_reference(Folding, FoldingReference())
