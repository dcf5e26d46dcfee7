"""Alignments of short pairs from their definition: every increasing set of matches, scored block by block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np

from palmette.structures.alignment.alignment import Alignment
from palmette.structures.alignment.cost import MatchCost
from palmette.structures.alignment.restrictions import AlignmentRestriction
from palmette.structures.alignment.tables import AlignmentParts, AlignmentTables, boundaries_of
from palmette.testing.chain_instances import _huge, _huge_whole, _moderate, _whole, _zeros
from palmette.testing.reference import Cost, Instance, Limit, Reference, register_reference
from palmette.testing.row_reference import allows, packed_codes, rows_of, with_sets

Output = tuple[int, ...]
Matches = tuple[tuple[int, int], ...]
# name, scores, lengths of the pairs with one kind of gaps and with two, whether there are scores of cells
KINDS = [
    ("ties", _whole, ((3, 4), (1, 1), (2, 3)), ((2, 2), (1, 1), (1, 3)), False),
    ("moderate", _moderate, ((4, 3), (5, 2), (0, 2)), ((2, 3), (3, 1), (0, 2)), False),
    ("moderate, cells", _moderate, ((2, 5), (1, 2), (3, 3)), ((3, 2), (1, 2), (2, 2)), True),
    ("zeros", _zeros, ((3, 3), (2, 2)), ((2, 3), (2, 1)), False),
    ("huge", _huge, ((3, 3), (4, 2)), ((2, 2), (3, 1)), False),
    ("ties, cells", _whole, ((3, 3), (2, 4)), ((2, 3), (1, 2)), True),
    ("huge ties", _huge_whole, ((2, 3), (4, 3)), ((2, 2), (1, 3)), True),
    ("one sample", _moderate, ((4, 4),), ((3, 2),), False),
]


class AlignmentReference(Reference):
    """Outputs are tuples of codes, of the first sequence, then of the second."""

    def __init__(self, structure: Any = None) -> None:
        self.structure = Alignment() if structure is None else structure

    def of(self, structure: Any) -> Reference:
        """The reference for one structure."""
        return AlignmentReference(structure)

    # -- the definition -----------------------------------------------------------------------------------------

    def outputs(self, theta: AlignmentTables, s: int) -> list[Output]:
        """All increasing sets of matches, with every kind of gaps between them, in the order of codes."""
        n, m = _lengths(theta, s)
        found = []
        for size in range(min(n, m) + 1):
            for rows, columns in product(combinations(range(n), size), combinations(range(m), size)):
                found += _with_kinds(tuple(zip(rows, columns)), n, m, theta.n_kinds)
        return sorted(found)

    def _entries(self, theta: AlignmentTables, s: int, y: Output) -> list[tuple[Any, ...]]:
        """The scores that an alignment has, with repetitions, as (table, place...)."""
        n, m = _lengths(theta, s)
        lo, first = int(theta.offsets[s]), int(boundaries_of(theta.offsets)[s])
        x = theta.letters[lo : lo + n + m].tolist()
        found: list[tuple[Any, ...]] = []
        before = (-1, -1)
        for i, j in (*_matches(y, n), (n, m)):
            skipped = [(0, t) for t in range(before[0] + 1, i)], [(n, t) for t in range(before[1] + 1, j)]
            places = first + n + 1 + before[1] + 1, first + i
            for run, place in zip(skipped, places):
                for number, (lead, t) in enumerate(run):
                    kind = int(y[lead + t] > 0)
                    found.append(("unit", kind, lo + lead + t))
                    found.append(("extend" if number else "open", kind, place))
            if skipped[0] and skipped[1]:
                found.append(("change", 0))
            if i < n:
                found.append(("substitution", x[i], x[n + j]))
                found.append(("cells", int(theta.starts[s]) + i * m + j))
            before = i, j
        return [entry for entry in found if entry[0] != "cells" or theta.cells is not None]

    def score(self, theta: AlignmentTables, s: int, y: Output) -> float:
        """The scores of matches and gaps, one by one."""
        return float(sum(float(getattr(theta, name)[tuple(at)]) for name, *at in self._entries(theta, s, y)))

    def counts(self, theta: AlignmentTables, weights: Sequence[Mapping[Output, float]]) -> AlignmentTables:
        """One at each place that scores, times the weights of outputs."""
        out = theta.zeros()
        for s, outputs in enumerate(weights):
            for y, weight in outputs.items():
                for name, *at in self._entries(theta, s, y):
                    getattr(out, name)[tuple(at)] += weight
        return out

    # -- batches ------------------------------------------------------------------------------------------------

    def instances(self, rng: np.random.Generator) -> Iterator[Instance]:
        """Short pairs of three symbols with random scores."""
        kinds = 2 if self.structure.long_gaps else 1
        for name, draw, short, long, cells in KINDS:
            pairs = [
                (rng.integers(0, 3, n), rng.integers(0, 3, m)) for n, m in (short if kinds == 1 else long)
            ]
            theta = AlignmentTables.of(pairs, np.zeros((3, 3)), open=[0.0] * kinds, extend=[0.0] * kinds)
            if cells:
                theta = replace(theta, cells=np.zeros(int(theta.starts[-1])))
            for table in ("substitution", "unit", "open", "extend", "change", "cells"):
                scores = getattr(theta, table)
                if scores is not None:
                    scores[...] = draw(rng, scores.shape)
            yield Instance(name, theta, exact=draw in (_whole, _zeros, _huge_whole))

    def pack(self, theta: AlignmentTables, outputs: Sequence[tuple[Any, ...]]) -> Any:
        """All codes one after the other; sets of codes make an annotation."""
        return packed_codes([code for y in outputs for code in y], theta)

    def unpack(self, theta: AlignmentTables, codes: np.ndarray) -> list[Output]:
        """Cut the codes into samples."""
        if np.shape(codes) != theta.letters.shape:
            raise AssertionError(f"codes have shape {np.shape(codes)}, expected {theta.letters.shape}")
        bounds = theta.offsets.tolist()
        return [tuple(np.asarray(codes[lo:hi]).tolist()) for lo, hi in zip(bounds, bounds[1:])]

    def select(self, theta: AlignmentTables, samples: Sequence[int]) -> AlignmentTables:
        """Some samples as a batch of their own."""
        return theta.take(np.array(samples, np.int64))

    def zeros(self, theta: AlignmentTables) -> AlignmentTables:
        """All scores 0."""
        return theta.zeros()

    def invalid(self, rng: np.random.Generator) -> Iterator[tuple[Instance, list[Any]]]:
        """Scores that are not finite, symbols out of range, arrays of other sizes."""
        kinds = 2 if self.structure.long_gaps else 1
        good = AlignmentTables.of(
            [([0, 1], [1, 0, 0])], np.eye(2), open=[-1.0] * kinds, extend=[-1.0] * kinds
        )
        for name, field, value in (
            ("NaN", "substitution", np.full((2, 2), np.nan)),
            ("infinite gaps", "unit", np.full((kinds, 5), np.inf)),
            ("forbidding opens", "open", np.full((kinds, 7), -np.inf)),
            ("forbidding cells", "cells", np.full(6, -np.inf)),
            ("a symbol too many", "letters", np.full(5, 2, np.int16)),
            ("a symbol below 0", "letters", np.full(5, -1, np.int16)),
            ("a table that is not square", "substitution", np.zeros((2, 3))),
            ("offsets too long", "offsets", np.array([0, 6])),
            ("a split outside", "splits", np.array([6])),
            ("three kinds of gaps", "open", np.zeros((3, 7))),
            ("short boundaries", "extend", np.zeros((kinds, 6))),
            ("few cells", "cells", np.zeros(5)),
        ):
            yield Instance(name, replace(good, **{field: value})), [(0, 0, 0, 0, 0)]

    # -- parts, costs, restrictions -----------------------------------------------------------------------------

    def parts(self, theta: AlignmentTables, s: int, y: Output) -> list[tuple[Any, ...]]:
        """Positions against gaps and matches."""
        n, m = _lengths(theta, s)
        gaps = [("gap", 0 if c == 0 else 1, t) for t, c in enumerate(y) if c in (0, n + m + 1)]
        return [*gaps, *(("match", i, j) for i, j in _matches(y, n))]

    def read_parts(self, theta: AlignmentTables, tables: AlignmentParts) -> list[dict[Any, float]]:
        """A number for every gap and every match."""
        found = []
        for s in range(len(theta)):
            n, m = _lengths(theta, s)
            gaps, lo = tables.gaps, int(theta.offsets[s])
            own: dict[Any, float] = {
                ("gap", k, t): float(gaps[k, lo + t]) for k in range(len(gaps)) for t in range(n + m)
            }
            own |= {("match", i, j): float(tables.of(s)[i, j]) for i in range(n) for j in range(m)}
            found.append(own)
        return found

    def draw_cost(self, rng: np.random.Generator, theta: AlignmentTables, whole: bool) -> Cost:
        """A cost of gaps, of all matches alike, of single matches, and of every match."""
        kind = int(rng.integers(3))
        shape: Any = np.round if whole else np.asarray
        gap, uniform = shape(rng.normal(size=theta.unit.shape)), shape(rng.normal(size=len(theta)))
        entry: list[int] = []
        ptr = [0]
        for s in range(len(theta)):
            n, m = _lengths(theta, s)
            chosen = rng.permutation(n * m)[: int(rng.integers(4))].tolist() if kind else []
            entry += chosen
            ptr.append(len(entry))
        value = shape(2.0 * rng.normal(size=len(entry)))
        dense = shape(rng.normal(size=int(theta.starts[-1]))) if kind == 2 else None
        given = MatchCost.none(
            theta.offsets, theta.n_kinds, gap=gap, uniform=uniform, entry_ptr=np.array(ptr, np.int64),
            entry=np.array(entry, np.int64), value=value, dense=dense,
        )  # fmt: skip
        parts = []
        for s in range(len(theta)):
            n, m = _lengths(theta, s)
            lo = int(theta.offsets[s])
            own: dict[Any, float] = {
                ("gap", k, t): float(gap[k, lo + t]) for k in range(theta.n_kinds) for t in range(n + m)
            }
            for i, j in product(range(n), range(m)):
                number = float(uniform[s])
                number += sum(float(value[e]) for e in range(ptr[s], ptr[s + 1]) if entry[e] == i * m + j)
                if dense is not None:
                    number += float(dense[theta.starts[s] + i * m + j])
                own["match", i, j] = number
            parts.append(own)
        return Cost(f"cost of kind {kind}", given, parts)

    def select_cost(self, theta: AlignmentTables, given: MatchCost, samples: Sequence[int]) -> MatchCost:
        """The cost of some samples."""
        return given.take(np.array(samples, np.int64), theta.offsets, theta.starts)

    def _drawn(self, rng: np.random.Generator, theta: AlignmentTables) -> list[Output]:
        outputs = [self.outputs(theta, s) for s in range(len(theta))]
        return [ys[rng.integers(len(ys))] for ys in outputs]

    def draw_limits(self, rng: np.random.Generator, theta: AlignmentTables) -> Iterator[Limit]:
        """Nothing allowed, known codes, allowed gaps and matches, contradiction, and combinations."""
        planted, other = self._drawn(rng, theta), self._drawn(rng, theta)
        size = len(theta.letters)
        gaps, matches = rng.random(theta.unit.shape) < 0.6, rng.random(int(theta.starts[-1])) < 0.6
        for s, y in enumerate(planted):
            for part in self.parts(theta, s, y):
                if part[0] == "gap":
                    gaps[part[1], theta.offsets[s] + part[2]] = True
                else:
                    matches[theta.starts[s] + part[1] * _lengths(theta, s)[1] + part[2]] = True
        codes = np.array([code for y in planted for code in y], np.int32)
        forced = np.where(rng.random(size) < 0.4, codes, -1).astype(np.int32)
        nothing = gaps.copy()
        nothing[:, rows_of(theta, [len(theta) - 1])] = False
        none = np.zeros(int(theta.starts[-1]), bool)
        full = np.array([code for y in other for code in y], np.int32)
        some = np.where(rng.random(size) < 0.4, full, -1).astype(np.int32)
        for name, within in (
            ("nothing allowed", AlignmentRestriction(nothing, none)),
            ("known codes", AlignmentRestriction(codes=forced)),
            ("allowed gaps", AlignmentRestriction(gaps)),
            ("allowed gaps and matches", AlignmentRestriction(gaps, matches)),
            ("contradiction", AlignmentRestriction(contradicts=full)),
            ("allowed matches, contradiction", AlignmentRestriction(matches=matches, contradicts=some)),
            (
                "both of two",
                AlignmentRestriction(gaps, None, forced) & AlignmentRestriction(None, matches, forced),
            ),
            ("everything", AlignmentRestriction(gaps, matches, forced, some)),
        ):
            allowed = self._allows(theta, within)
            yield Limit(f"within {name}", within, allowed, contradicting=within.contradicts is not None)

    def _allows(self, theta: AlignmentTables, within: AlignmentRestriction) -> Any:
        def allowed(s: int, y: Output) -> bool:
            lo, m = int(theta.offsets[s]), _lengths(theta, s)[1]
            for part in self.parts(theta, s, y):
                if part[0] == "gap" and within.gaps is not None and not within.gaps[part[1], lo + part[2]]:
                    return False
                if part[0] == "match" and within.matches is not None:
                    if not within.matches[theta.starts[s] + part[1] * m + part[2]]:
                        return False
            known = [-1] * len(y) if within.codes is None else within.codes[lo : lo + len(y)].tolist()
            if any(k not in (-1, code) for k, code in zip(known, y)):
                return False
            if within.contradicts is None:
                return True
            return self.contradicts(y, within.contradicts[lo : lo + len(y)].tolist())

        return allowed

    def select_within(
        self, theta: AlignmentTables, given: AlignmentRestriction, samples: Sequence[int]
    ) -> AlignmentRestriction:
        """The restriction of some samples."""
        return given.take(np.array(samples, np.int64), theta.offsets, theta.starts)

    def draw_annotations(self, rng: np.random.Generator, theta: AlignmentTables) -> Iterator[list[Any]]:
        """A full annotation, one with open positions, and one with positions that have one of several codes."""
        full = self._drawn(rng, theta)
        yield full
        some = [tuple(code if rng.random() < 0.5 else -1 for code in y) for y in full]
        yield some
        sizes = [min(_lengths(theta, s)) + 1 for s in range(len(theta))]
        yield [with_sets(rng, y, size) for y, size in zip(some, sizes)]

    def contradicts(self, y: Output, annotation: Sequence[Any]) -> bool:
        """Whether a known position has another code."""
        return any(not allows(known, code) for code, known in zip(y, annotation))

    def draw_risks(
        self, rng: np.random.Generator, theta: AlignmentTables
    ) -> Iterator[tuple[dict[str, Any], Any]]:
        """Missed matches, and wrong positions with a weight of gaps."""
        for options, gamma in (({}, 0.0), ({"gamma": 1.0}, 1.0), ({"gamma": 0.3}, 0.3)):
            yield options, partial(_wrong_positions, gamma)

    def draw_samples(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """Pairs of which the second has lost a piece of the first, with partners of all positions."""
        if self.structure.long_gaps:
            raise self._lacks(
                "draw_samples", "learners of complete outputs: references do not tell kinds of gaps"
            )
        X, Y = [], []
        for k in range(8):
            a = "".join(rng.choice(list("ARNDCQEGHILK"), 7))
            lost = 2 + k % 3
            X.append((a, a[:lost] + a[lost + 1 :]))
            first = [t - (t > lost) if t != lost else -1 for t in range(7)]
            Y.append([*first, *(t + (t >= lost) for t in range(6))])
        return X, Y


def _lengths(theta: AlignmentTables, s: int) -> tuple[int, int]:
    n = int(theta.splits[s])
    return n, int(theta.offsets[s + 1] - theta.offsets[s]) - n


def _matches(y: Output, n: int) -> Matches:
    m = len(y) - n
    return tuple((i, code - 1) for i, code in enumerate(y[:n]) if 1 <= code <= m)


def _with_kinds(matches: Matches, n: int, m: int, kinds: int) -> list[Output]:
    """The codes of a set of matches, with every choice of a kind for each run of gaps."""
    runs: list[list[int]] = []
    before = (-1, -1)
    for i, j in (*matches, (n, m)):
        runs.append(list(range(before[0] + 1, i)))
        runs.append([n + t for t in range(before[1] + 1, j)])
        before = i, j
    runs = [positions for positions in runs if positions]
    found = []
    for chosen in product(range(kinds), repeat=len(runs)):
        codes = [0] * (n + m)
        for i, j in matches:
            codes[i], codes[n + j] = j + 1, i + 1
        for kind, positions in zip(chosen, runs):
            for t in positions:
                codes[t] = n + m + 1 if kind else 0
        found.append(tuple(codes))
    return found


def _wrong_positions(gamma: float, true: Output, y: Output) -> float:
    """1 for each matched position with another code, gamma for each one against a gap."""
    gaps = (0, len(true) + 1)
    return float(sum((gamma if a in gaps else 1.0) for a, b in zip(true, y) if a != b))


register_reference(Alignment, AlignmentReference())
