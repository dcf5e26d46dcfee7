"""Choose the L2 penalty by cross-validation, with sentences of a document held out together.

The path goes from strong to weak penalties, in multiples of the usual one; each fit starts where the last one ended.
"""

import numpy as np

from palmette import CRF, CRFCV, SSVMCV, Chain
from palmette.datasets import make_chains, make_tagging

X, Y = make_tagging(240, n_tags=5, n_words=300, stickiness=0.2, ambiguity=0.05, random_state=0)
documents = np.arange(160) // 8  # eight sentences each

print("named features: the usual penalty is 1")
model = CRFCV(Chain()).fit(X[:160], Y[:160], groups=documents)
for l2, scores in zip(model.l2s_, model.cv_scores_):
    print(f"  l2 = {l2:<6.3g} {scores.mean():.3f} " + ("<- chosen" if l2 == model.l2_ else ""))
plain = CRF(Chain()).fit(X[:160], Y[:160])
print(
    f"  test accuracy: usual {plain.score(X[160:], Y[160:]):.3f}, chosen {model.score(X[160:], Y[160:]):.3f}"
)

print("\narrays: the usual penalty follows the scale of the columns")
X, Y = make_chains(200, n_classes=6, n_features=60, noise=5.0, random_state=0)
for unit in (1.0, 1000.0):
    scaled = [unit * x for x in X]
    model = SSVMCV(Chain()).fit(scaled[:100], Y[:100])
    score = model.score(scaled[100:], Y[100:])
    print(f"  unit {unit:<6g} chosen {model.best_params_['l2']} = {model.l2_:.3g}, test accuracy {score:.3f}")
