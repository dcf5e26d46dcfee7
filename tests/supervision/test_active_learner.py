"""The active learner: what it asks, what it takes for an answer, and what it learns, on every structure."""

from __future__ import annotations

import numpy as np
import pytest
from active_pools import Pool, pools, words
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from palmette import (
    CRF,
    CRFCV,
    SSVM,
    UNKNOWN,
    ActiveLearner,
    Chain,
    Graph,
    GraphInput,
    Multiclass,
    OneOf,
    Perceptron,
    PlackettLuce,
    Ranking,
    SemiMarkov,
)
from palmette.errors import MissingCapability
from palmette.supervision import Question, StoppingRule
from palmette.supervision.evaluation import evaluate, wilson
from palmette.supervision.selection import by_mmr, by_spread, by_uncertainty, unit_vectors
from palmette.supervision.stopping import trimmed_mean
from palmette.supervision.units import make_units

POOLS = pools()


def answer(pool, question):
    """What a perfect annotator says."""
    whole = pool.y[question.sample]
    return whole if isinstance(whole, str) else [whole[t] for t in question.parts]


def run(learner, pool, n_queries):
    asked = []
    for _ in range(n_queries):
        questions = learner.query()
        asked += questions
        learner.tell_all(questions, [answer(pool, q) for q in questions])
    return asked


# -- every structure ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["sample", "part", "patch"])
@pytest.mark.parametrize("kind", POOLS)
def test_every_structure_is_asked_and_learnt(kind, unit):
    pool = POOLS[kind]
    if unit != "sample" and not pool.parts:
        with pytest.raises(MissingCapability, match=f"unit='{unit}'"):
            ActiveLearner(pool.model, pool.X, unit=unit)
        return
    learner = ActiveLearner(pool.model, pool.X, unit=unit, batch_size=4, patch_size=2, random_state=1)
    asked, seen = [], set()
    while not learner.should_stop():
        asked += run(learner, pool, 1)
    for question in asked:
        own = {(question.sample, t) for t in question.parts}
        assert own and not own & seen
        seen |= own
    assert learner.query() == [] and len(learner.averages_) > 1
    everything = [y if isinstance(y, str) else list(y) for y in pool.y]
    assert [learner.answers_[i] for i in range(len(pool.y))] == everything
    final = learner.finish()
    direct = clone(pool.model).fit(learner._encoded, everything)
    np.testing.assert_allclose(final.coef_, direct.coef_, atol=1e-8)
    assert learner.model_ is final and learner.predict(pool.X) is not None


@pytest.mark.parametrize("strategy", ["random", "best_vs_worst", "token_entropy", "least_confidence",
                                      "expected_model_change", "expected_prediction_change"])  # fmt: skip
@pytest.mark.parametrize("unit", ["sample", "part"])
def test_every_strategy_runs(strategy, unit):
    pool = POOLS["chain"]
    learner = ActiveLearner(pool.model, pool.X, strategy, unit, batch_size=3, update="refit")
    asked = run(learner, pool, 3)
    assert len(asked) == 9 and all(q.reason for q in asked)
    scored = [q.score for q in asked[3:]]
    assert np.isnan(scored).all() if strategy == "random" else np.isfinite(scored).all()
    assert (learner.averages_ == []) == (strategy == "random")


def test_questions_are_the_most_uncertain_ones_given_the_answers():
    pool = POOLS["chain"]
    learner = ActiveLearner(pool.model, pool.X, "token_entropy", "part", batch_size=6, update="refit")
    run(learner, pool, 1)
    questions = learner.query(3)
    known = [learner.answers_.get(i, [UNKNOWN] * len(y)) for i, y in enumerate(pool.y)]
    model = learner.model_
    theta = model.scorer_.score(model.coef_, learner._encoded.of(model.encoder_))
    said = model.codec_.encode_annotation(known, [len(y) for y in pool.y])
    p = model.structure_.expectation(theta, within=model.structure_.agreeing(theta, said)).counts.node
    entropy = -(p * np.log(np.maximum(p, 1e-300))).sum(axis=1)
    entropy[said.codes >= 0] = -1
    np.testing.assert_allclose([q.score for q in questions], np.sort(entropy)[::-1][:3], rtol=1e-9)
    assert learner.averages_[-1] == pytest.approx(entropy[said.codes < 0].mean())


