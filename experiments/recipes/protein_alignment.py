"""Protein alignment: likelihood, convex bound and ramp loss on pairs that were not seen, by identity.

PREFAB 4 in two folds of connected components of pairs that share a chain: what is tested has no chain of the training
part. CRF and soft hinge start from zero, the convex bound from the soft hinge, and the ramp from the convex bound.
There are no settings to choose here: `palmette bench ramp_alignment` chooses them inside the training fold. References
say which core columns match, and nothing else. Alignments are decoded by Viterbi, as in Table 2 of Do, Le, Teo,
Chapelle and Smola, Tighter bounds for structured estimation, NIPS 2008, which has another data set; the last two rows
decode by posteriors, and BLOSUM62 (open -11, extend -1, free end gaps) stands beside. The loss is 1 - recall, times 60
for the convex bound and the soft hinge, and times 4 for the ramp. Identity is the percentage of core columns with
equal letters.

The figures show the first test pair, its posteriors, and how recall grows with identity.

The quick run takes every twentieth pair of at most 300 letters.
"""

import time
import warnings

import numpy as np

from experiments.harness.alignments import benchmark, measured
from experiments.harness.rna import paired_bootstrap
from palmette import CRF, SSVM, Alignment
from palmette.apps.aligning import Aligner, AlignmentReport
from palmette.apps.aligning.learners import make_learner
from palmette.plot import AlignmentDisplay, MatchDisplay
from palmette.solvers import CCCP, Stochastic
from palmette.structures.alignment.losses import ColumnLoss

ROWS = ("BLOSUM62", "CRF", "soft hinge", "convex", "ramp", "CRF, posterior", "soft hinge, posterior")
BANDS = ((0, 10), (10, 20), (20, 30), (30, 40), (40, 70), (70, 100), (0, 100))
PAPER = {"CRF": 0.430, "convex": 0.472, "ramp": 0.488}
KINDS = ("right", "core", "claimed", "filled", "gaps", "predicted", "identity")


def run(context):
    found = {name: [] for name in ROWS}
    seconds = dict.fromkeys(found, 0.0)
    shown = None
    for fold in (0, 1):
        train, test = (some(own, context.quick) for own in benchmark("prefab", fold))
        models = {"BLOSUM62": Aligner.from_matrix(free_ends=True).model}
        for name, reports in found.items():
            began = time.process_time()
            kind = name.removesuffix(", posterior")
            if kind not in models:
                models[kind] = fit(kind, train, models)
            seconds[name] += time.process_time() - began
            reports.append(measured(models[kind], test, 0.0 if name.endswith("posterior") else None))
            context.log(f"fold {fold}, {name}: {reports[-1].headline()}")
        shown = shown or (models["CRF"], test.references[0])
    pooled = {name: joined(reports) for name, reports in found.items()}
    rows = [
        [name, r.recall, r.precision, r.over_alignment, PAPER.get(name), round(seconds[name])]
        for name, r in pooled.items()
    ]
    header = ["", "recall", "precision", "over-alignment", "recall (paper)", "CPU s"]
    context.add_table("Pairs whose chains were not seen, both folds", header, rows)
    context.add_table(*by_identity(pooled))
    draw(context, pooled, *shown)
    for worse, better in (("CRF", "convex"), ("convex", "ramp")):
        gain = pooled[better].recall - pooled[worse].recall
        context.add_target(f"recall, {better} - {worse}", gain, ">=", -0.05 if context.quick else 0.0)


def some(own, quick):
    """All pairs, or a few short ones."""
    few = [not quick or (i % 20 == 0 and max(map(len, x)) <= 300) for i, x in enumerate(own.X)]
    return own.take(few)


def fit(name, train, models):
    if name == "CRF":
        model = CRF(Alignment(), l2=1.0, solver=steps(12, 0.03), n_jobs=1)
    elif name == "soft hinge":
        model = make_learner("soft_hinge", Alignment(), missed=60.0, l2=1.0, solver=steps(6, 0.1), n_jobs=1)
    elif name == "convex":  # compares with the best completion, which depends on where it starts
        first = models["soft hinge"].scorer_.named(models["soft hinge"].coef_)
        model = make_learner(
            "ssvm", Alignment(), first, missed=60.0, l2=10.0, solver=steps(6, 0.03), n_jobs=1
        )
    else:  # the bound is the tighter the smaller the loss is beside the scores that it starts from
        solver = CCCP(max_iter=4, inner=steps(2, 0.01), start=models["convex"].coef_)
        model = SSVM(Alignment(), loss="ramp", task_loss=ColumnLoss(4.0), l2=0.6, solver=solver, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # runs that end by their number of passes
        return model.fit(train.X, train.Y)


def steps(epochs, rate):
    return Stochastic(rate=rate, max_iter=epochs, check_every=epochs)


def joined(reports):
    """The report of all pairs."""
    return AlignmentReport(*(np.concatenate([getattr(r, kind) for r in reports]) for kind in KINDS))


def by_identity(pooled):
    """Recall by Viterbi in bands of identity, with intervals of paired differences."""
    each = {name: pooled[name].each_recall for name in ("BLOSUM62", *PAPER)}
    identity, rows = pooled["CRF"].identity, []
    for low, high in BANDS:
        here = (identity >= low) & ((identity < high) | (high == 100))
        if not here.any():
            continue
        row = [f"{low}-{high} %", int(here.sum()), *(float(value[here].mean()) for value in each.values())]
        for worse, better in (("CRF", "convex"), ("convex", "ramp")):
            a, b = paired_bootstrap((each[better] - each[worse])[here])
            row.append(f"{a:+.3f} to {b:+.3f}")
        rows.append(row)
    header = ["identity", "pairs", *each, "convex - CRF, 95 %", "ramp - convex, 95 %"]
    return "Recall by identity", header, rows


def draw(context, pooled, model, reference):
    """One pair as the CRF aligns it, and recall against identity."""
    aligned = Aligner(model, "mea").align(reference)
    core = reference.core_matches

    def blocks(figure):
        AlignmentDisplay.from_aligned(aligned, reference=core, ax=figure.subplots(), width=80)

    def matrix(figure):
        MatchDisplay.from_aligned(aligned, reference=core, ax=figure.subplots())

    def curves(figure):
        ax = figure.subplots()
        for name in ("BLOSUM62", "CRF", "convex", "ramp", "soft hinge, posterior"):
            order = np.argsort(pooled[name].identity, kind="stable")
            recall, identity = pooled[name].each_recall[order], pooled[name].identity[order]
            parts = np.array_split(np.arange(len(order)), min(15, len(order)))
            ax.plot(
                [identity[p].mean() for p in parts], [recall[p].mean() for p in parts], marker=".", label=name
            )
        ax.set(xlabel="percentage identity of core columns", ylabel="recall")
        ax.legend(frameon=False)

    context.add_figure(
        "A test pair by the CRF's posteriors", blocks, size=(13, 0.75 * (len(aligned.rows[0]) // 80 + 1))
    )
    context.add_figure("Posteriors of its matches", matrix, size=(6, 5))
    context.add_figure("Recall against identity", curves, size=(6, 4))
