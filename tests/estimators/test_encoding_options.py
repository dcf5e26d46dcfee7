"""Settings of encoding in learners: streams, rare and hashed features, pruned models, inputs encoded before."""

from __future__ import annotations

import io
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

import palmette
from palmette import CRF, SSVM, Chain, Encoding, Multiclass, Perceptron, SemiMarkov
from palmette.datasets import make_chains, make_tagging
from palmette.features import ColumnSentences, EncodedInputs, make_encoder
from palmette.features.choose_encoder import admitted
from palmette.features.hashed import HashedNamesEncoder
from palmette.features.named_rows import Stream

TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[0,0]/%s[1,0,1]\nB"


@pytest.fixture(scope="module")
def tagging():
    """Tagged sentences as dicts, and as columns."""
    X, Y = make_tagging(60, 3, 30, random_state=0)
    return X, Y, [[(token["w"],) for token in x] for x in X]


def fitted(model, X, y):
    return model.set_params(n_jobs=1, random_state=0).fit(X, y)


# -------------------------------------------------------------------------------------------------- streams


@pytest.mark.parametrize("learner", [CRF, SSVM, Perceptron])
def test_a_stream_gives_the_model_of_the_list(tagging, learner):
    X, Y, _ = tagging
    listed = fitted(learner(Chain(), tol=1e-2), X, Y)
    streamed = fitted(learner(Chain(), tol=1e-2), (x for x in X), (y for y in Y))
    np.testing.assert_array_equal(listed.coef_, streamed.coef_)
    assert listed.encoder_.feature_names == streamed.encoder_.feature_names
    assert streamed.predict(x for x in X) == listed.predict(X)
    nested = fitted(learner(Chain(), tol=1e-2), (iter(x) for x in X), Y)
    np.testing.assert_array_equal(listed.coef_, nested.coef_)


positions = st.one_of(
    st.lists(st.sampled_from(["a", "b\n", "é"]), max_size=3),
    st.dictionaries(
        st.sampled_from("kl"), st.sampled_from(["x", "y\n", 1, 0, 2.5, True, ["u", "v"]]), max_size=2
    ),
)


@given(st.lists(st.lists(positions, min_size=1, max_size=3), min_size=1, max_size=130), st.integers(1, 3))
@settings(max_examples=25)
def test_pieces_of_a_stream_are_encoded_as_the_whole(X, n):
    """Some hundred samples, so that some come after those that were looked at."""
    X = [[["always"]], *X * n]
    encoder, other = make_encoder(X, "sequences"), make_encoder(X, "sequences")
    whole, parts = encoder.fit_transform(X), other.fit_transform(Stream(iter(X)))
    assert encoder.feature_names == other.feature_names
    for name in ("indptr", "indices", "values"):
        np.testing.assert_array_equal(getattr(whole.rows, name), getattr(parts.rows, name))
    np.testing.assert_array_equal(whole.offsets, parts.offsets)


def test_features_of_a_stream_are_not_kept(monkeypatch):
    monkeypatch.setattr("palmette.features.named_rows._POSITIONS_A_PIECE", 50)
    alive, most = 0, 0

    class Position(list):
        def __init__(self, names):
            nonlocal alive, most
            super().__init__(names)
            alive += 1
            most = max(most, alive)

        def __del__(self):
            nonlocal alive
            alive -= 1

    X = ([Position([f"w{t}", "b"]) for t in range(5)] for _ in range(1000))
    encoder = make_encoder([[["w"]]], "sequences")
    batch = encoder.fit_transform(admitted(X, "sequences"))
    assert batch.n_rows == 5000
    assert most < 1000  # of the 5000: those that were looked at first, and one piece


def test_streams_of_arrays_become_lists(rng):
    arrays = [rng.normal(size=(3, 2)) for _ in range(4)]
    assert isinstance(admitted(iter(arrays), "sequences"), list)
    model = CRF(Chain()).fit(iter(arrays), [["a", "b", "a"]] * 4)
    assert model.encoder_.kind == "dense"