@pytest.mark.parametrize(("strategy", "unit"), [("best_vs_second", "sample"), ("best_vs_second", "part"),
                                                ("token_entropy", "patch"), ("best_vs_worst", "sample")])  # fmt: skip
def test_graphs_with_cycles_are_asked(strategy, unit):
    X, Y = words(10)
    ring = [GraphInput(x, [(t, (t + 1) % len(x)) for t in range(len(x))]) for x in X if len(x) > 2]
    Y = [y for x, y in zip(X, Y) if len(x) > 2]
    model = CRF(Graph(), l2=0.1, classes=["B", "I", "O"])
    learner = ActiveLearner(model, ring, strategy, unit, batch_size=3)
    run(learner, Pool(model, ring, Y), 3)
    assert learner.finish().score(ring, Y) > 0.5


def test_a_function_of_the_user_chooses():
    pool = POOLS["chain"]
    learner = ActiveLearner(pool.model, pool.X, lambda model, X: np.arange(len(X)), batch_size=2)
    run(learner, pool, 1)
    left = [i for i in range(len(pool.X)) if i not in learner.answers_]
    assert [q.sample for q in learner.query()] == left[::-1][:2]
    assert "lambda" in ActiveLearner(pool.model, pool.X, lambda m, X: [0] * len(X)).strategy.reason(
        1.0, "sample"
    )
    for wrong, words_ in (
        (lambda m, X: [1.0], r"shape \(1,\), expected \(12,\)"),
        (lambda m, X: [np.nan] * 12, "NaN"),
    ):
        learner = ActiveLearner(pool.model, pool.X, wrong, batch_size=2)
        run(learner, pool, 1)
        with pytest.raises(ValueError, match=words_):
            learner.query()


@pytest.mark.parametrize(
    ("kind", "model", "change"),
    [
        ("ranking", PlackettLuce(), list), ("chain", CRFCV(Chain(), cv=2), iter),
        ("items", CRF(Multiclass()), csr_matrix),
        ("items", SSVM(Multiclass(), kernel="rbf"), np.asarray), ("chain", CRF(Chain()), CRF(Chain()).encode),
    ],
)  # fmt: skip
def test_other_learners_and_inputs(kind, model, change):
    pool = POOLS[kind]
    learner = ActiveLearner(model, change(pool.X), batch_size=4)
    run(learner, pool, 3)
    assert isinstance(learner.model_, Perceptron) and type(learner.finish()) is type(model)


def test_documents_of_rankings_are_asked_at_random():
    pool = POOLS["ranking"]
    model = SSVM(Ranking(), loss="bridge", task_loss="zero_one", C=1.0)
    learner = ActiveLearner(model, pool.X, "random", "part", batch_size=10)
    run(learner, pool, 2)
    assert learner.n_answered_ == 20 and learner.finish().score(pool.X, pool.y) > 0.6


# -- answers --------------------------------------------------------------------------------------------------------


def test_partial_answers_and_skips_are_not_asked_again():
    X, Y = words()
    learner = ActiveLearner(CRF(Chain(), l2=0.1), X, batch_size=2)
    first, second = learner.query()
    given = [Y[first.sample][0], *[UNKNOWN] * (len(Y[first.sample]) - 1)]
    learner.tell(first, given)
    learner.tell(second, "skip")
    assert learner.answers_ == {first.sample: given} and learner.n_answered_ == 1
    asked = {q.sample for q in learner.query(100)}
    assert asked == set(range(len(X))) - {first.sample, second.sample}


