"""Transfer between domains: limits, the dual, every structure and learner, searches, files, bad input."""

from __future__ import annotations

import io
import json
import warnings
import zipfile

import numpy as np
import pytest
import sklearn
from matching import Matching, make_points
from matrix import data, learners
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from toy_problems import clarabel_minimum

import palmette
from palmette import (
    CRF,
    CRFCV,
    SSVM,
    UNKNOWN,
    Chain,
    Decomposition,
    Encoding,
    GroupLasso,
    KernelOptions,
    LossOptions,
    Multiclass,
    Perceptron,
    Ranking,
    Transfer,
)
from palmette.datasets import make_tagging
from palmette.errors import MissingCapability, ModelFileError
from palmette.executors.threads import ThreadExecutor
from palmette.kernels import RBF, Nystroem, Precomputed
from palmette.objectives import risk
from palmette.objectives.risk import Risk
from palmette.supervision.transfer_fit import domain_learner
from palmette.supervision.transfer_tree import DomainTree

X, Y = make_tagging(40, n_tags=4, n_words=30, random_state=0)
D = ["news", "mail", "news", "talk"] * 10
TREE = {"mail": "web", "talk": "web", "news": "all", "web": "all"}
KINDS = {**data(), "Matching": (Matching(), ["auto"], *make_points(6))}
RNG = np.random.default_rng(3)
POINTS = RNG.normal(size=(60, 3))
SIDES = np.array(["a", "b", "c"])[np.arange(60) % 3]
CLASSES = (POINTS @ RNG.normal(size=(3, 3)) + 0.5 * RNG.normal(size=(60, 3))).argmax(axis=1)


def of(domain, values):
    return [value for value, own in zip(values, D) if own == domain]


# -- limits -----------------------------------------------------------------------------------------------------------

ALL = {"encoding": Encoding(states="all"), "classes": sorted({tag for tags in Y for tag in tags})}
EXACT = [
    CRF(Chain(), tol=1e-9, **ALL),
    SSVM(Chain(), tol=1e-4, max_iter=3000, **ALL),
    SSVM(Chain(), tol=1e-7, loss="soft_hinge", **ALL),
]


@pytest.mark.parametrize("model", EXACT, ids=["log", "hinge", "soft hinge"])
def test_large_rho_is_union_training(model):
    model = clone(model).set_params(l2=0.7)
    union, transfer = clone(model).fit(X, Y), Transfer(model, rho=1e10).fit(X, Y, domains=D)
    assert transfer.objective_ == pytest.approx(union.objective_, rel=1e-4)
    assert np.abs(transfer.coef_[1:]).max() < 1e-6
    assert transfer.coef_of("mail") == pytest.approx(union.coef_, abs=0.1 if model.tol == 1e-4 else 1e-3)
    assert transfer.predict(X, domains=D) == union.predict(X)


@pytest.mark.parametrize("model", EXACT, ids=["log", "hinge", "soft hinge"])
def test_large_l2_is_separate_training(model):
    encoded, own = model.encode(X), {d: np.array([e == d for e in D]) for d in D}  # all with the same weights
    apart = {d: clone(model).set_params(l2=0.7).fit(encoded[own[d]], of(d, Y)) for d in own}
    transfer = Transfer(clone(model).set_params(l2=1e10), rho=0.7).fit(X, Y, domains=D)
    assert transfer.objective_ == pytest.approx(sum(m.objective_ for m in apart.values()), rel=1e-4)
    assert np.abs(transfer.coef_[0]).max() < 1e-6
    for domain, plain in apart.items():
        assert transfer.model_of(domain).predict(of(domain, X)) == plain.predict(of(domain, X))
        assert transfer.coef_of(domain) == pytest.approx(plain.coef_, abs=0.1 if model.tol == 1e-4 else 1e-3)


def test_one_domain_is_the_plain_model_with_both_penalties_in_parallel():
    transfer = Transfer(CRF(Chain(), l2=1.0, tol=1e-10), rho=3.0).fit(X, Y, domains="all")
    plain = CRF(Chain(), l2=1.0 * 3.0 / (1.0 + 3.0), tol=1e-10).fit(X, Y)
    assert transfer.objective_ == pytest.approx(plain.objective_, rel=1e-8)
    assert transfer.coef_of("all") == pytest.approx(plain.coef_, abs=1e-4)
    assert transfer.predict(X, domains="all") == plain.predict(X)


