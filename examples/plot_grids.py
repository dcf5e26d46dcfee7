"""Clean up noisy pictures: pixels that know their neighbours (the figure needs the extra `[plot]`).

Pictures of rectangles with every fifth pixel flipped. A classifier sees one pixel at a time; a Markov network on the
grid learns that neighbours agree. Inference is chosen by the shape of the graph and said aloud.
"""

import tempfile
from pathlib import Path

import numpy as np

from palmette import CRF, SSVM, Graph
from palmette.structures import grid_graph

SIZE = 7


def pictures(n, rng):
    """Rectangles, and the same with a fifth of the pixels flipped."""
    clean = np.zeros((n, SIZE, SIZE), int)
    for image in clean:
        (a, b), (c, d) = np.sort(rng.integers(0, SIZE + 1, (2, 2)), axis=1)
        image[a:b, c:d] = 1
    noisy = np.where(rng.random(clean.shape) < 0.2, 1 - clean, clean)
    return clean, noisy


rng = np.random.default_rng(0)
clean, noisy = pictures(60, rng)
X = [grid_graph(image[:, :, None].astype(float), directions=False) for image in noisy]
Y, train, test = [image.ravel().tolist() for image in clean], slice(0, 40), slice(40, 60)

print(Graph(symmetric=True).explain(X[:1]))
print(f"{'as it is':<22} {100 * np.mean(clean[test] == noisy[test]):5.1f}%")
for name, model in (
    ("CRF on the grid", CRF(Graph(symmetric=True), l2=1.0)),
    ("SSVM on the grid", SSVM(Graph(symmetric=True), C=1.0, tol=1e-2)),
):
    model.fit(X[train], Y[train])
    print(f"{name:<22} {100 * model.score(X[test], Y[test]):5.1f}%  gap {model.result_.gap:.2g}")

try:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError:
    print("no figure: pip install 'palmette[plot]'")
else:
    cleaned = np.reshape(model.predict(X[test][:4]), (4, SIZE, SIZE))
    shown = noisy[test], cleaned, clean[test]
    fig, axes = plt.subplots(3, 4, figsize=(6, 4.5), layout="constrained")
    for row, (title, images) in enumerate(zip(("noisy", "cleaned", "truth"), shown)):
        for ax, image in zip(axes[row], images):
            ax.imshow(image, cmap="gray_r", vmin=0, vmax=1)
            ax.set(xticks=[], yticks=[])
        axes[row, 0].set_ylabel(title)
    path = Path(tempfile.gettempdir()) / "palmette_grids.png"
    fig.savefig(path)
    print(f"figure: {path}")
