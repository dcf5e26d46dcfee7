"""Protein alignment: likelihood, convex bound and ramp loss on pairs that were not seen, and posterior decoding.

PREFAB 4 in two folds of connected components of pairs that share a chain, HOMSTRAD in two folds by family: models of
one fold are tested on the other, both folds pooled. Features are those of CONTRAlign's named weights with one kind of
gaps, and gaps at the ends apart. CRF and soft hinge start from zero, the hinge from the soft hinge (Polyak's steps
from log-odds of letters in training matches), and the ramp from the convex solution. References of PREFAB say only
which core columns match, so likelihood and soft hinge sum over all alignments that have them, and the hinge completes
them by the best one; those of HOMSTRAD are known wholly. Recall (the Q score) is the share of core columns that are
found; precision is the share of right ones among predicted matches at positions of core columns; over-alignment is the
share of positions against a gap in the reference that are matched. All are means over pairs. Identity is the
percentage of core columns with equal letters. Table 2 of Do, Le, Teo, Chapelle and Smola (Tighter bounds for
structured estimation, NIPS 2008) has another data set, so a comparison of orders only.

Decoded by Viterbi, as in the paper:

* `CRF`: maximum likelihood by averaged AdaGrad;
* `convex`: `SSVM(Alignment(ties="best"), task_loss=ColumnLoss(60))`, the hinge of 1 - recall times 60, by 6 epochs
  of averaged AdaGrad from the soft hinge, since the best completions of references depend on where it starts;
* `ramp`: 1 - recall as a ramp by the concave-convex procedure, 4 rounds of 2 epochs from the convex solution. The bound
  is the tighter the smaller the loss is beside the scores, so its factor is chosen, too;
* `perceptron`: averaged, 5 epochs;
* `convex by Polyak`: the convex bound by subgradient steps of Polyak's length, as the paper's inner solver takes them,
  30 of them, with the penalty of `convex`.

The factor of a loss and its penalty are one setting for the hinge, so only the penalty is chosen, and of the CRF the
steps. A third of the training fold, by groups, is held out for that: the setting with the highest recall by Viterbi
there is taken, and the whole training fold is learnt from again.

By posteriors (the highest expected number of right matches): `soft hinge` is `SSVM(loss="soft_hinge")` at
temperature 1, the likelihood with the loss 1 - recall times 60 added to the scores, 6 epochs. Its probabilities of
matches are averaged with those of the CRF where that has the higher recall by posteriors on the held-out third. CRF,
`BLOSUM62` (open -11, extend -1, free end gaps) and the published weights of `CONTRAlign`, which may have seen some of
the proteins in training, stand beside.

Intervals of 95 % are by a paired bootstrap over pairs.
"""

from functools import cache

from experiments.harness import Study, StudyTable

FOLDS = (0, 1)
MISSED = 60.0
SETTINGS = {  # l2, epochs and rate of steps; of the ramp the factor of the loss, l2 and rate; of the soft hinge as well
    "CRF": {"l2 1, 6 epochs": (1.0, 6, 0.1), "l2 1, 12 small": (1.0, 12, 0.03)},
    "convex": {"l2 100": (100.0, 6, 0.03), "l2 10": (10.0, 6, 0.03)},
    "ramp": {"15, l2 2.5": (15.0, 2.5, 0.03), "4, l2 0.6": (4.0, 0.6, 0.01), "4, l2 6": (4.0, 6.0, 0.01)},
    "soft hinge": {"60": (60.0, 1.0, 0.1)},
}
ALONE = ("soft hinge", "60")
TOGETHER = {"alone": (ALONE,), "averaged with the CRF": (ALONE, ("CRF", "l2 1, 6 epochs"))}
POSTERIOR, PUBLISHED = "soft hinge", ("BLOSUM62", "CONTRAlign")
ROWS = ("CRF", "convex", "ramp", "perceptron", "convex by Polyak", POSTERIOR)
BY_BOTH = ("CRF", POSTERIOR, *PUBLISHED)  # decoded by posteriors, too
SETS = ("prefab", "homstrad")
BANDS = ((0, 10), (10, 20), (20, 30), (30, 40), (40, 70), (70, 100))
PAPER = {"CRF": 0.430, "convex": 0.472, "ramp": 0.488}
LEAST = {"CRF": 0.55, "convex": 0.61}
BY_POSTERIORS, MATRIX_ON_HOMSTRAD, POINTS = 0.64, 0.762, 0.03