def test_perceptron_with_large_rho_takes_the_steps_of_union():
    order = np.argsort(D, kind="stable")  # that of the domains
    own, tags = [X[i] for i in order], [Y[i] for i in order]
    plain = Perceptron(Chain()).fit(own, tags)
    transfer = Transfer(Perceptron(Chain()), rho=1e30).fit(own, tags, domains=np.array(D)[order])
    assert transfer.coef_of("mail") == pytest.approx(plain.coef_, abs=1e-12)
    small = Transfer(Perceptron(Chain()), rho=0.01).fit(own, tags, domains=np.array(D)[order])
    assert np.abs(small.coef_[1:]).max() > 10 * np.abs(small.coef_[0]).max()


# -- trees ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tree", [dict.fromkeys(set(D)), {d: "all" for d in D}], ids=["no parent", "one parent"]
)
def test_tree_of_one_level_is_flat(tree):
    flat = Transfer(CRF(Chain(), l2=0.5), rho=2.0).fit(X, Y, domains=D)
    own = Transfer(CRF(Chain(), l2=0.5), rho=2.0, tree=tree).fit(X, Y, domains=D)
    assert np.array_equal(own.coef_, flat.coef_) and own.nodes_[1:] == flat.nodes_[1:] == [
        "news",
        "mail",
        "talk",
    ]


def test_a_domain_adds_up_the_nodes_on_its_path():
    model = Transfer(CRF(Chain(), l2=0.5, tol=1e-10), rho=2.0, tree=TREE).fit(X, Y, domains=D)
    assert model.nodes_ == ["all", "news", "web", "mail", "talk"]
    root, news, web, mail, talk = model.coef_
    assert np.array_equal(model.coef_of("mail"), root + web + mail)
    assert np.array_equal(model.coef_of("web"), root + web)
    # The gradients of the samples below a node are balanced by its penalty.
    assert 2.0 * web == pytest.approx(2.0 * (mail + talk), abs=1e-5)
    assert 0.5 * root == pytest.approx(2.0 * (news + web), abs=1e-5)
    deep = Transfer(CRF(Chain(), l2=0.5, tol=1e-10), rho=2.0).fit(X, Y, domains=D)
    assert model.objective_ < deep.objective_  # one more vector, and nothing taken away


def test_domains_never_seen():
    model = Transfer(CRF(Chain(), l2=0.5), tree={**TREE, "blog": "web", "fax": "blog"}).fit(X, Y, domains=D)
    web = model.coef_[0] + model.coef_[model.nodes_.index("web")]
    for domain in ("blog", "fax"):  # the nearest ancestor with weights
        assert np.array_equal(model.coef_of(domain), web)
    for domain in ("radio", None, 7):  # not in the tree: shared weights
        assert np.array_equal(model.coef_of(domain), model.coef_[0])
    names = ["blog", "radio", None, "news"] * 10
    expected = [model.model_of(d).predict([x])[0] for x, d in zip(X, names)]
    assert model.predict(X, domains=names) == expected


# -- the dual ---------------------------------------------------------------------------------------------------------


def test_weights_follow_from_the_gradients_of_domains():
    """(1.10): ``w = -(1/l2) sum_d g_d`` and ``w^d = w - g_d / rho``, with g_d the gradient of the losses of d."""
    l2, rho = 0.5, 2.0
    model = Transfer(CRF(Chain(), l2=l2, tol=1e-11), rho=rho).fit(X, Y, domains=D)
    total = np.zeros_like(model.coef_[0])
    for domain in dict.fromkeys(D):
        plain = model.model_of(domain)
        inputs = plain.encode(of(domain, X))
        expected = plain.structure_.expectation(plain.scorer_.score(plain.coef_, inputs.batch))
        codes = plain.codec_.encode_sequences(of(domain, Y)).values
        counts = plain.structure_.count(
            plain.scorer_.score(plain.coef_, inputs.batch),
            codes,
            weight=-np.ones(len(inputs)),
            into=expected.counts,
        )
        gradient = np.zeros_like(total)
        plain.scorer_.pull_back(counts, inputs.batch, gradient)
        total += gradient
        assert model.coef_of(domain) == pytest.approx(model.coef_[0] - gradient / rho, abs=1e-5)
    assert model.coef_[0] == pytest.approx(-total / l2, abs=1e-5)


