"""Strings under an n-gram kernel: branch and bound over prefixes, after a beam.

``K(y, y) - 2 <psi(y), v>`` is a sum over the n-grams of y in their order: one of factor f (its rarity, 1 without) that
occurs for the k-th time adds ``f^2 (2 k - 1) - 2 f v`` (of a binary kernel ``f^2 - 2 f v`` the first time and 0 later),
at least what it adds the first time. Two bounds of what any continuation adds follow, and the higher one counts:

* the cheapest path of first times through the graph of (n-1)-grams, which is the answer itself where no n-gram occurs
  twice; in general it is not, since every repetition costs more;
* the sum of the cheapest additions of all n-grams, each for as many times as it is left, whether they overlap or not.
"""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush, nsmallest
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np

from palmette.data.checks import check_whole
from palmette.kernels import Kernel, NGram
from palmette.outputs.base import PreImages
from palmette.outputs.explicit import ExplicitOutputs
from palmette.outputs.hamming import check_symbols, kind_of_sequences, sequence_of
from palmette.registry import register

_ROUNDING = 1e-12


@register("output")
class NGramOutputs(ExplicitOutputs):
    """Sequences over the training alphabet under an n-gram kernel.

    They have at least n symbols, and as many as the shortest to the longest training output.

    A beam finds a good sequence; branch and bound then proves it the best, or finds a better one, until it has looked
    at ``node_limit`` prefixes. Pre-images have the bound proven so far, and are exact where it meets their value.

    Parameters
    ----------
    kernel : NGram
        Of one length, without mismatches and not normalised (``idf`` may be): others have no bound, and take
        ``CandidateOutputs``.
    node_limit : int, default=5000
        Prefixes that branch and bound looks at for one prediction.
    beam : int, default=20
        Prefixes of each length that the beam keeps.

    Examples
    --------
    >>> space = NGramOutputs(NGram(2)).fit(["abc", "bcd"])
    >>> found = space.pre_images(space.rows.toarray().mean(axis=0, keepdims=True))
    >>> found.outputs, found.values, found.exact
    (['abc'], array([-1.]), array([ True]))
    """

    closed: ClassVar[bool] = False  # n-grams of its own are allowed
    kept: ClassVar[tuple[str, ...]] = ("node_limit", "beam", "shortest_", "longest_", "made_of_")

    def __init__(self, kernel: Any, node_limit: int = 5_000, beam: int = 20) -> None:
        self.kernel = kernel
        self.node_limit = node_limit
        self.beam = beam

    def make_kernel(self) -> Kernel:
        """An n-gram kernel with a bound."""
        if not isinstance(self.kernel, NGram) or not has_bound(self.kernel):
            raise ValueError(
                f"NGramOutputs needs an NGram kernel of one length, without mismatches and normalize, got "
                f"{self.kernel!r}; take CandidateOutputs for it"
            )
        return self.kernel

    def learn(self, outputs: list[Any], X: Any) -> None:
        """Which lengths there are, and whether outputs are texts."""
        for name in ("node_limit", "beam"):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise ValueError(f"NGramOutputs: {name} must be an integer of at least 1, got {value!r}")
        sizes = [max(len(output), self.kernel_.lengths[0]) for output in outputs]
        self.shortest_, self.longest_ = min(sizes), max(sizes)
        self.made_of_ = kind_of_sequences(outputs)
        self.constant_norm = self.longest_ == self.kernel_.lengths[0]

    def check_kept(self) -> None:
        """Whole numbers, and a kernel with a bound."""
        self.make_kernel()
        for name in ("node_limit", "beam"):
            check_whole(name, getattr(self, name), 1)
        check_whole("shortest_", self.shortest_, self.kernel_.lengths[0])
        check_whole("longest_", self.longest_, self.shortest_)
        check_symbols(self.made_of_, self.kernel_.alphabet_)

    def pre_images(self, votes: np.ndarray, X: Any = None) -> PreImages:
        """The best sequence found for every row of votes, and a proven bound."""
        graph = _Graph(self.kernel_, self.shortest_, self.longest_)
        found = [self._search(graph, row) for row in np.asarray(votes, float)]
        outputs = [
            sequence_of(self.made_of_, [self.kernel_.alphabet_[code] for code in codes])
            for codes, _, _ in found
        ]
        values, bounds = (np.array([each[k] for each in found], float) for k in (1, 2))
        proven = all(value <= bound + 1e-12 for _, value, bound in found)
        return PreImages(outputs, values, bounds, "branch and bound" if proven else "beam")

    def _search(self, graph: _Graph, votes: np.ndarray) -> tuple[tuple[int, ...], float, float]:
        """Codes, value and bound for one row of votes."""
        bounds = graph.bounds(votes)
        best = self._beam(graph, bounds)
        queue = [graph.start(bounds)]
        for _ in range(int(self.node_limit)):
            if not queue or queue[0].bound >= best.cost - _ROUNDING:
                return best.codes, best.cost, best.cost
            for node in graph.children(heappop(queue), bounds):
                if graph.may_end(node) and node.cost < best.cost:
                    best = node
                if node.bound < best.cost - _ROUNDING:
                    heappush(queue, node)
        return best.codes, best.cost, min(best.cost, queue[0].bound if queue else best.cost)

    def _beam(self, graph: _Graph, bounds: _Bounds) -> _Prefix:
        """The best sequence among the extensions of the most promising prefixes of every length."""
        level, best = [graph.start(bounds)], None
        for _ in range(graph.longest):
            level = nsmallest(
                int(self.beam), (child for node in level for child in graph.children(node, bounds))
            )
            ends = [node for node in level if graph.may_end(node)]
            best = min([*ends, *([] if best is None else [best])], key=lambda node: node.cost, default=None)
        assert best is not None  # some prefix of the greatest length may end
        return best


