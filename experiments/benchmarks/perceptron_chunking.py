"""Ten epochs of the averaged perceptron on CoNLL-2000 chunking: palmette against CRFsuite's, Vowpal Wabbit's search.

All sides get the attribute strings of `crf_chunking`, made before. palmette and CRFsuite run ten epochs of the
averaged perceptron; Vowpal Wabbit's sequence search, without roll-outs (its fastest way), makes three passes,
after which it is as good. `encode` turns strings into codes (for Vowpal Wabbit: writes its input file, in which
it hashes the strings again while it reads, so that its `train` includes that), `train` is everything else up to
the weights, `fit` both. Every side has one thread: steps follow each other. What a perceptron reaches depends
on the order of the sentences, so scores are means over five orders, the same for every side; times are those of
the first, the file's own.
"""

import random
import tempfile
from pathlib import Path

from experiments.benchmarks import crf_chunking as common
from experiments.harness import (
    CRFSUITE,
    Benchmark,
    Run,
    Side,
    Target,
    crfsuite_side,
    now,
    palmette_side,
    train_crfsuite,
)

EPOCHS, PASSES, ORDERS = 10, 3, 5


def load(run):
    (X, Y), (X_test, Y_test) = (
        (list(common.Featurised(part.data)), part.target) for part in common.load(run)
    )
    return X, Y, X_test, Y_test


def orders(X, Y):
    """The training data in the file's order, then shuffled in some ways: the same for every side."""
    yield X, Y
    for seed in range(1, ORDERS):
        order = random.Random(seed).sample(range(len(X)), len(X))
        yield [X[i] for i in order], [Y[i] for i in order]


def over_orders(run, train_and_tag):
    """Mean figures over the orders; the times are those of the first."""
    X, Y, X_test, Y_test = load(run)
    kept = {}
    for k, (x, y) in enumerate(orders(X, Y)):
        one = run if k == 0 else Run()
        common.evaluate(one, Y_test, train_and_tag(one, x, y, X_test, Y_test))
        for name, value in one.figures.items():
            kept.setdefault(name, []).append(value)
    run.figures.update({name: sum(values) / len(values) for name, values in kept.items()})
    run.figures |= {"chunk F1, least": min(kept["chunk F1"]), "chunk F1, most": max(kept["chunk F1"])}


def palmette(run):
    from palmette import Chain, Perceptron

    def model():
        return Perceptron(Chain(), max_iter=EPOCHS, n_jobs=1)

    def train_and_tag(run, X, Y, X_test, Y_test):
        with run.phase("compile"):
            model().fit(X[:20], Y[:20]).predict(X[:20])
        start = now()
        perceptron = model().fit(X, Y)
        wall, cpu = now() - start
        encode = perceptron.fit_seconds_["encode"]
        run.add_phase("encode", encode, encode)
        run.add_phase("train", wall - encode, cpu - encode)
        run.add_phase("fit", wall, cpu)
        with run.phase("predict"):
            return perceptron.predict(X_test)

    over_orders(run, train_and_tag)


def python_crfsuite(run):
    def train_and_tag(run, X, Y, X_test, Y_test):
        model = train_crfsuite(X, Y, {"max_iterations": EPOCHS, "epsilon": 0.0}, "ap")
        for name, phase in (("encode", model.encode), ("train", model.train), ("fit", model.fit)):
            run.add_phase(name, *phase)
        with run.phase("predict"):
            return model.tag(X_test)

    over_orders(run, train_and_tag)


def write_vw(path, X, Y, codes):
    """One line per token, an empty line after each sentence; characters that mean something there are spelled out."""
    spelled = str.maketrans({":": "_c", "|": "_p"})
    with open(path, "w", encoding="utf-8") as file:
        for x, y in zip(X, Y):
            for attributes, label in zip(x, y):
                file.write(f"{codes.get(label, 1)} | {' '.join(attributes).translate(spelled)}\n")
            file.write("\n")


def vowpal_wabbit(run):
    import vowpalwabbit

    def train_and_tag(run, X, Y, X_test, Y_test):
        labels = sorted({label for y in Y for label in y})
        codes = {label: k for k, label in enumerate(labels, start=1)}
        with tempfile.TemporaryDirectory() as folder:
            data, model, test, answers = (
                str(Path(folder) / name) for name in ("train", "model", "test", "answers")
            )
            start = now()
            write_vw(data, X, Y, codes)
            ready = now()
            learner = vowpalwabbit.Workspace(
                f"--search {len(labels)} --search_task sequence -d {data} -k --cache_file {data}.cache "
                f"--passes {PASSES} --holdout_off -b 22 -f {model} --quiet --search_rollout none"
            )
            learner.finish()
            done = now()
            run.add_phase("encode", *(ready - start))
            run.add_phase("train", *(done - ready))
            run.add_phase("fit", *(done - start))
            write_vw(test, X_test, Y_test, codes)
            with run.phase("predict"):
                vowpalwabbit.Workspace(f"-t -i {model} -d {test} -p {answers} --quiet").finish()
            lines = Path(answers).read_text().split("\n")
        return [[labels[int(code) - 1] for code in line.split()] for line in lines if line.strip()]

    over_orders(run, train_and_tag)


BENCHMARK = Benchmark(
    name="perceptron_chunking",
    doc=__doc__,
    main_phase="fit",
    sides={
        "palmette": palmette_side(palmette),
        CRFSUITE: crfsuite_side(python_crfsuite),
        "Vowpal Wabbit": Side(vowpal_wabbit, imports=("vowpalwabbit",), package="vowpalwabbit"),
    },
    targets=[
        Target("train wall ratio", "<=", 1 / 3, peer=CRFSUITE),
        Target("fit wall ratio", "<=", 1 / 3, peer=CRFSUITE),
        Target("train wall ratio", "<=", 1.0, peer="Vowpal Wabbit"),
        Target("chunk F1 difference", ">=", -0.0005, peer=CRFSUITE),
        Target("chunk F1", ">=", 0.934),
    ],
)
