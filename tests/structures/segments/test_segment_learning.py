"""Learning segments: what users give and get, weights and their gradients, all learners, model files, real data."""

from __future__ import annotations

import io
import pickle
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import palmette
from palmette import CRF, SSVM, UNKNOWN, Chain, Encoding, Perceptron, SemiMarkov
from palmette.datasets import load_conll2000, make_tagging
from palmette.errors import ModelFileError
from palmette.estimators.training import encode_training, layout_weights
from palmette.executors.threads import ThreadExecutor
from palmette.loops import find
from palmette.losses import Hamming, ZeroOne, resolve_loss
from palmette.metrics import chunk_report
from palmette.objectives.risk import Risk
from palmette.regularizers.elastic import ElasticNet
from palmette.structures.segments.codec import SegmentCodec
from palmette.surrogates import Hinge, LogLoss, PerceptronLoss
from palmette.testing import check_structured_estimator

LEARNERS = [CRF, SSVM, Perceptron]
WORDS = "the a old new york london river thames pub station of in".split()
NAMES = {"york": "city", "london": "city", "thames": "water", "river": "water"}


def close_fit(learner, structure, **options):
    """A learner that gets its training data right."""
    return learner(structure, **options) if learner is Perceptron else learner(structure, l2=0.02, **options)


def segment_words(sequence, start, stop):
    """The words of a segment as one feature, and whether it begins with a name."""
    words = [position[0] for position in sequence[start:stop]]
    return {"words": " ".join(words), "named": words[0] in NAMES}


def segment_text(sequence, start, stop):
    return [" ".join(position[0] for position in sequence[start:stop])]


@pytest.fixture(scope="module")
def places():
    """Sentences in which 'new york', 'old london' and 'river thames' are names of one kind or another."""
    rng = np.random.default_rng(0)
    X, Y = [], []
    for _ in range(24):
        words = rng.choice(WORDS, rng.integers(1, 8)).tolist()
        segments, t = [], 0
        while t < len(words):
            stop = t + 1
            if words[t] in ("old", "new", "river") and stop < len(words) and words[stop] in NAMES:
                stop += 1
            if words[stop - 1] in NAMES:
                segments.append((t, stop, NAMES[words[stop - 1]]))
            t = stop
        X.append([[word] for word in words])
        Y.append(segments)
    return X, Y


def iob2(X, Y):
    out = []
    for x, segments in zip(X, Y):
        tags = ["O"] * len(x)
        for start, stop, label in segments:
            tags[start:stop] = [f"B-{label}", *[f"I-{label}"] * (stop - start - 1)]
        out.append(tags)
    return out


# ----------------------------------------------------------------------------------------- what users give and get


@pytest.mark.parametrize("learner", LEARNERS)
def test_predictions_have_the_form_of_the_training_data(places, learner):
    X, Y = places
    model = close_fit(learner, SemiMarkov(3)).fit(X, Y)
    assert model.predict(X) == Y and model.score(X, Y) == 1.0
    assert model.predict([[], X[0]]) == [[], Y[0]]
    tags = iob2(X, Y)
    again = close_fit(learner, SemiMarkov(3)).fit(X, tags)
    assert again.predict(X) == tags and again.score(X, tags) == 1.0
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert list(model.classes_) == ["O", "city", "water"]
    assert model.predict_nbest(X, 1)[0][0][0] == Y[0] and again.predict_nbest(X, 1)[0][0][0] == tags[0]


def test_outside_segments_are_shown_where_they_were_given(places):
    X, Y = places
    whole = [
        sorted([*y, *((t, t + 1, "O") for t in range(len(x)) if not any(a <= t < b for a, b, _ in y))])
        for x, y in zip(X, Y)
    ]
    model = close_fit(CRF, SemiMarkov(3)).fit(X, whole)
    assert model.predict(X) == whole
    plain = close_fit(CRF, SemiMarkov(3)).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_allclose(plain.log_proba(X, plain.predict(X)), model.log_proba(X, model.predict(X)))