def test_the_dual_over_cuts_has_no_gap():
    """The dual of (1.9) over cuts of every domain, by cutting planes and a quadratic program of another library."""
    l2, rho, n = 0.5, 2.0, 30
    model = SSVM(Multiclass(), l2=l2, tol=1e-8, fit_intercept=False, solver="bundle", max_iter=3000)
    transfer = Transfer(model, rho=rho).fit(POINTS[:n], CLASSES[:n], domains=SIDES[:n])
    names, k = list(dict.fromkeys(SIDES)), 3
    own = {d: (POINTS[:n][SIDES[:n] == d], CLASSES[:n][SIDES[:n] == d]) for d in names}

    def cut(d, w):
        """Gradient and offset of the hinge loss of a domain at w, shape (3, k)."""
        rows, labels = own[d]
        scores = rows @ w + 1.0
        scores[np.arange(len(rows)), labels] -= 1.0
        rival = scores.argmax(axis=1)
        a = rows.T @ (np.eye(k)[rival] - np.eye(k)[labels])
        return a.ravel(), float(np.sum(rival != labels))

    cuts, dual = [(d, *cut(d, np.zeros((3, k)))) for d in names], 0.0
    tau = rho * l2 / (rho + l2)
    for _ in range(60):
        A = np.array([a for _, a, _ in cuts])
        same = np.array([[d == e for e, *_ in cuts] for d, *_ in cuts])
        Q = (A @ A.T) * np.where(same, 1.0 / tau, 1.0 / l2)
        member = np.array([[d == name for d, *_ in cuts] for name in names], float)
        constraints, bounds = (
            np.vstack([member, -np.eye(len(cuts))]),
            np.append(np.ones(3), np.zeros(len(cuts))),
        )
        alpha, value = clarabel_minimum(Q, -np.array([b for *_, b in cuts]), constraints, bounds)
        dual = -value
        w = -(A * alpha[:, None]).sum(axis=0) / l2  # (1.10)
        domain = {d: w - (A * (alpha * m)[:, None]).sum(axis=0) / rho for d, m in zip(names, member)}
        cuts += [(d, *cut(d, domain[d].reshape(3, k))) for d in names]
    primal = 0.5 * l2 * w @ w + sum(0.5 * rho * np.sum((v - w) ** 2) for v in domain.values())
    primal += sum(cut(d, v.reshape(3, k))[0] @ v + cut(d, v.reshape(3, k))[1] for d, v in domain.items())
    assert primal == pytest.approx(dual, rel=1e-5)
    assert transfer.objective_ == pytest.approx(dual, rel=1e-5)
    assert transfer.coef_[0] == pytest.approx(w, abs=1e-3)
    for d in names:
        assert transfer.coef_of(d) == pytest.approx(domain[d], abs=1e-3)


@pytest.mark.parametrize("learner", [SSVM, CRF])
def test_the_kernel_of_rows_and_domains_gives_the_same(learner):
    l2, rho = 0.5, 2.0
    linear = POINTS @ POINTS.T
    joint = (1.0 / l2 + (SIDES[:, None] == SIDES) / rho) * linear
    model = learner(Multiclass(), l2=l2, tol=1e-6, fit_intercept=False, max_iter=2000)
    transfer = Transfer(model, rho=rho).fit(POINTS, CLASSES, domains=SIDES)
    kernel = learner(Multiclass(), l2=1.0, tol=1e-6, kernel=Precomputed(), max_iter=2000).fit(joint, CLASSES)
    assert transfer.objective_ == pytest.approx(kernel.objective_, rel=1e-4)
    one, other = transfer.decision_function(POINTS, domains=SIDES), kernel.decision_function(joint)
    assert one - one.mean(axis=1, keepdims=True) == pytest.approx(
        other - other.mean(axis=1, keepdims=True), abs=2e-2
    )
    sure = np.ptp(np.sort(other)[:, -2:], axis=1) > 0.05
    assert sure.sum() > 50
    assert np.array_equal(transfer.predict(POINTS, domains=SIDES)[sure], kernel.predict(joint)[sure])