# -- learners ---------------------------------------------------------------------------------------------------------


def fit(learner, own, setting, start=None):
    """A model that has learnt from pairs by one of the SETTINGS; convex bound and ramp need a `start`."""
    from palmette import CRF, SSVM, Alignment, LossOptions, Perceptron
    from palmette.apps.aligning.learners import make_learner
    from palmette.solvers import CCCP, Stochastic, Subgradient
    from palmette.structures.alignment.losses import ColumnLoss

    def steps(epochs, rate):
        return Stochastic(rate=rate, max_iter=epochs, check_every=epochs)

    def hinge(l2, solver, start=None):
        structure, named = (
            Alignment(ties="best"),
            None if start is None else Alignment().scorer().named(start),
        )
        return make_learner("ssvm", structure, named, missed=MISSED, l2=l2, solver=solver, n_jobs=1)

    if learner == "perceptron":
        return Perceptron(Alignment(), max_iter=5, n_jobs=1).fit(own.X, own.Y)
    own_setting = SETTINGS[learner.removesuffix(" by Polyak")][setting]
    if learner == "ramp":
        missed, l2, rate = own_setting
        solver = CCCP(max_iter=4, inner=steps(2, rate), start=start)
        model = SSVM(Alignment(), loss="ramp", task_loss=ColumnLoss(missed), l2=l2, solver=solver, n_jobs=1)
        return model.fit(own.X, own.Y)
    if learner == POSTERIOR:
        missed, l2, rate = own_setting
        own_loss = {
            "loss": "soft_hinge",
            "loss_options": LossOptions(temperature=1.0),
            "task_loss": ColumnLoss(missed),
        }
        return SSVM(Alignment(), l2=l2, solver=steps(6, rate), n_jobs=1, **own_loss).fit(own.X, own.Y)
    l2, epochs, rate = own_setting
    if learner == "CRF":
        model = CRF(Alignment(), l2=l2, solver=steps(epochs, rate), n_jobs=1)
    elif learner == "convex":
        model = hinge(l2, steps(epochs, rate), start)
    else:
        model = hinge(l2, Subgradient(max_iter=30, tol=1e-2))
    return model.fit(own.X, own.Y)


def published(name):
    """BLOSUM62 with free end gaps, or the weights of CONTRAlign."""
    from palmette.apps.aligning import Aligner
    from palmette.datasets import load_alignment_parameters

    if name == "BLOSUM62":
        return Aligner.from_matrix(free_ends=True)
    return Aligner.from_parameters(load_alignment_parameters())


@cache
def tried(learner, name, fold):
    """Models of two thirds of a training fold by setting, and what is held out."""
    from experiments.harness.alignments import benchmark, held_out

    inner, held = held_out(benchmark(name, fold)[0])
    start = tried(POSTERIOR, name, fold)[0][ALONE[1]].coef_ if learner == "convex" else None
    return {setting: fit(learner, inner, setting, start) for setting in SETTINGS[learner]}, held


@cache
def best_setting(learner, name, fold):
    """The setting with the highest recall on the third that is held out, and all of them."""
    from experiments.harness.alignments import measured

    models, held = tried(learner, name, fold)
    if learner == POSTERIOR:
        several = {key: tuple(tried(k, name, fold)[0][v] for k, v in own) for key, own in TOGETHER.items()}
        found = {key: measured(own, held, 0.0).recall for key, own in several.items()}
    else:
        found = {setting: measured(model, held).recall for setting, model in models.items()}
    return max(found, key=found.get), found


def best_ramp(name, fold, convex):
    """The ramp with the highest recall on the third that is held out, and all of them."""
    from experiments.harness.alignments import benchmark, held_out, measured

    inner, held = held_out(benchmark(name, fold)[0])
    start = tried("convex", name, fold)[0][convex].coef_
    found = {key: measured(fit("ramp", inner, key, start), held).recall for key in SETTINGS["ramp"]}
    return max(found, key=found.get), found