def test_segments_come_in_any_order_and_of_any_integers():
    codec = SegmentCodec(["x", "O"], np.array([3, 1]), "segments", shown=False)
    given = [[(np.int64(3), np.int32(5), "x"), [0, 2, "x"]], []]
    codes = codec.encode_outputs(given, [5, 1])
    np.testing.assert_array_equal(codes, [0, 2, 1, 0, 2, 1])
    assert codec.decode(codes[:5]) == [(0, 2, "x"), (3, 5, "x")]


def test_words_are_segments_without_anything_outside():
    X = [[[c] for c in word] for word in ("abab", "ab", "b")]
    Y = [["B", "I", "B", "I"], ["B", "I"], ["B"]]
    for outside in ("O", None):
        for learner in LEARNERS:
            model = learner(SemiMarkov(2, outside=outside)).fit(X, Y)
            assert model.predict(X) == Y, "one label: boundaries are all there is to learn"
            assert list(model.classes_) == [""]


def test_lengths_of_labels():
    structure = SemiMarkov({"NP": 5, None: 2})
    np.testing.assert_array_equal(structure.longest(("NP", "O", "VP")), [5, 2, 2])
    np.testing.assert_array_equal(SemiMarkov(4).longest(("NP", "O")), [4, 1])
    np.testing.assert_array_equal(SemiMarkov(4, outside=None).longest(("NP", "O")), [4, 4])
    X, Y = [[["a"]] * 6], [[(0, 5, "NP"), (5, 6, "O")]]
    assert CRF(structure).fit(X, Y).predict(X)


@pytest.mark.parametrize(
    ("structure", "y", "error", "message"),
    [
        (
            SemiMarkov(2),
            [[(0, 2, "x"), (1, 3, "x")]],
            ValueError,
            r"y\[0\]\[0\] = \(0, 2, 'x'\) and .*overlap",
        ),
        (
            SemiMarkov(2, outside=None),
            [[(0, 1, "x")]],
            ValueError,
            r"y\[0\]: no segment covers .* 1..3 of 4",
        ),
        (
            SemiMarkov(2),
            [[(0, 3, "x")]],
            ValueError,
            r"y\[0\]\[0\].*has 3 positions, but max_length of 'x' is 2",
        ),
        (SemiMarkov(2), [[(0, 2, "O")]], ValueError, r"max_length of 'O' is 1"),
        (SemiMarkov(2), [["B-x", "I-x", "I-x", "O"]], ValueError, r"y\[0\]\[0\].*3 positions"),
        (SemiMarkov(2), [[(3, 5, "x")]], ValueError, r"y\[0\]\[0\] = \(3, 5, 'x'\).*4 positions"),
        (SemiMarkov(2), [[(1, 1, "x")]], ValueError, r"0 <= start < stop"),
        (SemiMarkov(2), [[(0.0, 1, "x")]], TypeError, r"y\[0\]\[0\].*integers"),
        (SemiMarkov(2), [[(0, 1)]], TypeError, r"y\[0\]\[0\] is \(0, 1\), expected a segment"),
        (SemiMarkov(2), [[(0, 1, ["x"])]], TypeError, r"needs a label"),
        (SemiMarkov(2), [[(0, 4, UNKNOWN)]], ValueError, r"no label at all"),
        (SemiMarkov(2), [[(0, 1, "x"), "O"]], TypeError, r"y\[0\]\[1\] is 'O', expected a segment"),
        (SemiMarkov(2), ["BIIO"], TypeError, r"y\[0\] must be a list of segments"),
        (SemiMarkov(2), [["B-x", "O"]], ValueError, r"X\[0\] has 4 positions but y\[0\] has 2 labels"),
        (
            SemiMarkov(2),
            [["O", "I-x", "O", "O"]],
            ValueError,
            r"y\[0\]\[1\] is 'I-x', but no segment of 'x' is open",
        ),
        (SemiMarkov(2), [["B-x", "I-y", "O", "O"]], ValueError, r"y\[0\]\[1\] is 'I-y'"),
        (
            SemiMarkov(2),
            [["B-x", "E-x", "O", "O"]],
            ValueError,
            r"y\[0\]\[1\] is 'E-x', which is not an IOB2 label",
        ),
        (
            SemiMarkov(2),
            [["O", UNKNOWN, "x", "O"]],
            ValueError,
            r"y\[0\]\[2\] is 'x', which is not an IOB2 label",
        ),
        (SemiMarkov(2), [[], []], ValueError, r"X has 1 samples but y has 2"),
        (SemiMarkov(0), [[(0, 1, "x")]], ValueError, r"max_length must be an integer of at least 1, got 0"),
        (SemiMarkov({"x": 1.5}), [[(0, 1, "x")]], ValueError, r"max_length of label 'x' must be an integer"),
        (SemiMarkov({"x": 2}), [[(0, 1, "x")]], ValueError, r"no entry for the label 'O'"),
        (
            SemiMarkov(2, "words"),
            [[(0, 1, "x")]],
            TypeError,
            r"segment_features must be a function",
        ),
        (
            SemiMarkov(2, lambda *_: 1),
            [[(0, 1, "x")]],
            TypeError,
            r"segment_features\(X\[0\], 0, 1\): expected a dict",
        ),
        (SemiMarkov(2, lambda *_: []), [[(0, 1, "x")]], ValueError, r"segment_features: X has no features"),
        (
            SemiMarkov(2, lambda x, a, b: {"n": np.nan if a else 1.0}),
            [[(0, 1, "x")]],
            ValueError,
            r"segment_features\(X\[0\], 1, 2\): attribute 'n' is not finite",
        ),
    ],
)
def test_bad_outputs_are_refused(structure, y, error, message):
    with pytest.raises(error, match=message):
        CRF(structure).fit([[["a"], ["b"], ["c"], ["d"]]], y)


