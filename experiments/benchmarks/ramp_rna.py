"""RNA folding: likelihood, convex bound and ramp loss on families that were not seen, and the best F1.

bench1359 (Rfam 14.2, published structures) in two folds by clan, else family: models of one fold are tested on the
other, both folds pooled. Weights start from zero; features are CONTRAfold's 708. `contrafold151` stands beside:
each of its sequences is folded by the model that has seen neither its family nor its clan. Sensitivity, selectivity and
F1 are means over sequences, against full references; pairs that the model cannot have (non-canonical ones) count as
missed. Table 3 of Do, Le, Teo, Chapelle and Smola (Tighter bounds for structured estimation, NIPS 2008) has another
data set, so a comparison of orders only.

Decoded by CYK, as in the paper:

* `CRF`: maximum likelihood by L-BFGS;
* `convex`: `SSVM(Folding(), task_loss=PairLoss(30))`, the hinge of 1 - recall times 30, by averaged AdaGrad;
* `ramp`: the same loss as a ramp by the concave-convex procedure, from the convex solution and with its penalty;
* `perceptron`: averaged, 10 epochs;
* `convex by Polyak`: the convex bound by subgradient steps of Polyak's length, as the paper's inner solver takes them.

The scale of a loss and its penalty are one setting for hinge and ramp (weights times c, penalty divided by c, decode
alike), so only the penalty is chosen. A third of the training fold, by clan, is held out for that: the penalty with
the highest sensitivity by CYK there is taken, and the whole training fold is learnt from again.

* `best F1`: learner, penalty, decoding and its gamma with the highest mean F1 on the training fold, each third of it
  held out in turn, from the settings of `CANDIDATES`, by AdaGrad. A weighted CRF counts a sequence by 1 / pairs, since
  mean F1 counts all sequences alike and likelihood long ones more. Training may add the best sequence of each family of
  Rfam 14.2 that bench1359 lacks, clans and families of the test fold (and families of contrafold151) left out. Pair
  probabilities of the hinge are those of its weights times 8.
* `EternaFold`, `CONTRAfold`: their published weights, MEA with the gamma that is best on the test sequences themselves,
  which favours them; both may have seen some of the sequences in training.

Intervals of 95 % are by a paired bootstrap over sequences.
"""

from functools import cache

from experiments.harness import Study, StudyTable

FOLDS = (0, 1)
MISSED = 30.0
EPOCHS, OF_MANY = 10, 6  # up to 1,000 sequences, and beyond
FEW_PAIRS = 5  # sequences with fewer pairs weigh no more than with so many
L2S = {"CRF": (30.0, 10.0), "convex": (3.0, 1.0, 0.3)}
ROWS = ("CRF", "convex", "ramp", "perceptron", "convex by Polyak")
BEST, PUBLISHED = "best F1", ("EternaFold", "CONTRAfold")
CANDIDATES = {  # learner, l2, whether sequences of other families are added: factor of the weights, gammas (None: CYK)
    ("CRF, AdaGrad", 3.0, False): (1.0, (2.0, 3.0, 4.0, 6.0)),
    ("CRF, AdaGrad", 10.0, False): (1.0, (2.0, 3.0, 4.0, 6.0)),
    ("weighted CRF", 3.0, False): (1.0, (3.0, 4.0, 6.0, 8.0)),
    ("convex", 1.0, True): (8.0, (None, 1.0, 1.5, 2.0)),
}
ANCHOR_GAMMAS = (1.5, 2.0, 3.0, 4.0, 6.0)
BANDS = ((0, 60), (60, 100), (100, 150), (150, 250), (250, 500))
PAPER = {"CRF": (0.505, 0.614), "convex": (0.608, 0.565), "ramp": (0.646, 0.542)}
PROTOTYPE = {"CRF": 0.635, "convex": 0.738, "ramp": 0.747}
F1, ETERNA = 0.685, 0.676


# -- learners ---------------------------------------------------------------------------------------------------------


def structure():
    from palmette import Folding

    return Folding(precision="single")


