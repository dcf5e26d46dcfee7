"""Tagging from dicts and from strings: tokens per CPU second, palmette against python-crfsuite.

Both sides have a chain CRF on the attributes of the tutorial of sklearn-crfsuite (the word, its endings, its shape,
its tag, those of its neighbours: strings, booleans and a bias of 1.0) and label the test part of CoNLL-2000 (47,377
tokens) several times, in one thread; the best time counts. `dicts` are lists of dicts, `strings` lists of the names
that CRFsuite makes of them, both made before. python-crfsuite is called with each sentence as it is, its fastest
form; `encoded before` is what it takes for `ItemSequence` objects and palmette for encoded inputs. `first` is the
first call of a model, all of whose items are new to it; the inputs of `fresh` are other objects with the same texts, as
a program that reads more text has them. `encode` is the encoding of the training part. Training is not the matter here
and stops early on both sides.
"""

from experiments.harness import CRFSUITE, Benchmark, Target, crfsuite_side, now, palmette_side, train_crfsuite

REPEATS = 9


def features(sentence, t):
    """Attributes of one token, as in the tutorial."""
    word, tag = sentence[t]
    found = {
        "bias": 1.0, "word.lower()": word.lower(), "word[-3:]": word[-3:], "word[-2:]": word[-2:],
        "word.isupper()": word.isupper(), "word.istitle()": word.istitle(), "word.isdigit()": word.isdigit(),
        "postag": tag, "postag[:2]": tag[:2],
    }  # fmt: skip
    for side, at, end in (("-1", t - 1, "BOS"), ("+1", t + 1, "EOS")):
        if not 0 <= at < len(sentence):
            found[end] = True
            continue
        word, tag = sentence[at]
        found |= {
            f"{side}:word.lower()": word.lower(), f"{side}:word.istitle()": word.istitle(),
            f"{side}:word.isupper()": word.isupper(), f"{side}:postag": tag, f"{side}:postag[:2]": tag[:2],
        }  # fmt: skip
    return found


def dicts(sentences):
    return [[features(sentence, t) for t in range(len(sentence))] for sentence in sentences]


def strings(sentences):
    """Lists of the names that the dicts mean."""
    return [
        [[_name(*item) for item in token.items() if item[1]] for token in sample]
        for sample in dicts(sentences)
    ]


def _name(name, value):
    return f"{name}:{value}" if isinstance(value, str) else name


FORMS = {"dicts": dicts, "strings": strings}


def load(run):
    from palmette.datasets import load_conll2000

    train, test = load_conll2000(subset="train"), load_conll2000(subset="test")
    run.sizes["test tokens"] = sum(map(len, test.data))
    return train, test


def timed(run, name, tag, inputs, truth):
    """Time a way to label the test part, once for each of some inputs that are all the same, and check its answers."""
    best = None
    for X in inputs:
        start = now()
        predicted = tag(X)
        seconds = now() - start
        best = seconds if best is None or seconds.cpu < best.cpu else best
    run.add_phase(name, *best)
    run.figures[f"{name}, tokens per CPU s"] = run.sizes["test tokens"] / best.cpu
    right = sum(a == b for p, t in zip(predicted, truth) for a, b in zip(p, t))
    run.figures[f"{name}, token accuracy"] = right / run.sizes["test tokens"]


def palmette(run):
    from palmette import CRF, Chain
    from palmette.features import make_encoder

    train, test = load(run)
    for name, make in FORMS.items():
        X, X_test = make(train.data), make(test.data)
        CRF(Chain(), tol=0.5, n_jobs=1).fit(X[:50], train.target[:50]).predict(X_test[:50])  # compiles
        with run.phase(f"{name}, encode"):
            make_encoder(X, "sequences").fit_transform(X)
        with run.phase(f"{name}, train"):
            model = CRF(Chain(), l2=2.0, tol=3e-2, n_jobs=1).fit(X, train.target)
        timed(run, f"{name}, first", model.predict, [X_test], test.target)
        timed(run, name, model.predict, [X_test] * REPEATS, test.target)
        timed(run, f"{name}, fresh", model.predict, [make(test.data) for _ in range(3)], test.target)
        timed(run, f"{name}, encoded before", model.predict, [model.encode(X_test)] * REPEATS, test.target)


def python_crfsuite(run):
    from pycrfsuite import ItemSequence

    train, test = load(run)
    for name, make in FORMS.items():
        X, X_test = make(train.data), make(test.data)
        model = train_crfsuite(X, train.target, {"c2": 1.0, "max_iterations": 20})
        run.add_phase(f"{name}, encode", *model.encode)
        run.add_phase(f"{name}, train", *model.fit)
        timed(run, f"{name}, first", model.tag, [X_test], test.target)
        timed(run, name, model.tag, [X_test] * REPEATS, test.target)
        timed(run, f"{name}, fresh", model.tag, [make(test.data) for _ in range(3)], test.target)
        items = list(map(ItemSequence, X_test))
        timed(run, f"{name}, encoded before", model.tag, [items] * REPEATS, test.target)


BENCHMARK = Benchmark(
    name="dict_tagging",
    doc=__doc__,
    main_phase="dicts",
    sides={"palmette": palmette_side(palmette), CRFSUITE: crfsuite_side(python_crfsuite)},
    targets=[
        Target("dicts, tokens per CPU s ratio", ">=", 1.5, peer=CRFSUITE),
        Target("dicts, fresh, tokens per CPU s ratio", ">=", 1.5, peer=CRFSUITE),
        Target("strings, tokens per CPU s ratio", ">=", 3.0, peer=CRFSUITE),
    ],
)
