"""RNA folding: likelihood, convex bound and ramp loss on families that were not seen, and the best F1.

bench1359 (Rfam 14.2, published structures) in two folds by clan, else family: models of one fold are tested on the
other, both folds pooled. Weights start from zero; features are CONTRAfold's 708. `contrafold151` stands beside:
each of its sequences is folded by the model that has seen neither its family nor its clan. Sensitivity, selectivity and
F1 are means over sequences, against full references; pairs that the model cannot have (non-canonical ones) count as
missed. Table 3 of Do, Le, Teo, Chapelle and Smola (Tighter bounds for structured estimation, NIPS 2008) has another
data set, so a comparison of orders only.

Decoded by CYK, as in the paper:

* `CRF`: maximum likelihood, by L-BFGS or a few passes of averaged AdaGrad;
* `convex`: `SSVM(Folding(), task_loss=PairLoss(30))`, the hinge of 1 - recall times 30, by averaged AdaGrad or Polyak's
  steps;
* `ramp`: the same loss as a ramp by the concave-convex procedure, from the convex solution and with its penalty;
* `perceptron`: averaged, 10 epochs;
* `convex by Polyak`: the convex bound by subgradient steps of Polyak's length, as the paper's inner solver takes them.

The scale of a loss and its penalty are one setting for hinge and ramp (weights times c, penalty divided by c, decode
alike), so only the penalty is chosen, and whether clans, else families, count alike (a sequence by 1 / sequences of
its clan) or sequences do: those of the test are of other clans. The convex bound may also start from a CRF that was
learnt from the same sequences, with smaller steps. Each third of the training fold, by clan, is held out in turn for
that: the setting with the highest sensitivity by CYK there is taken, and the whole training fold is learnt from again.

* `best F1`: learners, added sequences, decoding and its gamma with the highest mean F1 on the training fold, each third
  of it held out in turn, from the settings of `CANDIDATES`, by AdaGrad with l2 10. Of two learners pair probabilities
  are averaged. Training may add sequences of Rfam 14.2 of the families that are learnt from, up to 10 of each with a
  published structure, of the same quality as those of bench1359; clans then count alike. The soft hinge is that of
  1 - recall times 10: `log sum exp` instead of the maximum. Its pair probabilities are those of its weights times 4.
* `EternaFold`, `CONTRAfold`: their published weights, MEA with the gamma that is best on the test sequences themselves,
  which favours them; both may have seen some of the sequences in training.

Intervals of 95 % are by a paired bootstrap over sequences.
"""

from functools import cache

from experiments.harness import Study, StudyTable

