"""The drop-in for sklearn-crfsuite on little data: every algorithm, `palmette.compat.CRF` against the original.

Both sides get the attribute strings of `crf_chunking`, made before, of the first 400 sentences of CoNLL-2000.
`fit` is all of `CRF(algorithm).fit(X, y)` with its defaults, from strings to a model that tags. Where `l2sgd`
stops depends on the random order of the sentences, which differs (100 to 280 epochs there, 120 to 260 here), so
`l2sgd, 100 epochs` takes its stopping rule away (`period=1000`), on 400 and on 2,000 sentences. Scores are those
of the test part. `compile` fills the cache of kernels.
"""

from experiments.benchmarks import crf_chunking as common
from experiments.harness import Benchmark, Side, Target, palmette_side

ALGORITHMS = ("lbfgs", "l2sgd", "ap", "pa", "arow")
EPOCHS = {"algorithm": "l2sgd", "max_iterations": 100, "period": 1000}
FITS = {name: (400, {"algorithm": name}) for name in ALGORITHMS}
FITS |= {"l2sgd, 100 epochs": (400, EPOCHS), "l2sgd, 100 epochs, 2,000": (2000, EPOCHS)}


def fit_all(run, kind):
    train, test = common.load(run)
    run.sizes["training sentences"], run.sizes["training tokens"] = 2000, sum(map(len, train.data[:2000]))
    X, Y = list(common.Featurised(train.data[:2000])), train.target[:2000]
    X_test = list(common.Featurised(test.data))
    with run.phase("compile"):
        for name in ALGORITHMS:
            kind(name, max_iterations=2).fit(X[:20], Y[:20]).predict(X_test[:2])
    with run.phase("all"):
        for name, (n, settings) in FITS.items():
            with run.phase(f"{name}: fit"):
                crf = kind(**settings).fit(X[:n], Y[:n])
            log = crf.training_log_.iterations
            run.figures[f"{name}: iterations"] = len(log)
            if "lbfgs" in name or "l2sgd" in name:
                run.figures[f"{name}: loss"] = min(entry["loss"] for entry in log)
            run.figures[f"{name}: token accuracy"] = crf.score(X_test, test.target)


def palmette(run):
    from palmette.compat import CRF

    fit_all(run, CRF)


def sklearn_crfsuite(run):
    from sklearn_crfsuite import CRF

    fit_all(run, CRF)


PEER = "sklearn-crfsuite"

BENCHMARK = Benchmark(
    name="crfsuite_drop_in",
    doc=__doc__,
    main_phase="all",
    sides={
        "palmette": palmette_side(palmette),
        PEER: Side(sklearn_crfsuite, imports=("sklearn_crfsuite", "sklearn"), package=PEER),
    },
    targets=[
        *(Target(f"{name}: fit cpu ratio", "<=", 1.0) for name in FITS),
        *(Target(f"{name}: loss ratio", "<=", 1.005) for name in FITS if "l2sgd" in name or name == "lbfgs"),
        *(Target(f"{name}: token accuracy difference", ">=", -0.005) for name in FITS),
    ],
)
