"""Noisy labels: the ramp loss against the convex hinge and logistic regression on six sets (Table 1 of the paper).

0, 10 or 20 % of the labels of `statlog` are shuffled: that share of the rows of each class is chosen, and the labels of
the chosen rows are permuted among them, so that fewer are wrong (12 to 19 % at 20 %, 7 % of shuttle, where most rows
are in one class). This is done before folds are cut: accuracy is on noisy test labels, as in the paper, and accuracy on
the true labels of the same rows stands beside it. Five outer folds; C is chosen for each learner on its own by three
inner folds of at most 8,000 rows of the training part (4 values, warm-started paths, gap 1e-2), then the model is
trained on the whole part to a relative gap of 1e-3. Features are standardised within the training part; scores are
linear, with an intercept. A class with one row would stay in every training part. At 20 % there are three seeds of
noise, and ten for segment, which has few rows (the gain of its first three is 3.87); at 0 and 10 % one.

`convex` is the hinge of Crammer and Singer, `ramp` its ramp loss by the concave-convex procedure, started from the
convex solution or from logistic regression, whichever was better in the inner folds; both starts stand beside it.

Speed: CPU seconds, one thread, all rows, no noise, no intercept. LinearSVC is given the loosest `tol` of 1, 0.3, 0.1,
... that takes its objective to within 1e-3 of the optimum, without the time to find it; our runs prove theirs to be
within 1e-3 by the duality gap. The ramp loss starts from the convex solution, on labels with 20 % noise.
Recycling: oracle calls, in passes over the data, of the concave-convex procedure with the bundle method to a relative
decrease of 1e-4, for the first 3,000 rows: with cuts kept between rounds, so that rounds are short, and as it is
usually written, with every round solved to 1e-4 by itself from the present weights on.
"""

import time
from functools import lru_cache

from experiments.harness import Study, StudyTable
from experiments.harness.tables import cells, grouped, target_row

SETS = ("letter", "satimage", "segment", "dna", "usps", "shuttle")
STRENGTHS = {name: (0.01, 0.1, 1.0, 10.0) for name in SETS} | dict.fromkeys(
    ("dna", "usps"), (0.001, 0.01, 0.1, 1.0)
)
N_OUTER, N_INNER = 5, 3
NOISE = [(0.2, 0), (0.2, 1), (0.2, 2), (0.0, 0), (0.1, 0)]
MORE_SEEDS = {"segment": [(0.2, seed) for seed in range(3, 10)]}
SHOWN = ("convex", "ramp", "logistic")


def grid(name):
    """The values of C to choose from, in words: stored runs of another grid are others."""
    return " ".join(f"{C:g}" for C in STRENGTHS[name])


def points():
    accuracy = [
        {"part": "accuracy", "set": name, "noise": noise, "seed": seed, "fold": fold, "C": grid(name)}
        for name in SETS
        for noise, seed in [*NOISE, *MORE_SEEDS.get(name, [])]
        for fold in range(N_OUTER)
    ]
    speed = [
        {"part": "speed", "set": name, "noise": 0.0, "seed": 0, "fold": -1, "C": C}
        for name in SETS
        for C in STRENGTHS[name][1:3]
    ]
    recycling = [
        {"part": "recycling", "set": name, "noise": 0.2, "seed": 0, "fold": -1, "C": 0.1}
        for name in ("letter", "satimage", "segment")
    ]
    return [*speed, *recycling, *accuracy]


@lru_cache(maxsize=1)
def table(name):
    from palmette.datasets import load_statlog

    return load_statlog(name, return_X_y=True)


def run(point):
    """One outer fold, or one comparison of training times or oracle calls."""
    return {"accuracy": accuracy, "speed": speed, "recycling": recycling}[point["part"]](point)


def accuracy(point):
    from experiments.harness.noisy_labels import Folds, nested_fold, shuffled

    X, clean = table(point["set"])
    noisy = shuffled(clean, point["noise"], point["seed"])
    train, test = list(Folds.cut(noisy, N_OUTER, seed=point["seed"]))[point["fold"]]
    strengths = STRENGTHS[point["set"]]
    found = nested_fold(X, noisy, clean, train, test, strengths, n_inner=N_INNER, seed=point["seed"])
    return {
        "n": found.n_test,
        "noisy": found.noisy,
        "clean": found.clean,
        "chosen": found.C,
        "seconds": found.seconds,
        "wrong labels": float((noisy != clean).mean()),
    }


