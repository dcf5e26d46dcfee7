"""Learners with a regularizer: training on pieces, groups, the choice of the size, and decoding by two models."""

from __future__ import annotations

import io
import itertools
import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import palmette
from palmette import (
    CRF,
    SSVM,
    Chain,
    CombinedDecoder,
    Decomposition,
    Graph,
    GroupLasso,
    Multiclass,
    Perceptron,
    Ranking,
    SemiMarkov,
)
from palmette.datasets import make_chains, make_tagging
from palmette.errors import MissingCapability
from palmette.solvers import LBFGS, Proximal, Stochastic

LEARNERS = [CRF, SSVM, Perceptron]


@pytest.fixture(scope="module")
def tagging():
    X, Y = make_tagging(60, 3, 30, random_state=0)
    return X[:40], Y[:40], X[40:], Y[40:]


def quiet(model, X, Y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, Y)


# ---------------------------------------------------------------------------------------------------- pieces


@pytest.mark.parametrize("learner", LEARNERS)
def test_pieces_train_every_learner(learner, tagging):
    X, Y, X_test, Y_test = tagging
    model = quiet(learner(Chain(), regularizer=Decomposition(2.5)), X, Y)
    whole = quiet(learner(Chain()), X, Y)
    assert np.isnan(model.result_.gap) and model.decomposition_.size == 2.5
    assert model.score(X_test, Y_test) > whole.score(X_test, Y_test) - 0.1
    again, other = (quiet(clone(model).set_params(random_state=seed), X, Y) for seed in (0, 1))
    np.testing.assert_array_equal(model.coef_, again.coef_)
    assert not np.array_equal(model.coef_, other.coef_)


@pytest.mark.parametrize("learner", LEARNERS)
def test_size_one_learns_no_transitions(learner, tagging):
    X, Y, _, _ = tagging
    model = quiet(learner(Chain(), regularizer=Decomposition(1)), X, Y)
    assert not model.transitions_.any() and model.coef_.any()


def test_size_one_is_the_classifier_of_single_positions(tagging):
    """Without edges the chain is logistic regression of the positions; a stochastic run comes near its optimum."""
    X, Y, X_test, _ = tagging
    model = CRF(Chain(), l2=1.0, regularizer=Decomposition(1), tol=1e-5, max_iter=300)
    cut = quiet(model, X, Y)
    single = CRF(Multiclass(), l2=1.0).fit(list(itertools.chain(*X)), list(itertools.chain(*Y)))
    ours = np.concatenate(cut.predict_marginals(X_test))
    theirs = single.predict_marginals(list(itertools.chain(*X_test)))
    assert cut.classes_.tolist() == single.classes_.tolist()
    np.testing.assert_allclose(ours, theirs, atol=0.05)


@pytest.mark.parametrize("learner", LEARNERS)
def test_infinite_size_changes_nothing(learner, tagging):
    X, Y, _, _ = tagging
    plain, uncut = (quiet(learner(Chain(), regularizer=part), X, Y) for part in (None, Decomposition(np.inf)))
    np.testing.assert_array_equal(plain.coef_, uncut.coef_)
    assert uncut.decomposition_.size == np.inf and not hasattr(plain, "decomposition_")


def test_multiclass_has_nothing_to_cut(rng):
    x, y = rng.normal(size=(30, 3)), rng.integers(0, 2, 30)
    for size in (2, "auto"):
        with pytest.raises(MissingCapability, match="Decomposition cannot cut a Multiclass"):
            CRF(Multiclass(), regularizer=Decomposition(size)).fit(x, y)


def test_pieces_may_begin_inside_a_span():
    """A span encoding forbids an I at the start of a sentence, not at the start of a piece."""
    X = [[["w:a"], ["w:b"], ["w:b"], ["w:c"]], [["w:c"], ["w:a"], ["w:b"], ["w:b"]]] * 4
    Y = [["B", "I", "I", "O"], ["O", "B", "I", "I"]] * 4
    for learner in (CRF, Perceptron):
        model = quiet(learner(Chain(allowed="IOB2"), regularizer=Decomposition(1.5)), X, Y)
        assert model.predict(X) == Y
        assert model.predict([[["w:b"], ["w:b"]]])[0][0] != "I"


