"""Active learning on CoNLL-2000 chunking: how few labelled tokens are as good as all 211,727.

An annotator who knows the truth answers what `ActiveLearner` asks; the final model is the CRF of `crf_chunking` (the
same attributes, `l2 = 2`, `tol = 1e-3`), fitted to the answers alone, partial sentences by their marginal likelihood.
Chunk F1 is on the test part, which is read once per figure, and shown as points below the CRF of all tokens.

* `tokens`: `unit="part"`, `strategy="best_vs_second"`, three passes of the perceptron before every query. 300 tokens at
  a time up to 15 %, then 2,000. The first 300 are drawn at random and count, like all that is asked.
* `stop`: where the rule (1.8) with its usual settings (T = 80, 1e-4, 10-90 %) says so; it needs 81 queries.
* `sentences, least confidence`: whole sentences by `1 - p(best output)` of the CRF, 2.5 % of the sentences at a time.
* `sentences, random`: the same number of tokens in sentences drawn at random.

Few settings were tried, on a held-out eighth of the training part: batches of 2,000 tokens with 5 passes and of 1,000
with 3. Those here (300 and 2,000, 3 passes) were not tried there as such. CPU seconds are of one thread.
A round is: perceptron trained on all answers, every token of the pool scored, the next ones chosen. The last ten rounds
are the longest, since they train on most answers.
"""

from functools import cache

from experiments.harness import Study, StudyTable

SEEDS = (0, 1, 2)
SHARES = (0.15, 0.25)
FEW, MANY = 300, 2000
OURS, LEAST, RANDOM, ALL = "tokens", "sentences, least confidence", "sentences, random", "all tokens"
ROUND = "CPU seconds of a round, mean of the last ten"
TARGETS = ((f"{OURS} at 25 %", 0.5), (f"{OURS} at 15 %", 1.0), (ROUND, 2.0))


@cache
def data():
    """The encoded training part, its labels, attributes of the test part and its labels; the CRF."""
    from experiments.benchmarks.crf_chunking import L2, attributes
    from palmette import CRF, Chain
    from palmette.datasets import load_conll2000

    train, test = load_conll2000(subset="train"), load_conll2000(subset="test")
    classes = sorted({label for labels in train.target for label in labels})
    model = CRF(Chain(), l2=L2, tol=1e-3, classes=classes, n_jobs=1)
    pool = model.encode([attributes(sentence) for sentence in train.data])
    return model, pool, train.target, [attributes(sentence) for sentence in test.data], test.target


def f1(model, X, y):
    from palmette.metrics import chunk_report

    return 100 * chunk_report(y, model.predict(X)).overall.f1


def fitted(learner):
    """The CRF of the answers so far; the learner itself goes on as if it had not been asked."""
    from sklearn.base import clone

    answers = learner.answers_
    return clone(learner.model).fit(learner.pool_[sorted(answers)], [answers[i] for i in sorted(answers)])


def run(point):
    import time

    start = time.process_time()
    model, pool, Y, X_test, Y_test = data()
    if point["way"] == ALL:
        found = {"curve": [[1.0, f1(model.fit(pool, Y), X_test, Y_test)]]}
    elif point["way"] == OURS:
        found = ask_tokens(model, pool, Y, X_test, Y_test, point["seed"])
    else:
        found = ask_sentences(model, pool, Y, X_test, Y_test, point["way"], point["seed"])
    return {**found, "cpu": time.process_time() - start}


def ask_tokens(model, pool, Y, X_test, Y_test, seed):
    import time

    from palmette import ActiveLearner

    learner = ActiveLearner(model, pool, "best_vs_second", "part", passes=3, random_state=seed)
    n_tokens, curve, rounds, stop = sum(map(len, Y)), [], [], None
    while len(curve) < len(SHARES):
        before = time.process_time()
        left = round(SHARES[len(curve)] * n_tokens) - learner.n_answered_
        questions = learner.query(min(FEW if not curve else MANY, left))
        rounds.append(time.process_time() - before)
        learner.tell_all(questions, [[Y[q.sample][t] for t in q.parts] for q in questions])
        share = learner.n_answered_ / n_tokens
        if stop is None and learner.should_stop():
            stop = [share, f1(fitted(learner), X_test, Y_test), len(learner.averages_)]
        if learner.n_answered_ >= round(SHARES[len(curve)] * n_tokens):
            curve.append([share, f1(fitted(learner), X_test, Y_test)])
    return {"curve": curve, "stop": stop, "rounds": rounds[2:]}  # the first one with a model compiles