def clocked(fit):
    """CPU seconds, the shortest of three runs (of one that takes more than 3 s), and what came of it."""
    seconds = []
    while len(seconds) < 3 and sum(seconds) < 3.0:
        start = time.process_time()
        model = fit()
        seconds.append(time.process_time() - start)
    return min(seconds), model


def speed(point):
    import warnings

    import numpy as np
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    from experiments.harness.noisy_labels import shuffled, standardised
    from palmette import SSVM, Multiclass

    X, y = table(point["set"])
    (X,), y = standardised(X), np.unique(y, return_inverse=True)[1]
    C, rows = point["C"], np.arange(len(y))
    options = {"C": C, "tol": 1e-3, "fit_intercept": False, "n_jobs": 1}
    SSVM(Multiclass(), **options).fit(X[:200], y[:200])  # compiles
    convex, model = clocked(lambda: SSVM(Multiclass(), **options).fit(X, y))
    best = SSVM(Multiclass(), **options | {"tol": 1e-4, "max_iter": 10_000}).fit(X, y).result_
    noisy = shuffled(y, 0.2, 0)
    convex_noisy, _ = clocked(lambda: SSVM(Multiclass(), **options).fit(X, noisy))
    ramp, _ = clocked(lambda: SSVM(Multiclass(), loss="ramp", **options).fit(X, noisy))

    def objective(weights):
        scores = X @ weights.T
        augmented = scores + 1.0
        augmented[rows, y] -= 1.0
        hinge = np.sum(augmented.max(axis=1) - scores[rows, y])
        return hinge + np.sum(weights * weights) / (2 * C)

    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", FutureWarning)
    for tol in (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001):
        peer = LinearSVC(
            multi_class="crammer_singer", C=C, fit_intercept=False, tol=tol, max_iter=3000, random_state=0
        )
        seconds, _ = clocked(lambda peer=peer: peer.fit(X, y))
        value = float(objective(peer.coef_))
        if value <= best.lower * (1 + 1e-3):
            break
    return {
        "convex": convex,
        "ramp": ramp,
        "convex, noisy labels": convex_noisy,
        "LinearSVC": seconds,
        "LinearSVC tol": tol,
        "LinearSVC suboptimality": value / best.lower - 1,
        "suboptimality": model.objective_ / best.lower - 1,
        "proven": best.gap / best.primal,
    }


def recycling(point):
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    from experiments.harness.noisy_labels import shuffled, standardised
    from palmette import SSVM, Multiclass
    from palmette.solvers import CCCP

    X, clean = table(point["set"])
    (X,), y = standardised(X), shuffled(clean, point["noise"], point["seed"])
    X, y = X[:3000], y[:3000]
    warnings.simplefilter("ignore", ConvergenceWarning)
    outcome = {"rows": len(y)}
    for name, solver in (
        ("kept", CCCP(tol=1e-4, inner="bundle")),
        ("anew", CCCP(tol=1e-4, inner="bundle", recycle=False)),
        ("dual", CCCP(tol=1e-4, inner="dual")),
    ):
        result = SSVM(Multiclass(), loss="ramp", C=point["C"], n_jobs=1, solver=solver).fit(X, y).result_
        outcome |= {f"{name} calls": result.step.n_oracle, f"{name} objective": result.primal}
    return outcome


# -- summary ----------------------------------------------------------------------------------------------------------


def of_part(records, part):
    return [record for record in records if record["part"] == part]


def means(records, kind="noisy"):
    """By set, noise and learner: accuracy in % of each seed all of whose folds are there."""
    out = {}
    for (name, noise, _), folds in grouped(of_part(records, "accuracy"), "set", "noise", "seed").items():
        if len(folds) == N_OUTER:
            for learner in folds[0]["noisy"]:
                right = sum(fold[kind][learner] for fold in folds)
                share = 100 * right / sum(fold["n"] for fold in folds)
                out.setdefault((name, noise), {}).setdefault(learner, []).append(share)
    return out


def mean(values):
    return sum(values) / len(values)


def spread(values):
    """Mean, and half the range over seeds where there are several."""
    return f"{mean(values):.1f}" + (f" ± {(max(values) - min(values)) / 2:.1f}" if len(values) > 1 else "")


def accuracy_tables(records):
    tables = []
    for kind, title in (
        ("noisy", "Accuracy % on noisy test labels"),
        ("clean", "Accuracy % on true test labels"),
    ):
        rows = []
        for (name, noise), shares in sorted(means(records, kind).items(), key=lambda item: item[0]):
            gain = mean(shares["ramp"]) - mean(shares["convex"])
            starts = [f"{mean(shares[f'ramp from {start}']):.1f}" for start in ("convex", "logistic")]
            label = f"{name} {100 * noise:.0f} %, {len(shares['ramp'])} seeds"
            rows.append([label, *(spread(shares[each]) for each in SHOWN), f"{gain:+.1f}", *starts])
        header = ["", *SHOWN, "ramp - convex", "ramp from convex", "ramp from logistic"]
        tables.append(StudyTable(title, header, rows))
    return tables


