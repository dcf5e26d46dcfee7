"""Tagging CoNLL-2000: tokens a second, palmette against python-crfsuite.

Both sides have a chain CRF on the same attributes, the 19 templates of CRFsuite's chunking benchmark, and label the
test part (47,377 tokens) several times; the best time counts. `raw` starts from tokens, tuples of a word and a tag:
palmette's templates are compiled, CRFsuite's users write a Python function. `prebuilt` starts from lists of attribute
strings. palmette also reads and labels a `file`, and labels inputs `encoded` before. CRFsuite has one thread; palmette
runs on all cores and, as a side of its own, in one thread. Training is not the matter here and stops early on both
sides.
"""

import os
import tempfile
from functools import partial
from pathlib import Path

from experiments.benchmarks.crf_chunking import attributes
from experiments.harness import CRFSUITE, Benchmark, Target, crfsuite_side, now, palmette_side, train_crfsuite

REPEATS = 7


def load(run):
    from palmette.datasets import load_conll2000

    train, test = load_conll2000(subset="train"), load_conll2000(subset="test")
    run.sizes["test tokens"] = sum(map(len, test.data))
    return train, test


def timed(run, name, function, truth):
    """Time a way to label the test part, and check its answers."""
    best = None
    for _ in range(REPEATS):
        start = now()
        predicted = function()
        seconds = now() - start
        best = seconds if best is None else min(best, seconds)
    run.add_phase(name, *best)
    run.figures[f"{name}, tokens a second"] = run.sizes["test tokens"] / best[0]
    right = sum(a == b for p, t in zip(predicted, truth) for a, b in zip(p, t))
    run.figures[f"{name}, token accuracy"] = right / run.sizes["test tokens"]


def palmette(run, n_jobs):
    from palmette import CRF, Chain
    from palmette.apps.tagging.columns import read_columns
    from palmette.apps.tagging.default_template import crfsuite_chunking_template
    from palmette.features import ColumnSentences, Template

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
    train, test = load(run)
    with run.phase("train"):
        X = (attributes(sentence) for sentence in train.data)
        model = train_crfsuite(X, train.target, {"c2": 1.0, "max_iterations": 20})
    timed(run, "raw", lambda: model.tag(map(attributes, test.data)), test.target)
    X = list(map(attributes, test.data))
    timed(run, "prebuilt", lambda: model.tag(X), test.target)


BENCHMARK = Benchmark(
    name="tagging_speed",
    doc=__doc__,
    main_phase="raw",
    sides={
        "palmette": palmette_side(partial(palmette, n_jobs=os.cpu_count())),
        CRFSUITE: crfsuite_side(python_crfsuite),
        "palmette, 1 thread": palmette_side(partial(palmette, n_jobs=1)),
    },
    targets=[
        Target("raw, tokens a second ratio", ">=", 5.0, peer=CRFSUITE),
        Target("prebuilt, tokens a second ratio", ">=", 3.0, peer=CRFSUITE),
    ],
)