def fit(learner, own, l2, start=None):
    """A model that has learnt from sequences; `start` is needed by the ramp."""
    import numpy as np

    from palmette import CRF, SSVM, Perceptron
    from palmette.solvers import CCCP, LBFGS, Stochastic, Subgradient
    from palmette.structures.folding.losses import PairLoss

    def steps(epochs):
        return Stochastic(rate=0.1, max_iter=epochs, check_every=epochs)

    usual = EPOCHS if len(own.X) <= 1000 else OF_MANY
    hinge = {"task_loss": PairLoss(MISSED), "l2": l2, "n_jobs": 1}
    if learner == "CRF":
        model = CRF(structure(), l2=l2, solver=LBFGS(max_iter=50, tol=2e-3), n_jobs=1)
    elif learner == "CRF, AdaGrad":
        model = CRF(structure(), l2=l2, solver=steps(usual), n_jobs=1)
    elif learner == "weighted CRF":
        model = CRF(structure(), l2=l2, solver=steps(usual), n_jobs=1)
        weight = 1.0 / np.maximum([y.count("(") for y in own.Y], FEW_PAIRS)
        return model.fit(own.X, own.Y, sample_weight=weight / weight.mean())
    elif learner == "convex":
        model = SSVM(structure(), solver=steps(usual), **hinge)
    elif learner == "convex by Polyak":
        model = SSVM(structure(), solver=Subgradient(max_iter=150, tol=1e-2), **hinge)
    elif learner == "ramp":
        model = SSVM(structure(), loss="ramp", solver=CCCP(max_iter=6, inner=steps(3), start=start), **hinge)
    else:
        model = Perceptron(structure(), max_iter=10, n_jobs=1)
    return model.fit(own.X, own.Y)


@cache
def chosen_l2(learner, fold):
    """The penalty with the highest sensitivity on the third that is held out, and all of them."""
    from experiments.harness.rna import benchmark, held_out, measured

    inner, held = held_out(benchmark(fold)[0])
    found = {l2: measured(fit(learner, inner, l2), held).sensitivity for l2 in L2S[learner]}
    return max(found, key=found.get), found


@cache
def convex(fold, l2):
    """The convex solution of a training fold, where the ramp starts from."""
    from experiments.harness.rna import benchmark

    return fit("convex", benchmark(fold)[0], l2)


def chosen_best(fold):
    """Learner, penalty, added sequences and gamma (None: CYK) with the highest F1 there, and all of them."""
    from experiments.harness.rna import benchmark, held_out, measured, more

    found = {}
    for third in range(3):
        inner, held = held_out(benchmark(fold)[0], third)
        extra = more(fold)
        extra = extra.take([group not in set(held.groups) for group in extra.groups])
        for (learner, l2, adds), (factor, gammas) in CANDIDATES.items():
            model = fit(learner, inner.and_also(extra) if adds else inner, l2)
            model.coef_ = factor * model.coef_
            for gamma in gammas:
                found.setdefault((learner, l2, adds, gamma), []).extend(measured(model, held, gamma).each_f1)
    means = {key: sum(each) / len(each) for key, each in found.items()}
    return max(means, key=means.get), means


def learnt(point):
    """The model of a run, how it decodes, and its settings."""
    from experiments.harness.rna import benchmark, more, published

    learner, train = point["learner"], benchmark(point["fold"])[0]
    if learner in PUBLISHED:
        return published(learner.lower(), precision="single"), ANCHOR_GAMMAS, {}
    if learner == BEST:
        (name, l2, adds, gamma), found = chosen_best(point["fold"])
        model = fit(name, train.and_also(more(point["fold"])) if adds else train, l2)
        model.coef_ = CANDIDATES[name, l2, adds][0] * model.coef_
        shown = {", ".join(map(str, key)): round(f1, 4) for key, f1 in found.items()}
        return model, (gamma,), {"learner": name, "l2": l2, "adds": adds, "gamma": gamma, "held out": shown}
    if learner == "perceptron":
        return fit(learner, train, None), (None,), {}
    l2, found = chosen_l2("CRF" if learner == "CRF" else "convex", point["fold"])
    settings = {"l2": l2, "held out": {str(k): round(v, 4) for k, v in found.items()}}
    if learner == "convex":
        return convex(point["fold"], l2), (None,), settings
    start = convex(point["fold"], l2).coef_ if learner == "ramp" else None
    return fit(learner, train, l2, start), (None,), settings