def test_labels_that_the_model_does_not_know(places):
    X, Y = places
    model = CRF(SemiMarkov(3)).fit(X, Y)
    with pytest.raises(ValueError, match=r"unknown label 'person' at y\[0\]\[0\]"):
        model.log_proba(X[:1], [[(0, 1, "person")]])
    assert 0.0 <= model.score(X[:1], [[(0, 1, "person")]]) < 1.0


# ------------------------------------------------------------------------------------------- weights and gradients

KINDS = ["names", "dense", "sparse", "with segments"]


def tokens_of(kind, X):
    if kind in ("names", "with segments"):
        return X
    dense = [np.array([[float(w == position[0]) for w in WORDS] for position in x]) for x in X]
    return dense if kind == "dense" else [sparse.csr_array(x) for x in dense]


@contextmanager
def problem_of(kind, X, Y, surrogate=None, l2=0.5, **options):
    structure = SemiMarkov({"city": 3, None: 2}, segment_words if kind == "with segments" else None)
    data = encode_training(tokens_of(kind, X), Y, structure, None, None)
    scorer = layout_weights(CRF(structure, **options), data)
    penalty = ElasticNet(np.full(scorer.n_params, l2), np.zeros(scorer.n_params))
    with ThreadExecutor(1) as executor:
        yield Risk(structure, scorer, surrogate or LogLoss(), data.samples, penalty, executor)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"encoding": Encoding(transitions="observed")},
        {"encoding": Encoding(states="all"), "fit_intercept": True},
    ],
)
def test_pull_back_is_the_adjoint_of_score(places, rng, kind, options):
    with problem_of(kind, *places, **options) as problem:
        scorer, batch = problem.scorer, problem.samples.batch
        w, out = rng.normal(size=scorer.n_params), np.zeros(scorer.n_params)
        theta = scorer.score(w, batch)
        theta.check()
        counts = problem.structure.expectation(theta).counts  # zero where a segment would leave its sample
        scorer.pull_back(counts, batch, out)
        assert theta.dot(counts) == pytest.approx(w @ out, rel=1e-10)
        blocks = scorer.blocks
        assert blocks["begin"].stop > blocks["begin"].start
        assert ("segment" in blocks) == (kind == "with segments")
        assert sorted(p for place in blocks.values() for p in range(place.start, place.stop)) == list(
            range(len(w))
        )


@pytest.mark.parametrize("kind", KINDS)
def test_gradient_of_the_log_loss(places, rng, kind):
    with problem_of(kind, *places) as problem:
        w, direction = rng.normal(size=problem.n_params), rng.normal(size=problem.n_params)
        slope = problem.loss(w)[1] @ direction
        h = 1e-5
        rise = problem.loss(w + h * direction)[0] - problem.loss(w - h * direction)[0]
        assert rise / (2 * h) == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("surrogate", ["log", "hinge", "zero_one", "perceptron"])