def test_an_index_answers_all_open_questions_of_a_sample():
    X, Y = words()
    learner = ActiveLearner(CRF(Chain(), l2=0.1), X, unit="part", batch_size=200)
    assert len(learner.query()) == sum(map(len, Y))
    learner.tell(3, Y[3])
    assert learner.answers_ == {3: Y[3]} and all(q.sample != 3 for q in learner.open_questions_)
    with pytest.raises(ValueError, match="nothing about sample 3 is open"):
        learner.tell(3, Y[3])


def test_more_than_was_asked_closes_other_questions():
    X, Y = words()
    learner = ActiveLearner(CRF(Chain(), l2=0.1), X, unit="part", batch_size=200)
    question = next(q for q in learner.query() if len(Y[q.sample]) > 2)
    learner.tell(question, Y[question.sample])
    assert learner.answers_ == {question.sample: Y[question.sample]}
    assert all(q.sample != question.sample for q in learner.open_questions_)
    assert learner.undo() == [question]
    assert sum(q.sample == question.sample for q in learner.open_questions_) == len(Y[question.sample])


def test_one_of_several_labels_is_an_answer():
    X, Y = words()
    learner = ActiveLearner(CRF(Chain(), l2=0.1, classes=["B", "I", "O"]), X, unit="part", batch_size=6)
    questions = learner.query()
    learner.tell_all(questions, [OneOf("B", Y[q.sample][q.parts[0]]) for q in questions])
    assert learner.n_answered_ == 6 and learner.query(3)


@pytest.mark.parametrize(
    ("give", "words_"),
    [
        (lambda n: ["B"] * (n + 1), "labels: give those of its"),
        (lambda n: "B", "give a list with the labels"),
        (lambda n: {"B", "O"}, r"is the set .* belong to no positions: give a list, with OneOf"),
        (lambda n: ["B"] * (n - 1) + ["Z"], r"question 0 \(sample \d+\): unknown label 'Z'"),
    ],
)
def test_wrong_answers_are_refused_and_nothing_is_kept(give, words_):
    X, Y = words()
    learner = ActiveLearner(CRF(Chain(), l2=0.1, classes=["B", "I", "O"]), X, batch_size=2)
    questions = learner.query()
    with pytest.raises((ValueError, TypeError), match=words_):
        learner.tell_all(questions[::-1], [Y[questions[1].sample], give(len(Y[questions[0].sample]))])
    assert learner.answers_ == {} and learner.open_questions_ == questions


def test_answers_that_break_the_rules_of_the_structure_are_refused():
    X, Y = words()
    learner = ActiveLearner(CRF(Chain(allowed="IOB2"), classes=["B", "I", "O"]), X, batch_size=1)
    (question,) = learner.query()
    with pytest.raises(ValueError, match=r"the answer to question 0 .*I"):
        learner.tell(question, ["O", *["I"] * (len(Y[question.sample]) - 1)])


def test_parts_that_break_the_rules_together_are_refused():
    X, _ = words()
    learner = ActiveLearner(
        CRF(Chain(allowed="IOB2"), classes=["B", "I", "O"]), X, unit="part", batch_size=200
    )
    first, second = sorted((q for q in learner.query() if q.sample == 3), key=lambda q: q.parts)[:2]
    with pytest.raises(ValueError, match=r"sample 3\), with earlier ones about the sample: .*'I'"):
        learner.tell(first, "I")
    learner.tell(first, "O")
    for question, answer in ((second, "I"), (second, OneOf("I"))):
        with pytest.raises(ValueError, match=r"sample 3\), with earlier ones .*'I' after 'O' is not allowed"):
            learner.tell(question, answer)
    learner.tell(second, OneOf("B", "O"))
    assert learner.n_answered_ == 2 and learner.finish().classes_.tolist() == ["B", "I", "O"]


