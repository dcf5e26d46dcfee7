"""Solvers of the structured hinge: how near the optimum after how much time and how many passes over the data.

Every solver of `sum_i hinge_i(w) + (l2/2)|w|^2` on the same problems, from zero weights, one thread:

* `ocr`: handwritten words as chains, fold 0 of OCR letters (626 words, 4,617 letters, 4,004 weights), l2 = 10;
* `satimage`: multiclass, the training part of satimage (4,435 rows of 36 standardised columns, 222 weights), l2 = 10;
* `grids`: 60 simulated images of 4 x 4 pixels with three labels as graphs with cycles (21 weights), l2 = 1.

`bundle`, `one_slack`, `subgradient`: a step is a pass over all samples; `n_slack`, `frank_wolfe`, `smo`,
`multiclass_dual` (satimage): dual variables of the samples; `pegasos`, `stochastic` (AdaGrad): steps on single samples.
Reported is when the objective of the point that a solver would return was within 10 %, 1 % and 0.1 % of the optimum,
for which the best lower bound of all solvers stands, and when the solver had itself proven as much. Time is CPU time of
`solve`, after kernels were compiled; a run ends at a proven relative gap of 5e-4, or after 20 seconds. Passes count
calls of inference, those for checks included. Samples of ocr and satimage are visited in compiled loops, except by
`n_slack`; those of grids one by one from Python.
"""

import time
import warnings
from functools import lru_cache

from experiments.harness import Study, StudyTable

TASKS = ("ocr", "satimage", "grids")
SOLVERS = (
    "bundle", "one_slack", "n_slack", "subgradient", "pegasos", "frank_wolfe", "smo", "stochastic",
)  # fmt: skip
TOL, BUDGET = 5e-4, 20.0  # where runs end: relative gap proven, CPU seconds
LEVELS = (0.1, 0.01, 0.001)
MOST_STEPS = 2000  # of a run, that are stored


@lru_cache(maxsize=1)
def task(name):
    """A learner without its solver, inputs and outputs."""
    from palmette import SSVM, Chain, Graph, Multiclass

    own = {"n_jobs": 1, "random_state": 0}
    if name == "ocr":
        from palmette.datasets import load_ocr_letters

        words = load_ocr_letters(subset=0)
        return SSVM(Chain(), l2=10.0, fit_intercept=False, **own), words.data, words.target
    if name == "satimage":
        from palmette.datasets import load_statlog

        rows = load_statlog("satimage")
        there = rows.groups == "train"
        X = rows.data[there]
        return SSVM(Multiclass(), l2=10.0, **own), (X - X.mean(axis=0)) / X.std(axis=0), rows.target[there]
    return SSVM(Graph(), l2=1.0, **own), *make_grids(60)


def make_grids(n, side=4, n_labels=3, seed=0):
    """Images whose labels are smooth up to noise, with a noisy feature for every label."""
    import numpy as np

    from experiments.harness.grids import grid_edges
    from palmette import GraphInput

    rng = np.random.default_rng(seed)
    edges, _ = grid_edges(side, side)
    X, y = [], []
    for _ in range(n):
        field = rng.normal(size=(side, side, n_labels))
        for _ in range(2):
            field = field + np.roll(field, 1, axis=0) + np.roll(field, 1, axis=1)
        labels = field.argmax(axis=2).ravel()
        nodes = np.eye(n_labels)[labels] + rng.normal(size=(side * side, n_labels))
        X.append(GraphInput(np.round(nodes, 2), edges))
        y.append(["abc"[k] for k in labels])
    return X, y


def solvers_of(name):
    """What is compared on a task."""
    return (*SOLVERS, "multiclass_dual") if name == "satimage" else SOLVERS


def make_solver(name, callbacks):
    """A solver that runs to ``TOL``."""
    from dataclasses import fields

    from palmette.solvers import solver_class

    kind = solver_class(name)
    options = {"tol": TOL, "max_iter": 1_000_000, "callbacks": callbacks}
    if "random_state" in {f.name for f in fields(kind)}:
        options["random_state"] = 0
    return kind(**options)


