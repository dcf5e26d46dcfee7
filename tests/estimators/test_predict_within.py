"""``predict(X, within=...)`` against enumeration, for every structure."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from palmette import CRF, SSVM, UNKNOWN, Chain, Graph, GraphInput, Multiclass, Perceptron, Ranking, SemiMarkov
from palmette.datasets import make_chains
from palmette.errors import InfeasibleError
from palmette.structures import RankingRestriction, Restriction, SegmentRestriction

LABELS = ["a", "b", "c"]


@pytest.fixture(scope="module")
def chains():
    X, Y = make_chains(40, 3, 2, mean_length=4, random_state=0)
    return X, [[LABELS[k] for k in y] for y in Y]


def every_output(n):
    return [list(y) for y in itertools.product(LABELS, repeat=n)]


def as_graphs(X):
    ring = [
        GraphInput(x, [(t, (t + 1) % len(x)) for t in range(len(x) if len(x) > 2 else len(x) - 1)]) for x in X
    ]
    return ring


LEARNERS = [
    CRF(Chain()),
    CRF(Chain(order=2)),
    CRF(Chain(), edge_features="all"),
    SSVM(Chain(), kernel="rbf", tol=1e-2),
    Perceptron(
        Chain(allowed=[("a", "a"), ("a", "b"), ("b", "a"), ("b", "c"), ("c", "a"), ("c", "b"), ("c", "c")])
    ),
    CRF(Graph()),
]


@pytest.mark.parametrize("model", LEARNERS, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_the_best_of_a_list_is_found(model, chains):
    X, Y = chains
    rules = getattr(model.structure, "allowed", None)
    if rules is not None:
        Y = [["c"] * len(y) for y in Y]
        model = model.set_params(classes=LABELS)
    if isinstance(model.structure, Graph):
        X = as_graphs(X)
    short = [i for i, y in enumerate(Y) if len(y) <= 5]
    model.fit([X[i] for i in short], [Y[i] for i in short])
    samples, n_best = [X[i] for i in short], 3**5
    rng = np.random.default_rng(0)
    words = [w for n in range(1, 6) for w in every_output(n) if rng.random() < (0.6 if n == 1 else 0.15)]
    words += [["c"] * n for n in range(1, 6)]
    found = model.predict(samples, within=words)
    for ranked, own in zip(
        model.predict_nbest(samples, n_best), found
    ):  # k best outputs are tested by enumeration
        allowed = [(y, value) for y, value in ranked if y in words]
        assert own in words
        best = max(value for _, value in allowed)
        assert dict((tuple(y), value) for y, value in allowed)[tuple(own)] == pytest.approx(best, abs=1e-9)
    # all outputs allowed is not a restriction
    assert model.predict(samples, within=[w for n in range(1, 6) for w in every_output(n)]) == model.predict(
        samples
    )


def test_words_as_strings_sets_and_ties(chains):
    X, Y = chains
    model = CRF(Chain()).fit(X, Y)
    pair = [x for x in X if len(x) == 2][:1]
    one = model.predict(pair, within=["ab", "ca", "cab"])
    assert (
        one
        == model.predict(pair, within={("a", "b"), ("c", "a")})
        == model.predict(pair, within=[["c", "a"], "ab"])
    )
    flat = CRF(Chain(), l2=1e12).fit(X, Y)
    flat.coef_[:] = 0.0
    assert flat.predict(pair, within=["cb", "bc", "ca"]) == [["b", "c"]]  # the lowest codes, as everywhere


def test_one_label(chains):
    X, Y = chains
    table, y = np.concatenate(X), np.array([label for labels in Y for label in labels])
    for model in (CRF(Multiclass()), SSVM(Multiclass(), kernel="rbf", tol=1e-2)):
        model.fit(table, y)
        scores = model.decision_function(table)
        expected = np.where(scores[:, 0] >= scores[:, 2], "a", "c")
        np.testing.assert_array_equal(model.predict(table, within=["c", "a"]), expected)
        mask = np.tile([False, True, False], (len(table), 1))
        assert set(model.predict(table, within=Restriction(node=mask))) == {"b"}
    with pytest.raises(ValueError, match=r"unknown label 'd' at within\[1\]"):
        model.predict(table, within=["a", "d"])


def test_restrictions_of_all_and_of_each(chains):
    X, Y = chains
    X = [X[0], np.zeros((0, 2)), *X[1:]]
    model = CRF(Chain()).fit(X[2:], Y[1:])
    rows = sum(map(len, X))
    rng = np.random.default_rng(1)
    mask = rng.random((rows, 3)) < 0.5
    mask[np.arange(rows), rng.integers(0, 3, rows)] = True
    found = model.predict(X, within=Restriction(node=mask))
    bounds = np.concatenate([[0], np.cumsum([len(x) for x in X])])
    each = [Restriction(node=mask[a:b]) for a, b in itertools.pairwise(bounds)]
    assert found == model.predict(X, within=each) and found[1] == []
    for own, ranked, part in zip(found, model.predict_nbest(X, 3**4), each):
        codes = [[LABELS.index(label) for label in y] for y, _ in ranked]
        fits = [y for y, c in zip(ranked, codes) if part.node[np.arange(len(c)), c].all()]
        if len(own) <= 4:
            assert own == fits[0][0]
    free = [None, None, *[Restriction(node=np.ones((len(x), 3), bool)) for x in X[2:]]]
    assert model.predict(X, within=free) == model.predict(X)
    one = model.predict_nbest(X[:1], 2)[0]
    codes = np.array([LABELS.index(label) for label in one[0][0]])
    assert model.predict(X[:1], within=[Restriction(contradicts=codes)]) == [one[1][0]]


def test_many_samples_are_numbered_as_in_X(chains):
    X, Y = chains
    model = CRF(Chain(), n_jobs=2).fit(X, Y)
    many = X * 60  # several blocks
    expected = model.predict(X, within=[w for n in range(1, 30) for w in (["a"] * n, ["b"] * n)])
    assert (
        model.predict(many, within=[w for n in range(1, 30) for w in (["a"] * n, ["b"] * n)]) == expected * 60
    )
    each = [None] * len(many)
    each[-1] = Restriction(node=np.zeros((len(many[-1]), 3), bool))
    with pytest.raises(
        InfeasibleError, match=rf"sample {len(many) - 1} \(.*satisfies within\[{len(many) - 1}\]"
    ):
        model.predict(many, within=each)
    each[-1] = Restriction(node=np.zeros((1, 2), bool))
    with pytest.raises(ValueError, match=rf"within\[{len(many) - 1}\]: within.node has shape"):
        model.predict(many, within=each)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.filterwarnings("ignore:CRF. all . weights are 0")
def test_samples_without_any_output_are_numbered_as_in_X(named):
    # Chains of three positions have no output: "a" is followed by "b", and "b" by nothing.
    empty, pair, triple = ([["x"]] * n if named else np.ones((n, 1)) for n in (0, 2, 3))
    model = CRF(Chain(allowed=[("a", "b")]), n_jobs=2).fit([pair], [["a", "b"]])
    X = [empty, *[pair] * 9000, triple]  # several blocks
    for ask in (
        model.predict,
        model.predict_marginals,
        model.predict_score,
        model.predict_nbest,
        lambda X: model.predict(X, within=Restriction()),
    ):
        with pytest.raises(InfeasibleError, match=r"^sample 9001 \(length 3\): no output satisfies"):
            ask(X)


def test_segments(chains):
    X, _ = chains
    Y = [[(0, min(2, len(x)), "NP")] for x in X]
    model = CRF(SemiMarkov(2)).fit(X, Y)
    three = [x for x in X if len(x) == 3][:4]
    allowed = [[(0, 1, "NP")], [(1, 3, "NP")], [(0, 2, "NP"), (2, 3, "NP")], []]
    ranked = model.predict_nbest(three, 100)
    for own, outputs in zip(model.predict(three, within=allowed), ranked):
        assert own == next(y for y, _ in outputs if y in allowed)
    # those that end too late are passed over; what follows the last segment is outside
    assert all(y in allowed[:1] for y in model.predict(three, within=[[(0, 1, "NP")], [(3, 4, "NP")]]))
    fixed = SegmentRestriction.fixed(np.tile([0, -1, -1], len(three)), n_labels=2, max_length=2)
    assert all(y[0][0] == 0 for y in model.predict(three, within=fixed))
    with pytest.raises(ValueError, match=r"within\[0\]\[0\].*has 3 positions, but max_length"):
        model.predict(three, within=[[(0, 3, "NP")]])
    tags = CRF(SemiMarkov(2)).fit(X, [["B-NP", *["O"] * (len(x) - 1)] for x in X])
    assert tags.predict(three[:1], within=[["B-NP", "I-NP", "O"], ["O"]]) == [["B-NP", "I-NP", "O"]]
    whole = CRF(SemiMarkov(2, outside=None)).fit(
        X, [[(t, t + 1, "ab"[t % 2]) for t in range(len(x))] for x in X]
    )
    pairs = [[(0, 2, "a"), (2, 3, "b")], [(0, 2, "a")]]
    assert whole.predict(three[:1], within=pairs) == pairs[:1]


def test_orders():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 2)) for n in (3, 4, 3, 4, 3)]
    Y = [np.argsort(np.argsort(x[:, 0])).tolist() for x in X]
    model = SSVM(Ranking()).fit(X, Y)
    allowed = [[0, 1, 2], [2, 1, 0], [1, 0, 2], [3, 2, 1, 0], [0, 3, 1, 2]]
    ranked = model.predict_nbest(X, 24)
    for own, outputs in zip(model.predict(X, within=allowed), ranked):
        assert own.tolist() == next(y.tolist() for y, _ in outputs if y.tolist() in allowed)
    offsets = np.concatenate([[0], np.cumsum([len(x) for x in X])])
    first = np.where(np.isin(np.arange(offsets[-1]), offsets[:-1]), 0, -1)
    found = model.predict(X, within=RankingRestriction.fixed(first, offsets))
    assert all(order[0] == 0 for order in found)
    with pytest.raises(ValueError, match=r"within\[1\] = \[0, 0, 2\] is not an order of documents"):
        model.predict(X, within=[[0, 1, 2], [0, 0, 2]])


def test_words_with_unknown_labels_are_passed_over(chains):
    X, Y = chains
    pair = [x for x in X if len(x) == 2][:2]
    model = CRF(Chain()).fit(X, Y)
    known = ["ab", "ca"]
    for others in (["az"], ["zzz", "z"], [["a", 7], ("b", None)]):
        assert model.predict(pair, within=[*others, *known]) == model.predict(pair, within=known)
    message = (
        r"sample 1 \(2 positions\): none of the 3 .* here \(passed over .*: \['a', 'z'\], \['z', 'z'\]\)"
    )
    with pytest.raises(InfeasibleError, match=message):
        model.predict([np.zeros((0, 2)), *pair], within=["az", "abc", "zz"])
    with pytest.raises(
        InfeasibleError, match=r"sample 0 .* none of the 2 outputs of within has this length;"
    ):
        model.predict(pair, within=["abc", "zzz"])
    for Y in ([["B-NP", *["O"] * (len(x) - 1)] for x in X], [[(0, 1, "NP")] for x in X]):
        model = CRF(SemiMarkov(2)).fit(X, Y)
        known, other = Y[0][:1] + ["O"], ["B-VP", "O"]
        if not isinstance(known[0], str):
            known, other = [(1, 2, "NP")], [(0, 1, "VP")]
        assert model.predict(pair, within=[other, known]) == [known] * 2
        with pytest.raises(
            InfeasibleError, match=r"passed over for labels that the model does not know: .*VP"
        ):
            model.predict(pair, within=[other])


def test_what_is_refused(chains):
    X, Y = chains
    model = CRF(Chain()).fit(X, Y)
    place = next(i for i, x in enumerate(X) if len(x) == 2)
    with pytest.raises(
        InfeasibleError, match=rf"sample {place} \(2 positions\): none of the .* outputs of within has"
    ):
        model.predict(X, within=[["a"] * n for n in range(1, 40) if n != 2])
    strict = CRF(Chain(allowed=[("a", "b"), ("b", "a")]), classes=LABELS).fit([X[place]], [["a", "b"]])
    with pytest.raises(InfeasibleError, match="none of the 1 outputs of within is possible here"):
        strict.predict([X[place]], within=["aa"])
    with pytest.raises(TypeError, match=r"the label at within\[1\]\[0\] is not hashable"):
        model.predict(X[place : place + 1], within=["ab", [["a"], "b"]])
    with pytest.raises(ValueError, match="within is empty"):
        model.predict(X, within=[])
    with pytest.raises(TypeError, match="within must be a list of allowed outputs, a Restriction"):
        model.predict(X, within="ab")
    with pytest.raises(ValueError, match="an output with UNKNOWN in it"):
        model.predict(X[place : place + 1], within=[["a", UNKNOWN]])
    with pytest.raises(ValueError, match=r"within has 1 entries, but X has 40 samples"):
        model.predict(X, within=[Restriction()])
    with pytest.raises(TypeError, match=r"within\[1\] is 'ab', and other entries are restrictions"):
        model.predict(X[:2], within=[Restriction(), "ab"])
    assert model.predict([], within=["ab"]) == [] == model.predict([], within=Restriction())