def test_errors_of_streams_name_the_sample(tagging):
    X, Y, _ = tagging
    with pytest.raises(ValueError, match="X has 60 samples but y has 59"):
        CRF(Chain()).fit((x for x in X), Y[1:])
    with pytest.raises(ValueError, match=r"sample 0: X\[0\] has \d+ positions but y\[0\] has 1 labels"):
        CRF(Chain()).fit((x for x in X), [["a"], *Y[1:]])
    bad = [*X[:40] * 30, [{"n": float("nan")}]]
    with pytest.raises(ValueError, match=r"sample 1200, row 0 \(X\[1200\]\[0\]\): attribute 'n' is nan"):
        CRF(Chain()).fit(iter(bad), [["a"] * len(x) for x in bad])
    with pytest.raises(ValueError, match=r"X\[1\] is an empty sequence"):
        CRF(Chain()).fit(iter([X[0], []]), [Y[0], []])


# ------------------------------------------------------------------------------------- rare and hashed features


def test_rare_features_get_no_weights(tagging):
    X, Y, _ = tagging

    def named(key, value):
        return key if value is True else f"{key}:{value}"

    counts = Counter(named(*pair) for x in X for token in x for pair in token.items())
    model = CRF(Chain(), encoding=Encoding(min_count=8)).fit(X, Y)
    expected = [name for name, count in counts.items() if count >= 8]
    assert model.encoder_.feature_names == expected and len(expected) < len(counts)
    kept = [[{k: v for k, v in token.items() if counts[named(k, v)] >= 8} for token in x] for x in X]
    other = CRF(Chain()).fit(kept, Y)
    assert other.encoder_.feature_names == expected
    np.testing.assert_array_equal(model.coef_, other.coef_)
    assert model.predict(X) == other.predict(kept)


@pytest.mark.parametrize("learner", [CRF, SSVM, Perceptron])
def test_hashed_features_without_collisions_make_the_same_predictions(tagging, learner, tmp_path):
    X, Y, columns = tagging
    names = CRF(Chain(), tol=0.1).fit(X, Y).encoder_.feature_names
    n_hash = 2**18
    encoder = HashedNamesEncoder("items", n_hash)
    assert len(np.unique(encoder.transform([[name] for name in names]).rows.indices)) == len(names)
    plain = fitted(learner(Chain(), tol=1e-4), X, Y)
    hashed = fitted(learner(Chain(), tol=1e-4, encoding=Encoding(n_hash=n_hash)), X, Y)
    assert hashed.encoder_.feature_names is None and hashed.encoder_.n_columns == n_hash
    assert len(hashed.coef_) == len(plain.coef_)
    assert hashed.predict(X) == plain.predict(X)
    hashed.save(tmp_path / "model")
    assert palmette.load(tmp_path / "model").predict(X) == plain.predict(X)
    inputs = ColumnSentences(columns, TEMPLATE)
    assert fitted(learner(Chain(), tol=1e-2, encoding=Encoding(n_hash=500)), inputs, Y).predict(inputs) != []


def test_hashed_perceptrons_learn_batch_by_batch(tagging):
    X, Y, _ = tagging
    model = Perceptron(Chain(), encoding=Encoding(n_hash=1000))
    model.partial_fit(X[:30], Y[:30], classes=sorted({label for y in Y for label in y}))
    model.partial_fit(X[30:], Y[30:])
    assert model.encoder_.n_columns == 1000 and model.score(X, Y) > 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_count": 0}, "min_count must be an integer of at least 1, got 0"),
        ({"min_count": 2.5}, "min_count must be an integer of at least 1, got 2.5"),
        ({"n_hash": 0}, "n_hash must be an integer from 1"),
        ({"n_hash": 2**31}, "n_hash must be an integer from 1"),
        ({"n_hash": 10, "min_count": 2}, "min_count=2 and n_hash=10 exclude each other"),
        ({"min_count": 10**6}, "no feature of X occurs 1000000 times"),
    ],
)
def test_bad_settings(tagging, options, message):
    X, Y, _ = tagging
    with pytest.raises(ValueError, match=message):
        CRF(Chain(), encoding=Encoding(**options)).fit(X, Y)