@cache
def whole(learner, name, fold, setting):
    """The model of a training fold; the ramp starts from the convex one."""
    from experiments.harness.alignments import benchmark

    start = whole(ALONE[0], name, fold, ALONE[1]).coef_ if learner == "convex" else None
    return fit(learner, benchmark(name, fold)[0], setting, start)


def learnt(point):
    """The model of a run, or several, the factor of its weights for probabilities, and its settings."""
    learner, name, fold = point["learner"], point["data"], point["fold"]
    if learner in PUBLISHED:
        own = published(learner)
        return own.model, own.unit, {}
    if learner == "perceptron":
        return whole(learner, name, fold, None), 1.0, {}
    kind = learner if learner in ("CRF", POSTERIOR) else "convex"
    setting, found = best_setting(kind, name, fold)
    settings = {"setting": setting, "held out": {k: round(v, 4) for k, v in found.items()}}
    if learner == POSTERIOR:
        return tuple(whole(k, name, fold, v) for k, v in TOGETHER[setting]), 1.0, settings
    if learner == kind:
        return whole(learner, name, fold, setting), 1.0, settings
    from experiments.harness.alignments import benchmark

    train, start = benchmark(name, fold)[0], None
    if learner == "ramp":
        start = whole("convex", name, fold, setting).coef_
        setting, found = best_ramp(name, fold, setting)
        settings = {"setting": setting, "held out": {k: round(v, 4) for k, v in found.items()}}
    return fit(learner, train, setting, start), 1.0, settings


def run(point):
    import time
    import warnings

    from experiments.harness.alignments import benchmark, measured

    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # runs that end by their number of passes
        model, factor, settings = learnt(point)
    seconds = time.process_time() - start
    test = benchmark(point["data"], point["fold"])[1]
    first = model[0] if isinstance(model, tuple) else model
    out = {"settings": settings, "seconds": seconds, "passes": first.result_.step.n_oracle}
    decoders = {"viterbi": (None, 1.0)}
    if point["learner"] in BY_BOTH:
        decoders["posterior"] = (0.0, factor)
    for name, (gamma, by) in decoders.items():
        report = measured(model, test, gamma, by)
        kinds = ("right", "core", "claimed", "filled", "gaps", "predicted", "identity")
        out[name] = {kind: getattr(report, kind).tolist() for kind in kinds}
    return out


# -- summary ----------------------------------------------------------------------------------------------------------


def pooled(records, learner, name, decoder="viterbi"):
    """The report of both folds together; None if a run is missing."""
    import numpy as np

    from palmette.apps.aligning.evaluation import AlignmentReport

    own = [
        r[decoder]
        for fold in FOLDS
        for r in records
        if (r["learner"], r["data"], r["fold"]) == (learner, name, fold) and decoder in r
    ]
    if len(own) < len(FOLDS):
        return None
    kinds = ("right", "core", "claimed", "filled", "gaps", "predicted", "identity")
    return AlignmentReport(*(np.concatenate([each[kind] for each in own]) for kind in kinds))


def summarise(records):
    tables = []
    for name in SETS:
        rows = []
        for learner in (*ROWS, *PUBLISHED):
            for decoder in ("viterbi", "posterior"):
                report = pooled(records, learner, name, decoder)
                if report is None:
                    continue
                shown = name == "prefab" and decoder == "viterbi" and learner in PAPER
                paper = f"{PAPER[learner]:.3f}" if shown else ""
                cells = [f"{value:.4f}" for value in (report.recall, report.precision, report.over_alignment)]
                rows.append([learner, decoder, *cells, paper])
        if rows:
            header = ["", "decoding", "recall", "precision", "over-alignment", "recall (paper)"]
            tables.append(StudyTable(name, header, rows))
        tables += bands(records, name)
    targets = [
        [what, bound, reached, "met" if met else "MISSED"] for what, bound, reached, met in judged(records)
    ]
    return [*tables, chosen(records), StudyTable("Targets", ["", "bound", "reached", ""], targets)]


