"""Training a chain CRF on CoNLL-2000 at three penalties: solvers of palmette against python-crfsuite (L-BFGS).

The data, the attributes, the weights and the conditions are those of `crf_chunking`; the penalties are `l2 =
0.2`, `2` and `20` (there `c2 = 0.1`, `1` and `10`). Nothing is tuned for them. `weak`, `middle` and `strong` are
the seconds from attribute strings to weights, encoding included; the strings are made before. The weak penalty
is the harder problem: palmette's dual steps then are short. `palmette` is what `solver="auto"` takes, dual ascent;
L-BFGS (`solver="lbfgs"`), to the same proven gap of 1e-3, is why. All run in one thread, L-BFGS also on all
cores.
"""

import os
from functools import partial

from experiments.benchmarks import crf_chunking as common
from experiments.harness import CRFSUITE, Benchmark, Target, crfsuite_side, palmette_side, train_crfsuite

PENALTIES = {"weak": 0.2, "middle": 2.0, "strong": 20.0}


def palmette(solver, n_jobs, run):
    from palmette import CRF, Chain

    train, _ = common.load(run)
    X = list(common.Featurised(train.data))

    def model(l2):
        return CRF(Chain(), l2=l2, solver=solver, tol=1e-3, n_jobs=n_jobs)

    with run.phase("compile"):
        model(2.0).fit(X[:20], train.target[:20])
    for name, l2 in PENALTIES.items():
        with run.phase(name):
            crf = model(l2).fit(X, train.target)
        run.figures[f"{name} objective"] = crf.objective_
        run.figures[f"{name} iterations"] = crf.n_iter_
        run.figures[f"{name} passes"] = crf.result_.step.n_oracle
        run.figures[f"{name} proven relative gap"] = crf.result_.gap / crf.objective_


def python_crfsuite(run):
    train, _ = common.load(run)
    X = list(common.Featurised(train.data))
    for name, l2 in PENALTIES.items():
        model = train_crfsuite(X, train.target, {"c2": l2 / 2, "feature.possible_states": False})
        run.add_phase(name, *model.fit)
        run.figures[f"{name} objective"] = model.log["loss"]
        run.figures[f"{name} iterations"] = model.log["num"]


BENCHMARK = Benchmark(
    name="crf_penalties",
    doc=__doc__,
    main_phase="weak",
    sides={
        "palmette": palmette_side(partial(palmette, "auto", 1)),
        CRFSUITE: crfsuite_side(python_crfsuite),
        "palmette, L-BFGS": palmette_side(partial(palmette, "lbfgs", 1)),
        "palmette, L-BFGS, all cores": palmette_side(partial(palmette, "lbfgs", os.cpu_count())),
    },
    targets=[
        Target(f"{name} {metric}", "<=", bound, peer=CRFSUITE)
        for name in PENALTIES
        for metric, bound in (("wall ratio", 0.1), ("objective ratio", 1.001))
    ],
)
