"""Learn from wrong labels: the ramp loss against the hinge (the figure needs the extra `[plot]`).

A third of the training sequences carry labels at random. The hinge pays for each of them without limit; the ramp loss
pays no more than such a mistake costs. The figure shows how near both bounds are to the loss they stand for, while the
ramp loss is minimised under a weak and a strong penalty, and at the end for several penalties.
"""

import tempfile
from pathlib import Path

import numpy as np

from palmette import CRF, SSVM, Chain, LossOptions
from palmette.datasets import make_chains
from palmette.inspection import bound_values

rng = np.random.default_rng(0)
X, clean = make_chains(200, n_classes=4, n_features=6, random_state=0)
X_train, X_test, y_test = X[:100], X[100:], clean[100:]
y_train = [
    rng.integers(0, 4, len(y)).tolist() if rng.random() < 0.35 else y for y in clean[:100]
]  # the test labels stay clean

models = {
    "SSVM, hinge": SSVM(Chain(), l2=1.0, tol=1e-3),
    "SSVM, ramp": SSVM(Chain(), l2=1.0, tol=1e-3, loss="ramp"),
    "SSVM, ramp, slack": SSVM(
        Chain(), l2=1.0, tol=1e-3, loss="ramp", loss_options=LossOptions(rescaling="slack")
    ),
    "CRF": CRF(Chain(), l2=1.0),
}
print(f"{'':<18} {'test':>6}  training: convex bound, ramp, loss of a sequence")
for name, model in models.items():
    model.fit(X_train, y_train)
    bounds = bound_values(model, X_train, y_train)
    means = "  ".join(f"{values.mean():6.2f}" for values in bounds)
    print(f"{name:<18} {100 * model.score(X_test, y_test):5.1f}%  {means}")

try:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError:
    print("no figure: pip install 'palmette[plot]'")
else:
    from palmette.plot import BoundDisplay

    fig, (weak, strong, path) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    ramp = models["SSVM, ramp"]
    for ax, l2 in ((weak, 1.0), (strong, 100.0)):
        BoundDisplay.from_estimator(ramp.set_params(l2=l2), X_train, y_train, ax=ax)
        ax.set(title=f"l2 = {l2:g}, along the fit", ylim=(0, 12))
    BoundDisplay.from_estimator(ramp, X_train, y_train, l2=np.logspace(0, 3, 7), ax=path)
    path.set(title="at the end", ylim=(0, 12))
    file = Path(tempfile.gettempdir()) / "palmette_ramp.png"
    fig.savefig(file)
    print(f"figure: {file}")