def test_second_order_and_edge_features(tagging):
    X, Y, X_test, Y_test = tagging
    for options in ({"structure": Chain(order=2)}, {"structure": Chain(), "edge_features": "all"}):
        model = quiet(CRF(**options, regularizer=Decomposition(3.5), max_iter=5), X, Y)
        assert model.score(X_test, Y_test) > 0.5


def test_arrays_sparse_matrices_and_weights():
    X, Y = make_chains(20, 3, 4, random_state=0)
    weight = np.linspace(0.5, 2.0, 20)
    dense = CRF(Chain(), regularizer=Decomposition(2.5), max_iter=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        dense.fit(X, Y, sample_weight=weight)
        other = clone(dense).fit([sparse.csr_matrix(x) for x in X], Y, sample_weight=weight)
    np.testing.assert_allclose(dense.coef_, other.coef_, atol=1e-3)


def test_partial_fit_on_pieces(tagging):
    X, Y, X_test, Y_test = tagging
    model = Perceptron(Chain(), regularizer=Decomposition(2.5), classes=sorted(set(itertools.chain(*Y))))
    for start in (0, 20):
        model.partial_fit(X[start : start + 20], Y[start : start + 20])
    assert model.score(X_test, Y_test) > 0.5
    with pytest.raises(ValueError, match="cannot choose a size"):
        Perceptron(Chain(), regularizer=Decomposition("auto"), classes=["a"]).partial_fit(X, Y)


# --------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("learner", "options", "message"),
    [
        (
            CRF,
            {"solver": "lbfgs", "regularizer": Decomposition(2)},
            "LBFGS does not support.*Decomposition.*'stochastic'",
        ),
        (
            CRF,
            {"solver": LBFGS(), "regularizer": GroupLasso(1.0)},
            "LBFGS does not support.*GroupLasso.*'proximal'",
        ),
        (CRF, {"solver": Stochastic(), "regularizer": GroupLasso(1.0)}, "GroupLasso.*'proximal'"),
        (
            SSVM,
            {"solver": "bundle", "regularizer": Decomposition(2)},
            "Bundle does not support.*use solver='stochastic'$",
        ),
        (
            SSVM,
            {"solver": "proximal"},
            "proximal needs a smooth loss.*use solver='frank_wolfe', 'bundle' or 'stochastic'",
        ),
        (Perceptron, {"solver": "arow", "regularizer": Decomposition(2)}, "use solver='perceptron'"),
        (Perceptron, {"regularizer": GroupLasso(1.0)}, "Perceptron does not support a GroupLasso"),
        (SSVM, {"regularizer": GroupLasso(1.0)}, "SSVM does not support a GroupLasso"),
        (
            SSVM,
            {"structure": Ranking(), "regularizer": Decomposition(2)},
            "cannot cut a Ranking",
        ),
        (CRF, {"regularizer": "l2"}, "regularizer must be a Decomposition, a GroupLasso.*got 'l2'"),
        (CRF, {"regularizer": Decomposition}, "regularizer must be"),
        (CRF, {"regularizer": [Decomposition(2), Decomposition(3)]}, "two of Decomposition"),
        (CRF, {"regularizer": Decomposition(2).set_params(size=0.5)}, "size must be a number of at least 1"),
    ],
)
def test_refusals_come_before_the_first_step(learner, options, message, tagging):
    X, Y, _, _ = tagging
    with pytest.raises((MissingCapability, TypeError, ValueError), match=message):
        learner(**({"structure": Chain()} | options)).fit(X[:4], Y[:4])


# ---------------------------------------------------------------------------------------------------- groups


def test_groups_choose_their_solver_and_certify(tagging):
    X, Y, X_test, Y_test = tagging
    auto, named = (
        CRF(Chain(), l2=0.1, regularizer=GroupLasso(0.2), solver=solver).fit(X, Y)
        for solver in ("auto", "proximal")
    )
    np.testing.assert_array_equal(auto.coef_, named.coef_)
    assert auto.result_.reason == "gap" and auto.result_.gap <= 1e-4 * auto.result_.primal
    assert auto.score(X_test, Y_test) > 0.6
    with_l1 = CRF(Chain(), l2=0.1, l1=0.2, regularizer=GroupLasso(0.2)).fit(X, Y)
    assert np.count_nonzero(with_l1.coef_) < np.count_nonzero(auto.coef_)