def test_one_sample_at_a_time_adds_up_to_all(places, rng, surrogate):
    made = {"log": LogLoss(), "perceptron": PerceptronLoss()}.get(surrogate)
    if made is None:
        loss = Hamming({"city": 2.0}) if surrogate == "hinge" else ZeroOne()
        made = Hinge(resolve_loss(loss, SemiMarkov(3), ("O", "city", "water")))
    with problem_of("with segments", *places, made) as problem:
        assert find("stochastic", problem) is None
        w = rng.normal(size=problem.n_params)
        value, gradient = problem.loss(w)
        total, summed = 0.0, np.zeros_like(w)
        for i in range(problem.n_samples):
            own, counts, batch = problem.sample_loss(i, w)
            before = summed.copy()
            problem.scorer.pull_back(counts, batch, summed)
            changed = np.flatnonzero(summed != before)
            assert set(changed) <= set(problem.scorer.touched(batch).tolist())
            total += own
        assert total == pytest.approx(value)
        np.testing.assert_allclose(summed, gradient, atol=1e-9)


def test_hinge_bounds_the_task_loss(places, rng):
    loss = resolve_loss("hamming", SemiMarkov(3), ("O", "city", "water"))
    with problem_of("names", *places, Hinge(loss)) as problem:
        samples, structure = problem.samples, problem.structure
        theta = problem.scorer.score(rng.normal(size=problem.n_params), samples.batch)
        values = problem.surrogate.evaluate(structure, theta, samples.codes, samples.weight).values
        wrong = loss.value(structure, theta, samples.codes, structure.best(theta).codes)
        assert np.all(values >= wrong - 1e-9) and wrong.max() > 0
        np.testing.assert_array_equal(loss.value(structure, theta, samples.codes, samples.codes), 0.0)


def test_a_mistake_of_boundaries_alone_is_a_mistake():
    X, Y = [[["a"], ["a"]]], [["B-x", "I-x"]]
    model = Perceptron(SemiMarkov(2)).fit(X, Y)  # zero weights predict two segments, whose labels are right
    assert model.predict(X) == Y and model.result_.history[0].primal >= 0.0 and len(model.result_.history) > 1


# ------------------------------------------------------------------------------------------------ identities


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("named", [True, False])
def test_segments_of_one_position_learn_what_a_chain_learns(learner, named):
    X, Y = make_tagging(12, 3, 15, random_state=0)
    if not named:
        X = [np.array([[len(word) for word in position][:1] for position in x], float) for x in X]
    segments = [[(t, t + 1, label) for t, label in enumerate(y)] for y in Y]
    options = {"max_iter": 3} if learner is Perceptron else {"tol": 1e-7, "l2": 0.5}
    if learner is SSVM:
        options["solver"] = "bundle"
    chain = learner(Chain(), **options).fit(X, Y)
    ours = learner(SemiMarkov(1, outside=None), **options).fit(X, segments)
    assert ours.scorer_.blocks == chain.scorer_.blocks
    np.testing.assert_allclose(ours.coef_, chain.coef_, atol=1e-3 if learner is SSVM else 1e-6)
    np.testing.assert_allclose(ours.objective_, chain.objective_, rtol=1e-6)
    assert [[label for _, _, label in y] for y in ours.predict(X)] == chain.predict(X)


def test_all_solvers_agree(places):
    X, Y = places
    X, Y = X[:12], Y[:12]
    crf = [CRF(SemiMarkov(3), solver=solver, tol=1e-5).fit(X, Y) for solver in ("lbfgs", "bundle")]
    assert crf[0].objective_ == pytest.approx(crf[1].objective_, rel=1e-4)
    for task_loss in ("hamming", "zero_one"):
        ssvm = [
            SSVM(SemiMarkov(3), solver=solver, task_loss=task_loss, tol=1e-2).fit(X, Y)
            for solver in ("auto", "frank_wolfe")
        ]
        assert ssvm[0].objective_ == pytest.approx(ssvm[1].objective_, rel=1e-2)
        assert all(model.result_.converged for model in ssvm)