@pytest.mark.parametrize(
    ("structure", "classes", "answers"),
    [
        (Chain(allowed="IOB2"), ["B-x", "B-y", "I-x", "I-y", "O"], ["B-x", OneOf("O", "I-x"), "I-y"]),
        (SemiMarkov(2), ["O", "x"], ["O", "I-x"]),
        (SemiMarkov(2), ["O", "x"], ["B-x", "I-x", "I-x"]),
    ],
)
def test_what_no_output_agrees_with_is_refused(structure, classes, answers):
    X = [[["a"], ["b"], ["c"]], [["a"], ["c"], ["d"]]]
    learner = ActiveLearner(CRF(structure, classes=classes), X, unit="part", batch_size=6)
    asked = {question.parts[0]: question for question in learner.query() if question.sample == 1}
    for t, answer in enumerate(answers[:-1]):
        learner.tell(asked[t], answer)
    with pytest.raises(
        ValueError,
        match=r"\(sample 1\), with earlier ones about the sample: .*(contradicts itself|max_length)",
    ):
        learner.tell(asked[len(answers) - 1], answers[-1])
    assert learner.n_answered_ == len(answers) - 1
    learner.finish()


def test_contradicting_an_earlier_answer_is_refused():
    X, Y = words()
    learner = ActiveLearner(CRF(Chain(), l2=0.1), X, unit="part", batch_size=200)
    by_sample = [q for q in learner.query() if q.sample == 0]
    learner.tell(by_sample[0], "B")
    other = ["O"] * len(Y[0])
    with pytest.raises(ValueError, match=r"says 'O' at position \d, and an earlier one 'B'.*undo"):
        learner.tell(by_sample[1], other)
    with pytest.raises(ValueError, match=r"says 'I' at position \d, and an earlier one 'O'"):
        learner.tell_all(
            by_sample[1:3], ["O", [UNKNOWN if t == by_sample[0].parts[0] else "I" for t in range(len(Y[0]))]]
        )
    assert learner.n_answered_ == 1


def test_questions_never_asked_are_refused():
    X, Y = words()
    learner = ActiveLearner(CRF(Chain(), l2=0.1), X, batch_size=1)
    (question,) = learner.query()
    with pytest.raises(ValueError, match=r"question 7 .* is not open"):
        learner.tell(Question(7, question.sample, question.parts, 0.0, ""), Y[question.sample])
    with pytest.raises(ValueError, match="nothing about sample"):
        learner.tell((question.sample + 1) % len(X), Y[0])
    with pytest.raises(IndexError, match=r"no sample 12 .*12 samples"):
        learner.tell(12, Y[0])
    with pytest.raises(TypeError, match="Question or the index"):
        learner.tell("first", Y[0])
    with pytest.raises(ValueError, match="twice"):
        learner.tell_all([question, question.sample], [Y[question.sample]] * 2)
    with pytest.raises(ValueError, match="1 answers to 2 questions"):
        learner.tell_all([question, question], [Y[0]])
    with pytest.raises(ValueError, match="no answer to undo"):
        learner.undo()


@pytest.mark.parametrize(
    ("change", "words_"),
    [
        ({"unit": "edge"}, "unit must be one of sample, part, patch"), ({"batch_size": 0}, "batch_size"),
        ({"diversity": 1.0}, "diversity must be from 0 to below 1"),
        ({"cold_start": "none"}, "cold_start"),
        ({"evaluate_share": -0.1}, "evaluate_share"), ({"update": "sgd"}, "update"),
        ({"refit_every": 0}, "refit_every"), ({"pool": []}, "pool is empty"),
        ({"evaluate_share": 0.99}, "keeps all 12 samples"),
    ],
)  # fmt: skip
def test_bad_settings_are_refused(change, words_):
    given = {"model": CRF(Chain()), "pool": words()[0], **change}
    with pytest.raises(ValueError, match=words_):
        ActiveLearner(**given)


def test_a_stopping_rule_is_an_object():
    with pytest.raises(TypeError, match=r"stopping must be a StoppingRule\(...\), got 10"):
        ActiveLearner(CRF(Chain()), words()[0], stopping=10)