def run(point):
    import time
    import warnings

    from experiments.harness.rna import benchmark, contrafold151, measured

    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pairs outside of the model; runs that end by their number of passes
        model, decoders, settings = learnt(point)
    seconds = time.process_time() - start
    result = model.result_
    out = {
        "settings": settings,
        "seconds": seconds,
        "passes": result.step.n_oracle,
        "objective": known(result.primal),
    }
    for name, test in (
        ("bench1359", benchmark(point["fold"])[1]),
        ("contrafold151", contrafold151(point["fold"])),
    ):
        reports = {str(gamma): measured(model, test, gamma) for gamma in decoders}
        out[name] = {
            gamma: {"right": r.right.tolist(), "predicted": r.predicted.tolist(), "true": r.true.tolist()}
            for gamma, r in reports.items()
        }
        out[name]["lengths"] = [len(x) for x in test.X]
    return out


def known(value):
    """A number, or None for NaN."""
    return value if value == value else None


# -- summary ----------------------------------------------------------------------------------------------------------


def pooled(records, learner, name="bench1359"):
    """The report of both folds together, and the lengths; of several gammas that of the highest F1. None if missing."""
    import numpy as np

    from palmette.apps.folding.evaluation import FoldingReport

    own = [r[name] for fold in FOLDS for r in records if r["learner"] == learner and r["fold"] == fold]
    if len(own) < len(FOLDS):
        return None
    decoders = [list(each)[:-1] for each in own]
    ways = (
        [(gamma,) * len(own) for gamma in decoders[0]]
        if learner in PUBLISHED
        else [tuple(d[0] for d in decoders)]
    )

    def joined(way):
        kinds = ("right", "predicted", "true")
        return FoldingReport(
            *(np.concatenate([each[g][kind] for each, g in zip(own, way)]) for kind in kinds)
        )

    reports = [joined(way) for way in ways]
    best = max(range(len(reports)), key=lambda k: reports[k].f1)
    return reports[best], np.concatenate([each["lengths"] for each in own]), ways[best]


def recall(report):
    import numpy as np

    return report.right / np.maximum(report.true, 1)


def summarise(records):
    tables = []
    for name in ("bench1359", "contrafold151"):
        rows = []
        for learner in (*ROWS, BEST, *PUBLISHED):
            found = pooled(records, learner, name)
            if found is None:
                continue
            report, _, way = found
            paper = [f"{value:.3f}" for value in PAPER[learner]] if learner in PAPER else ["", ""]
            rows.append([
                learner, "CYK" if set(way) == {"None"} else "gamma " + ", ".join(dict.fromkeys(way)),
                f"{report.sensitivity:.4f}", f"{report.selectivity:.4f}", f"{report.f1:.4f}", *paper,
            ])  # fmt: skip
        header = [
            "",
            "decoding",
            "sensitivity",
            "selectivity",
            "mean F1",
            "sensitivity (paper)",
            "selectivity (paper)",
        ]
        if rows:
            tables.append(StudyTable(name, header, rows))
    targets = [
        [what, bound, reached, "met" if met else "MISSED"] for what, bound, reached, met in judged(records)
    ]
    tables += [*bands(records), *against_published(records), chosen(records)]
    return [*tables, StudyTable("Targets", ["", "bound", "reached", ""], targets)]


