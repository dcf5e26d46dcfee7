"""Kernels of objects against their definitions, and kernels made of kernels."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from palmette.kernels import (
    RBF,
    Blurred,
    CommonPath,
    Custom,
    Dirac,
    Hamming,
    Joined,
    Linear,
    NGram,
    NotPositiveSemidefinite,
    Polynomial,
    Power,
    Precomputed,
    Scaled,
    Sum,
    resolve_kernel,
)

words = st.lists(st.text("abc", min_size=3, max_size=8), min_size=1, max_size=5)
sequences = st.lists(st.text("abc", max_size=5), min_size=1, max_size=5)
paths = st.lists(st.lists(st.sampled_from("ab"), max_size=4), min_size=1, max_size=5)


def grams(text, n):
    return Counter(tuple(text[i : i + n]) for i in range(len(text) - n + 1))


def ngram_value(x, y, n, mismatches=0, binary=False, alphabet=()):
    def near(counts):
        found = Counter()
        for gram, count in counts.items():
            for other in {*product(alphabet, repeat=n), gram} if mismatches else [gram]:
                if sum(a != b for a, b in zip(gram, other)) <= mismatches:
                    found[other] += count
        return Counter(dict.fromkeys(found, 1)) if binary else found

    a, b = near(grams(x, n)), near(grams(y, n))
    return sum(count * b[gram] for gram, count in a.items())


@given(words, words, st.integers(1, 3), st.booleans(), st.booleans())
def test_ngrams_are_counted(X, Y, n, binary, as_lists):
    expected = [[ngram_value(x, y, n, binary=binary) for y in Y] for x in X]
    given_x, given_y = (
        ([list(map(ord, x)) for x in X], [list(map(ord, y)) for y in Y]) if as_lists else (X, Y)
    )
    np.testing.assert_allclose(NGram(n, binary=binary)(given_x, given_y), expected)


@given(words, words, st.integers(2, 3), st.booleans())
def test_ngrams_with_mismatches(X, Y, n, binary):
    alphabet = sorted(set("".join(Y)))
    expected = [[ngram_value(x, y, n, 1, binary, alphabet) for y in Y] for x in X]
    np.testing.assert_allclose(NGram(n, mismatches=1, binary=binary)(X, Y), expected)


@given(words, words)
def test_lengths_of_ngrams_are_weighted(X, Y):
    expected = 0.5 * NGram(1)(X, Y) + 2.0 * NGram(3)(X, Y)
    np.testing.assert_allclose(NGram((1, 3), weights=(0.5, 2.0))(X, Y), expected)


@given(words, words, st.booleans())
def test_rare_ngrams_count_more(X, Y, binary):
    owners = Counter(gram for y in Y for gram in grams(y, 2))

    def features(text):
        factor = {gram: 1.0 + np.log((len(Y) + 1) / (owners[gram] + 1)) for gram in grams(text, 2)}
        return {gram: (1 if binary else n) * factor[gram] for gram, n in grams(text, 2).items()}

    def value(x, y):
        return sum(v * features(y).get(gram, 0.0) for gram, v in features(x).items())

    bound = NGram(2, binary=binary, idf=True, short="zero").bind(Y)
    own, support = bound.prepare(X), bound.prepare(Y)
    np.testing.assert_allclose(bound.cross(own, support), [[value(x, y) for y in Y] for x in X])
    np.testing.assert_allclose(bound.diagonal(own), [value(x, x) for x in X])  # with n-grams that are new


def test_long_ngrams_over_large_alphabets_are_ranked(rng):
    X = [rng.integers(10**6, size=40).tolist() for _ in range(5)]
    X += [x[3:20] for x in X]
    expected = [[ngram_value(x, y, 7) for y in X] for x in X]
    np.testing.assert_allclose(NGram(7)(X), expected)


@given(sequences, sequences)
def test_hamming_is_the_longer_length_minus_the_distance(X, Y):
    def distance(x, y, length):
        return sum(a != b for a, b in zip(x.ljust(length), y.ljust(length)))

    expected = [[max(len(x), len(y)) - distance(x, y, max(len(x), len(y))) for y in Y] for x in X]
    np.testing.assert_allclose(Hamming()(X, Y), expected)
    padded = [[10 - distance(x, y, 10) for y in Y] for x in X]
    np.testing.assert_allclose(Hamming(blank=True, length=10)(X, Y), padded)
    np.testing.assert_allclose(np.diag(Hamming(blank=True, length=10)(X)), 10.0)


@given(paths, paths)
def test_common_paths_are_weighted_by_level(X, Y):
    def common(x, y):
        equal = [a == b for a, b in zip(x, y)]
        return equal.index(False) if False in equal else len(equal)

    weights = [0.25, 0.5, 2.0, 2.0]
    expected = [[sum(weights[: common(x, y)]) for y in Y] for x in X]
    np.testing.assert_allclose(CommonPath(weights[:3])(X, Y), expected)
    named, other = [".".join(x) for x in X], [".".join(y) for y in Y]
    np.testing.assert_allclose(CommonPath(weights[:3], separator=".")(named, other), expected)


@given(paths, paths)
def test_dirac_compares_whole_objects(X, Y):
    np.testing.assert_array_equal(Dirac()(X, Y), [[float(x == y) for y in Y] for x in X])


EXPLICIT = [
    NGram(2),
    NGram((1, 2), binary=True),
    NGram(2, mismatches=1),
    Hamming(),
    Hamming(blank=True),
    Dirac(),
]


@pytest.mark.parametrize("kernel", EXPLICIT, ids=repr)
@given(X=words, Y=words)
def test_norms_count_what_no_training_object_has(kernel, X, Y):
    """Normalised values of new objects need their own norms, of n-grams that training has not seen too."""
    bound = kernel.bind(Y)
    if getattr(kernel, "mismatches", 0) == 0 and not getattr(kernel, "blank", False):
        np.testing.assert_allclose(bound.diagonal(bound.prepare(X)), np.diag(kernel(X)))
    norms = np.sqrt(np.outer(bound.diagonal(bound.prepare(X)), bound.diagonal(bound.prepare(Y))))
    np.testing.assert_allclose(Power(kernel, 3, normalize=True)(X, Y), (kernel(X, Y) / norms) ** 3)


@pytest.mark.parametrize("kernel", EXPLICIT, ids=repr)
@given(X=words)
def test_gram_matrices_are_positive_semidefinite(kernel, X):
    made = (2.0 * kernel + 1.0) * kernel**2 + kernel
    made.check_definite(X)
    gram = made(X)
    np.testing.assert_allclose(gram, gram.T)
    assert np.linalg.eigvalsh(gram)[0] >= -1e-9 * max(1.0, np.abs(gram).max())


@given(words, words)
def test_operators_mean_what_they_say(X, Y):
    a, b = NGram(2), Hamming()
    u, v = a(X, Y), b(X, Y)
    np.testing.assert_allclose((a + b)(X, Y), u + v)
    np.testing.assert_allclose((a * b)(X, Y), u * v)
    np.testing.assert_allclose((3 * a + 1)(X, Y), 3 * u + 1)
    np.testing.assert_allclose((a**3)(X, Y), u**3)
    whole = Sum(a, b, normalize=True)(X, Y)
    roots = np.sqrt(np.outer(np.diag(a(X) + b(X)), np.diag(a(Y) + b(Y))))
    np.testing.assert_allclose(whole, (u + v) / roots)


def test_operators_join_kernels_of_rows(rng):
    X, Y = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    made = RBF(gamma=0.5) * Linear() + 2.0
    np.testing.assert_allclose(made(X, Y), RBF(gamma=0.5)(X, Y) * (X @ Y.T) + 2.0, rtol=1e-5)
    np.testing.assert_allclose(((Linear() + 1.0) ** 3)(X, Y), Polynomial(3, gamma=1.0)(X, Y), rtol=1e-4)


def test_sequences_of_rows_are_joined(rng):
    X = [rng.normal(size=(n, 6)) for n in (2, 5, 1)]
    Y = [rng.normal(size=(n, 6)) for n in (3, 2)]

    def joined(tables, length=5):
        return np.array([np.concatenate([t, np.zeros((length - len(t), 6))]).ravel() for t in tables])

    for inner in (Linear(), Polynomial(2, gamma=0.3, normalize=True), RBF(gamma=0.1)):
        np.testing.assert_allclose(Joined(inner)(X, Y), inner(joined(X), joined(Y)), rtol=1e-4, atol=1e-5)
    blur = Blurred((2, 3), 0.7)
    blurred = [blur(table) for table in Y]
    np.testing.assert_allclose(Joined("rbf", blur)(Y), RBF()(joined(blurred, 3)), rtol=1e-5)


def test_functions_compare_objects():
    def shared(x, y):
        return len(set(x) & set(y))

    X, Y = ["abc", "b"], ["bcd", "a", "xyz"]
    expected = np.array([[shared(x, y) for y in Y] for x in X], float)
    np.testing.assert_array_equal(Custom(shared, of="pairs")(X, Y), expected)
    listed = Custom(lambda A, B: [[shared(x, y) for y in B] for x in A], of="objects")
    np.testing.assert_array_equal(listed(X, Y), expected)
    np.testing.assert_array_equal((listed + Dirac())(X, X), listed(X) + np.eye(2))
    normal = Custom(shared, True, of="pairs")(X, Y)
    np.testing.assert_allclose(normal, expected / np.sqrt(np.outer([3, 1], [3, 1, 3])))


def test_scikit_learn_takes_them(rng):
    X, y = ["aab", "abb", "bba", "bbb", "aaa", "aba"], [0, 0, 1, 1, 0, 0]
    kernel = NGram(2, normalize=True) ** 2
    given_gram = SVC(kernel="precomputed").fit(kernel(X), y)
    machine = SVC(kernel=kernel).fit(X, y)
    np.testing.assert_allclose(machine.dual_coef_, given_gram.dual_coef_)
    np.testing.assert_array_equal(clone(machine).fit(X, y).predict(X), machine.predict(X))
    rows, target = rng.normal(size=(8, 3)), rng.normal(size=8)
    found = KernelRidge(kernel=RBF(gamma=0.5)).fit(rows, target).predict(rows)
    expected = KernelRidge(kernel="rbf", gamma=0.5).fit(rows, target).predict(rows)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="give gamma as a number"):
        KernelRidge(kernel=RBF()).fit(rows, target)


def test_names_of_kernels():
    assert [type(resolve_kernel(name)) for name in ("ngram", "dirac", "hamming", "path")] == [
        NGram, Dirac, Hamming, CommonPath,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "make, message",
    [
        (
            lambda: NGram(3)(["abcd", "ab"]),
            r"X\[1\] = 'ab' has 2 symbols and hence no 3-gram; take a smaller n",
        ),
        (lambda: NGram(0)(["a"]), "n must be an integer of at least 1"),
        (lambda: NGram((2, 2))(["ab"]), "names a length twice"),
        (lambda: NGram(2, mismatches=2)(["ab"]), "mismatches must be an integer from 0 to n - 1 = 1"),
        (lambda: NGram(2, weights=(1.0, 2.0))(["ab"]), "weights must be 1 positive numbers"),
        (lambda: NGram(2, idf="smooth")(["ab"]), "idf must be True or False"),
        (lambda: NGram(2, short="skip")(["ab"]), "short must be 'refuse' or 'zero'"),
        (lambda: Hamming(length=2)(["abc"]), "has 3 symbols, more than length=2"),
        (lambda: Hamming(blank=1).check(), "blank must be True or False"),
        (lambda: Hamming(length=0).check(), "length must be an integer of at least 1"),
        (lambda: CommonPath(weights=(1.0, -1.0)).check(), "weights must be positive numbers"),
        (
            lambda: CommonPath(separator=".")(["1..3"]),
            r"X\[0\] = '1..3' skips a level: there is no name at level 2; name every level",
        ),
        (lambda: CommonPath()([("a", None, "b")]), "skips a level: there is no name at level 2"),
        (lambda: CommonPath(separator="")(["a"]), "separator must be a text"),
        (lambda: Power(Dirac(), 1.5).check(), "degree must be an integer of at least 1, got 1.5"),
        (lambda: Scaled(Dirac(), -1.0).check(), "factor must be a number above 0, got -1.0"),
        (lambda: (Dirac() + -1.0).check(), "constant must be a number of at least 0"),
        (lambda: Custom(min, of="sets").check(), "of must be 'rows', 'objects' or 'pairs'"),
        (
            lambda: Joined()([np.ones((2, 3)), np.ones((1, 4))]),
            r"X\[1\] has 4 columns, the first training sequence 3",
        ),
        (lambda: Joined()([np.ones(3)]), r"X\[0\] is single numbers, and a kernel"),
        (lambda: Joined()([]), "X has no sequences"),
    ],
)
def test_bad_values_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: NGram(2)("abc"), "X must be a list of objects, got str"),
        (lambda: NGram(2)(["abc", 5]), r"X\[1\] must be a string or a sequence of symbols, got int: 5"),
        (lambda: Hamming()([[["a"], {}]]), "not hashable"),
        (lambda: Dirac()([{}]), r"X\[0\] is not hashable, a dict"),
        (lambda: CommonPath()(["a.b"]), r"give CommonPath\(separator=...\)"),
        (lambda: CommonPath(separator=".")([("a",)]), "must be a text with names between"),
        (lambda: (Dirac() + RBF())(["a"]), "joins kernels of the same inputs"),
        (lambda: (Precomputed() ** 2)([[1.0]]), "Power needs kernels of rows or objects"),
        (lambda: Joined(NGram())([np.ones((1, 1))]), "Joined needs a kernel of rows"),
        (lambda: Joined(function=3)([np.ones((1, 1))]), "function must be callable"),
    ],
)
def test_bad_kinds_are_refused(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_kernels_that_are_none_are_refused():
    with pytest.raises(
        ValueError,
        match=r"not symmetric: 1 for training row 0 and training row 1, but 0 the other way round; use",
    ):
        Custom(lambda x, y: float(x <= y), of="pairs").check_definite(["a", "b"])
    with pytest.raises(NotPositiveSemidefinite, match="most negative eigenvalue"):
        Custom(lambda x, y: float(x != y), of="pairs").check_definite(["a", "b"])


def test_short_sequences_may_be_zero():
    np.testing.assert_array_equal(NGram(3, short="zero")(["abc", "ab"]), [[1.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(
        NGram(3, short="zero", normalize=True)(["abc", "ab"]), [[1.0, 0.0], [0.0, 0.0]]
    )