def test_no_group_strength_is_the_elastic_net(tagging):
    X, Y, _, _ = tagging
    plain = CRF(Chain(), l2=0.5, l1=0.1, tol=1e-8, solver="lbfgs").fit(X, Y)
    free = CRF(Chain(), l2=0.5, l1=0.1, tol=1e-8, regularizer=GroupLasso(0.0), solver="proximal").fit(X, Y)
    assert free.objective_ == pytest.approx(plain.objective_, rel=1e-6)


def test_pieces_and_groups_together(tagging):
    X, Y, X_test, Y_test = tagging
    model = CRF(Chain(), l2=0.1, tol=1e-3, regularizer=[Decomposition(2.5), GroupLasso(0.2)]).fit(X, Y)
    assert model.result_.reason.startswith("estimate: relative change") and np.isnan(model.result_.gap)
    assert model.score(X_test, Y_test) > 0.6
    same = CRF(
        Chain(),
        l2=0.1,
        tol=1e-3,
        regularizer=(GroupLasso(0.2), Decomposition(2.5)),
        solver=Proximal(tol=1e-3),
    )
    np.testing.assert_array_equal(same.fit(X, Y).coef_, model.coef_)


# ------------------------------------------------------------------------------------------------------ auto


def test_auto_takes_the_best_size(tagging):
    X, Y, _, _ = tagging
    model = Perceptron(Chain(), max_iter=3, regularizer=Decomposition("auto")).fit(X, Y)
    scores = model.decomposition_scores_
    assert set(scores) == set(Decomposition.SIZES)
    best = max(scores.values())
    assert model.decomposition_.size == max(size for size, score in scores.items() if score == best)
    chosen = Perceptron(Chain(), max_iter=3, regularizer=Decomposition(model.decomposition_.size)).fit(X, Y)
    np.testing.assert_array_equal(chosen.coef_, model.coef_)
    assert not hasattr(chosen, "decomposition_scores_")


def test_auto_scores_are_those_of_cross_validation(tagging):
    from sklearn.model_selection import KFold

    X, Y, _, _ = tagging
    model = Perceptron(Chain(), max_iter=2, regularizer=Decomposition("auto")).fit(X, Y)
    by_hand = []
    for train, held in KFold(3, shuffle=True, random_state=0).split(X):
        fold = Perceptron(Chain(), max_iter=2, regularizer=Decomposition(2.5))
        fold.fit([X[i] for i in train], [Y[i] for i in train])
        by_hand.append(fold.score([X[i] for i in held], [Y[i] for i in held]))
    assert model.decomposition_scores_[2.5] == pytest.approx(np.mean(by_hand), abs=0.02)


def test_auto_needs_three_samples(tagging):
    X, Y, _, _ = tagging
    with pytest.raises(ValueError, match="needs at least 3 samples to choose the size, got 2: give a size"):
        CRF(Chain(), regularizer=Decomposition("auto")).fit(X[:2], Y[:2])


@pytest.mark.parametrize("kind", ["names", "dense", "sparse"])
def test_subset_of_encoded_samples(kind, rng):
    x = [np.round(rng.normal(size=(m, 3)), 1) for m in (2, 3, 1, 4)]
    if kind == "sparse":
        x = [sparse.csr_matrix(a * (a > 0)) for a in x]
    if kind == "names":
        x = [[[f"f{k}" for k in rng.integers(0, 9, 2)] for _ in a] for a in x]
    model = CRF(Chain()).fit(x, [["a", "b", "a", "b"][: np.shape(a)[0]] for a in x])
    order = np.array([3, 0, 2])
    part = model.encode(x)[order]
    assert model.predict(part) == model.predict([x[i] for i in order])
    np.testing.assert_array_equal(part.lengths, [np.shape(x[i])[0] for i in order])


# ------------------------------------------------------------------------------------------- parameters, files