def test_settings_of_named_features_are_refused_for_arrays():
    X, Y = make_chains(5, 2, 3, random_state=0)
    for option in ({"min_count": 2}, {"n_hash": 10}):
        with pytest.raises(ValueError, match=f"{next(iter(option))}=.* is for named features"):
            CRF(Chain(), encoding=Encoding(**option)).fit(X, Y)
    with pytest.raises(ValueError, match="partial_fit cannot count features"):
        Perceptron(Chain(), encoding=Encoding(min_count=2)).partial_fit([[["a"]]], [["x"]], classes=["x"])


# --------------------------------------------------------------------------------------------------- pruning


@pytest.mark.parametrize(
    "options",
    [{}, {"encoding": Encoding(states="all")}, {"encoding": Encoding(n_hash=300)}, {"edge_features": "all"}],
    ids=str,
)
def test_pruning_leaves_predictions_as_they_are(tagging, options, tmp_path):
    X, Y, columns = tagging
    for inputs in (X, ColumnSentences(columns, TEMPLATE)):
        model = CRF(Chain(), l1=1.5, l2=0.1, tol=1e-3, **options).fit(inputs, Y)
        before, marginals = model.predict(inputs), model.predict_marginals(inputs)
        n_columns, n_weights, nonzero = model.encoder_.n_columns, len(model.coef_), (model.coef_ != 0).sum()
        objective, names = model.objective_, model.encoder_.feature_names
        assert model.prune() is model
        assert model.encoder_.n_columns < n_columns and len(model.coef_) < n_weights
        assert (model.coef_ != 0).sum() == nonzero and model.objective_ == objective
        if names is not None:
            assert set(model.encoder_.feature_names) < set(names)
        model.save(tmp_path / "model")
        for some in (model, palmette.load(tmp_path / "model")):
            assert some.predict(inputs) == before
            for found, expected in zip(some.predict_marginals(inputs), marginals):
                np.testing.assert_allclose(found, expected, atol=1e-12)
        assert model.prune().predict(inputs) == before


def test_pruned_perceptrons_go_on_learning(tagging):
    X, Y, _ = tagging
    model = Perceptron(Chain()).fit(X, Y)
    model.prune()
    model.partial_fit(X, Y)
    assert model.score(X, Y) > 0.9


def test_what_cannot_be_pruned(tagging):
    X, Y, _ = tagging
    with pytest.raises(ValueError, match="every feature weight is 0; fit with a smaller l1"):
        CRF(Chain(), l1=1e6).fit(X, Y).prune()
    arrays, labels = make_chains(5, 2, 3, random_state=0)
    with pytest.raises(TypeError, match="columns can be dropped from named features only"):
        CRF(Chain()).fit(arrays, labels).prune()


# ---------------------------------------------------------------------------------------------- encoded inputs


@pytest.mark.parametrize("learner", [CRF, SSVM, Perceptron])
def test_encoded_inputs_stand_for_the_inputs(tagging, learner):
    X, Y, columns = tagging
    for inputs in (X, ColumnSentences(columns, TEMPLATE)):
        encoded = learner(Chain()).encode(inputs)
        assert isinstance(encoded, EncodedInputs) and len(encoded) == len(X)
        model = fitted(learner(Chain(), tol=1e-2), encoded, Y)
        plain = fitted(learner(Chain(), tol=1e-2), inputs, Y)
        np.testing.assert_array_equal(model.coef_, plain.coef_)
        again = plain.encode(inputs)
        assert plain.predict(again) == plain.predict(inputs) == model.predict(encoded)
        assert plain.predict(again[5:9]) == plain.predict(inputs)[5:9]
        assert plain.score(again, Y) == plain.score(inputs, Y)
        np.testing.assert_array_equal(plain.predict_score(again), plain.predict_score(inputs))
        assert plain.predict_nbest(again, 2) == plain.predict_nbest(inputs, 2)
        np.testing.assert_array_equal(plain.log_proba(again, Y), plain.log_proba(inputs, Y))


