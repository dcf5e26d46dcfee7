"""RNA folding: likelihood, convex bound and ramp loss on unseen families, and how tight the bounds are.

bench1359 (seed sequences of Rfam 14.2 with published structures) in two folds by clan, else family: what is tested has
no relatives in training. Weights start from zero, and there are no settings to choose here: `palmette bench ramp_rna`
chooses them inside the training fold. Structures are decoded by CYK, as in Table 3 of Do, Le, Teo, Chapelle and Smola,
Tighter bounds for structured estimation, NIPS 2008; the last row decodes by maximum expected accuracy. The loss is
1 - recall, times 30 where steps are those of AdaGrad.

The figures are those of the paper's Figure 2: convex bound, ramp bound and true loss on short sequences whose
structures the model has, along the minimisation of the ramp bound by subgradient steps of Polyak's length, linearised
again after every 1,000 of them, at l2 = 2^-6 and 2^7; and at the end against l2. Penalties are those of the sum of the
losses.

The quick run takes every eighth sequence of at most 120 letters and 50 steps a round.
"""

import time
import warnings

import numpy as np

from experiments.harness.rna import benchmark, measured, paired_bootstrap
from palmette import CRF, SSVM, Folding
from palmette.apps.folding.evaluation import FoldingReport
from palmette.plot import BoundDisplay
from palmette.solvers import CCCP, LBFGS, Stochastic, Subgradient
from palmette.structures.folding.losses import PairLoss

BANDS = ((0, 60), (60, 100), (100, 150), (150, 250), (250, 500), (0, 500))
PAPER = {"CRF": 0.505, "convex": 0.608, "ramp": 0.646}
STRENGTHS = (2.0**-6, 2.0**7)
GAMMA = 6.0


def run(context):
    found = {"CRF": [], "convex": [], "ramp": [], "weighted CRF, MEA": []}
    seconds = dict.fromkeys(found, 0.0)
    lengths = []
    for fold in (0, 1):
        train, test = (some(own, context.quick) for own in benchmark(fold))
        lengths += [len(x) for x in test.X]
        start = None
        for name, reports in found.items():
            began = time.process_time()
            model = fit(name, train, start)
            seconds[name] += time.process_time() - began
            start = model.coef_ if name == "convex" else start
            reports.append(measured(model, test, GAMMA if name.endswith("MEA") else None))
            context.log(f"fold {fold}, {name}: {reports[-1].headline()}")
    pooled = {name: joined(reports) for name, reports in found.items()}
    rows = [
        [name, r.sensitivity, r.selectivity, r.f1, PAPER.get(name), round(seconds[name])]
        for name, r in pooled.items()
    ]
    header = ["", "sensitivity", "selectivity", "mean F1", "sensitivity (paper)", "CPU s"]
    context.add_table("Families that were not seen, both folds", header, rows)
    context.add_table(*by_length({name: pooled[name] for name in PAPER}, np.array(lengths)))
    tightness(context)
    for worse, better in (("CRF", "convex"), ("convex", "ramp")):
        gain = pooled[better].sensitivity - pooled[worse].sensitivity
        context.add_target(f"sensitivity, {better} - {worse}", gain, ">=", -0.05 if context.quick else 0.0)


def some(own, quick):
    """All sequences, or a few short ones."""
    return own.take([not quick or (i % 8 == 0 and len(x) <= 120) for i, x in enumerate(own.X)])


def fit(name, train, start):
    structure = Folding(precision="single")
    hinge = {"task_loss": PairLoss(30.0), "l2": 1.0, "n_jobs": 1}
    weight = None
    if name == "CRF":
        model = CRF(structure, l2=10.0, solver=LBFGS(max_iter=60, tol=2e-3), n_jobs=1)
    elif name == "convex":
        model = SSVM(structure, solver=steps(20), **hinge)
    elif name == "ramp":
        model = SSVM(structure, loss="ramp", solver=CCCP(max_iter=6, inner=steps(3), start=start), **hinge)
    else:  # mean F1 counts all sequences alike, and likelihood long ones more
        model = CRF(structure, l2=3.0, solver=steps(10), n_jobs=1)
        weight = 1.0 / np.maximum([y.count("(") for y in train.Y], 5)
        weight /= weight.mean()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pairs outside of the model; runs that end by their number of passes
        return model.fit(train.X, train.Y, sample_weight=weight)