def bands(records, name):
    """Recall by Viterbi in bands of identity, and paired differences."""
    from experiments.harness.rna import paired_bootstrap

    found = {learner: pooled(records, learner, name) for learner in ("CRF", "convex", "ramp")}
    if not all(found.values()):
        return []
    each = {learner: report.each_recall for learner, report in found.items()}
    identity, rows = found["CRF"].identity, []
    for low, high in (*BANDS, (0, 101)):
        here = (identity >= low) & (identity < (101 if high == 100 else high))
        if not here.any():
            continue
        cells = [f"{each[learner][here].mean():.3f}" for learner in each]
        for a, b in (("convex", "CRF"), ("ramp", "convex")):
            difference = (each[a] - each[b])[here]
            lowest, highest = paired_bootstrap(difference)
            cells.append(f"{difference.mean():+.3f} ({lowest:+.3f} to {highest:+.3f})")
        rows.append(["all" if high == 101 else f"{low}-{high} %", str(int(here.sum())), *cells])
    header = ["identity", "pairs", *each, "convex - CRF", "ramp - convex"]
    return [StudyTable(f"Recall by Viterbi, bands of identity, {name}", header, rows)]


def chosen(records):
    rows = []
    for r in records:
        settings = ", ".join(f"{key} {value}" for key, value in r["settings"].items() if key != "held out")
        shown = "; ".join(f"{key}: {value:.4f}" for key, value in r["settings"].get("held out", {}).items())
        rows.append(
            [f"{r['data']}, {r['learner']}, fold {r['fold']}", settings, shown, f"{r['passes']:.0f}",
             f"{r['seconds']:.0f}"]
        )  # fmt: skip
    return StudyTable(
        "Chosen inside the training fold",
        [
            "",
            "settings",
            "recall held out",
            "passes of the last fit",
            "CPU s (what other runs share counts once)",
        ],
        rows,
    )


def judged(records):
    """What was asked, the bound, what was reached, and whether that is enough; only where all runs are there."""
    out, recall = [], {}
    for learner in ("CRF", "convex", "ramp"):
        if report := pooled(records, learner, "prefab"):
            recall[learner] = report.recall
            if learner in LEAST:
                least = LEAST[learner]
                out.append(
                    [
                        f"PREFAB, Viterbi, {learner}",
                        f">= {least}",
                        f"{report.recall:.4f}",
                        report.recall >= least,
                    ]
                )
    for a, b in (("CRF", "convex"), ("convex", "ramp")):
        if a in recall and b in recall:
            more = recall[b] - recall[a]
            out.append([f"PREFAB, Viterbi, {b} - {a}", "> 0", f"{more:+.4f}", more > 0])
    if report := pooled(records, POSTERIOR, "prefab", "posterior"):
        own = report.recall
        out.append(["PREFAB, posterior decoding", f">= {BY_POSTERIORS}", f"{own:.4f}", own >= BY_POSTERIORS])
    best = [
        report.recall
        for learner, decoder in (("convex", "viterbi"), (POSTERIOR, "posterior"))
        if (report := pooled(records, learner, "homstrad", decoder))
    ]
    if best:
        more = max(best) - MATRIX_ON_HOMSTRAD
        out.append(
            [
                f"HOMSTRAD, best - BLOSUM62's {MATRIX_ON_HOMSTRAD}",
                f">= {POINTS}",
                f"{more:+.4f}",
                more >= POINTS,
            ]
        )
    return out


def missed(records):
    return [
        f"{what}: {reached}, the bound is {bound}" for what, bound, reached, met in judged(records) if not met
    ]


BENCHMARK = Study(
    name="ramp_alignment",
    doc=__doc__,
    points=[
        {"data": name, "learner": learner, "fold": fold}
        for name in SETS
        for learner in (*PUBLISHED, "convex", "CRF", POSTERIOR, "ramp", "perceptron", "convex by Polyak")
        for fold in FOLDS
    ],
    run=run,
    summarise=summarise,
    missed=missed,
    line=lambda point: f"{point['data']}, {point['learner']}, fold {point['fold']}",
)
