"""Regression with kernels of inputs and outputs: strings to strings (the figure needs the extra `[plot]`).

Noisy copies of a few words are read back. The output kernel says what counts: whole words (Dirac) or letters (Hamming).
The penalty is chosen by held-out predictions of all folds, which cost no fits, and any task loss can decode.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from palmette import SORR, SORRCV, SOSCCV
from palmette.kernels import Dirac, Hamming, NGram

WORDS = ["palmette", "acanthus", "meander", "rosette", "volute", "lotus"]
KERNELS = [NGram(n, normalize=True, short="zero") for n in (1, 2, 3)]
rng = np.random.default_rng(0)


def noisy(word):
    """A third of the letters are replaced."""
    letters = [c if rng.random() > 0.35 else chr(rng.integers(97, 123)) for c in word]
    return "".join(letters)


y = [WORDS[i] for i in rng.integers(0, len(WORDS), 240)]
X = [noisy(word) for word in y]
train, test = slice(0, 120), slice(120, 240)

for output in (Dirac(), Hamming(blank=True)):
    for learner in (SORRCV, SOSCCV):
        model = learner(output, kernels=KERNELS, cv=5).fit(X[train], y[train])
        right = np.mean([a == b for a, b in zip(model.predict(X[test]), y[test])])
        chosen = f"{model.kernel_.n}-grams, held-out score {model.best_score_:.3f}"
        start = f"{learner.__name__:<7} {type(output).__name__:<8} {100 * right:5.1f}% words"
        print(f"{start}   {chosen}, optimality {model.result_.kkt:.0e}")

search = SORRCV("dirac", kernels=KERNELS, cv=5).fit(X[train], y[train])
model = SORR("dirac", **search.best_params_, task_loss=lambda a, b: abs(len(a) - len(b))).fit(
    X[train], y[train]
)
print(f"decoded for another loss: lengths off by {1.0 - model.score(X[test], y[test]):.2f} letters")

try:
    import matplotlib.pyplot as plt
except ImportError as error:
    print(f"no figure: {error}")
else:
    for kernel, l2s, scores in zip(KERNELS, search.l2s_, search.cv_scores_.mean(axis=2)):
        plt.semilogx(l2s, scores, marker="o", label=f"{kernel.n}-grams")
    plt.xlabel("penalty l2"), plt.ylabel("held-out score"), plt.legend()
    file = Path(sys.argv[1] if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "regression.png")
    plt.savefig(file)
    print(f"figure: {file}")