# -- the scorer -------------------------------------------------------------------------------------------------------


def laid_out(structure, X, y, domains, tree=None):
    learner = domain_learner(
        Perceptron(structure), DomainTree.of(tree, list(dict.fromkeys(domains))), domains, 0.3
    )
    from palmette.estimators.training import encode_training

    given = encode_training(X, y, structure, None, None, **learner._encoding())
    encoded, scorer, _ = learner._lay_out(given)
    return encoded, scorer


@pytest.mark.parametrize("kind", KINDS)
def test_pull_back_is_the_adjoint_of_score(kind):
    structure, _, own, y = KINDS[kind]
    names = ["a", "b", "a", "c"][: len(own)] + ["b"] * max(0, len(own) - 4)
    tree = {"a": "x", "b": "x", "c": None, "x": None}
    encoded, scorer = laid_out(structure, own, y, names, tree)
    rng, samples = np.random.default_rng(0), encoded.samples
    bounds = [0, *samples.batch.apart.tolist(), len(samples.batch)]
    assert len(bounds) == 4 and len(scorer.scale) == 5
    parts = [samples.slice(a, b) for a, b in zip(bounds[:-1], bounds[1:])]
    singles = [samples.slice(i, i + 1) for i in range(len(samples.batch))]
    w = rng.normal(size=scorer.n_params)
    for part in parts + singles:
        theta = scorer.score(w, part.batch)
        counts = encoded.structure.count(theta, part.codes, weight=rng.normal(size=len(part.batch)))
        back = np.zeros_like(w)
        scorer.pull_back(counts, part.batch, back)
        assert theta.dot(counts) == pytest.approx(float(back @ w), rel=1e-10)
        assert set(np.flatnonzero(back)) <= set(scorer.touched(part.batch).tolist())
    for part in parts:  # many samples at once, and one by one
        many = encoded.structure.best(scorer.score(w, part.batch)).values
        each = [part.slice(i, i + 1) for i in range(len(part.batch))]
        one = [encoded.structure.best(scorer.score(w, p.batch)).values[0] for p in each]
        assert many == pytest.approx(one, rel=1e-12)
    with pytest.raises(ValueError, match="several domains"):
        scorer.score(w, samples.batch)


@pytest.mark.parametrize("compiled", [True, False])
def test_gradient_of_the_objective(monkeypatch, compiled):
    if not compiled:
        monkeypatch.setattr(risk, "find", lambda *_: None)
    encoded, scorer = laid_out(Chain(), X[:8], Y[:8], D[:8])
    from palmette.surrogates.log import LogLoss

    with ThreadExecutor(1) as executor:
        problem = Risk(encoded.structure, scorer, LogLoss(), encoded.samples, None, executor)
        assert (problem._compiled() is not None) == compiled
        rng = np.random.default_rng(1)
        w = rng.normal(size=scorer.n_params)
        value, gradient = problem.loss(w)
        assert value == pytest.approx(problem.value(w), rel=1e-12)
        for _ in range(5):
            step = rng.normal(size=len(w))
            up, down = problem.value(w + 1e-5 * step), problem.value(w - 1e-5 * step)
            assert (up - down) / 2e-5 == pytest.approx(float(gradient @ step), rel=1e-6)
        problem.close()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "model", [CRF(Chain()), SSVM(Chain()), Perceptron(Chain())], ids=["crf", "ssvm", "perceptron"]
)
def test_bitwise_equal_for_any_number_of_threads(monkeypatch, model):
    monkeypatch.setattr(risk, "ROWS_A_SHARD", 16)
    monkeypatch.setattr(risk, "ROWS_A_BLOCK", 8)
    found = [
        Transfer(clone(model).set_params(n_jobs=n, max_iter=5), tree=TREE).fit(X, Y, domains=D).coef_
        for n in (1, 2)
    ]
    assert np.array_equal(*found)


