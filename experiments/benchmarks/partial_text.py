"""Partial annotation of text: what a quarter of the labels is worth, and labels that are one of three.

CoNLL-2000 chunking with the attributes of `crf_chunking`. A quarter of the tokens is labelled: drawn one by one
(`tokens`), or as whole chunks with the token on either side (`chunks`). Three ways to learn from them:

* `partial`: what is not labelled is summed over (CRF) or maximised over (SSVM with the bridge loss, perceptron);
* `drop`: unlabelled tokens are left out, so that sentences fall into runs of labelled tokens;
* `fill`: a model of `drop` labels the others once, as the labels that are there allow, and all tokens are learnt.

UD-EWT tagging by words, affixes and shapes: every label is one of three, two of them drawn at random (`one of three`).

Penalties are those of the complete data in other benchmarks (`l2 = 2`; SSVM `l2 = 10`), the same for all ways; none was
tuned here. Scores are on the test part, chunk F1 or accuracy in points; `below full` compares with the same learner on
all labels. `CPU a pass` is that of one pass over the data, relative to complete annotation with the same solver.
"""

from functools import cache

import numpy as np

from experiments.harness import Study, StudyTable

SEEDS = (0, 1, 2, 3, 4)
SHARE = 0.25
LEARNERS = ("crf", "ssvm", "perceptron")


@cache
def chunking():
    from experiments.benchmarks.crf_chunking import attributes
    from palmette.datasets import load_conll2000

    parts = [load_conll2000(subset=name) for name in ("train", "test")]
    return [([attributes(sentence) for sentence in part.data], part.target) for part in parts]


@cache
def tagging():
    from palmette.datasets import load_ud_ewt

    return [
        ([[word_features(s, t) for t in range(len(s))] for s in map(list, part.data)], part.target)
        for part in (load_ud_ewt(subset=name) for name in ("train", "test"))
    ]


def word_features(sentence, t):
    def word(i):
        return (
            (sentence[i] if isinstance(sentence[i], str) else sentence[i][0])
            if 0 <= i < len(sentence)
            else ""
        )

    own = word(t)
    found = [f"w={own.lower()}", f"w-1={word(t - 1).lower()}", f"w+1={word(t + 1).lower()}"]
    found += [f"s{n}={own[-n:].lower()}" for n in (1, 2, 3, 4)] + [
        f"p{n}={own[:n].lower()}" for n in (1, 2, 3)
    ]
    return [*found, f"case={own.istitle()}{own.isupper()}{any(c.isdigit() for c in own)}{'-' in own}"]


def hidden(Y, pattern, seed):
    """The labels that are left."""
    from palmette import UNKNOWN, OneOf

    rng = np.random.default_rng(seed)
    if pattern == "one of three":
        labels = sorted({label for y in Y for label in y})
        return [[OneOf(label, *rng.choice(labels, 2)) for label in y] for y in Y]
    if pattern == "tokens":
        return [[label if rng.random() < SHARE else UNKNOWN for label in y] for y in Y]
    from palmette.data import find_spans

    spans, first = find_spans(Y), np.cumsum([0, *map(len, Y)])
    shown, left = [[UNKNOWN] * len(y) for y in Y], round(SHARE * first[-1])
    for k in rng.permutation(len(spans.starts)):
        i = int(spans.sequences[k])
        start, stop = (int(ends[k] - first[i]) for ends in (spans.starts, spans.stops))
        for t in range(max(start - 1, 0), min(stop + 1, len(Y[i]))):
            left -= shown[i][t] is UNKNOWN
            shown[i][t] = Y[i][t]
        if left <= 0:
            break
    return shown


def make(learner, partial):
    from palmette import CRF, SSVM, Chain, Perceptron

    if learner == "crf":
        return CRF(Chain(), l2=2.0, tol=1e-3, solver="lbfgs", n_jobs=1)
    if learner == "ssvm":
        return SSVM(Chain(), l2=10.0, loss="bridge" if partial else "hinge", n_jobs=1)
    return Perceptron(Chain(), random_state=0, n_jobs=1)


