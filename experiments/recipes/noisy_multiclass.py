"""Noisy labels: the ramp loss against the convex hinge and logistic regression.

Table 1 of Do, Le, Teo, Chapelle and Smola, Tighter bounds for structured estimation, NIPS 2008: on six sets 0, 10 and
20 % of the labels are shuffled within strata (a share of the rows of each class is chosen, and their labels are
permuted), before folds are cut; so the test labels are noisy too, and the accuracy on true labels stands beside.
Nested cross-validation, ten folds outside and ten inside, chooses C for every learner on its own; scores are linear,
features standardised within the training part. The ramp loss is minimised by the concave-convex procedure from the
convex solution and from logistic regression, and the inner folds choose the start as well.

A class with a single row cannot be trained and tested: it stays in every training part, and a note says so.

The full run keeps every fold in a file and goes on where it was stopped; `palmette bench ramp_multiclass` has three
inner folds and the training times. The quick run takes the digits and wines of scikit-learn, three folds each way, and
gives the wines a fourth class with one row.
"""

import dataclasses

import numpy as np
from sklearn.datasets import load_digits, load_wine

from experiments.harness.noisy_labels import Folds, accuracy_targets, nested_fold, shuffled
from experiments.harness.store import RunStore
from experiments.harness.study import default_store
from palmette.datasets import load_statlog

NAMES = ("dna", "letter", "satimage", "segment", "shuttle", "usps")
LEVELS = ((0.0, 0), (0.1, 0), (0.2, 0), (0.2, 1), (0.2, 2))  # share of shuffled labels, seed
SMALL = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
LARGE = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
STRENGTHS = {"dna": SMALL, "usps": SMALL, "digits": (0.001, 0.01, 0.1, 1.0), "wine": (0.01, 0.1, 1.0)}
SHOWN = ("convex", "ramp", "logistic")

# Accuracy (%) of convex and ramp in the paper, at 0, 10 and 20 %.
PAPER = {
    "dna": ((95.2, 95.1), (88.9, 89.1), (83.1, 83.5)),
    "letter": ((76.8, 78.6), (64.6, 70.8), (50.1, 63.0)),
    "satimage": ((85.1, 85.4), (77.0, 78.1), (66.4, 70.7)),
    "segment": ((95.4, 95.2), (84.8, 85.9), (73.8, 77.5)),
    "shuttle": ((97.4, 97.1), (89.5, 90.6), (83.8, 88.1)),
    "usps": ((95.1, 95.1), (85.3, 86.1), (76.5, 77.6)),
}


def run(context):
    if context.quick:
        sets, levels, n_folds, store = embedded(), ((0.0, 0), (0.2, 0)), 3, None
    else:
        sets = {name: lambda name=name: load_statlog(name, return_X_y=True) for name in NAMES}
        levels, n_folds, store = LEVELS, 10, RunStore(default_store("recipe-noisy-multiclass"))

    found = {}
    for share, seed in levels:
        for name, load in sets.items():
            X, clean = load()
            noisy = shuffled(clean, share, seed)
            folds = Folds.cut(noisy, n_folds, seed)
            for label in folds.lonely:
                note = f"{name}: class {label!r} has one row, which stays in every training part"
                if note not in context.notes:
                    context.add_note(note)
            results = [
                fold(context, store, (name, share, seed, number), (X, noisy, clean, *rows), n_folds)
                for number, rows in enumerate(folds)
            ]
            found.setdefault((name, share), []).append(results)

    for kind, title in (("noisy", "noisy"), ("clean", "true")):
        rows = [
            [f"{name}, {100 * share:.0f} %", *accuracies(seeds, kind), *published(name, share)]
            for (name, share), seeds in found.items()
        ]
        header = ["set, shuffled", *SHOWN, "ramp - convex", "convex (paper)", "ramp (paper)"]
        context.add_table(f"Accuracy % on {title} test labels", header, rows)
    context.add_figure("Accuracy on noisy labels", lambda figure: draw(figure, found))
    targets(context, {key: accuracies(seeds, "noisy") for key, seeds in found.items()})


def embedded():
    """Digits and wines, the latter with a class of one row."""
    X, y = load_wine(return_X_y=True)
    y = np.append(y[:-1], 3)
    return {"digits": lambda: load_digits(return_X_y=True), "wine": lambda: (X, y)}


def fold(context, store, key, data, n_inner):
    """The outcome of one outer fold, from the file if it is there."""
    strengths = STRENGTHS.get(key[0], LARGE)
    point = dict(zip(("set", "share", "seed", "fold"), key))
    point |= {"n_inner": n_inner, "strengths": list(strengths)}  # outcomes of other settings are others
    for record in store.read() if store is not None else ():
        if all(record.get(name) == value for name, value in point.items()):
            return record
    result = nested_fold(*data, strengths, n_inner=n_inner, seed=key[2], selection_rows=20_000)
    record = {**point, **dataclasses.asdict(result)}
    if store is not None:
        store.append(record)
    shares = ", ".join(f"{name} {100 * result.noisy[name] / result.n_test:.1f}" for name in SHOWN)
    context.log(f"{key[0]} {100 * key[1]:.0f} % seed {key[2]} fold {key[3]}: {shares}")
    return record


def accuracies(seeds, kind):
    """Accuracy in % of each learner, over all folds, mean of the seeds; and what the ramp loss gains."""
    shares = [
        np.mean([
            100 * sum(each[kind][name] for each in folds) / sum(each["n_test"] for each in folds)
            for folds in seeds
        ])
        for name in SHOWN
    ]  # fmt: skip
    return [*map(float, shares), float(shares[1] - shares[0])]


def published(name, share):
    return PAPER[name][round(10 * share)] if name in PAPER else (None, None)


def targets(context, shares):
    gains = {key: found[3] for key, found in shares.items()}
    if context.quick:
        context.add_target("digits, 20 %: ramp - convex", gains["digits", 0.2], ">=", 0.0)
        context.add_target("digits, 0 %: ramp - convex", gains["digits", 0.0], ">=", -1.0)
        return
    for name, bound, value in accuracy_targets(
        NAMES, {key: dict(zip(SHOWN, v)) for key, v in shares.items()}
    ):
        context.add_target(name, value, ">=", bound)


def draw(figure, found):
    """One panel a set: accuracy against the share of shuffled labels."""
    names = list(dict.fromkeys(name for name, _ in found))
    for panel, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names):
        levels = sorted(share for other, share in found if other == name)
        values = np.array([accuracies(found[name, share], "noisy")[:3] for share in levels])
        for k, learner in enumerate(SHOWN):
            panel.plot(100 * np.array(levels), values[:, k], "o-", label=learner)
        panel.set(title=name, xlabel="% shuffled")
    panel.legend()