def steps(epochs):
    return Stochastic(rate=0.1, max_iter=epochs, check_every=epochs)


def joined(reports):
    """The report of all sequences."""
    columns = zip(*((r.right, r.predicted, r.true) for r in reports))
    return FoldingReport(*(np.concatenate(column) for column in columns))


def by_length(reports, lengths):
    """Sensitivity in bands of length, with intervals of paired differences."""
    each = {name: r.right / np.maximum(r.true, 1) for name, r in reports.items()}
    rows = []
    for low, high in BANDS:
        here = (lengths > low) & (lengths <= high)
        if not here.any():
            continue
        row = [f"{low + 1}-{high}", int(here.sum()), *(float(value[here].mean()) for value in each.values())]
        for worse, better in (("CRF", "convex"), ("convex", "ramp")):
            a, b = paired_bootstrap((each[better] - each[worse])[here])
            row.append(f"{a:+.3f} to {b:+.3f}")
        rows.append(row)
    header = ["letters", "sequences", *each, "convex - CRF, 95 %", "ramp - convex, 95 %"]
    return "Sensitivity by length", header, rows


def tightness(context):
    """Figure 2 of the paper, and its last values as a table."""
    train = benchmark(0)[0]
    n, n_steps, rounds = (12, 50, 3) if context.quick else (40, 1000, 4)
    few = train.take(
        [len(x) <= 80 and not Folding().projected([x], [y]).dropped for x, y in zip(train.X, train.Y)]
    )
    few = few.take(np.arange(len(few.X)) < n)
    strengths = STRENGTHS if context.quick else tuple(2.0**p for p in (-6, -3, 0, 3, 5, 7))

    def learner(l2):
        inner = Subgradient(max_iter=n_steps, tol=1e-9)
        solver = CCCP(max_iter=rounds, inner=inner, start="convex", tol=1e-9, precision="fixed")
        return SSVM(Folding(), loss="ramp", task_loss=PairLoss(), l2=l2, solver=solver, n_jobs=1)

    drawn = {}

    def draw(figure):
        for ax, l2 in zip(figure.subplots(1, len(strengths), sharey=True), strengths):
            drawn[l2] = BoundDisplay.from_estimator(learner(l2), few.X, few.Y, against="n_iter", ax=ax)
            ax.set_title(f"l2 = {l2:g}")
            context.log(f"bounds at l2 = {l2:g}")

    def against(figure):
        ends = [[getattr(drawn[l2], name)[-1] for l2 in strengths] for name in ("convex", "ramp", "loss")]
        BoundDisplay(strengths, *ends, xlabel="l2", log=True).plot(ax=figure.subplots())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        context.add_figure(
            f"Bounds along the optimisation, {len(few.X)} sequences", draw, size=(4 * len(strengths), 4)
        )
        if not drawn:
            return
        context.add_figure("Bounds at the end against l2", against, size=(5, 4))
    ends = {
        l2: [float(getattr(d, name)[-1]) for name in ("convex", "ramp", "loss")] for l2, d in drawn.items()
    }
    rows = [[f"{l2:g}", *values, values[1] - values[2]] for l2, values in ends.items()]
    context.add_table(
        "Mean loss and its bounds at the end", ["l2", "convex", "ramp", "loss", "ramp - loss"], rows
    )
    worst = max(float((d.ramp - d.convex).max()) for d in drawn.values())
    context.add_target("ramp - convex bound, largest", worst, "<=", 1e-4)