def runs_of_known(X, Y):
    """The runs of labelled tokens, as samples of their own."""
    from palmette import UNKNOWN

    inputs, labels = [], []
    for x, y in zip(X, Y):
        goes_on = False
        for token, label in zip(x, y):
            if label is UNKNOWN:
                goes_on = False
                continue
            if not goes_on:
                inputs.append([])
                labels.append([])
            inputs[-1].append(token)
            labels[-1].append(label)
            goes_on = True
    return inputs, labels


def run(point):
    from palmette import UNKNOWN
    from palmette.metrics import chunk_report, token_accuracy

    (X, Y), (X_test, Y_test) = chunking() if point["data"] == "conll2000" else tagging()
    way, partial = point["way"], point["way"] == "partial"
    model = make(point["learner"], partial)
    if way != "full":
        some = hidden(Y, point["pattern"], point["seed"])
        if way == "drop" or way == "fill":
            inputs, labels = runs_of_known(X, some)
            model.fit(inputs, labels)
            if way == "fill":
                found = model.predict(X)
                whole = [[a if b is UNKNOWN else b for a, b in zip(p, y)] for p, y in zip(found, some)]
                model = make(point["learner"], False).fit(X, whole)
        else:
            model.fit(X, some)
    else:
        model.fit(X, Y)
    predicted = model.predict(X_test)
    chunks = point["data"] == "conll2000"
    score = chunk_report(Y_test, predicted).overall.f1 if chunks else token_accuracy(Y_test, predicted)
    passes = max(float(model.result_.step.n_oracle), 1.0)
    return {"score": 100 * score, "cpu_a_pass": model.fit_seconds_["solve"] / passes, "passes": passes}


# -- summary ----------------------------------------------------------------------------------------------------------


def summarise(records):
    full = {(r["data"], r["learner"]): r for r in records if r["way"] == "full"}
    rows, below = [], {}
    for r in records:
        if r["way"] != "full" and (r["data"], r["learner"]) in full:
            name = (r["data"], r["learner"], r["pattern"], r["way"])
            whole = full[r["data"], r["learner"]]
            below.setdefault(name, []).append(
                (whole["score"] - r["score"], r["cpu_a_pass"] / whole["cpu_a_pass"])
            )
    for name, found in below.items():
        points, cost = zip(*found)
        numbers = (
            f"{np.mean(points):+.2f}",
            f"{np.std(points):.2f}",
            str(len(points)),
            f"{np.median(cost):.2f}",
        )
        rows.append([", ".join(name), *numbers])
    whole = [[f"{data}, {learner}", f"{r['score']:.2f}"] for (data, learner), r in full.items()]
    header = ["", "below full", "std", "seeds", "seconds a pass / full"]
    return [
        StudyTable("All labels", ["", "score"], whole),
        StudyTable("Points below all labels", header, rows),
        StudyTable("Targets", ["", "at most", "reached", ""], targets(below)),
    ]


def targets(below):
    wanted = (
        (("conll2000", "crf", "tokens", "partial"), 1.5),
        (("ud-ewt", "crf", "one of three", "partial"), 0.5),
    )
    rows = []
    for name, most in wanted:
        if name in below:
            reached = float(np.mean([points for points, _ in below[name]]))
            rows.append(
                [", ".join(name), f"{most:g}", f"{reached:.2f}", "met" if reached <= most else "MISSED"]
            )
    return rows


BENCHMARK = Study(
    name="partial_text",
    doc=__doc__,
    points=[
        *(
            {"data": "conll2000", "learner": learner, "pattern": "", "way": "full", "seed": 0}
            for learner in LEARNERS
        ),
        {"data": "ud-ewt", "learner": "crf", "pattern": "", "way": "full", "seed": 0},
        *(
            {"data": "conll2000", "learner": learner, "pattern": pattern, "way": way, "seed": seed}
            for seed in SEEDS
            for pattern in ("tokens", "chunks")
            for learner in LEARNERS
            for way in ("partial", "drop", "fill")
        ),
        *(
            {"data": "ud-ewt", "learner": "crf", "pattern": "one of three", "way": "partial", "seed": seed}
            for seed in SEEDS
        ),
    ],
    run=run,
    summarise=summarise,
)
