"""Find ellipses in noisy pictures: pixels that know their neighbours (the figure needs the extra `[plot]`).

The noise of a pixel is as large as the signal, so that a classifier of single pixels fails. A Markov network on the
grid learns that neighbours agree. With two labels and edges that favour agreement, the best labels are a minimum cut:
exact, and a millisecond a picture. The sums of a CRF are bounds on such grids, told in a warning.
"""

import tempfile
from pathlib import Path

import numpy as np

from palmette import CRF, SSVM, Graph, Multiclass
from palmette.structures import grid_graph

SIZE = 24


def pictures(n, rng):
    """One or two ellipses in each, and the same in noise."""
    y, x = np.mgrid[:SIZE, :SIZE]
    clean = np.zeros((n, SIZE, SIZE), int)
    for image in clean:
        for _ in range(rng.integers(1, 3)):
            (a, b), (u, v) = rng.uniform(6, SIZE - 6, 2), rng.uniform(4, 8, 2)
            image |= ((x - a) / u) ** 2 + ((y - b) / v) ** 2 <= 1.0
    return clean, clean + rng.normal(size=clean.shape)


clean, noisy = pictures(60, np.random.default_rng(0))
X = [grid_graph(image[:, :, None], directions=False) for image in noisy]
Y, train, test = [image.ravel().tolist() for image in clean], slice(0, 40), slice(40, 60)

alone = CRF(Multiclass(), l2=1.0).fit(noisy[train].reshape(-1, 1), clean[train].ravel())
pixels = np.reshape(alone.predict(noisy[test].reshape(-1, 1)), clean[test].shape)
print(f"{'pixels alone':<18} {100 * np.mean(pixels == clean[test]):.1f}%")
for learner in (CRF(Graph(symmetric=True), l2=1.0, tol=1e-2), SSVM(Graph(symmetric=True), l2=1.0, tol=1e-2)):
    model, name = learner.fit(X[train], Y[train]), f"{type(learner).__name__} on the grid"
    gap = model.result_.gap / model.result_.primal
    print(f"{name:<18} {100 * model.score(X[test], Y[test]):.1f}%, proven gap {100 * gap:.2g}%")

try:
    import matplotlib
except ImportError:
    print("no figure: pip install 'palmette[plot]'")
else:
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    found = np.reshape(model.predict(X[test][:4]), (4, SIZE, SIZE))
    shown = ("noisy", noisy[test]), ("pixels alone", pixels), ("on the grid", found), ("truth", clean[test])
    fig, axes = plt.subplots(4, 4, figsize=(6, 6), layout="constrained")
    for row, (title, images) in zip(axes, shown):
        row[0].set_ylabel(title)
        for ax, image in zip(row, images):
            ax.imshow(image, cmap="gray_r")
            ax.set(xticks=[], yticks=[])
    path = Path(tempfile.gettempdir()) / "palmette_grids.png"
    fig.savefig(path)
    print(f"figure: {path}")
