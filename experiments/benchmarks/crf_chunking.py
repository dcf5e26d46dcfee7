"""Training a chain CRF on CoNLL-2000 chunking: palmette against python-crfsuite (L-BFGS).

Both sides get the same attribute strings (19 templates over words and part-of-speech tags), made by a Python
function as users write it: palmette from a generator, sentence by sentence; CRFsuite as a list of all sentences,
which users of its scikit-learn interface hold during `fit`, and, as a side of its own, from the generator too,
which needs less memory. They have the same weights (one for each attribute and label seen together, one for
each pair of labels) and minimise the same objective, the negative log-likelihood plus `|w|^2` (there `c2 = 1`,
here `l2 = 2`), CRFsuite with its own stopping rule, palmette until it has proven a relative suboptimality of
1e-3; no step size or other setting is tuned. CRFsuite has one thread; palmette has all cores and, as a side of
its own, one.

`featurise` makes the strings, `encode` turns them into codes, `train` is everything from there to the weights,
and `fit` is `encode` and `train` together. `reach` is `fit` up to the objective that CRFsuite ends with, plus
1e-3 of it: for CRFsuite by the times of its iteration log, for palmette all of `fit`. `predict` tags the test
part from strings. `compile` fills the cache of kernels.
"""

import os
import tempfile
from functools import partial
from pathlib import Path

from experiments.harness import CRFSUITE, Benchmark, Target, crfsuite_side, now, palmette_side

L2 = 2.0
SENTENCES_AT_ONCE = 200


def load(run):
    from palmette.datasets import load_conll2000

    train, test = load_conll2000(subset="train"), load_conll2000(subset="test")
    run.sizes["training sentences"] = len(train.data)
    run.sizes["training tokens"] = sum(map(len, train.data))
    run.sizes["test tokens"] = sum(map(len, test.data))
    return train, test


def attributes(sentence):
    """The 19 templates, as users of CRFsuite write them."""
    words = [word for word, _ in sentence]
    tags = [tag for _, tag in sentence]
    n = len(sentence)
    out = []
    for t in range(n):
        w, p = words[t], tags[t]
        found = [f"w[0]={w}", f"p[0]={p}"]
        if t >= 1:
            w1, p1 = words[t - 1], tags[t - 1]
            found += [f"w[-1]={w1}", f"w[-1]|w[0]={w1}|{w}", f"p[-1]={p1}", f"p[-1]|p[0]={p1}|{p}"]
        if t >= 2:
            p2 = tags[t - 2]
            found += [f"w[-2]={words[t - 2]}", f"p[-2]={p2}"]
            found += [f"p[-2]|p[-1]={p2}|{p1}", f"p[-2]|p[-1]|p[0]={p2}|{p1}|{p}"]
        if t + 1 < n:
            v1, q1 = words[t + 1], tags[t + 1]
            found += [f"w[1]={v1}", f"w[0]|w[1]={w}|{v1}", f"p[1]={q1}", f"p[0]|p[1]={p}|{q1}"]
            if t >= 1:
                found.append(f"p[-1]|p[0]|p[1]={p1}|{p}|{q1}")
        if t + 2 < n:
            q2 = tags[t + 2]
            found += [f"w[2]={words[t + 2]}", f"p[2]={q2}"]
            found += [f"p[1]|p[2]={q1}|{q2}", f"p[0]|p[1]|p[2]={p}|{q1}|{q2}"]
        if t == 0:
            found.append("__BOS__")
        if t == n - 1:
            found.append("__EOS__")
        out.append(found)
    return out


class Featurised:
    """Attributes of sentences, one sentence after the other; notes the time that making them takes."""

    def __init__(self, sentences):
        self.sentences = sentences
        self.wall = self.cpu = 0.0

    def __iter__(self):
        for start in range(0, len(self.sentences), SENTENCES_AT_ONCE):
            before = now()
            made = [attributes(sentence) for sentence in self.sentences[start : start + SENTENCES_AT_ONCE]]
            wall, cpu = now() - before
            self.wall += wall
            self.cpu += cpu
            yield from made


def evaluate(run, truth, predicted):
    from palmette.metrics import chunk_report

    report = chunk_report(truth, predicted)
    run.figures["token accuracy"] = report.accuracy
    run.figures["chunk F1"] = report.overall.f1