def test_bad_queries_are_refused():
    learner = ActiveLearner(CRF(Chain()), words()[0])
    for n in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="n must be an integer of at least 1"):
            learner.query(n)
    with pytest.raises(NotFittedError, match="no answer to learn from"):
        learner.predict(words()[0])
    with pytest.raises(TypeError, match="learner with a structure"):
        ActiveLearner(Chain(), words()[0])


def test_the_label_skip_is_a_label_where_it_is_declared():
    learner = ActiveLearner(CRF(Multiclass(), classes=["go", "skip"]), np.eye(3), batch_size=3)
    learner.tell_all(learner.query(), ["skip", "go", "skip"])
    assert sorted(learner.answers_.values()) == ["go", "skip", "skip"]


# -- learning -------------------------------------------------------------------------------------------------------


def test_the_model_is_a_function_of_the_answers():
    pool = POOLS["chain"]
    one, other = (ActiveLearner(pool.model, pool.X, batch_size=12) for _ in range(2))
    for learner, step in ((one, 1), (other, -1)):
        for question in learner.query()[::step]:
            learner.tell(question, answer(pool, question))
    np.testing.assert_array_equal(one.model_.coef_, other.model_.coef_)


def test_updates_are_perceptrons_and_the_model_now_and_then():
    pool = POOLS["chain"]
    learner = ActiveLearner(pool.model, pool.X, batch_size=1, refit_every=2)
    kinds = []
    for _ in range(5):
        run(learner, pool, 1)
        kinds.append(type(learner.model_))
    assert kinds == [Perceptron, CRF, Perceptron, CRF, Perceptron]
    assert isinstance(learner.finish(), CRF) and isinstance(learner.model_, CRF)
    run(learner, pool, 1)
    assert isinstance(learner.model_, CRF)  # the fourth query with a model
    assert not hasattr(pool.model, "coef_")


def test_undo_gives_back_the_model_before():
    pool = POOLS["chain"]
    learner = ActiveLearner(pool.model, pool.X, batch_size=2)
    run(learner, pool, 2)
    before, answers = learner.model_.coef_.copy(), learner.answers_
    (question, _) = learner.query()
    learner.tell(question, answer(pool, question))
    assert not np.array_equal(learner.model_.coef_, before)
    assert learner.undo() == [question] and learner.answers_ == answers
    np.testing.assert_array_equal(learner.model_.coef_, before)


def test_max_margin_learns_from_parts():
    X, Y = words()
    learner = ActiveLearner(
        SSVM(Chain(), loss="bridge", C=1.0, classes=["B", "I", "O"]), X, unit="part", batch_size=10
    )
    run(learner, POOLS["chain"], 3)
    assert learner.finish().score(X, Y) > 0.7


def test_a_query_may_be_for_evaluation_alone():
    pool = POOLS["chain"]
    learner = ActiveLearner(pool.model, pool.X, batch_size=1, evaluate_share=0.75)
    asked = run(learner, pool, 6)
    assert [q.evaluation for q in asked].count(True) == 4 and len(asked) == 6


def test_learners_that_need_whole_outputs_are_refused_before_the_first_question():
    with pytest.raises(
        MissingCapability, match=r"unit='part' annotate samples in part: .*bridge.*unit='sample'"
    ):
        ActiveLearner(SSVM(Chain()), words()[0], unit="part")


# -- batches --------------------------------------------------------------------------------------------------------


def test_ties_are_broken_at_random_and_reproducibly():
    keys = np.array([1.0, 0.0, 1.0, 1.0, 0.5])
    draws = {tuple(by_uncertainty(keys, 2, np.random.default_rng(seed)).tolist()) for seed in range(40)}
    assert len(draws) == 6 and all(set(draw) < {0, 2, 3} for draw in draws)
    assert by_uncertainty(keys, 9, np.random.default_rng(0)).tolist()[3:] == [4, 1]


