"""Enzymes: places in a hierarchy of functions from protein sequences, by output-kernel regression.

EC numbers, paths of four levels, of proteins that share at most 10 % of their letters: 2,797 for training, 1,755 for
testing, 527 leaves, 49 test proteins with a leaf that training has not. Proteins are compared by their 4-grams, rare
ones counting more, cosines to the power 4. An intercept is fitted and left out at decoding, and proteins of frequent
leaves weigh less, so that these have no head start. Outputs are leaves (Dirac's kernel) or paths (the kernel of common
beginnings, levels weighing .25, .25, .5, 1). The nearest protein stands beside.

The quick run takes every third protein and one penalty. `palmette bench enzymes` chooses the power, and has random
splits and more learners.
"""

import numpy as np
from scipy.stats import binomtest

from palmette import SORR, SORRCV, SOSC
from palmette.datasets import load_enzymes
from palmette.kernels import CommonPath, NGram

KERNEL = NGram(4, binary=True, idf=True, normalize=True) ** 4
OUTPUTS = {"leaves": "dirac", "paths": CommonPath((0.25, 0.25, 0.5, 1.0))}
DECODING = {"fit_intercept": True, "decode_intercept": False}
TARGETS = {"wrong levels": (1.9, 2.6), "0/1 risk %": (56.0, 75.0)}  # of all proteins, and of a third


def run(context):
    step = 3 if context.quick else 1
    train, test = (
        [some[::step] for some in load_enzymes(part, return_X_y=True)] for part in ("train", "test")
    )
    rows, each = [], {}
    for name, model, weight in models(train[1], context.quick):
        model.fit(*train, sample_weight=weight) if weight is not None else model.fit(*train)
        right = common_levels(test[1], model.predict(test[0]))
        rows.append([name, *risks(right)])
        each[name] = right
        context.log(f"{name}: {rows[-1][1]:.3f} wrong levels, {rows[-1][2]:.1f} % of leaves wrong")
    header = ["", "wrong levels", "0/1 risk %", "90 % from", "to"]
    context.add_table("Enzymes that were not seen", header, rows)
    context.add_figure("Levels that are right", lambda figure: draw(figure, each))
    for name, *found in rows[1:]:
        for (what, bounds), value in zip(TARGETS.items(), found):
            context.add_target(f"{name}: {what}", value, "<=", bounds[context.quick])


def models(paths, quick):
    """Names, models, and weights of training proteins."""
    count = {path: paths.count(path) for path in set(paths)}
    weight = np.array([count[path] ** -0.25 for path in paths])
    yield "nearest protein", Nearest(NGram(4, binary=True, normalize=True)), None
    for name, output in OUTPUTS.items():
        if quick:
            yield f"SORR, {name}", SORR(output, kernel=KERNEL, l2=1.0, **DECODING), weight
        else:
            yield f"SORR, {name}", SORRCV(output, kernels=KERNEL, l2s=[1.0, 0.1], cv=5, **DECODING), weight
    yield "SOSC, leaves", SOSC("dirac", kernel=KERNEL, R=20.0, **DECODING), weight


class Nearest:
    """The output of the most similar training input."""

    def __init__(self, kernel):
        self.kernel = kernel

    def fit(self, X, y):
        self.bound, self.outputs = self.kernel.bind(X), y
        self.rows = self.bound.prepare(X)

    def predict(self, X):
        best = self.bound.cross(self.bound.prepare(X), self.rows).argmax(axis=1)
        return [self.outputs[i] for i in best]


def common_levels(true, found):
    """How many levels from the top are right, of each path."""
    return np.array([sum(y[: k + 1] == z[: k + 1] for k in range(4)) for y, z in zip(true, found)])


def risks(right):
    """Wrong levels, share of wrong leaves in % and its binomial-tail interval."""
    wrong = int((right < 4).sum())
    interval = binomtest(wrong, len(right)).proportion_ci(0.9, "exact")
    return [float(4.0 - right.mean()), *(100 * v for v in (wrong / len(right), interval.low, interval.high))]


def draw(figure, each):
    ax = figure.subplots()
    for name, right in each.items():
        ax.plot(range(1, 5), [100 * (right >= k).mean() for k in range(1, 5)], marker="o", label=name)
    ax.set(xlabel="level", ylabel="proteins whose levels up to this one are right, %", xticks=range(1, 5))
    ax.legend(frameon=False)
