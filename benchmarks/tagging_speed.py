"""Tagging CoNLL-2000: tokens a second, ramify against python-crfsuite.

Both sides have a chain CRF on the same attributes, the 19 templates of CRFsuite's chunking benchmark, and label the
test part (47,377 tokens) several times; the best time counts. `raw` starts from tokens, tuples of a word and a tag:
ramify's templates are compiled, CRFsuite's users write a Python function. `prebuilt` starts from lists of attribute
strings. ramify also reads and labels a `file`, and labels inputs `encoded` before. CRFsuite has one thread; ramify
runs on all cores and, as a side of its own, in one thread. Training is not the matter here and stops early on both
sides.
"""

import os
import tempfile
import time
from pathlib import Path

from ramify.bench import Benchmark, Side, Target

REPEATS = 7


def load(run):
    from ramify.datasets import load_conll2000

    train, test = load_conll2000(subset="train"), load_conll2000(subset="test")
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


def timed(run, name, function, truth):
    """Time a way to label the test part, and check its answers."""
    best = None
    for _ in range(REPEATS):
        start = time.perf_counter(), time.process_time()
        predicted = function()
        seconds = time.perf_counter() - start[0], time.process_time() - start[1]
        best = seconds if best is None else min(best, seconds)
    run.add_phase(name, *best)
    run.figures[f"{name}, tokens a second"] = run.sizes["test tokens"] / best[0]
    right = sum(a == b for p, t in zip(predicted, truth) for a, b in zip(p, t))
    run.figures[f"{name}, token accuracy"] = right / run.sizes["test tokens"]


def all_cores(run):
    ramify(run, os.cpu_count())


def one_thread(run):
    ramify(run, 1)


def ramify(run, n_jobs):
    from ramify import CRF, Chain
    from ramify.apps.tagging.columns import read_columns
    from ramify.apps.tagging.default_template import crfsuite_chunking_template
    from ramify.features import ColumnSentences, Template

    def model():
        return CRF(Chain(), l2=2.0, tol=3e-2, n_jobs=n_jobs)

    train, test = load(run)
    template = Template.parse(crfsuite_chunking_template())
    with run.phase("train"):
        crf = model().fit(ColumnSentences(train.data, template), train.target)
    timed(run, "raw", lambda: crf.predict(ColumnSentences(test.data, template)), test.target)
    encoded = crf.encode(ColumnSentences(test.data, template))
    timed(run, "encoded", lambda: crf.predict(encoded), test.target)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test.txt"
        sentences = ["".join(f"{word} {tag}\n" for word, tag in sentence) for sentence in test.data]
        path.write_text("\n".join(sentences), encoding="utf-8")
        timed(
            run, "file", lambda: crf.predict(ColumnSentences(read_columns(path).table, template)), test.target
        )
    strings = model().fit((attributes(sentence) for sentence in train.data), train.target)
    X = [attributes(sentence) for sentence in test.data]
    timed(run, "prebuilt", lambda: strings.predict(X), test.target)


def python_crfsuite(run):
    import pycrfsuite

    train, test = load(run)
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c2": 1.0, "feature.possible_transitions": True, "max_iterations": 20})
    with run.phase("train"), tempfile.TemporaryDirectory() as folder:
        for x, y in zip(train.data, train.target):
            trainer.append(attributes(x), y)
        trainer.train(f"{folder}/model")
        tagger = pycrfsuite.Tagger()
        tagger.open(f"{folder}/model")
    timed(run, "raw", lambda: [tagger.tag(attributes(x)) for x in test.data], test.target)
    X = [attributes(sentence) for sentence in test.data]
    timed(run, "prebuilt", lambda: [tagger.tag(x) for x in X], test.target)


OURS = ("ramify", "numba", "sklearn")

BENCHMARK = Benchmark(
    name="tagging_speed",
    doc=__doc__,
    main_phase="raw",
    sides={
        "ramify": Side(all_cores, imports=OURS, package="ramify"),
        "python-crfsuite": Side(python_crfsuite, imports=("pycrfsuite",), package="python-crfsuite"),
        "ramify, 1 thread": Side(one_thread, imports=OURS, package="ramify"),
    },
    targets=[
        Target("raw, tokens a second ratio", ">=", 5.0, peer="python-crfsuite"),
        Target("prebuilt, tokens a second ratio", ">=", 3.0, peer="python-crfsuite"),
    ],
)