def ask_sentences(model, pool, Y, X_test, Y_test, way, seed):
    from palmette import ActiveLearner

    strategy = "least_confidence" if way == LEAST else "random"
    learner = ActiveLearner(model, pool, strategy, update="refit", random_state=seed)
    n_tokens, curve = sum(map(len, Y)), []
    while len(curve) < len(SHARES):
        questions = learner.query(len(Y) // 40)
        for question in questions:
            learner.tell(question, Y[question.sample])
            if learner.n_answered_ >= SHARES[len(curve)] * n_tokens:
                curve.append([learner.n_answered_ / n_tokens, f1(fitted(learner), X_test, Y_test)])
                if len(curve) == len(SHARES):
                    break
    return {"curve": curve}


# -- summary ----------------------------------------------------------------------------------------------------------


def below(records):
    """Points below the CRF of all tokens by way and share, one number per seed."""
    whole = [r["curve"][0][1] for r in records if r["way"] == ALL]
    found = {}
    for record in records if whole else ():
        for share, score in record["curve"] if record["way"] != ALL else ():
            found.setdefault(f"{record['way']} at {round(100 * share)} %", []).append(whole[0] - score)
        if record.get("stop"):
            found.setdefault("stop", []).append(whole[0] - record["stop"][1])
    return found


def summarise(records):
    rows = [
        [name, f"{sum(points) / len(points):+.2f}", ", ".join(f"{p:+.2f}" for p in points)]
        for name, points in below(records).items()
    ]
    stops = [
        [
            f"seed {r['seed']}",
            *(("not before 25 %", "", "") if r["stop"] is None else
              (f"{100 * r['stop'][0]:.1f} %", str(r["stop"][2]), f"{r['stop'][1]:.2f}")),
            f"{sorted(r['rounds'])[len(r['rounds']) // 2]:.2f}", f"{sum(r['rounds'][-10:]) / 10:.2f}",
            f"{max(r['rounds']):.2f}",
        ]
        for r in records if r["way"] == OURS
    ]  # fmt: skip
    whole = [[ALL, f"{r['curve'][0][1]:.2f}"] for r in records if r["way"] == ALL]
    return [
        StudyTable("Chunk F1 of the CRF of all tokens", ["", "F1"], whole),
        StudyTable("Points of F1 below it", ["", "mean", "seeds"], rows),
        StudyTable(
            "The rule's own choice, and CPU seconds of a round",
            ["", "share", "queries", "F1", "median", "last ten", "longest"],
            stops,
        ),
        StudyTable("Targets", ["", "at most", "reached", ""], targets(records)),
    ]


def targets(records):
    found = {name: sum(points) / len(points) for name, points in below(records).items()}
    last = [sum(r["rounds"][-10:]) / 10 for r in records if r["way"] == OURS]
    if last:
        found[ROUND] = max(last)
    return [
        [name, f"{bound:g}", f"{found[name]:.2f}", "met" if found[name] <= bound else "MISSED"]
        for name, bound in TARGETS
        if name in found
    ]


def missed(records):
    return [
        f"{name}: {value}, wanted {bound}" for name, bound, value, met in targets(records) if met == "MISSED"
    ]


BENCHMARK = Study(
    name="active_text",
    doc=__doc__,
    points=[
        {"way": ALL, "seed": 0},
        *({"way": way, "seed": seed} for seed in SEEDS for way in (OURS, RANDOM, LEAST)),
    ],
    run=run,
    summarise=summarise,
    missed=missed,
)
