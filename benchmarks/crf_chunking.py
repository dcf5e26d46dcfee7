"""Training a chain CRF on CoNLL-2000 chunking: ramify against python-crfsuite (L-BFGS).

Both sides get the same attribute strings (19 templates over words and part-of-speech tags), have the same
weights (one for each attribute and label seen together, one for each pair of labels) and minimise the same
objective, the negative log-likelihood plus `|w|^2` (there `c2 = 1`, here `l2 = 2`), each with its own stopping
rule. CRFsuite has one thread; ramify runs on all cores and, as a side of its own, in one thread. `encode` turns
strings into codes, `train` is everything else up to the weights, `predict` tags the test part from strings.
Making the attribute strings is not timed.
"""

import os
import tempfile
import time
from pathlib import Path

from ramify.bench import Benchmark, Side, Target


def load(run):
    """Attributes and labels of the training part, then of the test part."""
    from ramify.apps.tagging.default_template import crfsuite_chunking_template
    from ramify.apps.tagging.templates import Template
    from ramify.datasets import load_conll2000

    template = Template.parse(crfsuite_chunking_template())
    train, test = load_conll2000(subset="train"), load_conll2000(subset="test")
    run.sizes["training sentences"] = len(train.data)
    run.sizes["training tokens"] = sum(map(len, train.data))
    run.sizes["test tokens"] = sum(map(len, test.data))
    return template.apply(train.data), train.target, template.apply(test.data), test.target


def now():
    """Seconds on the clock, and of all threads of this process."""
    return time.perf_counter(), time.process_time()


def between(start, stop):
    return stop[0] - start[0], stop[1] - start[1]


def evaluate(run, truth, predicted):
    from ramify.metrics import chunk_report

    report = chunk_report(truth, predicted)
    run.figures["token accuracy"] = report.accuracy
    run.figures["chunk F1"] = report.overall.f1


def all_cores(run):
    ramify(run, os.cpu_count())


def one_thread(run):
    ramify(run, 1)


def ramify(run, n_jobs):
    from ramify import CRF, Chain

    def model():
        return CRF(Chain(), l2=2.0, n_jobs=n_jobs)

    X, Y, X_test, Y_test = load(run)
    with run.phase("compile"):
        model().fit(X[:20], Y[:20]).predict(X[:20])

    start = now()
    crf = model().fit(X, Y)
    wall, cpu = between(start, now())
    encode = crf.fit_seconds_["encode"]
    run.add_phase("encode", encode, encode)  # one thread, so CPU time is wall time
    run.add_phase("train", wall - encode, cpu - encode)

    with run.phase("predict"):
        predicted = crf.predict(X_test)
    run.figures["objective"] = crf.objective_
    run.figures["iterations"] = crf.result_.step.n_iter
    evaluate(run, Y_test, predicted)


def python_crfsuite(run):
    import pycrfsuite

    class Trainer(pycrfsuite.Trainer):
        """Notes when each stage of the training log begins."""

        def __init__(self, **options):
            super().__init__(**options)
            self.began = {}

        def message(self, message):
            super().message(message)
            self.began.setdefault(self.logparser.state, now())

    X, Y, X_test, Y_test = load(run)
    trainer = Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c2": 1.0, "feature.possible_transitions": True, "feature.possible_states": False})
    start = now()
    for x, y in zip(X, Y):
        trainer.append(x, y)
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "model.crfsuite")
        trainer.train(model)
        ready, done = trainer.began["AFTER_FEATGEN"], trainer.began["STORING"]
        run.add_phase("encode", *between(start, ready))
        run.add_phase("train", *between(ready, done))
        tagger = pycrfsuite.Tagger()
        tagger.open(model)
        with run.phase("predict"):
            predicted = [tagger.tag(x) for x in X_test]
    run.figures["objective"] = trainer.logparser.last_iteration["loss"]
    run.figures["iterations"] = trainer.logparser.last_iteration["num"]
    evaluate(run, Y_test, predicted)


OURS = ("ramify", "numba", "sklearn")

BENCHMARK = Benchmark(
    name="crf_chunking",
    doc=__doc__,
    main_phase="train",
    sides={
        "ramify": Side(all_cores, imports=OURS, package="ramify"),
        "python-crfsuite": Side(python_crfsuite, imports=("pycrfsuite",), package="python-crfsuite"),
        "ramify, 1 thread": Side(one_thread, imports=OURS, package="ramify"),
    },
    targets=[
        Target("objective relative difference", "<=", 1e-4, peer="python-crfsuite"),
        Target("train wall ratio", "<=", 0.5, peer="python-crfsuite"),
    ],
)