def test_columns_for_a_model_that_reads_something_else():
    inputs = ColumnSentences([[("a",), ("b",)]] * 2, TEMPLATE)
    lists, rows, labels = [[["a"], ["b"]]] * 2, [np.eye(2)] * 2, [["A", "B"]] * 2
    for X, kind in ((lists, "named features"), (rows, "dense arrays")):
        with pytest.raises(TypeError, match=rf"fitted on {kind}.* but X holds sentences in columns"):
            CRF(Chain()).fit(X, labels).predict(inputs)
    with pytest.raises(TypeError, match="fitted on dense arrays, but X holds named features"):
        CRF(Chain()).fit(rows, labels).predict(iter(lists))
    with pytest.raises(TypeError, match=r"X must be a list of sequences.*found ColumnTable"):
        CRF(Chain()).fit(lists, labels).predict(inputs.table)
    with pytest.raises(TypeError, match=r"one label per sample: use Chain\(\), or give the attributes"):
        CRF(Multiclass()).fit(inputs, ["A", "B"])


def test_encoded_items():
    X, y = [[0.0, 1.0], [1.0, 0.0]], [0, 1]
    encoded = CRF(Multiclass()).encode(X)
    assert CRF(Multiclass()).fit(encoded, y).predict(encoded).tolist() == y
    with pytest.raises(ValueError, match="X was encoded as items, but Chain needs sequences"):
        CRF(Chain()).fit(encoded, [[0], [1]])


def test_inputs_of_other_columns_are_refused(tagging):
    X, Y, columns = tagging
    one = CRF(Chain(), tol=0.1).fit(X, Y)
    inputs = ColumnSentences(columns, TEMPLATE)
    others = [
        CRF(Chain(), tol=0.1).fit(X[::-1], Y[::-1]),  # as many columns, in another order
        CRF(Chain(), tol=0.1, encoding=Encoding(n_hash=100)).fit(X, Y),
        CRF(Chain(), tol=0.1).fit(inputs, Y),
    ]
    assert others[0].encoder_.n_columns == one.encoder_.n_columns
    for other in others:
        with pytest.raises(ValueError, match="X was encoded by another model"):
            other.predict(one.encode(X))
    hashed = CRF(Chain(), tol=0.1, encoding=Encoding(n_hash=100), l1=5.0).fit(X, Y)
    encoded = hashed.encode(X)
    with pytest.raises(ValueError, match="X was encoded by another model"):
        hashed.prune().predict(encoded)
    with pytest.raises(ValueError, match=r"sample 0: X\[0\] has \d+ positions but y\[0\] has 1 labels"):
        CRF(Chain()).fit(one.encode(X), [["a"], *Y[1:]])
    for wrong in ("3", 1.5, [True], [[0, 1]]):
        with pytest.raises(
            TypeError, match="selected by an index, a slice, an array of indices or a mask of 60"
        ):
            one.encode(X)[wrong]
    with pytest.raises(IndexError, match="there is no sample 60: 60 samples are encoded"):
        one.encode(X)[[0, 60]]


@pytest.mark.parametrize("kind", ["names", "columns", "hashed", "dense", "segments"])
def test_a_copy_of_a_model_takes_its_encoded_inputs(tagging, kind):
    X, Y, columns = tagging
    inputs = ColumnSentences(columns, TEMPLATE) if kind == "columns" else X
    structure, encoding, load = Chain(), Encoding(n_hash=100 if kind == "hashed" else None), {}
    if kind == "dense":
        inputs, Y = make_chains(20, 3, 4, random_state=0)
    if kind == "segments":
        structure = SemiMarkov(2, segment_features=_segment)
        load = {"segment_features": _segment}
        Y = [[(t, t + 1, label) for t, label in enumerate(y)] for y in Y]
    model = CRF(structure, tol=0.1, encoding=encoding).fit(inputs, Y)
    encoded, file = model.encode(inputs), io.BytesIO()
    model.save(file)
    for twin in (pickle.loads(pickle.dumps(model)), palmette.load(file, **load)):
        assert twin.encoder_ is not model.encoder_
        assert twin.predict(encoded) == model.predict(encoded)
    order = np.array([3, 0, 3, 11])
    parts = [encoded[[3, 0, 3, 11]], encoded[order], encoded[order, ...]]
    for part in parts:
        assert model.predict(part) == [model.predict(encoded)[i] for i in order]
    assert model.predict(encoded[np.arange(len(encoded)) == 5]) == model.predict(encoded)[5:6]
    assert model.predict(encoded[-2]) == model.predict(encoded)[-2:-1]
    assert model.predict(encoded[::7]) == model.predict(encoded)[::7]
    assert len(encoded[[]]) == len(encoded[5:3]) == 0 and len(list(encoded)) == len(encoded)