# -- every structure and learner --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", learners())
def test_every_structure(name):
    tried = 0
    for kind, (structure, losses, own, y) in data().items():
        if name.startswith("Plackett-Luce") and kind != "Ranking":
            continue
        names = [i % 2 for i in range(len(own))]
        model = learners()[name](structure, losses[0], "auto")
        try:
            clone(model).fit(own, y)
        except MissingCapability:
            with pytest.raises(MissingCapability):
                Transfer(model).fit(own, y, domains=names)
            continue
        transfer = Transfer(model, rho=0.5).fit(own, y, domains=names)
        expected = [transfer.model_of(d).predict(own)[i] for i, d in enumerate(names)]
        assert all(np.array_equal(a, b) for a, b in zip(transfer.predict(own, domains=names), expected))
        assert 0.0 <= transfer.score(own, y, domains=names) <= 1.0
        tried += 1
    assert tried >= 1


HINGE = ["bundle", "frank_wolfe", "n_slack", "smo"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["Multiclass", "Chain", "Graph", "SemiMarkov", "Ranking", "Matching"])
def test_solvers_agree(kind):
    structure, losses, own, y = KINDS[kind]
    names = [i % 2 for i in range(len(own))]
    found = {}
    for solver in HINGE:
        if solver == "smo" and kind in ("SemiMarkov", "Ranking", "Matching"):
            continue
        model = SSVM(structure, l2=1.0, task_loss=losses[0], solver=solver, tol=1e-3, max_iter=400)
        transfer = Transfer(model, rho=2.0).fit(own, y, domains=names)
        assert transfer.result_.w.shape == transfer.coef_.ravel().shape
        found[solver] = transfer.objective_
    best = min(found.values())
    for solver, objective in found.items():
        assert objective == pytest.approx(best, rel=3e-3), (solver, found)


def test_columns_of_numbers_are_scaled():
    """In the coordinates of scaled columns the curvature is known, too."""
    rng = np.random.default_rng(0)
    own = [
        [{f"w{rng.integers(300)}": 1.0, "size": 1000.0 * rng.normal()} for _ in range(5)] for _ in range(60)
    ]
    tags = [[f"{int(row['size'] > 0)}{rng.integers(5)}" for row in sample] for sample in own]
    model = CRF(Chain(), l2=1.0, solver="lbfgs", encoding=Encoding(states="all"))
    found = Transfer(model, rho=2.0).fit(own, tags, domains=[i % 2 for i in range(60)])
    assert found.coef_.size > 2000 and found.result_.converged


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("solver", ["stochastic", "proximal", "subgradient", "bundle"])
def test_solvers_of_the_log_loss_agree(solver):
    exact = Transfer(CRF(Chain(), l2=1.0, tol=1e-6), rho=2.0).fit(X[:20], Y[:20], domains=D[:20])
    model = CRF(Chain(), l2=1.0, solver=solver, max_iter=100)
    found = Transfer(model, rho=2.0).fit(X[:20], Y[:20], domains=D[:20])
    assert found.objective_ == pytest.approx(exact.objective_, rel=0.02)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model",
    [
        SSVM(Chain(), loss="ramp"),
        SSVM(Chain(), loss_options=LossOptions(rescaling="slack")),
        CRF(Chain(), regularizer=Decomposition(1.5), max_iter=3),
        Perceptron(Chain(), regularizer=Decomposition(1.5), max_iter=3),
        CRF(Chain(), l1=0.1),
        CRF(Chain(), edge_features="all"),
        CRF(Chain(order=2)),
        Perceptron(Chain(), solver="passive_aggressive"),
        Perceptron(Chain(), solver="arow"),
    ],
    ids=lambda model: repr(model),
)
def test_learners_with_options(model):
    transfer = Transfer(model, rho=1.0).fit(X, Y, domains=D)
    assert transfer.score(X, Y, domains=D) > 0.85


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["SemiMarkov", "Graph"])
def test_pieces_know_their_domain(kind):
    structure, _, own, y = KINDS[kind]
    model = CRF(structure, l2=0.1, regularizer=Decomposition(1.0), max_iter=3)
    transfer = Transfer(model).fit(own, y, domains=[0, 1, 0, 1])
    first, second = (transfer.model_of(domain).coef_ for domain in (0, 1))
    assert not np.array_equal(first, second)  # pieces of each domain moved its own weights


