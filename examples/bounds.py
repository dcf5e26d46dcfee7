"""Generalisation bounds of a model against its risk on held-out data.

Labels follow the sign of one feature but for one in ten. With 20,000 samples and a strong penalty several bounds say
something; with 200 samples they are vacuous, and say so, or far above the risk.
"""

import numpy as np

from palmette import SSVM, Multiclass
from palmette.inspection import BoundsReport

rng = np.random.default_rng(0)
X = rng.choice([-1.0, 1.0], size=(30_000, 1))
y = np.where(rng.uniform(size=len(X)) < 0.9, X[:, 0], -X[:, 0]).astype(int)
X_test, y_test = X[20_000:], y[20_000:]

for m in (200, 20_000):
    model = SSVM(Multiclass(), l2=float(m), fit_intercept=False).fit(X[:m], y[:m])
    print(
        f"{m} samples:",
        BoundsReport.from_estimator(model, X[:m], y[:m], X_test, y_test),
        sep="\n",
        end="\n\n",
    )