def test_size_is_a_parameter_for_a_search(tagging):
    X, Y, _, _ = tagging
    search = GridSearchCV(
        Perceptron(Chain(), max_iter=2, n_jobs=1, regularizer=Decomposition()),
        {"regularizer__size": [1, 2.5]},
        cv=2,
    ).fit(X, Y)
    assert search.best_params_["regularizer__size"] in (1, 2.5)


@pytest.mark.parametrize(
    "regularizer",
    [
        Decomposition(2.5),
        Decomposition(np.inf),
        GroupLasso(0.2, by="attribute"),
        [GroupLasso(0.1), Decomposition(3)],
    ],
)
def test_saved_and_loaded(regularizer, tagging):
    X, Y, X_test, _ = tagging
    model = quiet(CRF(Chain(), regularizer=regularizer, max_iter=3), X, Y)
    file = io.BytesIO()
    model.save(file)
    again = palmette.load(file)
    assert repr(again) == repr(model) and again.predict(X_test) == model.predict(X_test)
    assert repr(getattr(again, "decomposition_", None)) == repr(getattr(model, "decomposition_", None))


def test_saved_groups_by_list(rng):
    x, y = [rng.normal(size=(4, 3)) for _ in range(4)], [list("abab")] * 4
    model = quiet(CRF(Chain(), regularizer=GroupLasso(0.1, by=np.array([0, 0, 1])), max_iter=3), x, y)
    file = io.BytesIO()
    model.save(file)
    np.testing.assert_array_equal(palmette.load(file).regularizer.by, [0, 0, 1])


# ---------------------------------------------------------------------------------------- two models at once


@pytest.fixture(scope="module")
def two_models(tagging):
    X, Y, _, _ = tagging
    whole = CRF(Chain(), l2=0.3).fit(X[:20], Y[:20])
    single = CRF(Multiclass(), l2=0.3, classes=whole.classes_.tolist())
    single.fit(list(itertools.chain(*X[20:])), list(itertools.chain(*Y[20:])))
    cut = quiet(CRF(Chain(), l2=0.3, regularizer=Decomposition(1.5), max_iter=20), X[20:], Y[20:])
    return whole, single, cut


def potentials(model, x):
    batch = model.encode([x]).batch
    theta = model.scorer_.score(model.coef_, batch)
    order = [list(model.classes_).index(c) for c in sorted(model.classes_)]
    return theta.node[:, order], theta.edge[0][np.ix_(order, order)]


def by_enumeration(x, whole, tables, weights):
    """Best labels and marginals by scoring every sequence."""
    labels = sorted(whole.classes_)
    node, edge = potentials(whole, x)
    node = node + sum(w * n for w, (n, _) in zip(weights, tables))
    edge = edge + sum(w * e for w, (_, e) in zip(weights, tables))
    scores = {}
    for codes in itertools.product(range(len(labels)), repeat=len(x)):
        value = sum(node[t, k] for t, k in enumerate(codes))
        scores[codes] = value + sum(edge[i, j] for i, j in zip(codes, codes[1:]))
    best = max(scores, key=scores.get)
    p = np.exp(np.array(list(scores.values())) - max(scores.values()))
    marginals = np.zeros((len(x), len(labels)))
    for codes, mass in zip(scores, p / p.sum()):
        for t, k in enumerate(codes):
            marginals[t, k] += mass
    return [labels[k] for k in best], marginals


@pytest.mark.parametrize("weight", [0.0, 0.7, 5.0])
@pytest.mark.parametrize("simple", ["multiclass", "pieces"])
def test_marginals_of_the_simple_model_are_added(weight, simple, two_models, tagging):
    whole, single, cut = two_models
    other = single if simple == "multiclass" else cut
    decoder = CombinedDecoder([whole, other], weight=weight)
    for x in tagging[2][:6]:
        x = x[:5]
        p = other.predict_marginals(x) if simple == "multiclass" else other.predict_marginals([x])[0]
        p = p[:, [list(other.classes_).index(c) for c in sorted(other.classes_)]]
        labels, marginals = by_enumeration(x, whole, [(np.log(p), np.zeros((3, 3)))], [weight])
        assert decoder.predict([x]) == [labels]
        order = [list(whole.classes_).index(c) for c in sorted(whole.classes_)]
        np.testing.assert_allclose(decoder.predict_marginals([x])[0][:, order], marginals, atol=1e-9)