@pytest.mark.parametrize("kernel", [RBF(0.5), Nystroem(RBF(0.5), 20)], ids=["exact", "nystroem"])
def test_kernels_are_shared_by_the_domains(kernel):
    model = SSVM(Multiclass(), l2=0.1, kernel=kernel)
    transfer = Transfer(model, rho=1e9).fit(POINTS, CLASSES, domains=SIDES)
    union = clone(model).fit(POINTS, CLASSES)
    assert transfer.objective_ == pytest.approx(union.objective_, rel=0.02)
    file = io.BytesIO()
    transfer.save(file)
    again = palmette.load(file)
    assert np.array_equal(again.predict(POINTS, domains=SIDES), transfer.predict(POINTS, domains=SIDES))


# -- samples ----------------------------------------------------------------------------------------------------------


def test_order_of_samples_and_of_answers():
    order = np.random.default_rng(0).permutation(len(X))
    one = Transfer(CRF(Chain(), l2=0.5, tol=1e-9)).fit(X, Y, domains=D)
    other = Transfer(CRF(Chain(), l2=0.5, tol=1e-9)).fit(
        [X[i] for i in order], [Y[i] for i in order], domains=[D[i] for i in order]
    )
    assert other.predict(X, domains=D) == one.predict(X, domains=D)
    marginals = one.predict_marginals(X, domains=D)
    for i, (x, d) in enumerate(zip(X, D)):
        assert marginals[i] == pytest.approx(one.model_of(d).predict_marginals([x])[0], abs=1e-12)
    own = one.log_proba(X, Y, domains=D)
    assert own == pytest.approx([one.model_of(d).log_proba([x], [y])[0] for x, y, d in zip(X, Y, D)])
    assert one.predict_score(X, domains=D).shape == (40,)
    assert [best[0][0] for best in one.predict_nbest(X, 2, domains=D)] == one.predict(X, domains=D)
    encoded = one.encode(X)
    assert one.predict(encoded, domains=D) == one.predict(X, domains=D)
    assert one.predict([], domains=[]) == []


def test_probabilities_of_classes():
    model = Transfer(CRF(Multiclass(), l2=0.5)).fit(POINTS, CLASSES, domains=SIDES)
    found = model.predict_proba(POINTS, domains=SIDES)
    assert found.sum(axis=1) == pytest.approx(np.ones(60))
    assert np.exp(model.predict_log_proba(POINTS, domains=SIDES)) == pytest.approx(found)
    assert np.array_equal(model.classes_[found.argmax(axis=1)], model.predict(POINTS, domains=SIDES))
    assert sklearn.base.is_classifier(model)
    chains = Transfer(CRF(Chain()))
    assert not hasattr(chains, "predict_proba") and not hasattr(chains, "decision_function")


def test_weights_of_samples_count_as_copies():
    twice = [i for i in range(40) for _ in range(1 + (i % 5 == 0))]
    weight = [2.0 if i % 5 == 0 else 1.0 for i in range(40)]
    copies = Transfer(CRF(Chain(), l2=0.5, tol=1e-10)).fit(
        [X[i] for i in twice], [Y[i] for i in twice], domains=[D[i] for i in twice]
    )
    weighted = Transfer(CRF(Chain(), l2=0.5, tol=1e-10)).fit(X, Y, domains=D, sample_weight=weight)
    assert weighted.objective_ == pytest.approx(copies.objective_, rel=1e-8)
    assert weighted.coef_ == pytest.approx(copies.coef_, abs=1e-4)


def test_labels_of_one_domain_only():
    own = [[["w:a"], ["w:b"]], [["w:a"], ["w:c"]]]
    model = Transfer(CRF(Chain(), l2=0.1), rho=0.1).fit(own, [["A", "B"], ["A", "C"]], domains=["x", "y"])
    assert model.classes_.tolist() == ["A", "B", "C"]
    assert model.predict(own, domains=["x", "y"]) == [["A", "B"], ["A", "C"]]


def test_partial_annotation_in_domains():
    """What is unknown stays with its sample when samples are sorted by domain: the limit is that of union training."""
    rng = np.random.default_rng(0)
    partly = [[tag if rng.random() < 0.6 else UNKNOWN for tag in tags] for tags in Y]
    model = CRF(Chain(), l2=0.7, tol=1e-6)
    transfer, union = Transfer(model, rho=1e10).fit(X, partly, domains=D), clone(model).fit(X, partly)
    assert transfer.objective_ == pytest.approx(union.objective_, rel=1e-3)
    assert transfer.predict(X, domains=D) == union.predict(X)
    assert transfer.annotation_ == union.annotation_ and transfer.annotation_.unknown


