"""Pre-images of n-gram kernels: branch and bound against enumeration, and bounds that hold when it stops early."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.kernels import NGram
from palmette.outputs import CandidateOutputs, NGramOutputs, output_space
from palmette.registry import revive, stored

words = st.lists(st.text("abc", min_size=3, max_size=5), min_size=1, max_size=4)
weights = st.lists(st.floats(-2.0, 2.0), min_size=4, max_size=4)
KERNELS = [
    NGram(1),
    NGram(2),
    NGram(3),
    NGram(2, binary=True),
    NGram(2, idf=True),
    NGram(2, binary=True, idf=True),
    NGram(2, weights=(0.3,)),
]


def minimum(space, y, votes):
    """The lowest value of all strings that there may be, from counts and factors alone."""
    sizes, n = list(map(len, y)), space.kernel_.lengths[0]
    alphabet = sorted(set("".join(y)))
    outputs = ["".join(s) for k in range(min(sizes), max(sizes) + 1) for s in product(alphabet, repeat=k)]
    columns = {
        "".join(space.kernel_.alphabet_[c] for c in gram): k for k, gram in enumerate(space.kernel_.grams_[0])
    }
    values = {}
    for output in outputs:
        grams = [output[i : i + n] for i in range(len(output) - n + 1)]
        counts = {gram: 1 if space.kernel_.binary else grams.count(gram) for gram in grams}
        rarity = {gram: factor(space.kernel_, y, gram) for gram in counts}
        values[output] = sum(
            (rarity[g] * c) ** 2 - 2.0 * rarity[g] * c * (votes[columns[g]] if g in columns else 0.0)
            for g, c in counts.items()
        )
    return values


def factor(kernel, y, gram):
    """What the feature of an n-gram is multiplied by, from its definition."""
    root = 1.0 if kernel.weights is None else np.sqrt(kernel.weights[0])
    return root * (1.0 + np.log((len(y) + 1) / (sum(gram in text for text in y) + 1)) if kernel.idf else 1.0)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@given(y=words, a=weights)
def test_branch_and_bound_finds_the_best_of_all_strings(kernel, y, a):
    space = output_space(kernel).fit(y)
    votes = space.rows.T @ np.array(a)[: len(y)]
    values = minimum(space, y, votes)
    found = space.pre_images(votes[None])
    assert found.exact[0] and found.method == "branch and bound"
    assert found.values[0] == pytest.approx(min(values.values()), abs=1e-9)
    assert values[found.outputs[0]] == pytest.approx(min(values.values()), abs=1e-9)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@given(y=words, a=weights)
def test_bounds_hold_where_the_search_stops_early(kernel, y, a):
    space = NGramOutputs(kernel, node_limit=1, beam=1).fit(y)
    votes = space.rows.T @ np.array(a)[: len(y)]
    values = minimum(space, y, votes)
    found = space.pre_images(votes[None])
    assert found.bounds[0] <= min(values.values()) + 1e-9
    assert found.values[0] == pytest.approx(values[found.outputs[0]], abs=1e-9)
    assert not found.exact[0] or found.values[0] == pytest.approx(min(values.values()), abs=1e-6)


def test_a_repeated_ngram_costs_more_each_time():
    """The cheapest path through the graph of n-grams repeats "aa", whose count is squared: it is not the best."""
    y = ["aaaaa", "aabbb"]
    space = output_space(NGram(2)).fit(y)
    grams = ["".join(space.kernel_.alphabet_[c] for c in gram) for gram in space.kernel_.grams_[0]]
    votes = np.array([{"aa": 1.5, "ab": 1.0}.get(gram, 0.0) for gram in grams])
    found, values = space.pre_images(votes[None]), minimum(space, y, votes)
    first_times = {text: sum(1.0 - 2.0 * votes[grams.index(text[i : i + 2])] for i in range(4)) for text in y}
    assert min(first_times, key=first_times.get) == "aaaaa" and values["aaaaa"] > found.values[0] + 1.0
    assert found.exact[0] and values[found.outputs[0]] == pytest.approx(min(values.values()))


def test_long_words_are_found_again(rng):
    y = ["".join(rng.choice(list("abcdefgh"), 12)) for _ in range(10)]
    space = output_space(NGram(3)).fit(y)
    found = space.pre_images(space.rows.toarray())
    assert found.exact.all()
    np.testing.assert_allclose(space.kernel_losses(y, found.outputs), 0.0, atol=1e-9)  # the same n-grams


def test_a_search_that_stops_is_called_a_beam(rng):
    y = ["".join(rng.choice(list("ab"), 12)) for _ in range(6)]
    space = NGramOutputs(NGram(2), node_limit=2, beam=2).fit(y)
    found = space.pre_images(rng.normal(1.0, 1.0, size=(5, space.rows.shape[1])))
    assert found.method == "beam" and not found.exact.all() and np.all(found.bounds <= found.values)


def test_kernels_without_a_bound_try_candidates():
    for kernel in (NGram((1, 2)), NGram(2, mismatches=1), NGram(2, normalize=True)):
        assert isinstance(output_space(kernel), CandidateOutputs)
        with pytest.raises(ValueError, match="take CandidateOutputs for it"):
            NGramOutputs(kernel).fit(["abc"])
    with pytest.raises(ValueError, match="beam must be an integer of at least 1, got 0"):
        NGramOutputs(NGram(2), beam=0).fit(["abc"])
    with pytest.raises(ValueError, match="has 1 symbols and hence no 2-gram"):
        output_space(NGram(2)).fit(["abc", "a"])


def test_ngram_outputs_come_back_from_files(rng):
    space = output_space(NGram(2)).fit(["abca", "bca"])
    header, arrays = stored(space)
    again = revive("output", header, arrays)
    votes = rng.normal(size=(4, space.rows.shape[1]))
    assert again.pre_images(votes).outputs == space.pre_images(votes).outputs
    header["kept"]["longest_"] = 1
    with pytest.raises(ValueError, match="longest_ must be"):
        revive("output", header, arrays)