def bands(records):
    """Sensitivity by CYK in bands of length, and paired differences."""
    from experiments.harness.rna import paired_bootstrap

    found = {learner: pooled(records, learner) for learner in ("CRF", "convex", "ramp")}
    if not all(found.values()):
        return []
    each = {learner: recall(report) for learner, (report, _, _) in found.items()}
    lengths, rows = found["CRF"][1], []
    for low, high in (*BANDS, (0, 10**9)):
        here = (lengths > low) & (lengths <= high)
        cells = [f"{each[learner][here].mean():.3f}" for learner in each]
        for a, b in (("convex", "CRF"), ("ramp", "convex")):
            difference = (each[a] - each[b])[here]
            lowest, highest = paired_bootstrap(difference)
            cells.append(f"{difference.mean():+.3f} ({lowest:+.3f} to {highest:+.3f})")
        rows.append(["all" if high == 10**9 else f"{low + 1}-{high}", str(int(here.sum())), *cells])
    header = ["length", "sequences", *each, "convex - CRF", "ramp - convex"]
    return [StudyTable("Sensitivity by CYK, bands of length, bench1359", header, rows)]


def against_published(records):
    """F1 of `best F1` against the published weights, paired."""
    from experiments.harness.rna import paired_bootstrap

    rows = []
    for name in ("bench1359", "contrafold151"):
        own = pooled(records, BEST, name)
        for other in PUBLISHED:
            if own and (found := pooled(records, other, name)):
                difference = own[0].each_f1 - found[0].each_f1
                low, high = paired_bootstrap(difference)
                rows.append(
                    [f"{name}, {BEST} - {other}", f"{difference.mean():+.4f}", f"{low:+.4f} to {high:+.4f}"]
                )
    return [StudyTable("Mean F1 against published weights", ["", "difference", "95 %"], rows)] if rows else []


def chosen(records):
    rows = []
    for r in records:
        settings = ", ".join(f"{key} {value}" for key, value in r["settings"].items() if key != "held out")
        tried = r["settings"].get("held out", {})
        best = sorted(tried.items(), key=lambda item: -item[1])[:4]
        shown = "; ".join(f"{key}: {value:.4f}" for key, value in best)
        rows.append(
            [
                f"{r['learner']}, fold {r['fold']}",
                settings,
                shown,
                f"{r['passes']:.0f}",
                f"{r['seconds']:.0f}",
            ]
        )
    return StudyTable(
        "Chosen inside the training fold",
        ["", "settings", "held out (best 4)", "passes of the last fit", "CPU s, choice included"], rows,
    )  # fmt: skip


def judged(records):
    """What was asked, the bound, what was reached, and whether that is enough; only where all runs are there."""
    out, sensitivity = [], {}
    for learner, least in PROTOTYPE.items():
        if found := pooled(records, learner):
            own = sensitivity[learner] = found[0].sensitivity
            out.append([f"sensitivity by CYK, {learner}", f">= {least}", f"{own:.4f}", own >= least])
    for a, b in (("CRF", "convex"), ("convex", "ramp")):
        if a in sensitivity and b in sensitivity:
            more = sensitivity[b] - sensitivity[a]
            out.append([f"sensitivity, {b} - {a}", "> 0", f"{more:+.4f}", more > 0])
    if found := pooled(records, BEST):
        f1 = found[0].f1
        out.append(["mean F1", f">= {F1}", f"{f1:.4f}", f1 >= F1])
        out.append(["mean F1, EternaFold's published", f"> {ETERNA}", f"{f1:.4f}", f1 > ETERNA])
        if other := pooled(records, "EternaFold"):
            more = f1 - other[0].f1
            out.append(["mean F1 - EternaFold's, measured here", "> 0", f"{more:+.4f}", more > 0])
    return out


def missed(records):
    return [
        f"{what}: {reached}, the bound is {bound}" for what, bound, reached, met in judged(records) if not met
    ]


BENCHMARK = Study(
    name="ramp_rna",
    doc=__doc__,
    points=[
        {"learner": learner, "fold": fold}
        for learner in (*PUBLISHED, "convex", "CRF", "perceptron", BEST, "ramp", "convex by Polyak")
        for fold in FOLDS
    ],
    run=run,
    summarise=summarise,
    missed=missed,
    line=lambda point: f"{point['learner']}, fold {point['fold']}",
)