def palmette(run, n_jobs):
    from palmette import CRF, Chain

    def model():
        return CRF(Chain(), l2=L2, tol=1e-3, n_jobs=n_jobs)

    train, test = load(run)
    with run.phase("compile"):
        model().fit(iter(Featurised(train.data[:20])), train.target[:20]).predict(
            list(Featurised(test.data[:2]))
        )
    features = Featurised(train.data)
    start = now()
    crf = model().fit(iter(features), train.target)
    wall, cpu = now() - start
    encode = crf.fit_seconds_["encode"]
    run.add_phase("featurise", features.wall, features.cpu)
    # one thread, so CPU time is wall time
    run.add_phase("encode", encode - features.wall, encode - features.wall)
    run.add_phase("train", wall - encode, cpu - encode)
    for name in ("fit", "reach"):
        run.add_phase(name, wall - features.wall, cpu - features.cpu)
    X = list(Featurised(test.data))
    with run.phase("predict"):
        predicted = crf.predict(X)
    run.figures["objective"] = crf.objective_
    run.figures["iterations"] = crf.result_.step.n_iter
    run.figures["proven relative gap"] = crf.result_.gap / crf.objective_
    evaluate(run, test.target, predicted)


def python_crfsuite(run, take):
    import pycrfsuite

    class Trainer(pycrfsuite.Trainer):
        """Notes when each stage of the training log begins, and when each iteration ends."""

        def __init__(self, **options):
            super().__init__(**options)
            self.began, self.path = {}, []

        def message(self, message):
            super().message(message)
            self.began.setdefault(self.logparser.state, now())
            last = self.logparser.last_iteration
            if last and "loss" in last and len(self.path) < last["num"]:
                self.path.append((last["loss"], now()))

    train, test = load(run)
    features = Featurised(train.data)
    trainer = Trainer(algorithm="lbfgs", verbose=False)
    options = {"c2": L2 / 2, "feature.possible_transitions": True, "feature.possible_states": False}
    trainer.set_params(options)
    start = now()
    X = take(features)
    for x, y in zip(X, train.target):
        trainer.append(x, y)
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "model.crfsuite")
        trainer.train(model)
        ready, done = trainer.began["AFTER_FEATGEN"], trainer.began["STORING"]
        run.add_phase("featurise", features.wall, features.cpu)
        wall, cpu = ready - start
        run.add_phase("encode", wall - features.wall, cpu - features.cpu)
        run.add_phase("train", *(done - ready))
        objective = trainer.logparser.last_iteration["loss"]
        reached = next(when for loss, when in trainer.path if loss <= objective * 1.001)
        for name, end in (("fit", done), ("reach", reached)):
            wall, cpu = end - start
            run.add_phase(name, wall - features.wall, cpu - features.cpu)
        tagger = pycrfsuite.Tagger()
        tagger.open(model)
        X = list(Featurised(test.data))
        with run.phase("predict"):
            predicted = [tagger.tag(x) for x in X]
    run.figures["objective"] = objective
    run.figures["iterations"] = trainer.logparser.last_iteration["num"]
    evaluate(run, test.target, predicted)


BENCHMARK = Benchmark(
    name="crf_chunking",
    doc=__doc__,
    main_phase="fit",
    sides={
        "palmette": palmette_side(partial(palmette, n_jobs=os.cpu_count())),
        CRFSUITE: crfsuite_side(partial(python_crfsuite, take=list)),
        f"{CRFSUITE}, streamed": crfsuite_side(partial(python_crfsuite, take=iter)),
        "palmette, 1 thread": palmette_side(partial(palmette, n_jobs=1)),
    },
    targets=[
        Target("objective ratio", "<=", 1.001, peer=CRFSUITE),
        Target("fit wall ratio", "<=", 1 / 20, peer=CRFSUITE),
        Target("fit cpu ratio", "<=", 1 / 12, peer=CRFSUITE),
        Target("reach wall ratio", "<=", 1 / 10, peer=CRFSUITE),
        Target("peak memory ratio", "<=", 2 / 3, peer=CRFSUITE),
        Target("peak memory ratio", "<=", 1.0, peer=f"{CRFSUITE}, streamed"),
        Target("chunk F1", ">=", 0.936),
    ],
)