def test_fit_leaves_the_model_alone_and_a_domain_is_a_plain_model():
    model = CRF(Chain(), l2=0.5)
    transfer = Transfer(model).fit(X, Y, domains=D)
    assert not hasattr(model, "coef_") and type(transfer.model_) is CRF
    own = transfer.model_of("mail")
    file = io.BytesIO()
    own.save(file)
    assert palmette.load(file).predict(X) == own.predict(X)
    assert own.transitions_.shape == (4, 4)


# -- searches ---------------------------------------------------------------------------------------------------------


def test_parameters_clone_and_search():
    model = Transfer(CRF(Chain(), l2=0.5, tol=0.01), rho=2.0)
    assert model.get_params()["model__l2"] == 0.5
    copy = clone(model).set_params(model__l2="3x", rho="0.1x")
    assert (copy.model.l2, copy.rho, model.model.l2) == ("3x", "0.1x", 0.5)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = clone(model).set_fit_request(domains=True).set_score_request(domains=True)
        search = GridSearchCV(
            asked, {"model__l2": [0.1, 1.0], "rho": [0.1, "10x"]}, cv=2, error_score="raise"
        )
        search.fit(X, Y, domains=D)
    assert search.best_score_ > 0.7 and set(search.best_params_) == {"model__l2", "rho"}


def test_a_multiple_of_l2_is_one_weight_by_weight():
    model = CRF(Chain(), l2=0.5, l2_edge=2.0, tol=1e-10)
    number = Transfer(CRF(Chain(), l2=0.5, tol=1e-10), rho=1.5).fit(X, Y, domains=D)
    multiple = Transfer(CRF(Chain(), l2=0.5, tol=1e-10), rho="3x").fit(X, Y, domains=D)
    assert multiple.coef_ == pytest.approx(number.coef_, abs=1e-6)
    own = Transfer(model, rho="3x").fit(X, Y, domains=D)
    l2 = np.full(own.coef_.shape[1], 0.5)
    l2[own.model_.scorer_.blocks["edge"]] = 2.0
    assert l2 * own.coef_[0] == pytest.approx(3.0 * l2 * own.coef_[1:].sum(axis=0), abs=1e-4)


# -- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tree", [None, TREE])
def test_files(tree):
    model = Transfer(CRF(Chain(), l2=0.5), rho=2.0, tree=tree).fit(X, Y, domains=D)
    file = io.BytesIO()
    model.save(file)
    for again in (palmette.load(file), Transfer.load(file)):
        assert again.predict(X, domains=D) == model.predict(X, domains=D)
        assert np.array_equal(again.coef_, model.coef_) and again.domains_ == model.domains_
        assert (again.rho, again.tree, again.nodes_) == (2.0, tree, model.nodes_)
        assert again.model.get_params()["l2"] == 0.5
        assert again.objective_ == model.objective_
        assert again.predict(X, domains="blog") == model.predict(X, domains="blog")
    plain = io.BytesIO()
    model.model_.save(plain)
    with pytest.raises(ModelFileError, match="holds a CRF, not a Transfer"):
        Transfer.load(plain)


