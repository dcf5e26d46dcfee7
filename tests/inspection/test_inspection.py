"""Explanations: every margin is the sum of its terms, and every rival is the best there is."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from palmette import CRF, SSVM, Chain, Encoding, Multiclass, Perceptron
from palmette.cli import main
from palmette.datasets import make_tagging
from palmette.inspection import Explainer, NamedWeights, explain

DOCUMENTATION = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
LEARNERS = {
    "crf": CRF(Chain(), l2=0.3),
    "ssvm": SSVM(Chain(), l2=0.3),
    "perceptron": Perceptron(Chain(), max_iter=3),
    "observed": CRF(Chain(), l2=0.3, encoding=Encoding(transitions="observed"), fit_intercept=True),
    "edges": CRF(Chain(), l2=0.3, edge_features="all"),
    "second": CRF(Chain(order=2), l2=0.3),
    "constrained": CRF(Chain(allowed=[("a", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("b", "a")]), l2=0.3),
}


def possible(learner, output):
    """The output with allowed pairs only, for the learner that has such."""
    if learner != "constrained":
        return output
    return list(("abc" * len(output))[: len(output)])


def names(rng, n):
    """Sentences of dicts with words, numbers and an attribute that occurs twice."""
    return [
        [
            {"w": f"w{rng.integers(9)}", "n": float(rng.normal()), "twice": ["x", "x"]}
            for _ in range(rng.integers(1, 6))
        ]
        for _ in range(n)
    ]


def inputs(kind, rng, n=12):
    if kind == "names":
        return names(rng, n)
    dense = [rng.normal(size=(rng.integers(1, 6), 4)) for _ in range(n)]
    return dense if kind == "dense" else [sparse.csr_array(np.where(x > 0, x, 0.0)) for x in dense]


def length(x):
    return x.shape[0] if hasattr(x, "shape") else len(x)


@pytest.fixture(scope="module")
def fitted():
    """Fitted models by learner and kind of features, each made once."""
    made = {}

    def fit(learner, kind):
        if (learner, kind) not in made:
            rng = np.random.default_rng(7)
            X = inputs(kind, rng)
            Y = [[str(label) for label in rng.choice(list("abc"), size=length(x))] for x in X]
            Y = [possible(learner, y) for y in Y]
            made[learner, kind] = (
                LEARNERS[learner].__class__(**LEARNERS[learner].get_params(deep=False)).fit(X, Y),
                X,
                Y,
            )
        return made[learner, kind]

    return fit


def all_scores(model, x):
    """Score of every output of a sample, by enumeration."""
    theta = model.scorer_.score(model.coef_, model.encoder_.transform([x]))
    outputs = itertools.product(range(theta.n_labels), repeat=len(theta.node))
    return {codes: float(model.structure_.score(theta, np.array(codes))[0]) for codes in outputs}


def total(contest):
    return sum(term.contribution for term in contest.terms)


# ---------------------------------------------------------------------------------------------- the identity


@pytest.mark.parametrize("kind", ["names", "dense", "sparse"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_terms_add_up_to_the_margin_over_the_best_rival(fitted, learner, kind):
    model, X, _ = fitted(learner, kind)
    labels = list(model.classes_)
    for x in X:
        why, scores = explain(model, x), all_scores(model, x)
        assert why.labels == model.predict([x])[0]
        assert why.score == pytest.approx(max(scores.values()), abs=1e-9)
        assert why.log_probability == pytest.approx(model.log_proba([x], [why.labels])[0], abs=1e-9)
        for contest in why.contests:
            t = contest.position
            best = max(v for codes, v in scores.items() if labels[codes[t]] != contest.label)
            assert contest.margin == pytest.approx(why.score - best, abs=1e-9)
            if contest.rival is None:  # the structure allows no other label there
                assert best == -np.inf
                continue
            assert total(contest) == pytest.approx(contest.margin, abs=1e-9)
            assert contest.rival_output[t] == contest.rival != contest.label == why.labels[t]
            marginals = model.predict_marginals([x])[0][t]
            assert contest.probability == pytest.approx(marginals[labels.index(contest.label)])
            assert contest.rival_probability == pytest.approx(marginals[labels.index(contest.rival)])


@pytest.mark.parametrize("learner", ["crf", "perceptron", "edges", "second"])
def test_against_a_label_and_against_the_truth(fitted, learner):
    model, X, _ = fitted(learner, "names")
    labels = list(model.classes_)
    for x in X[:6]:
        scores = all_scores(model, x)
        for why, wanted in (
            (explain(model, x, against="b"), ["b"] * len(x)),
            (explain(model, x, truth=["c"] * len(x)), ["c"] * len(x)),
        ):
            for contest, rival in zip(why.contests, wanted):
                t = contest.position
                if contest.label == rival:  # then the runner-up
                    best = max(v for codes, v in scores.items() if labels[codes[t]] != contest.label)
                else:
                    assert contest.rival == rival
                    best = max(v for codes, v in scores.items() if labels[codes[t]] == rival)
                assert contest.margin == pytest.approx(why.score - best, abs=1e-9)
                assert total(contest) == pytest.approx(contest.margin, abs=1e-9)


@settings(max_examples=25)
@given(data=st.data())
def test_any_two_outputs_can_be_compared(fitted, data):
    learners = sorted(LEARNERS.keys() - {"constrained"})
    model, X, _ = fitted(data.draw(st.sampled_from(learners)), "names")
    x = data.draw(st.sampled_from(X))
    pair = [data.draw(st.lists(st.sampled_from("abc"), min_size=len(x), max_size=len(x))) for _ in range(2)]
    terms = Explainer(model).compare(x, *pair)
    scores, place = all_scores(model, x), {label: k for k, label in enumerate(model.classes_)}
    ours, theirs = (scores[tuple(place[label] for label in output)] for output in pair)
    assert sum(term.contribution for term in terms) == pytest.approx(ours - theirs, abs=1e-9)
    strength = [abs(term.contribution) for term in terms]
    assert strength == sorted(strength, reverse=True)
    assert all(strength), "terms that add nothing are left out"


def test_terms_name_what_the_model_has(fitted):
    model, X, _ = fitted("observed", "names")
    x = max(X, key=len)
    terms = Explainer(model).compare(x, ["a"] * len(x), ["b"] * len(x))
    assert {term.kind for term in terms} == {"feature", "bias", "transition"}
    place = {label: k for k, label in enumerate(model.classes_)}
    for term in terms:
        if term.kind == "transition":
            assert term.weight == model.transitions_[place["a"], place["a"]]
        elif term.kind == "bias":
            assert term.weight == model.intercept_[place["a"]]
        elif term.name == "n":
            assert term.value == x[term.position]["n"]
        elif term.name == "twice:x":
            assert term.value == 2.0, "values of one attribute add"


def test_edge_features_and_triples_are_terms(fitted):
    model, X, _ = fitted("edges", "names")
    x = max(X, key=len)
    terms = Explainer(model).compare(x, ["a"] * len(x), ["b"] * len(x))
    of_edges = [term for term in terms if term.kind == "edge feature"]
    assert of_edges and all(
        term.labels == ("a", "a") and term.rival_labels == ("b", "b") for term in of_edges
    )
    assert all(term.position >= 1 for term in of_edges)
    (weight, *_), _ = NamedWeights(model).strongest_edge_features(1)
    assert (
        weight.value == model.coef_[model.scorer_.blocks["edge_features"]].max() and len(weight.labels) == 2
    )
    model, X, _ = fitted("second", "names")
    terms = Explainer(model).compare(x, ["a"] * len(x), ["b"] * len(x))
    assert any(term.labels == ("a", "a", "a") for term in terms)
    assert any(len(weight.labels) == 3 for weight in NamedWeights(model).strongest_transitions(50)[0])


@pytest.mark.parametrize("kind", ["names", "dense"])
def test_multiclass(rng, kind):
    rows = [{"w": f"w{rng.integers(4)}"} for _ in range(30)] if kind == "names" else rng.normal(size=(30, 3))
    model = CRF(Multiclass()).fit(rows, rng.integers(3, size=30))
    why = explain(model, rows[0])
    (contest,) = why.contests
    p = np.sort(model.predict_proba(rows[:1])[0])
    assert contest.margin == pytest.approx(np.log(p[-1] / p[-2])) == total(contest)
    assert not any(term.kind == "transition" for term in contest.terms)


# ------------------------------------------------------------------------------------------------- the edges


def test_nothing_to_compare_with():
    model = CRF(Chain()).fit([[["x"], ["y"]]], [["only", "only"]])
    why = explain(model, [["x"]])
    assert (why.contests[0].rival, why.contests[0].margin, why.contests[0].terms) == (None, float("inf"), ())
    assert "only over nothing else" in why.format(["x"])
    json.dumps(why.to_dict())


def test_empty_sequence_and_unknown_features(fitted):
    model, _, _ = fitted("crf", "names")
    assert explain(model, []).contests == ()
    why = explain(model, [{"w": "never seen"}])
    assert total(why.contests[0]) == pytest.approx(why.contests[0].margin)


def test_truth_that_the_model_does_not_know(fitted):
    model, X, _ = fitted("crf", "names")
    why = explain(model, X[0], truth=["z"] * len(X[0]))
    assert all(contest.rival is None and contest.margin == float("inf") for contest in why.contests)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"against": "z"}, "no label 'z'; it has a, b, c"),
        ({"truth": ["a"]}, "truth has 1 labels, x has"),
        ({"against": "a", "truth": []}, "exclude each other"),
    ],
)
def test_bad_input(fitted, options, message):
    model, X, _ = fitted("crf", "names")
    with pytest.raises(ValueError, match=message):
        explain(model, max(X, key=len), **options)


def test_compare_checks_lengths(fitted):
    model, X, _ = fitted("crf", "names")
    with pytest.raises(ValueError, match="labels has 0 labels, x has"):
        Explainer(model).compare(X[0], [], [])


def test_not_fitted():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        explain(CRF(Chain()), [["a"]])


# ---------------------------------------------------------------------------------------------------- texts


def test_text_says_all_terms(fitted):
    model, X, _ = fitted("crf", "names")
    x = max(X, key=len)
    why = explain(model, x)
    text = why.format([token["w"] for token in x], top=2, truth=["a"] * len(x))
    blocks = text.split("\n\n")[1:]
    assert len(blocks) == len(x)
    for block, contest in zip(blocks, why.contests):
        margin = float(re.search(r"by ([+-][\d.]+)", block)[1])
        terms = [float(number) for number in re.findall(r"^ +([+-][\d.]+)  ", block, re.MULTILINE)]
        assert sum(terms) == pytest.approx(margin, abs=1e-3) and len(terms) <= 3
        assert ("true a" in block) is (contest.label != "a")


def test_other_learners_are_not_calibrated(fitted):
    for learner, calibrated in (("crf", True), ("ssvm", False), ("perceptron", False)):
        model, X, _ = fitted(learner, "names")
        why = explain(model, X[0])
        assert why.calibrated is calibrated
        assert ("not calibrated" in why.format()) is not calibrated


# -------------------------------------------------------------------------------------------------- weights


def test_strongest_weights_are_the_strongest(fitted):
    model, _, _ = fitted("observed", "names")
    weights = NamedWeights(model)
    table = weights.features.toarray()
    column, label = model.scorer_.coordinates()
    assert np.array_equal(table[column, label], model.coef_[model.scorer_.blocks["node"]])
    everything = np.sort(np.concatenate([table.ravel(), model.intercept_]))
    strongest, weakest = weights.strongest_features(4)
    assert [w.value for w in strongest] == pytest.approx(everything[::-1][:4])
    assert [w.value for w in weakest] == pytest.approx(everything[:4])
    for code, name in enumerate(weights.labels):
        speak_for, speak_against = weights.of_label(name, 3)
        own = np.sort(table[:, code])
        assert [w.value for w in speak_for] == pytest.approx([v for v in own[::-1][:3] if v > 0])
        assert [w.value for w in speak_against] == pytest.approx([v for v in own[:3] if v < 0])
        for weight in [*speak_for, *speak_against]:
            assert table[model.encoder_.feature_names.index(weight.feature), code] == weight.value
    pairs, _ = weights.strongest_transitions(1)
    i, j = (weights.labels.index(name) for name in pairs[0].labels)
    assert model.transitions_[i, j] == model.transitions_.max() == pairs[0].value


# --------------------------------------------------------------------------------------------- the command


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("why")
    X, Y = make_tagging(40, 3, 30, random_state=0)
    lines = ["".join(f"{t['w']} {t['w'][-1]} {tag}\n" for t, tag in zip(x, y)) for x, y in zip(X, Y)]
    (folder / "train.txt").write_text("\n".join(lines[:30]))
    (folder / "test.txt").write_text("\n".join(lines[30:]))
    (folder / "template").write_text("U0:%x[0,0]\nU1:%x[-1,0]\nB\n")
    train, model, template = (str(folder / name) for name in ("train.txt", "model", "template"))
    assert main(["train", train, "--model", model, "--template", template, "--jobs", "1"]) == 0
    return folder


def test_why_explains_a_file_a_sentence_or_a_token(run):
    record = json.loads(run("inspect", "model", "--why", "test.txt", "--json")[1])
    assert [each["sentence"] for each in record["sentences"]] == list(range(1, 11))
    for each in record["sentences"]:
        assert len(each["labels"]) == len(each["tokens"]) == len(each["true"]) == len(each["contests"])
        for contest in each["contests"]:
            assert sum(term["contribution"] for term in contest["terms"]) == pytest.approx(contest["margin"])
    first = record["sentences"][0]
    section = DOCUMENTATION.split("### Explaining predictions")[1].split("\n## ")[0]
    for keys in (record, first, first["contests"][0], first["contests"][0]["terms"][0]):
        assert [key for key in keys if f"`{key}`" not in section] == []
    (one,) = json.loads(run("inspect", "model", "--why", "test.txt:3", "--json")[1])["sentences"]
    assert one == record["sentences"][2]
    (part,) = json.loads(run("inspect", "model", "--why", "test.txt:3:2", "--json")[1])["sentences"]
    assert part["contests"] == one["contests"][1:2]
    code, out, err = run("inspect", "model", "--why", "test.txt:3:2", "--top", 1)
    assert (code, err) == (0, "")
    assert out.startswith("sentence 3 (test.txt:") and out.count(" over ") == 1


def test_why_against(run):
    (plain,) = json.loads(run("inspect", "model", "--why", "test.txt:2", "--json")[1])["sentences"]
    (other,) = json.loads(run("inspect", "model", "--why", "test.txt:2", "--against", "T2", "--json")[1])[
        "sentences"
    ]
    for contest in other["contests"]:
        assert contest["rival"] == "T2" or contest["label"] == "T2"
    (truth,) = json.loads(run("inspect", "model", "--why", "test.txt:2", "--against-truth", "--json")[1])[
        "sentences"
    ]
    for contest, label in zip(truth["contests"], plain["true"]):
        assert contest["rival"] == label or contest["label"] == label


def test_why_of_standard_input_without_labels(run, monkeypatch):
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"w1 1\nw2 2\n")))
    code, out, _ = run("inspect", "model", "--why", "-")
    assert (
        code == 0
        and out.startswith("sentence 1 (<stdin>:1)")
        and out.count(" over ") == 2
        and "true" not in out
    )


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--why", "absent.txt:1"], "absent.txt: No such file"),
        (["--why", "test.txt:11"], "test.txt has no sentence 11; it has 10, counted from 1"),
        (["--why", "test.txt:1:99"], "sentence 1 of test.txt has no token 99"),
        (["--why", "test.txt:0"], "test.txt has no sentence 0"),
        (["--why", "test.txt", "--against", "T9"], "the model has no label 'T9'; it has T0, T1, T2"),
        (["--why", "test.txt", "--against", "T0", "--against-truth"], "exclude each other"),
        (["--against", "T0"], "give --why FILE too"),
        (["--why", "bare.txt", "--against-truth"], "bare.txt:1: --against-truth needs the true labels"),
    ],
)
def test_why_with_bad_input(run, folder, arguments, message):
    (folder / "bare.txt").write_text("w1 1\n")
    code, out, err = run("inspect", "model", *arguments)
    assert (code, out) == (2, "") and message in err


def test_a_file_may_have_a_colon_in_its_name(run, folder):
    (folder / "odd:7").write_text("w1 1 T0\n")
    assert run("inspect", "model", "--why", "odd:7")[1].startswith("sentence 1 (odd:7:1)")