def _segment(sequence, start, stop):
    return [f"{sequence[start]['w']} {stop - start}"]


def test_cross_validation_of_encoded_inputs(tagging):
    X, Y, _ = tagging
    model = CRF(Chain(), tol=0.1, n_jobs=1)
    encoded = model.encode(X)
    scores = cross_val_score(model, encoded, Y, cv=3)
    for score, (train, held) in zip(scores, KFold(3).split(X)):
        fold = CRF(Chain(), tol=0.1, n_jobs=1).fit(encoded[train], [Y[i] for i in train])
        assert score == fold.score([X[i] for i in held], [Y[i] for i in held])
    search = GridSearchCV(model, {"l2": [0.1, 1.0]}, cv=2).fit(encoded, Y)
    assert search.predict(encoded[:2]) == search.best_estimator_.predict(X[:2])
    items = CRF(Multiclass(), tol=0.1).encode([x[0] for x in X])
    assert len(cross_val_score(CRF(Multiclass(), tol=0.1), items, [y[0] for y in Y], cv=2)) == 2


def test_partial_fit_on_encoded_inputs(tagging):
    X, Y, _ = tagging
    classes = sorted({label for y in Y for label in y})
    model = Perceptron(Chain()).partial_fit(X[:30], Y[:30], classes=classes)
    other = Perceptron(Chain()).partial_fit(X[:30], Y[:30], classes=classes)
    model.partial_fit(model.encode(X[:20]), Y[:20])
    other.partial_fit(X[:20], Y[:20])
    np.testing.assert_array_equal(model.coef_, other.coef_)


# ------------------------------------------------------------------------------------------------- prediction


def test_many_samples_are_encoded_by_all_threads_with_the_same_answer(tagging):
    X, Y, _ = tagging
    model = CRF(Chain(), tol=0.1).fit(X, Y)
    many = [*X * 40, []]
    assert sum(map(len, many)) > 2 * 4096
    expected = [*model.predict(X) * 40, []]
    for n_jobs in (1, 3):
        model.set_params(n_jobs=n_jobs)
        assert model.predict(many) == expected
        np.testing.assert_array_equal(model.predict_marginals(many)[70], model.predict_marginals(X[10:11])[0])
    many[-2] = [{"n": float("inf")}]
    with pytest.raises(ValueError, match=rf"sample {len(many) - 2}, row 0 .*: attribute 'n' is inf"):
        model.predict(many)


def test_columns_warm_start_and_files(tagging):
    _, Y, columns = tagging
    inputs = ColumnSentences(columns, TEMPLATE)
    model = CRF(Chain(), tol=1e-4, warm_start=True).fit(inputs, Y)
    n_iter = model.n_iter_
    assert model.fit(inputs, Y).n_iter_ <= n_iter
    file = io.BytesIO()
    model.save(file)
    loaded = palmette.load(file)
    assert loaded.encoder_.kind == "columns" and loaded.predict(inputs) == model.predict(inputs)
    assert loaded.predict(inputs.template.apply(columns)) == model.predict(inputs)
    larger = Perceptron(Chain()).fit(ColumnSentences(columns[:30], TEMPLATE), Y[:30])
    known = larger.encoder_.n_columns
    larger.partial_fit(ColumnSentences(columns[30:], TEMPLATE), Y[30:])
    assert larger.encoder_.n_columns > known


def test_no_string_for_any_attribute_is_made(tagging, monkeypatch):
    """Names are written when they are asked for, and never in a fit or a prediction."""
    from palmette.features.columns import ColumnEncoder

    _, Y, columns = tagging

    def refuse(self):
        raise AssertionError("names were asked for")

    monkeypatch.setattr(ColumnEncoder, "feature_names", property(refuse))
    inputs = ColumnSentences(columns, TEMPLATE)
    model = CRF(Chain(), tol=0.1).fit(inputs, Y)
    model.predict(inputs)
    model.save(io.BytesIO())
