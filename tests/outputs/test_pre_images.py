"""Pre-images against enumeration of all outputs that there may be."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.kernels import RBF, CommonPath, Custom, Dirac, Hamming, NGram
from palmette.outputs import (
    CandidateOutputs,
    DiracOutputs,
    HammingOutputs,
    PathOutputs,
    TaskLossOutputs,
    output_space,
)

words = st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=5)
weights = st.lists(st.floats(-2.0, 2.0), min_size=5, max_size=5)
paths = st.lists(st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map(tuple), min_size=1, max_size=5)


def votes_of(space, a):
    return (space.ballots.T @ np.asarray(a)[: space.ballots.shape[0]])[None]


def objectives(kernel, y, a, outputs):
    """``K(y, y) - 2 sum_i a_i K(y, y_i)`` of each output, by the kernel alone."""
    outputs = list(outputs)
    values = np.diag(kernel(outputs)) - 2.0 * kernel(outputs, y) @ np.asarray(a)[: len(y)]
    return dict(zip(outputs, values.tolist()))


def check_best(space, kernel, y, a, outputs, X=None):
    """The pre-image has the lowest value of all outputs, and says its value."""
    found, values = space.pre_images(votes_of(space, a), X), objectives(kernel, y, a, outputs)
    assert found.values[0] == pytest.approx(min(values.values()), abs=1e-9)
    assert values[found.outputs[0]] == pytest.approx(min(values.values()), abs=1e-9)
    assert found.exact[0]


@given(words, weights, st.integers(0, 4))
def test_candidates_of_a_known_length(y, a, chosen):
    size = len(y[chosen % len(y)])
    space = CandidateOutputs(Hamming(), lengths="known").fit(y, y)
    found = space.pre_images(votes_of(space, a), ["x" * size])
    values = objectives(Hamming(), y, a, [output for output in y if len(output) == size])
    assert found.values[0] == pytest.approx(min(values.values()), abs=1e-9)
    assert values[found.outputs[0]] == pytest.approx(min(values.values()), abs=1e-9)
    assert space.constant_norm  # all candidates of one input have the same


@given(words, weights)
def test_dirac_is_a_vote(y, a):
    check_best(output_space("dirac").fit(y), Dirac(), y, a, y)


def strings(alphabet, low, high):
    return ["".join(s) for n in range(low, high + 1) for s in product(alphabet, repeat=n)]


@pytest.mark.parametrize(
    "kernel", [Hamming(), Hamming(blank=True), Hamming(normalize=True), Hamming(True, 5)], ids=repr
)
@given(y=words, a=weights)
def test_hamming_is_best_of_all_strings(kernel, y, a):
    sizes = list(map(len, y))
    outputs = strings(sorted(set("".join(y))), min(sizes), max(sizes))
    fixed = kernel if not kernel.blank else Hamming(True, kernel.length or max(sizes))
    check_best(output_space(kernel).fit(y), fixed, y, a, outputs)


@given(words, weights, st.integers(1, 3))
def test_hamming_of_a_known_length(y, a, size):
    space = HammingOutputs(lengths="known").fit(y, y)
    check_best(space, Hamming(), y, a, strings(sorted(set("".join(y))), size, size), ["x" * size])
    assert space.constant_norm


@pytest.mark.parametrize(
    "kernel", [CommonPath(), CommonPath((0.25, 1.0)), CommonPath(normalize=True)], ids=repr
)
@given(y=paths, a=weights)
def test_paths_are_best_of_the_tree(kernel, y, a):
    nodes = {path[: k + 1] for path in y for k in range(len(path))}
    leaves = {path for path in nodes if not any(len(p) > len(path) and p[: len(path)] == path for p in nodes)}
    check_best(PathOutputs(kernel, ends="any").fit(y), kernel, y, a, nodes)
    check_best(PathOutputs(kernel).fit(y), kernel, y, a, set(y) | leaves)
    some = [path for path in y if path in leaves]
    if some:
        tree = [*some, ("c", "c"), ("a", "d")] if ("a",) not in some else [*some, ("c", "c")]
        space = PathOutputs(kernel, tree, ends="leaves").fit(some)
        check_best(space, kernel, some, a, set(tree))


@given(words, weights)
def test_candidates_are_all_tried(y, a):
    for kernel in (NGram(1), Hamming() + Dirac(), Custom(lambda x, y: len(set(x) & set(y)), of="pairs")):
        check_best(CandidateOutputs(kernel).fit(y), kernel, y, a, y)
        others = ["ab", "ba", "bbbb", "c"]
        check_best(CandidateOutputs(kernel, others).fit(y), kernel, y, a, others)


def test_a_kernel_of_rows_compares_vectors(rng):
    y = rng.normal(size=(6, 2))
    space = output_space(RBF(gamma=0.5)).fit(y)
    found = space.pre_images(np.eye(6)[[2, 4]])
    np.testing.assert_allclose(found.outputs, y[[2, 4]])
    np.testing.assert_allclose(space.rows @ space.metric @ space.rows.T, RBF(gamma=0.5)(y), rtol=1e-6)


@given(words, weights)
def test_a_task_loss_is_minimised_over_candidates(y, a):
    def loss(true, found):
        return abs(len(true) - len(found)) + 0.5 * (true < found)  # not symmetric

    space = output_space(Hamming(), task_loss=loss).fit(y)
    found = space.pre_images(votes_of(space, a))
    values = {output: sum(c * loss(true, output) for c, true in zip(a, y)) for output in y}
    assert found.values[0] == pytest.approx(min(values.values()), abs=1e-9)
    assert values[found.outputs[0]] == pytest.approx(min(values.values()), abs=1e-9)
    np.testing.assert_allclose((space.rows @ space.rows.T).toarray(), Hamming()(y))


@pytest.mark.parametrize(
    "kernel, chosen",
    [
        (Dirac(), ["ab", "b"]),
        (Hamming(), ["aa", "bb"]),
        (NGram(1), ["ac", "bab"]),
        (Hamming() + Dirac(), ["ca", "a"]),
    ],
    ids=repr,
)
@given(a=weights)
def test_best_among_given_outputs(kernel, chosen, a):
    y = ["ab", "b", "aab"]
    space = output_space(kernel).fit(y)
    found, values = space.best_among(votes_of(space, a), chosen), objectives(kernel, y, a, chosen)
    assert found.values[0] == pytest.approx(min(values.values()), abs=1e-9)
    assert values[found.outputs[0]] == pytest.approx(min(values.values()), abs=1e-9)


def test_outputs_that_cannot_be_predicted_are_refused():
    votes = np.zeros((1, 2))
    for space, outputs in (
        (output_space("dirac").fit(["a", "b"]), ["a", "c"]),
        (output_space("hamming").fit(["a", "b"]), ["a", "c"]),
        (output_space("path").fit([("a", "b")]), [("a",), ("a", "c")]),
    ):
        with pytest.raises(ValueError, match=r"outputs\[1\] = .* has something that no training output has"):
            space.best_among(votes, outputs)
    with pytest.raises(ValueError, match="outputs is empty"):
        output_space("dirac").fit(["a", "b"]).best_among(votes, [])
    with pytest.raises(ValueError, match=r"outputs\[1\] = 'a' cannot be compared"):
        CandidateOutputs(NGram(2)).fit(["ab", "bb"]).best_among(votes, ["ab", "a"])


@given(words, words)
def test_kernel_losses_bound_the_task_losses(y, z):
    """Half of the squared distance is the loss where K(y, y) is constant; elsewhere the whole is at least the loss."""
    n = min(len(y), len(z))
    true, found = y[:n], z[:n]
    wrong = np.array([float(u != v) for u, v in zip(true, found)])
    np.testing.assert_allclose(output_space("dirac").fit(y + z).kernel_losses(true, found), wrong)
    width = max(map(len, y + z))
    distance = [sum(u != v for u, v in zip(s.ljust(width), t.ljust(width))) for s, t in zip(true, found)]
    space = output_space(Hamming(blank=True)).fit(y + z)
    assert space.constant_norm
    np.testing.assert_allclose(space.kernel_losses(true, found), distance)
    space = output_space(Hamming()).fit(y + z)
    losses = space.kernel_losses(true, found)
    assert np.all(losses >= np.array(distance) - 1e-9)
    if space.constant_norm:
        np.testing.assert_allclose(losses, distance)


def test_half_of_the_squared_distance_is_not_enough_for_unequal_lengths():
    space = output_space("hamming").fit(["ab", "abcd"])
    assert not space.constant_norm
    assert space.kernel_losses(["ab"], ["abcd"])[0] == 2.0  # half would be 1, and the distance is 2


@given(paths, paths)
def test_products_of_pairs_are_those_of_the_gram_matrix(y, z):
    n = min(len(y), len(z))
    for space in (PathOutputs(), output_space(CommonPath(normalize=True)), CandidateOutputs(CommonPath())):
        fitted = space.fit(y)
        np.testing.assert_allclose(fitted.pairs(y[:n], z[:n]), np.diag(fitted.gram(y[:n], z[:n])))
        np.testing.assert_allclose(fitted.norms(z), np.diag(fitted.gram(z, z)))


def test_outputs_keep_their_kind():
    for y in (["ab", "ba"], [["a", "b"], ["b", "a"]], [("a", "b"), ("b", "a")]):
        for space in (DiracOutputs(), HammingOutputs(), CandidateOutputs(Hamming())):
            fitted = space.fit(y)
            assert fitted.pre_images(votes_of(fitted, [0.1, 0.9])).outputs == [y[1]]
    assert output_space(CommonPath(separator="/")).fit(["a/b"]).pre_images(np.ones((1, 2))).outputs == ["a/b"]


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: DiracOutputs().fit([]), "y has no outputs"),
        (lambda: CandidateOutputs(NGram(2)).fit([]), "y has no outputs"),
        (lambda: HammingOutputs().fit(["", ""]), "y has no symbol at all"),
        (lambda: CandidateOutputs(Hamming(), lengths="any").fit(["a"]), "lengths must be 'free' or 'known'"),
        (
            lambda: (
                CandidateOutputs(Hamming(), lengths="known").fit(["a"]).pre_images(np.ones((1, 1)), ["xx"])
            ),
            r"X\[0\] has 2 rows, and no candidate has as many symbols",
        ),
        (lambda: HammingOutputs(lengths="any").fit(["a"]), "lengths must be 'free' or 'known'"),
        (
            lambda: HammingOutputs(lengths="known").fit(["a"]),
            "needs the 1 inputs, whose lengths outputs have; none",
        ),
        (
            lambda: HammingOutputs(lengths="known").fit(["a"], ["xx"]),
            r"y\[0\] has 1 symbols, but X\[0\] has 2 rows",
        ),
        (
            lambda: (
                HammingOutputs(Hamming(blank=True), "known")
                .fit(["a"], ["x"])
                .pre_images(np.ones((1, 2)), ["xx"])
            ),
            r"X\[0\] has 2 rows, but outputs with a blank have at most 1 symbols",
        ),
        (
            lambda: PathOutputs(tree=[("a", "b", "c")]).fit([("a", "c")]),
            r"y\[0\] = \('a', 'c'\) is not in the tree: there is no 'c' at level 1 below \('a',\)",
        ),
        (lambda: PathOutputs().fit([()]), r"y\[0\] is an empty path"),
        (lambda: PathOutputs(ends="leaves").fit([("a", "b"), ("a",)]), "ends inside of the tree"),
        (lambda: PathOutputs(ends="top").fit([("a",)]), "ends must be 'seen', 'leaves' or 'any'"),
        (
            lambda: CandidateOutputs(NGram(2), ["ab", "a"]).fit(["abc"]),
            r"candidates\[1\] = 'a' cannot be compared",
        ),
        (lambda: CandidateOutputs(NGram(2), []).fit(["abc"]), "candidates is empty"),
        (lambda: output_space(lambda x, y: float(x != y)).fit(["a", "b"]), "not positive semi-definite"),
        (lambda: output_space(lambda x, y: float(x <= y)).fit(["a", "b"]), "not symmetric"),
        (lambda: output_space("cosine"), "output='cosine' is unknown"),
        (
            lambda: output_space("dirac", lambda true, found: len(true) - found).fit(["a", "b"]),
            r"task_loss cannot compare the true output 'a' with candidates\[0\] = 'a'",
        ),
        (lambda: output_space("dirac", lambda true, found: np.nan).fit(["a"]), "task_loss is nan for"),
    ],
)
def test_bad_outputs_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_bad_kinds_of_outputs_are_refused():
    for make, message in (
        (lambda: output_space("precomputed").fit([[1.0]]), "must be a kernel that compares outputs"),
        (lambda: output_space(3), "output must be"),
        (lambda: output_space(Dirac), r"write Dirac\(\)"),
        (lambda: TaskLossOutputs(DiracOutputs(), 3).fit(["a"]), "task_loss must be a function"),
        (lambda: DiracOutputs().fit("abc"), "y must be a list of objects, got str"),
    ):
        with pytest.raises(TypeError, match=message):
            make()


@pytest.mark.parametrize(
    "output, y",
    [
        (NGram(3), ["abc", "ab"]),
        (NGram(3) ** 2, ["abc", "ab"]),
        (Hamming(length=2), ["ab", "abc"]),
        (CommonPath(separator=".") + 1.0, ["a.b", "a..b"]),
        (CommonPath(), [("a",), 3]),
    ],
)
def test_kernels_of_outputs_name_the_output(output, y):
    with pytest.raises((TypeError, ValueError), match=r"^y\[1\]"):
        output_space(output).fit(y)
