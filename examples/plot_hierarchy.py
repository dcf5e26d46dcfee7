"""Classify into a tree of classes: flat and hierarchical learners, paths known in part (the figure needs `[plot]`).

Six groups of four classes overlap. A flat learner treats all mistakes alike; learners of paths share what the classes
of a group have in common. Most training paths are known down to the group only.
"""

import tempfile
from pathlib import Path

import numpy as np

from palmette import CRF, SSVM, Hierarchy, Multiclass
from palmette.metrics import hierarchical_f1, level_accuracies

rng = np.random.default_rng(0)
groups = rng.normal(0, 2.0, (6, 20))
classes = groups.repeat(4, axis=0) + rng.normal(0, 0.7, (24, 20))
names = [f"group{g}.class{g}{c}" for g in range(6) for c in range(4)]


def draw(n):
    """Records and their paths."""
    k = rng.integers(0, 24, n)
    return classes[k] + rng.normal(0, 1.5, (n, 20)), [names[i] for i in k]


X, y = draw(240)
X_new, y_new = draw(600)
partial = [path if i % 3 == 0 else path.split(".")[0] + ".?" for i, path in enumerate(y)]
few = [i for i in range(len(y)) if i % 3 == 0]

results = {
    "flat, a third of the paths": CRF(Multiclass(), l2=10.0).fit(X[few], [y[i] for i in few]),
    "paths, a third of them": CRF(Hierarchy(), l2=10.0).fit(X[few], [y[i] for i in few]),
    "paths, the rest by group": CRF(Hierarchy(), l2=10.0).fit(X, partial),
    "paths, all": CRF(Hierarchy(), l2=10.0).fit(X, y),
    "paths, all, SSVM": SSVM(Hierarchy(), l2=10.0, task_loss="common_path").fit(X, y),
}
print(f"{'':<28} group  class  hierarchical F1")
for name, model in results.items():
    found = list(model.predict(X_new))
    group, whole = level_accuracies(y_new, found)
    print(f"{name:<28} {group:.3f}  {whole:.3f}  {hierarchical_f1(y_new, found):.3f}")

try:
    import matplotlib

    matplotlib.use("Agg")
except ModuleNotFoundError:
    print("no figure: pip install 'palmette[plot]'")
else:
    from palmette.plot import HierarchyDisplay

    display = HierarchyDisplay.from_predictions(y_new, results["paths, all"].predict(X_new))
    target = Path(tempfile.gettempdir()) / "hierarchy.png"
    display.figure_.set_size_inches(6, 7)
    display.figure_.savefig(target)
    print(f"figure: {target}")