def test_scores_of_the_simple_model_are_added(two_models, tagging):
    whole, _, cut = two_models
    decoder = CombinedDecoder([whole, cut, whole], weight=[0.5, 0.25], combine="scores")
    for x in tagging[2][:6]:
        x = x[:5]
        tables = [potentials(cut, x), potentials(whole, x)]
        assert decoder.predict([x]) == [by_enumeration(x, whole, tables, [0.5, 0.25])[0]]


def test_limits_of_the_weight(two_models, tagging):
    whole, single, cut = two_models
    X_test = [*tagging[2], []]
    assert CombinedDecoder([whole, cut], 0.0).predict(X_test) == whole.predict(X_test)
    alone = single.predict(list(itertools.chain(*X_test))).tolist()
    strong = CombinedDecoder([whole, single], 1e9).predict(X_test)
    assert list(itertools.chain(*strong)) == alone and strong[-1] == []
    assert CombinedDecoder([whole, cut]).predict([]) == []


def test_tuned_is_the_best_on_the_held_out_part(two_models, tagging):
    whole, single, _ = two_models
    X_test, Y_test = tagging[2:]
    tuned = CombinedDecoder([whole, single]).tuned(X_test, Y_test)
    tried = {
        w: CombinedDecoder([whole, single], w).score(X_test, Y_test)
        for w in (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
    }
    assert tuned.score(X_test, Y_test) == max(tried.values()) >= whole.score(X_test, Y_test)
    assert tuned.weight == min(w for w, score in tried.items() if score == max(tried.values()))
    own = CombinedDecoder([whole, single]).tuned(X_test, Y_test, [0.3, 3.0], scoring=lambda y, p: -1.0)
    assert own.weight == 0.3


def test_structure_of_the_complex_model_holds(two_models, rng):
    X = [[["w:a"], ["w:b"], ["w:c"]]] * 4
    Y = [["B", "I", "O"]] * 4
    whole = CRF(Chain(allowed="IOB2")).fit(X, Y)
    single = CRF(Multiclass(), classes=["B", "I", "O"]).fit(
        list(itertools.chain(*X)), list(itertools.chain(*Y))
    )
    found = CombinedDecoder([whole, single], 1e6).predict([[["w:b"], ["w:b"], ["w:c"]]])[0]
    assert found[0] != "I" and found[2] == "O"


def test_arrays_are_joined_for_a_simple_model(rng):
    X, Y = make_chains(12, 3, 4, random_state=0)
    x, labels = [sparse.csr_matrix(a) for a in X], np.concatenate(Y)
    whole, single = CRF(Chain(), tol=1e-9), CRF(Multiclass(), tol=1e-9)
    dense = CombinedDecoder([whole.fit(X, Y), single.fit(np.concatenate(X), labels)]).predict_marginals(X)
    found = CombinedDecoder(
        [whole.fit(x, Y), single.fit(sparse.vstack(x).tocsr(), labels)]
    ).predict_marginals(x)
    np.testing.assert_allclose(np.concatenate(found), np.concatenate(dense), atol=1e-3)


def test_what_all_models_read(two_models, tagging):
    _, _, X, Y = tagging
    whole, single, cut = two_models
    for others in ([cut], [single], [single, cut]):
        decoder = CombinedDecoder([whole, *others])
        expected = decoder.predict(X)
        assert decoder.predict(x for x in X) == decoder.predict(iter(x) for x in X) == expected
        assert decoder.predict([]) == decoder.predict(iter([])) == decoder.predict_marginals([]) == []
        assert decoder.predict([[], X[0]]) == [[], expected[0]]
        assert decoder.predict(decoder.encode(X)) == decoder.predict(decoder.encode(iter(X))) == expected
        assert decoder.tuned(iter(X), iter(Y)).weight == decoder.tuned(X, Y).weight
        with pytest.raises(ValueError, match=r"1 encoded inputs, but there are \d models: one for each"):
            decoder.predict([whole.encode(X)])
        with pytest.raises(ValueError, match="X was encoded by another model"):
            decoder.predict(whole.encode(X))
    with pytest.raises(ValueError, match="the models see different positions"):
        CombinedDecoder([whole, cut]).predict([whole.encode(X), cut.encode(X[:1])])
    twin = pickle.loads(pickle.dumps(whole))
    assert CombinedDecoder([whole, twin], combine="scores").predict(whole.encode(X)) == whole.predict(X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weight": -1.0}, "weight must be a finite number >= 0"),
        ({"weight": np.nan}, "weight must be a finite number >= 0"),
        ({"weight": [1.0, 1.0]}, "weight has 2 entries, but there are 1 simple models"),
        ({"combine": "votes"}, "combine must be 'marginals' or 'scores'"),
        ({"models": []}, "needs a complex and at least one simple model"),
        ({"models": "unfitted"}, r"models\[1\] must be a fitted learner"),
        (
            {"models": "swapped"},
            r"models\[0\] has single labels \(Multiclass\), .*: give the model of several",
        ),
        ({"models": "labels"}, "does not know the label"),
    ],
)
def test_bad_decoders(change, message, two_models, tagging):
    whole, single, cut = two_models
    X_test = tagging[2]
    if isinstance(change.get("models"), str):
        models = {
            "unfitted": lambda: [whole, CRF(Chain())],
            "swapped": lambda: [single, whole],
            "labels": lambda: [whole, CRF(Multiclass()).fit([["a"], ["b"]], ["x", "y"])],
        }[change["models"]]()
        change = {"models": models}
    with pytest.raises(ValueError, match=message):
        CombinedDecoder(**({"models": [whole, cut]} | change)).predict(X_test)