def test_damaged_files_are_refused():
    model = Transfer(CRF(Chain(), l2=0.5), tree=TREE).fit(X, Y, domains=D)
    file = io.BytesIO()
    model.save(file)

    def changed(change):
        out = io.BytesIO()
        with zipfile.ZipFile(file) as old, zipfile.ZipFile(out, "w") as new:
            for name in old.namelist():
                content = old.read(name)
                if name == "header.json":
                    header = json.loads(content)
                    change(header["header"])
                    content = json.dumps(header).encode()
                new.writestr(name, content)
        return out

    damages = [
        lambda h: h.pop("model"),
        lambda h: h.update(rho=-1.0),
        lambda h: h.update(domains=None),
        lambda h: h["tree"].update(parents=[99]),
        lambda h: h["tree"].update(parents=[0, 0, 0, 0]),
        lambda h: h.update(tree=None),
        lambda h: h["model"].update(kind="Transfer"),
        lambda h: h["model"].update(kind="os.system"),
    ]
    for damage in damages:
        with pytest.raises(ModelFileError):
            palmette.load(changed(damage))


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"domains": None}, r"fit needs domains=\[...\]"),
        ({"domains": D[:5]}, "domains has 5 entries, but there are 40 samples"),
        ({"domains": [None] * 40}, r"domains\[0\] is None"),
        ({"domains": [*D[:-1], ["x"]]}, r"domains\[39\] is \['x'\]"),
        ({"domains": [*D[:-1], float("nan")]}, r"domains\[39\] is nan: .* not missing"),
        ({"domains": 3}, "one entry per sample, got 3"),
        ({"domains": {"news": 3}}, "one entry per sample"),
        ({"rho": 0.0}, "rho must be a finite number > 0"),
        ({"rho": -1}, "rho must be a finite number > 0"),
        ({"rho": float("inf")}, "rho must be a finite number > 0"),
        ({"rho": "big"}, "rho must be a number"),
        ({"tree": {"news": "all", "mail": "all"}}, "tree does not contain the domain 'talk'"),
        ({"tree": {**TREE, "all": "web"}}, "tree has a cycle, 'web' -> 'all' -> 'web'|tree has a cycle"),
        ({"tree": {**TREE, "news": "news"}}, "tree has a cycle, 'news' -> 'news'"),
        ({"tree": ["news", "mail"]}, "tree must map every domain to its parent"),
        ({"tree": {**TREE, None: "all"}}, "tree has a node None"),
        ({"sample_weight": [float(d != "mail") for d in D]}, "the domain 'mail' has no example"),
        ({"model": CRFCV(Chain())}, r"use\s+Transfer\(CRF\(...\)\)"),
        ({"model": Chain()}, "model must be a learner"),
        ({"model": CRF(Chain(), warm_start=True)}, "starts every fit anew"),
        ({"model": CRF(Chain(), regularizer=GroupLasso(0.1))}, "does not support a GroupLasso"),
        ({"model": CRF(Chain(), regularizer=Decomposition("auto"))}, "give Decomposition a number"),
        ({"model": CRF(Chain(), solver="dual")}, "solver='dual' is compiled for the weights of one domain"),
        (
            {"model": SSVM(Chain(), kernel="rbf", kernel_options=KernelOptions(edge_kernel="rbf"))},
            "edge_kernel",
        ),
    ],
)
def test_refusals(options, message):
    given = {"model": CRF(Chain()), "domains": D, "rho": 1.0, "tree": None, "sample_weight": None, **options}
    transfer = Transfer(given["model"], rho=given["rho"], tree=given["tree"])
    with pytest.raises((ValueError, TypeError, MissingCapability), match=message):
        transfer.fit(X, Y, domains=given["domains"], sample_weight=given["sample_weight"])


def test_refusals_of_predictions():
    with pytest.raises(sklearn.exceptions.NotFittedError):
        Transfer(CRF(Chain())).predict(X, domains=D)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        Transfer(CRF(Chain())).coef_of("news")
    model = Transfer(CRF(Chain())).fit(X, Y, domains=D)
    with pytest.raises(ValueError, match=r"set_score_request\(domains=True\)"):
        model.predict(X)
    with pytest.raises(ValueError, match="domains has 3 entries, but there are 40 samples"):
        model.predict(X, domains=D[:3])
    with pytest.raises(ValueError, match=r"y\[3\]|sample 3"):
        Transfer(CRF(Chain())).fit(X[:5], [*Y[:3], ["t"], Y[4]], domains=D[:5])


def test_interrupted_fits_keep_what_was_learnt():
    def stop(step):
        raise KeyboardInterrupt

    model = Transfer(CRF(Chain(), callbacks=[stop]))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, domains=D)
    assert model.result_.reason == "interrupted" and len(model.predict(X, domains=D)) == 40


def test_ranking_has_no_labels():
    _, _, own, y = KINDS["Ranking"]
    model = Transfer(SSVM(Ranking(), l2=0.1)).fit(own, y, domains=[0, 1, 0, 1])
    found = model.predict(own, domains=[0, 1, 0, 1])
    assert [sorted(order) for order in found] == [[0, 1, 2]] * 4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ramp = Transfer(SSVM(Ranking(), l2=0.1, loss="ramp")).fit(own, y, domains=[0, 1, 0, 1])
    assert ramp.score(own, y, domains=[0, 1, 0, 1]) > 0.8
