"""A chain against a classifier of single positions, on simulated label chains.

The labels of a simulated chain depend on their neighbours, and the features of a position say too little about its
label. ``CRF(Multiclass())`` sees one position at a time, ``CRF(Chain())`` the same rows as sequences.

    python plot_chain_basics.py [figure.png]

Without a name the figure goes to the folder for temporary files; without matplotlib there is none.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from palmette import CRF, Chain, Multiclass
from palmette.datasets import make_chains
from palmette.metrics import token_accuracy


def draw(model, x, y, path):
    """Learned transitions, marginals of one sequence, and the way to the optimum."""
    import matplotlib.pyplot as plt

    from palmette.plot import ConvergenceDisplay, MarginalsDisplay, TransitionsDisplay

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(15, 4), layout="constrained")
    TransitionsDisplay.from_estimator(model, ax=left, values=True)
    left.set_title("learned transitions")
    MarginalsDisplay.from_estimator(model, x, y, ax=middle)
    middle.set_title("one test sequence (rings: true labels)")
    ConvergenceDisplay.from_estimator(model, ax=right, against="n_iter")
    right.set_title("the optimum is in the band")
    figure.savefig(path, dpi=120)
    plt.close(figure)
    print(f"figure: {path}")


X, Y = make_chains(400, n_classes=4, n_features=3, noise=1.5, stickiness=0.7, random_state=0)
X_train, Y_train, X_test, Y_test = X[:200], Y[:200], X[200:], Y[200:]

single = CRF(Multiclass()).fit(np.concatenate(X_train), np.concatenate(Y_train))
chain = CRF(Chain()).fit(X_train, Y_train)

print("model              wrong labels")
print(f"CRF(Multiclass())        {1 - single.score(np.concatenate(X_test), np.concatenate(Y_test)):6.1%}")
print(f"CRF(Chain())             {1 - token_accuracy(Y_test, chain.predict(X_test)):6.1%}")
result = chain.result_
print(f"objective {result.primal:.2f}, at most {result.gap / result.primal:.1e} of it above the optimum")

longest = int(np.argmax([len(y) for y in Y_test]))
try:
    default = Path(tempfile.gettempdir()) / "palmette_chain_basics.png"
    draw(chain, X_test[longest], Y_test[longest], Path(sys.argv[1]) if len(sys.argv) > 1 else default)
except ModuleNotFoundError as error:
    print(f"no figure: {error}; pip install 'palmette[plot]' brings matplotlib")