def test_diverse_batches_follow_the_formula():
    rng = np.random.default_rng(0)
    x = rng.random((30, 4)) ** 3
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    q, d = rng.random(30), 0.4
    from scipy import sparse

    chosen = []
    for _ in range(6):
        worth = [
            -np.inf if u in chosen
            else (1 - d) * q[u] / q.max() - d * max([float(x[u] @ x[v]) for v in chosen], default=0.0)
            for u in range(30)
        ]  # fmt: skip
        chosen.append(int(np.argmax(worth)))
    assert by_mmr(q, sparse.csr_array(x), 6, d).tolist() == chosen
    far = by_spread(sparse.csr_array(x), 5, 3)
    assert far[0] == 3 and len(set(far.tolist())) == 5
    left = [u for u in range(30) if u not in far[:4]]
    nearest = [max(float(x[u] @ x[v]) for v in far[:4]) for u in left]
    assert left[int(np.argmin(nearest))] == far[4]


def test_diversity_keeps_copies_of_a_sample_out_of_a_batch():
    X = [[["w=a"]]] * 20 + [[["w=b"]], [["w=c"]], [["w=d"]]]
    model = CRF(Chain(), l2=0.1, classes=["A", "B"])

    def kinds(diversity):
        learner = ActiveLearner(
            model, X, lambda m, e: [1.0] * 20 + [0.9] * 3, batch_size=4, diversity=diversity
        )
        learner.tell_all(learner.query(1), [["A"]])
        return {X[q.sample][0][0] for q in learner.query()}

    assert kinds(0.0) == {"w=a"} and kinds(0.5) == {"w=a", "w=b", "w=c", "w=d"}
    learner = ActiveLearner(model, X, cold_start="diverse", batch_size=4)
    assert {X[q.sample][0][0] for q in learner.query()} == {"w=a", "w=b", "w=c", "w=d"}


def test_unit_vectors_are_normalised_sums_of_rows():
    X = [np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[3.0, 4.0]])]
    model = CRF(Chain())
    batch = model.encode(X).batch
    units = make_units(model.structure, batch, "sample", 5)
    found = unit_vectors(batch, units, np.array([0, 1])).toarray()
    np.testing.assert_allclose(found, [[1 / np.sqrt(5), 2 / np.sqrt(5)], [0.6, 0.8]])


def test_patches_of_graphs_are_connected():
    pool = POOLS["graph"]
    batch = pool.model.encode(pool.X).batch
    units = make_units(pool.model.structure, batch, "patch", 2)
    links = {tuple(sorted(pair)) for pair in pool.model.structure.links(batch).tolist()}
    for unit in range(len(units)):
        parts = units.parts(unit).tolist()
        assert len(parts) <= 2 and (len(parts) < 2 or tuple(sorted(parts)) in links)
    assert sorted(p for u in range(len(units)) for p in units.parts(u).tolist()) == list(range(batch.n_rows))


# -- stopping -------------------------------------------------------------------------------------------------------