def chosen_table(records):
    runs = {
        f"{name} {100 * noise:.0f} %": [{run["chosen"][learner] for run in own} for learner in SHOWN]
        for (name, noise), own in grouped(of_part(records, "accuracy"), "set", "noise").items()
    }
    shown = [
        [key, *(" ".join(f"{C:g}" for C in sorted(chosen)) for chosen in found)]
        for key, found in sorted(runs.items())
    ]
    return StudyTable("Values of C that were chosen", ["", *SHOWN], shown)


def speed_table(records):
    rows = []
    for record in of_part(records, "speed"):
        convex, peer = record["convex"], record["LinearSVC"]
        rows.append([
            f"{record['set']}, C = {record['C']:g}", f"{convex:.3f}", f"{peer:.3f}", f"{convex / peer:.2f}",
            f"{record['suboptimality']:.0e} / {record['LinearSVC suboptimality']:.0e}", f"{record['ramp']:.3f}",
            f"{record['ramp'] / record['convex, noisy labels']:.1f}", f"{record['ramp'] / peer:.2f}",
        ])  # fmt: skip
    header = [
        "", "convex s", "LinearSVC s", "ratio", "suboptimality, ours / LinearSVC", "ramp s",
        "ramp / convex, same labels", "ramp / LinearSVC",
    ]  # fmt: skip
    return StudyTable("Training, CPU seconds", header, rows)


def recycling_table(records):
    rows = []
    for record in of_part(records, "recycling"):
        ratio = f"{record['anew calls'] / record['kept calls']:.1f}"
        objectives = f"{record['kept objective']:.1f} / {record['anew objective']:.1f}"
        dual = f"{record['dual calls']:.0f} ({record['dual objective']:.1f})"
        calls = cells(record, "kept calls:.0f", "anew calls:.0f")
        rows.append([f"{record['set']}, {record['rows']} rows", *calls, ratio, objectives, dual])
    header = ["", "kept", "anew", "anew / kept", "objective, kept / anew", "dual, passes (objective)"]
    return StudyTable("Oracle calls of CCCP, in passes", header, rows)


def wanted(records):
    """Name, bound, value reached, whether met."""
    from experiments.harness.noisy_labels import accuracy_targets

    shares = {key: {name: mean(v) for name, v in by.items()} for key, by in means(records).items()}
    rows = accuracy_targets(SETS, shares)
    for record in records:
        if record["part"] == "speed":
            label = f"{record['set']}, C = {record['C']:g}: "
            rows.append((label + "LinearSVC s / convex s", 1.0, record["LinearSVC"] / record["convex"]))
            faster = 5 * record["convex, noisy labels"] / record["ramp"]
            rows.append((label + "5 x convex s / ramp s", 1.0, faster))
        if record["part"] == "recycling":
            ratio = record["anew calls"] / record["kept calls"]
            rows.append((f"{record['set']}: oracle calls anew / kept", 3.0, ratio))
    return rows


def summarise(records):
    targets = [target_row(name, ">=", bound, value, 2) for name, bound, value in wanted(records)]
    return [
        *accuracy_tables(records),
        chosen_table(records),
        speed_table(records),
        recycling_table(records),
        StudyTable("Targets", ["", "bound", "reached", ""], targets),
    ]


def missed(records):
    rows = wanted(records)
    return [f"{name}: {value:.2f}, wanted {bound:g}" for name, bound, value in rows if value < bound]


def draw(figure, records):
    """Accuracy on noisy labels against the share of shuffled labels, one panel a set."""
    shares = means(records)
    names = [name for name in SETS if any(key[0] == name for key in shares)]
    panels = figure.subplots(1, len(names), squeeze=False)[0]
    for panel, name in zip(panels, names):
        levels = sorted(noise for other, noise in shares if other == name)
        for learner in SHOWN:
            values = [mean(shares[name, noise][learner]) for noise in levels]
            panel.plot([100 * noise for noise in levels], values, "o-", label=learner)
        panel.set_title(name)
        panel.set_xlabel("% shuffled")
    panels[0].set_ylabel("accuracy %, noisy labels")
    panels[0].legend()


BENCHMARK = Study("ramp_multiclass", __doc__, points(), run, summarise, draw, missed)
