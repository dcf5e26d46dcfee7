"""Chains against single positions: what a label's neighbours are worth.

Simulated chains, so that the truth is known: labels follow a random Markov chain and features are Gaussian around the
mean of their label. A classifier of single positions sees the features alone; a chain CRF also learns which label
follows which.

Run it with `python examples/plot_chain_basics.py [FIGURE]`; a figure is written if a file is named.
"""

import sys

import numpy as np

from ramify import CRF, Chain, Multiclass
from ramify.datasets import make_chains

X, Y = make_chains(n_samples=300, n_classes=5, n_features=8, noise=2.0, stickiness=0.6, random_state=0)
X_train, Y_train, X_test, Y_test = X[:200], Y[:200], X[200:], Y[200:]

single = CRF(Multiclass(), l2=1.0).fit(np.vstack(X_train), np.concatenate(Y_train))
chain = CRF(Chain(), l2=1.0).fit(X_train, Y_train)

print(f"single positions: {single.score(np.vstack(X_test), np.concatenate(Y_test)):.3f} right")
print(f"chain:            {chain.score(X_test, Y_test):.3f} right")
print(f"proven gap to the optimum: {chain.result_.gap:.2g} of {chain.objective_:.6g}")

if len(sys.argv) > 1:
    from matplotlib.figure import Figure

    from ramify.plot import ConvergenceDisplay, MarginalsDisplay, TransitionsDisplay

    figure = Figure(figsize=(13, 3.8), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    TransitionsDisplay.from_estimator(chain, ax=left, values=True)
    MarginalsDisplay.from_estimator(chain, X_test[0], Y_test[0], ax=middle)
    ConvergenceDisplay.from_estimator(chain, ax=right, against="n_iter", kind="gap")
    figure.savefig(sys.argv[1])