# ------------------------------------------------------------------------------------------------- real data


@pytest.mark.data
def test_chunking_with_pieces_and_groups():
    """On real sentences both stay near the plain model, and the group lasso needs far fewer weights."""
    from palmette.datasets import load_conll2000

    train = load_conll2000("train")

    def features(sentence):
        words = [w for w, _ in sentence]
        tags = ["<", *[t for _, t in sentence], ">"]
        return [
            [f"w:{w}", f"t:{tags[k + 1]}", f"t-1:{tags[k]}", f"t+1:{tags[k + 2]}"]
            for k, w in enumerate(words)
        ]

    X, Y = [features(sentence) for sentence in train.data[:600]], train.target[:600]
    plain = CRF(Chain(), l2=1.0).fit(X[:400], Y[:400])
    pieces = CRF(Chain(), l2=1.0, regularizer=Decomposition(5.5), tol=1e-3).fit(X[:400], Y[:400])
    groups = CRF(Chain(), l2=0.1, regularizer=GroupLasso(0.2, by="attribute"), tol=1e-3).fit(X[:400], Y[:400])
    scores = [model.score(X[400:], Y[400:]) for model in (plain, pieces, groups)]
    assert min(scores) > 0.88 and max(scores) - min(scores) < 0.02
    assert np.count_nonzero(groups.coef_) < 0.6 * np.count_nonzero(plain.coef_)


def test_marginals_are_combined_on_graphs_and_segments(rng):
    """With a weight of 0 the complex model alone, with a huge one the most probable labels of the simple one."""
    tables = [rng.normal(size=(4, 2)) for _ in range(12)]
    labels = [["ab"[int(v > 0)] for v in x[:, 0]] for x in tables]
    graphs = [(x, [(0, 1), (1, 2), (2, 3)]) for x in tables]
    segments = [[(i, i + 1, label) for i, label in enumerate(y)] for y in labels]
    for structure, X, Y in ((Graph(), graphs, labels), (SemiMarkov(2, outside=None), tables, segments)):
        whole, weak = (CRF(structure, l2=l2).fit(X, Y) for l2 in (0.01, 50.0))
        assert CombinedDecoder([whole, weak], 0.0).predict(X) == whole.predict(X)
        strong = CombinedDecoder([weak, whole], 1e6).predict(X)
        assert strong == Y
        assert CombinedDecoder([weak, whole], 1e6, "scores").predict(X) == whole.predict(X)
