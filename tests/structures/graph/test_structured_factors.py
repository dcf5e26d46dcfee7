"""Structured factors: the compiled graph scores, maximises and sums as the definition says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from palmette.inference.bounded_max import bounded_max
from palmette.inference.factor_graph import FactorGraph
from palmette.inference.integer_program import integer_program
from palmette.inference.structured import Automaton, at_most_one, extend, parity, potts, robust_potts


def definition(kind, y, variables):
    mine = [y[i] for i in variables]
    if kind == "at_most_one":
        return 0.0 if mine.count(1) <= 1 else -2.5
    if kind == "parity":
        return 0.7 if mine.count(1) % 2 == 0 else -0.4
    if kind == "potts":
        return [0.5, -1.0][mine[0]] if len(set(mine)) == 1 and mine[0] < 2 else 0.2
    return max(-1.5, -0.6 * sum(k != 1 for k in mine))


def build(kind, variables, cards):
    if kind == "at_most_one":
        return at_most_one(variables, 1, cards, score=-2.5)
    if kind == "parity":
        return parity(variables, 1, cards, even=0.7, odd=-0.4)
    if kind == "potts":
        return potts(variables, cards, [0.5, -1.0], otherwise=0.2)
    return robust_potts(variables, 1, cards, slope=0.6, most=1.5)


KINDS = ["at_most_one", "parity", "potts", "robust"]


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=2))
def test_compiled_factors_agree_with_their_definition(seed, kinds):
    rng = np.random.default_rng(seed)
    cards = rng.integers(2, 4, 4)
    tables = [((i,), rng.normal(size=cards[i])) for i in range(4)] + [
        ((0, 2), rng.normal(size=cards[[0, 2]]))
    ]
    graph = FactorGraph.from_tables(cards, tables)
    where = [tuple(rng.permutation(4)[: rng.integers(2, 5)].tolist()) for _ in kinds]
    automata = [build(kind, variables, cards) for kind, variables in zip(kinds, where)]
    extended = extend(graph, automata)

    scores = []
    for y in itertools.product(*map(range, cards)):
        wanted = graph.score(np.array(y))
        for kind, variables, automaton in zip(kinds, where, automata):
            assert automaton.score(np.array(y)) == pytest.approx(definition(kind, y, variables))
            wanted += definition(kind, y, variables)
        scores.append(wanted)
        # exactly one way to complete it, with that score
        auxiliary = [range(card) for card in extended.graph.topology.cards[4:]]
        if len(scores) > 8 and len(auxiliary) > 4:
            continue  # the first few say enough, and every completion is many
        completed = [extended.graph.score(np.array([*y, *rest])) for rest in itertools.product(*auxiliary)]
        possible = [score for score in completed if score > -np.inf]
        assert len(possible) == 1 and possible[0] == pytest.approx(wanted)
    result = integer_program(extended.graph)
    assert result.exact and result.value == pytest.approx(max(scores))
    codes = extended.codes(result.codes)
    assert max(scores) == pytest.approx(
        graph.score(codes) + sum(definition(k, codes.tolist(), v) for k, v in zip(kinds, where))
    )


def test_sums_over_a_compiled_tree_count_every_assignment_once(rng):
    from palmette.inference.reweighted import reweighted_sum

    cards = [3, 2, 3, 2]
    graph = FactorGraph.from_tables(cards, [((i,), rng.normal(size=card)) for i, card in enumerate(cards)])
    automaton = parity(range(4), 1, cards, even=0.3, odd=-0.8)
    extended = extend(graph, [automaton])
    result = reweighted_sum(extended.graph)
    every = [np.array(y) for y in itertools.product(*map(range, cards))]
    scores = np.array([graph.score(y) + automaton.score(y) for y in every])
    assert result.exact and result.log_z == pytest.approx(logsumexp(scores))
    wanted = np.zeros(extended.n_states)
    for y, p in zip(every, np.exp(scores - logsumexp(scores))):
        wanted[graph.topology.unary_ptr[:-1] + y] += p
    np.testing.assert_allclose(result.unary[: extended.n_states], wanted, atol=1e-8)


def test_long_factors_stay_small(rng):
    n = 60
    graph = FactorGraph.from_tables([2] * n, [((i,), [0.0, float(rng.normal())]) for i in range(n)])
    extended = extend(graph, [at_most_one(range(n), 1, [2] * n)])
    result = bounded_max(extended.graph)
    gains = graph.unary[1::2]
    assert result.exact and result.value == pytest.approx(max(0.0, gains.max()))
    assert extended.codes(result.codes).sum() <= 1


def test_bad_structured_factors_are_refused():
    graph = FactorGraph.from_tables([2, 2], [])
    with pytest.raises(ValueError, match=r"structured factor 0 stands on \[1, 1\]"):
        extend(graph, [parity([1, 1], 1, [2, 2])])
    with pytest.raises(ValueError, match="structured factor 0: the step of variable 1 has shape"):
        extend(graph, [parity([0, 1], 1, [2, 3])])
    with pytest.raises(ValueError, match="names variable 5"):
        extend(graph, [Automaton((0, 5), parity([0, 1], 1, [2, 2]).steps, np.zeros(2))])
    with pytest.raises(ValueError, match="slope=-1"):
        robust_potts([0, 1], 1, [2, 2], slope=-1, most=1)