def test_features_of_segments_are_learnt(places):
    X, Y = places
    swapped = [
        [(a, b, {"city": "water", "water": "city"}[k] if b - a == 2 else k) for a, b, k in y] for y in Y
    ]
    model = CRF(SemiMarkov(2, segment_words), l2=0.1).fit(X, swapped)
    assert model.predict(X) == swapped
    names = model.encoder_.feature_names
    assert names[0] in WORDS and any(name.startswith("segment words:") for name in names)
    block = model.scorer_.blocks["segment"]
    assert np.abs(model.coef_[block]).max() > 0.1
    # only (feature, label) pairs of true segments have a weight
    assert block.stop - block.start < model.encoder_.segments.n_columns * len(model.classes_)


# --------------------------------------------------------------------------------- the contract of estimators


@pytest.mark.parametrize(
    ("learner", "form"),
    [(CRF, "segments"), (SSVM, "segments"), (Perceptron, "segments"), (CRF, "iob2"), (CRF, "features")],
)
def test_the_contract_of_estimators(places, learner, form):
    X, Y = places
    options = {"max_iter": 2} if learner is Perceptron else {"tol": 1e-2}
    model = learner(SemiMarkov(3), **options)
    if form == "features":
        model = Loads(SemiMarkov(3, segment_text), **options)
    check_structured_estimator(model, X[:8], iob2(X, Y)[:8] if form == "iob2" else Y[:8])


class Loads(CRF):
    """A CRF whose files are read with the function that they cannot hold."""

    def save(self, path):
        replaced = CRF(**self.get_params(deep=False))
        vars(replaced).update(vars(self))
        replaced.save(path)

    @classmethod
    def load(cls, path):
        return CRF.load(path, segment_features=segment_text)


def test_marginals_of_segments_and_tokens(places):
    X, Y = places
    model = CRF(SemiMarkov(3), l2=0.1).fit(X, Y)
    tokens = model.predict_marginals(X[:2])
    theta = model.scorer_.score(model.coef_, model.encoder_.transform(X[:2]))
    found = model.structure.marginals(theta)
    np.testing.assert_allclose(np.concatenate(tokens), found.node, atol=1e-12)
    codes = model.codec_.encode_outputs(Y[:2], [len(x) for x in X[:2]])
    counts = model.structure.count(theta, codes)
    assert found.segment[counts.segment == 1].min() > 0.3, "the true segments are the probable ones"


# ------------------------------------------------------------------------------ warm starts, batches, files


@pytest.mark.parametrize("learner", LEARNERS)
def test_warm_start_goes_on(places, learner):
    X, Y = places
    model = close_fit(learner, SemiMarkov(3, segment_words), warm_start=True).fit(X, Y)
    before = model.coef_.copy()
    again = model.fit([*X[3:], [["unseen"], ["york"]]], [*Y[3:], [(1, 2, "city")]])
    assert again.predict(X[3:]) == Y[3:]
    if learner is CRF:  # the same data as at first, and nothing to do but to move columns
        model.fit(X[::-1], Y[::-1])
        model.fit(X, Y)
        assert model.n_iter_ < 30
        np.testing.assert_allclose(model.coef_, before, atol=0.2)


def test_weights_move_with_their_names(places, rng):
    X, Y = places
    structure = SemiMarkov(3, segment_words)
    first, second = (encode_training(x, y, structure, None, None) for x, y in ((X, Y), (X[::-1], Y[::-1])))
    old, new = (layout_weights(CRF(structure), data) for data in (first, second))
    place = {name: i for i, name in enumerate(second.encoder.feature_names)}
    columns = np.array([place[name] for name in first.encoder.feature_names])
    w = rng.normal(size=old.n_params)
    moved = new.carry_over(old, w, np.arange(3), columns)
    assert sorted(moved) == sorted(w)
    ours = old.score(w, first.samples.batch)
    theirs = new.score(moved, first.samples.batch.__class__(**vars(second.encoder.transform(X))))
    np.testing.assert_allclose(ours.node, theirs.node)
    np.testing.assert_allclose(ours.segment, theirs.segment)