class Timed:
    """A solver that notes the CPU time of its steps, and stops when it has had enough of it."""

    def __init__(self, name, budget=BUDGET):
        self.name, self.budget = name, budget
        self.steps, self.reason = [], ""

    def solve(self, problem, w0=None):
        start = time.process_time()

        def note(step):
            spent = time.process_time() - start
            self.steps.append([spent, step.n_oracle, step.primal, step.lower])
            return spent > self.budget

        result = make_solver(self.name, (note,)).solve(problem, w0=w0)
        last = [time.process_time() - start, result.step.n_oracle, result.primal, result.lower]
        self.steps[-1], self.reason = last, result.reason
        return result


def run(point):
    from sklearn.base import clone

    learner, X, y = task(point["task"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warm = Timed(point["solver"], budget=0.0)
        clone(learner).set_params(solver=warm).fit(X[:40], y[:40])  # compiles
        timed = Timed(point["solver"])
        clone(learner).set_params(solver=timed).fit(X, y)
    # A solver may not know its objective before it has checked for the first time, nor a bound (0 is one always).
    steps = [[*step[:3], max(step[3], 0.0)] for step in timed.steps if step[2] < float("inf")]
    kept = sorted({round(i * (len(steps) - 1) / (MOST_STEPS - 1)) for i in range(MOST_STEPS)})
    last = dict(zip(("seconds", "passes", "objective", "lower"), steps[-1]))
    return {**last, "stopped by": timed.reason, "steps": [steps[i] for i in kept]}


# -- tables and figure ------------------------------------------------------------------------------------------------


def optimum(records):
    """The best lower bound on the optimum of one problem."""
    return max(r["lower"] for r in records)


def reached(steps, best, level):
    """Seconds and passes of the first step whose objective is within ``level`` of the optimum, or None."""
    return next((step[:2] for step in steps if step[2] <= best * (1 + level)), None)


def proven(steps, level):
    """Seconds and passes of the first step whose own bound proves as much, or None."""
    return next((step[:2] for step in steps if step[2] - step[3] <= level * step[2]), None)


def shown(found, which, digits):
    return "-" if found is None else f"{found[which]:.{digits}f}"


def summarise(records):
    header = ["", *(f"within {level:g}" for level in LEVELS), *(f"proven {level:g}" for level in LEVELS)]
    tables = []
    for name in TASKS:
        own = [r for r in records if r["task"] == name]
        if not own:
            continue
        best, rows = optimum(own), {"CPU seconds": [], "passes": []}
        for record in own:
            steps = record["steps"]
            found = [reached(steps, best, level) for level in LEVELS]
            found += [proven(steps, level) for level in LEVELS]
            for which, (unit, table) in enumerate(rows.items()):
                digits = 2 if unit == "CPU seconds" else 0
                table.append([record["solver"], *(shown(f, which, digits) for f in found)])
        tables += [StudyTable(f"{name}: {unit}", header, table) for unit, table in rows.items()]
    return tables


def draw(figure, records):
    """Relative suboptimality against CPU time (above) and passes (below), a column for each problem."""
    figure.set_size_inches(12, 7)
    tasks = [name for name in TASKS if any(r["task"] == name for r in records)]
    axes = figure.subplots(2, len(tasks), squeeze=False)
    for column, name in enumerate(tasks):
        own = [r for r in records if r["task"] == name]
        best = optimum(own)
        for record in own:
            curve = [(s[0], s[1], (s[2] - best) / best) for s in record["steps"] if s[2] > best]
            seconds, passes, gap = zip(*curve) if curve else ((), (), ())
            for row, x in enumerate((seconds, passes)):
                axes[row, column].plot(x, gap, label=record["solver"], linewidth=1.2)
        for row, unit in enumerate(("CPU seconds", "passes over the data")):
            ax = axes[row, column]
            ax.set(xscale="log", yscale="log", xlabel=unit, ylim=(TOL / 5, 10))
            ax.grid(alpha=0.3)
        axes[0, column].set_title(name)
    for row in range(2):
        axes[row, 0].set_ylabel("objective above the optimum, relative")
    axes[0, 0].legend(fontsize=8)


BENCHMARK = Study(
    name="solvers",
    doc=__doc__,
    points=[{"task": name, "solver": solver} for name in TASKS for solver in solvers_of(name)],
    run=run,
    summarise=summarise,
    draw=draw,
)