def test_the_stopping_rule_on_a_known_sequence():
    rule = StoppingRule(window=4, tol=0.01, trim=0.1)
    falling = [1.0, 0.8, 0.6, 0.4, 0.2]
    # Between the quantiles 0.1 and 0.9 of four numbers lie the middle two.
    assert rule.change(falling) == pytest.approx(abs((0.6 + 0.4) / 2 - (0.8 + 0.6) / 2))
    assert not rule.stops(falling) and rule.change(falling[:4]) == np.inf
    assert rule.stops([*falling, 0.2, 0.2, 0.2, 0.2])
    assert trimmed_mean([5.0]) == 5.0
    assert StoppingRule() == StoppingRule(window=80, tol=1e-4, trim=0.1)
    flat = [0.5] * 81
    assert StoppingRule().stops(flat) and not StoppingRule().stops(flat[:80])
    for wrong in ({"window": 0}, {"tol": -1.0}, {"trim": 0.5}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            StoppingRule(**wrong)


def test_queries_without_new_answers_do_not_count():
    pool = POOLS["items"]
    learner = ActiveLearner(pool.model, pool.X, batch_size=2)
    run(learner, pool, 2)
    for _ in range(3):
        learner.query()
    assert len(learner.averages_) == 2


def test_the_learner_stops_by_the_rule():
    pool = POOLS["items"]
    learner = ActiveLearner(pool.model, pool.X, batch_size=1, stopping=StoppingRule(window=2, tol=1.0))
    run(learner, pool, 3)
    assert not learner.stopped_
    run(learner, pool, 1)
    assert learner.stopped_ and len(learner.averages_) == 3


# -- evaluation -----------------------------------------------------------------------------------------------------


def test_questions_for_evaluation_are_random_and_never_trained_on():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.where(X[:, 0] > 0, "a", "b")
    learner = ActiveLearner(CRF(Multiclass(), classes=["a", "b"]), X, batch_size=10, evaluate_share=0.2)
    apart = []
    for _ in range(10):
        for question in learner.query():
            if question.evaluation:
                apart.append(question.sample)
            learner.tell(question, y[question.sample])
    assert len(apart) == 20 and not set(apart) & set(learner.answers_) and len(learner.answers_) == 80
    reserved = np.flatnonzero(learner._reserve.samples)
    assert set(apart) <= set(reserved.tolist()) and len(reserved) == 80
    direct = Perceptron(Multiclass(), classes=["a", "b"], max_iter=3)
    direct.fit(learner._encoded[sorted(learner.answers_)], [y[i] for i in sorted(learner.answers_)])
    np.testing.assert_array_equal(learner.model_.coef_, direct.coef_)
    found = learner.evaluation()
    assert found.score == np.mean(learner.predict(X[apart]) == y[apart])
    assert found.low < found.score <= found.high and (found.n_samples, found.weight) == (20, 20.0)


def test_the_random_stream_is_uniform():
    X, counts = np.zeros((20, 1)), np.zeros(20)
    for seed in range(300):
        learner = ActiveLearner(
            CRF(Multiclass(), classes=["a", "b"]), X, evaluate_share=0.2, random_state=seed
        )
        (question,) = (q for q in learner.query(5) if q.evaluation)
        counts[question.sample] += 1
    assert counts.sum() == 300 and ((counts - 15) ** 2 / 15).sum() < 43.8  # chi square, 19 degrees, p = 0.001


def test_parts_are_evaluated_too():
    pool = POOLS["chain"]
    learner = ActiveLearner(pool.model, pool.X, unit="part", batch_size=8, evaluate_share=0.25)
    asked = run(learner, pool, 3)
    found = learner.evaluation(level=0.5)
    assert found.weight == sum(q.evaluation for q in asked) == 6
    assert found.high - found.low < learner.evaluation(level=0.99).high - learner.evaluation(level=0.99).low
    with pytest.raises(ValueError, match="level"):
        learner.evaluation(level=1.0)
    with pytest.raises(ValueError, match="no question for evaluation"):
        ActiveLearner(pool.model, pool.X).evaluation()


def test_intervals_know_that_parts_of_a_sample_depend_on_each_other():
    X, Y = words(60)
    model = CRF(Chain(), l2=5.0).fit(X[:8], Y[:8])
    found = evaluate(model, X, Y, 0.95)
    right, total = model.structure.measure(model, X, Y)
    assert found.score == pytest.approx(right.sum() / total.sum()) and found.weight == total.sum()
    if 0 < found.score < 1:
        twice = evaluate(model, X + X, Y + Y, 0.95)
        assert (found.high - found.low) / (twice.high - twice.low) == pytest.approx(np.sqrt(2), rel=0.1)
    assert wilson(1.0, 10, 0.95)[0] < 0.8 and wilson(1.0, 10, 0.95)[1] == pytest.approx(1.0)