def test_a_perceptron_learns_batch_by_batch(places):
    X, Y = places
    model = Perceptron(SemiMarkov(3, segment_words), classes=["O", "city", "water"])
    for _ in range(8):
        for start in (0, 8, 16):
            model.partial_fit(X[start : start + 8], Y[start : start + 8])
    assert model.score(X, Y) > 0.95
    file = io.BytesIO()
    model.save(file)
    loaded = Perceptron.load(file, segment_features=segment_words)
    loaded.partial_fit(X, Y)
    assert loaded.score(X, Y) > 0.95


@pytest.mark.parametrize("function", [None, segment_words])
@pytest.mark.parametrize("max_length", [3, {"city": 3, None: 2}])
def test_models_survive_files(places, function, max_length):
    X, Y = places
    model = SSVM(SemiMarkov(max_length, function), tol=1e-2).fit(X, Y)
    file = io.BytesIO()
    model.save(file)
    loaded = palmette.load(file, segment_features=function)
    assert loaded.predict(X) == model.predict(X)
    np.testing.assert_array_equal(loaded.predict_marginals(X)[0], model.predict_marginals(X)[0])
    assert loaded.structure.max_length == max_length and loaded.structure.segment_features is function
    assert pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)


def test_functions_are_given_again(places):
    X, Y = places
    file = io.BytesIO()
    CRF(SemiMarkov(3, segment_words)).fit(X, Y).save(file)
    with pytest.raises(
        ModelFileError, match=r"segment_features=segment_words.*load\(path, segment_features="
    ):
        palmette.load(file)
    file = io.BytesIO()
    CRF(SemiMarkov(3)).fit(X, Y).save(file)
    with pytest.raises(ValueError, match="fitted without segment_features"):
        palmette.load(file, segment_features=segment_words)


def test_inputs_can_be_encoded_once(places):
    X, Y = places
    model = close_fit(CRF, SemiMarkov(3, segment_words))
    encoded = model.encode(X)
    assert model.fit(encoded, Y).predict(encoded) == Y
    for other in (SemiMarkov(3), SemiMarkov(4, segment_words)):
        with pytest.raises(ValueError, match="X was encoded with segment_features"):
            CRF(other).fit(encoded, Y)
    assert close_fit(CRF, SemiMarkov(2, segment_words)).fit(encoded, Y).predict(encoded) == Y


def test_a_stream_of_sentences(places):
    X, Y = places
    model = close_fit(CRF, SemiMarkov(3, segment_words)).fit(iter(X), Y)
    assert model.predict(iter(X)) == Y


def test_damaged_files_are_refused(places):
    model = CRF(SemiMarkov(3)).fit(*places)
    scorer = model.scorer_
    for broken in (
        replace(scorer, longest=np.array([1, 1])),
        replace(scorer, others={}),
        replace(scorer, others={**scorer.others, "end": replace(scorer.others["end"], n_columns=1)}),
    ):
        with pytest.raises(ValueError):
            broken.check()
    state = model.codec_.state()
    for key in state:
        with pytest.raises(ModelFileError, match="damaged"):
            SegmentCodec.from_state({k: v for k, v in state.items() if k != key})


# ------------------------------------------------------------------------------------------------- real data


def chunk_features(sentence):
    words, tags = zip(*sentence)
    padded, pos = ["", *map(str.lower, words), ""], ["", *tags, ""]
    return [
        [f"w{o}={padded[t + o]}" for o in (-1, 0, 1)] + [f"p{o}={pos[t + o]}" for o in (-1, 0, 1)]
        for t in range(1, len(words) + 1)
    ]


@pytest.mark.data
def test_chunking_with_segments():
    train, test = load_conll2000("train"), load_conll2000("test")
    X, Y = [chunk_features(s) for s in train.data[:200]], train.target[:200]
    X_test, Y_test = [chunk_features(s) for s in test.data[:200]], test.target[:200]
    scores = {}
    for name, model in {
        "CRF": CRF(SemiMarkov(8), tol=1e-2),
        "SSVM": SSVM(SemiMarkov(8), tol=0.3),
        "Perceptron": Perceptron(SemiMarkov(8), max_iter=3),
        "chain": CRF(Chain(), tol=1e-2),
    }.items():
        scores[name] = chunk_report(Y_test, model.fit(X, Y).predict(X_test)).overall.f1
    assert min(scores.values()) > 0.83, scores
    assert scores["CRF"] > scores["chain"] - 0.01, scores