FOLDS = (0, 1)
MISSED, MISSED_SOFTLY = 30.0, 10.0
EPOCHS, OF_MANY = 10, 6  # up to 1,000 sequences, and beyond
SETTINGS = {  # learner, penalty, whether clans count alike
    "CRF": (
        ("CRF", 30.0, False), ("CRF", 10.0, True), ("CRF, AdaGrad", 10.0, False), ("CRF, AdaGrad", 10.0, True)
    ),
    "convex": (
        ("convex", 3.0, False), ("convex", 1.0, True), ("convex from CRF", 3.0, False), ("convex from CRF", 3.0, True),
        ("convex by Polyak", 1.0, False),
    ),
}  # fmt: skip
ROWS = ("CRF", "convex", "ramp", "perceptron", "convex by Polyak")
BEST, PUBLISHED = "best F1", ("EternaFold", "CONTRAfold")
L2 = 10.0
FACTORS = {"CRF, AdaGrad": 1.0, "soft hinge": 4.0}  # of the weights
CANDIDATES = {  # learners, relatives added of each family: gammas (None: CYK)
    (("CRF, AdaGrad",), 0): (3.0, 4.0, 6.0),
    (("CRF, AdaGrad",), 10): (3.0, 4.0, 5.0, 6.0),
    (("soft hinge",), 10): (None, 0.7, 1.0, 1.5),
    (("CRF, AdaGrad", "soft hinge"), 10): (1.0, 1.5, 2.0, 3.0),
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


def by_clan(own):
    """Weights of sequences that make clans, else families, count alike; their mean is 1."""
    import numpy as np

    _, clan, size = np.unique(own.groups, return_inverse=True, return_counts=True)
    weight = 1.0 / size[clan]
    return weight / weight.mean()


def fit(learner, own, l2, start=None, alike=False):
    """A model that has learnt from sequences, clans counting `alike` or not; `start` is needed by the ramp."""
    from palmette import CRF, SSVM, Perceptron
    from palmette.apps.folding.learners import make_learner
    from palmette.solvers import CCCP, LBFGS, Stochastic, Subgradient
    from palmette.structures.folding.losses import PairLoss

    def steps(epochs, rate=0.1):
        return Stochastic(rate=rate, max_iter=epochs, check_every=epochs)

    usual = EPOCHS if len(own.X) <= 1000 else OF_MANY
    hinge = {"task_loss": PairLoss(MISSED), "l2": l2, "n_jobs": 1}
    if learner == "CRF":
        model = CRF(structure(), l2=l2, solver=LBFGS(max_iter=50, tol=2e-3), n_jobs=1)
    elif learner == "CRF, AdaGrad":
        model = CRF(structure(), l2=l2, solver=steps(usual), n_jobs=1)
    elif learner == "soft hinge":
        hinge["task_loss"] = PairLoss(MISSED_SOFTLY)
        model = SSVM(structure(), loss="soft_hinge", solver=steps(usual), **hinge)
    elif learner == "convex":
        model = SSVM(structure(), solver=steps(usual), **hinge)
    elif learner == "convex from CRF":
        first = fit("CRF, AdaGrad", own, L2, alike=alike)
        named = first.scorer_.named(first.coef_)
        own_steps = steps(usual // 2 + 1, 0.03)
        model = make_learner("ssvm", structure(), named, missed=MISSED, l2=l2, solver=own_steps, n_jobs=1)
    elif learner == "convex by Polyak":
        model = SSVM(structure(), solver=Subgradient(max_iter=150, tol=1e-2), **hinge)
    elif learner == "ramp":
        model = SSVM(structure(), loss="ramp", solver=CCCP(max_iter=6, inner=steps(3), start=start), **hinge)
    else:
        model = Perceptron(structure(), max_iter=10, n_jobs=1)
    return model.fit(own.X, own.Y, **({"sample_weight": by_clan(own)} if alike else {}))


@cache
def chosen_setting(row, fold):
    """The setting with the highest sensitivity on the thirds that are held out, and all of them."""
    from experiments.harness.rna import benchmark, held_out, measured

    found = {setting: [] for setting in SETTINGS[row]}
    for third in range(3):
        inner, held = held_out(benchmark(fold)[0], third)
        for (learner, l2, alike), each in found.items():
            each.extend(recall(measured(fit(learner, inner, l2, alike=alike), held)).tolist())
    means = {setting: sum(each) / len(each) for setting, each in found.items()}
    return max(means, key=means.get), means


@cache
def learnt_as(fold, learner, l2, alike):
    """The model of a training fold; the ramp starts from the convex one."""
    from experiments.harness.rna import benchmark

    return fit(learner, benchmark(fold)[0], l2, alike=alike)


def committee(learners, added, own, held=None, known=None):
    """The models of a candidate for the best F1 that have learnt from sequences; `known` are models by learner."""
    from experiments.harness.rna import relatives

    known = {} if known is None else known
    for learner in learners:
        if (learner, added) not in known:
            train = own.and_also(relatives(own, added, held)) if added else own
            model = known[learner, added] = fit(learner, train, L2, alike=added > 0)
            model.coef_ = FACTORS[learner] * model.coef_
    return tuple(known[learner, added] for learner in learners)


def chosen_best(fold):
    """Learners, added sequences and gamma (None: CYK) with the highest F1 there, and all of them."""
    from experiments.harness.rna import benchmark, held_out, measured

    found = {}
    for third in range(3):
        inner, held = held_out(benchmark(fold)[0], third)
        known = {}
        for (learners, added), gammas in CANDIDATES.items():
            models = committee(learners, added, inner, held, known)
            for gamma in gammas:
                found.setdefault((learners, added, gamma), []).extend(measured(models, held, gamma).each_f1)
    means = {key: sum(each) / len(each) for key, each in found.items()}
    return max(means, key=means.get), means


def learnt(point):
    """The model or models of a run, how they decode, and their settings."""
    from experiments.harness.rna import benchmark, published

    learner, train = point["learner"], benchmark(point["fold"])[0]
    if learner in PUBLISHED:
        return published(learner.lower(), precision="single"), ANCHOR_GAMMAS, {}
    if learner == BEST:
        (learners, added, gamma), found = chosen_best(point["fold"])
        shown = {f"{' and '.join(names)}, {n}, {g}": round(f1, 4) for (names, n, g), f1 in found.items()}
        settings = {"learner": " and ".join(learners), "added": added, "gamma": gamma, "held out": shown}
        return committee(learners, added, train), (gamma,), settings
    if learner == "perceptron":
        return fit(learner, train, None), (None,), {}
    setting, found = chosen_setting("CRF" if learner == "CRF" else "convex", point["fold"])
    shown = {
        f"{name}, {l2:g}{', clans alike' * alike}": round(mean, 4)
        for (name, l2, alike), mean in found.items()
    }
    settings = {"learner": setting[0], "l2": setting[1], "clans alike": setting[2], "held out": shown}
    if learner in SETTINGS:
        return learnt_as(point["fold"], *setting), (None,), settings
    start = learnt_as(point["fold"], *setting).coef_ if learner == "ramp" else None
    return fit(learner, train, setting[1], start, setting[2]), (None,), settings


def run(point):
    import time
    import warnings

    from experiments.harness.rna import benchmark, contrafold151, measured

    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pairs outside of the model; runs that end by their number of passes
        model, decoders, settings = learnt(point)
    seconds = time.process_time() - start
    result = (model[0] if isinstance(model, tuple) else model).result_
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