def has_bound(kernel: NGram) -> bool:
    """Whether the search has a bound for this kernel."""
    return len(kernel.lengths) == 1 and kernel.mismatches == 0 and not kernel.normalize


class _Prefix(NamedTuple):
    """A prefix; the lowest bound comes first, of equal ones the longest."""

    bound: float  # of the value of every sequence that begins so
    left: int  # symbols that may still follow
    codes: tuple[int, ...]
    cost: float  # what its n-grams add


class _Bounds(NamedTuple):
    """What n-grams cost, and what continuations add at least."""

    gains: list[float]  # f v of the n-grams with a column
    ahead: (
        np.ndarray
    )  # [l, s]: from state s after l symbols on; the last state stands for all that training lacks
    beginning: dict[tuple[int, ...], float]  # of prefixes shorter than a state
    cheapest: list[
        tuple[float, int, tuple[int, ...]]
    ]  # what n-grams add at most 1 with: addition, which time, n-gram


class _Graph:
    """The graph of (n-1)-grams: n-grams of training are its edges; any other n-gram has no votes."""

    def __init__(self, kernel: NGram, shortest: int, longest: int) -> None:
        (self.n,), grams = kernel.lengths, kernel.grams_[0]
        ((self.factors, factor),) = kernel.factors()
        self.squares, self.other, self.binary = (self.factors**2).tolist(), factor**2, bool(kernel.binary)
        self.size, self.shortest, self.longest = len(kernel.alphabet_), shortest, longest
        self.column = {tuple(gram): k for k, gram in enumerate(grams.tolist())}
        self.state: dict[tuple[int, ...], int] = {}
        for gram in self.column:
            for part in (gram[:-1], gram[1:]):
                self.state.setdefault(part, len(self.state))
        self.source = np.array([self.state[gram[:-1]] for gram in self.column], np.int64)
        self.target = np.array([self.state[gram[1:]] for gram in self.column], np.int64)

    def bounds(self, votes: np.ndarray) -> _Bounds:
        """Cheapest continuations by number of symbols so far, from the longest sequence back."""
        gains = self.factors * votes
        first, other = self.factors**2 - 2.0 * gains, self.other  # the first time; one without votes
        if self.binary:
            first, other = np.minimum(first, 0.0), 0.0
        ahead = np.zeros((self.longest + 1, len(self.state) + 1))
        for length in range(self.longest - 1, -1, -1):
            later = ahead[length + 1]
            own = np.full(
                len(self.state) + 1, other + later.min()
            )  # by an n-gram without votes, to any state
            np.minimum.at(own, self.source, first + later[self.target])
            ahead[length] = np.minimum(own, 0.0) if length >= self.shortest else own
        beginning: dict[tuple[int, ...], float] = {}
        at = ahead[self.n - 1].tolist()
        for state, k in self.state.items():
            for cut in range(self.n - 1):
                beginning[state[:cut]] = min(beginning.get(state[:cut], at[-1]), at[k])
        given = gains.tolist()
        return _Bounds(given, ahead, beginning, self._cheapest(given))

    def _addition(self, k: int | None, time: int, gains: list[float]) -> float:
        """What the n-gram of column k, or one without a column, adds when it occurs for the given time."""
        if self.binary and time > 1:
            return 0.0
        odd = 2.0 * time - 1.0
        return self.other * odd if k is None else self.squares[k] * odd - 2.0 * gains[k]

    def _cheapest(self, gains: list[float]) -> list[tuple[float, int, tuple[int, ...]]]:
        """Additions of n-grams below those of n-grams without votes, the cheapest first."""
        limit, most = (0.0, 1) if self.binary else (self.other, self.longest - self.n + 1)
        found = []
        for gram, k in self.column.items():
            for time in range(1, most + 1):
                addition = self._addition(k, time, gains)
                if addition >= limit:  # later times add more
                    break
                found.append((addition, time, gram))
        return sorted(found)

    def _additions(self, length: int, counts: Counter[tuple[int, ...]], bounds: _Bounds) -> float:
        """The least that n-grams to come add, if each is to be had as often as is left, whatever its neighbours."""
        begun = max(length, self.n - 1)
        least, most = max(self.shortest - begun, 0), self.longest - begun
        total, taken = 0.0, 0
        for addition, k, gram in bounds.cheapest:
            if taken == most or (addition >= 0.0 and taken >= least):
                break
            if k > counts[gram]:
                total, taken = total + addition, taken + 1
        return total if self.binary else total + self.other * max(least - taken, 0)

    def start(self, bounds: _Bounds) -> _Prefix:
        """The empty prefix."""
        return self._node((), 0.0, Counter(), bounds)

    def may_end(self, node: _Prefix) -> bool:
        """Whether a prefix is long enough to be a sequence."""
        return len(node.codes) >= self.shortest

    def children(self, node: _Prefix, bounds: _Bounds) -> list[_Prefix]:
        """The prefixes with one more symbol."""
        if not node.left:
            return []
        counts = Counter(node.codes[i : i + self.n] for i in range(len(node.codes) - self.n + 1))
        found = []
        for symbol in range(self.size):
            codes = (*node.codes, symbol)
            cost = node.cost
            if len(codes) >= self.n:
                gram = codes[-self.n :]
                cost += self._addition(self.column.get(gram), counts[gram] + 1, bounds.gains)
                counts[gram] += 1
                found.append(self._node(codes, cost, counts, bounds))
                counts[gram] -= 1
            else:
                found.append(self._node(codes, cost, counts, bounds))
        return found

    def _node(
        self, codes: tuple[int, ...], cost: float, counts: Counter[tuple[int, ...]], bounds: _Bounds
    ) -> _Prefix:
        length = len(codes)
        if length < self.n - 1:
            ahead = bounds.beginning.get(codes, float(bounds.ahead[self.n - 1, -1]))
        else:
            ahead = float(bounds.ahead[length, self.state.get(codes[length - self.n + 1 :], -1)])
        ahead = max(ahead, self._additions(length, counts, bounds))
        return _Prefix(cost + ahead, self.longest - length, codes, cost)
