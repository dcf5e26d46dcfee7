"""Max-margin learning: costs of mistakes, and what each solver can prove.

A structured SVM minimises a bound on the task loss. With per-label costs a missed label 0 is five times as bad as any
other mistake, and the model answers 0 more readily. All solvers minimise the same objective; the proven relative gap
says how far from the minimum each one stopped.
"""

import warnings

from sklearn.exceptions import ConvergenceWarning

from ramify import SSVM, Chain
from ramify.datasets import make_chains
from ramify.losses import Hamming

warnings.simplefilter("ignore", ConvergenceWarning)  # the gaps are printed
X, Y = make_chains(n_samples=240, n_classes=4, n_features=6, noise=2.5, random_state=1)
X_train, Y_train, X_test, Y_test = X[:120], Y[:120], X[120:], Y[120:]
true = [label for labels in Y_test for label in labels]


def recall(model, label):
    predicted = [p for labels in model.predict(X_test) for p in labels]
    return sum(p == t == label for p, t in zip(predicted, true)) / true.count(label)


print("task loss                      recall of 0   of 1   accuracy")
for name, loss in {
    "hamming": "hamming",
    "a missed 0 costs 5": Hamming({0: 5.0}),
    "0 taken for 1 costs 5": Hamming({(0, 1): 5.0}),
    "zero_one": "zero_one",
}.items():
    model = SSVM(Chain(), l2=10.0, task_loss=loss, tol=1e-2).fit(X_train, Y_train)
    print(f"{name:29s} {recall(model, 0):12.2f} {recall(model, 1):6.2f} {model.score(X_test, Y_test):10.2f}")

print("\nsolver        objective  relative gap   passes  stopped by")
for solver in ("frank_wolfe", "bundle", "stochastic"):
    result = SSVM(Chain(), l2=10.0, solver=solver, tol=1e-3).fit(X_train, Y_train).result_
    gap = result.gap / abs(result.primal)
    print(f"{solver:12s} {result.primal:10.3f} {gap:13.1e} {result.step.n_oracle:8.0f}  {result.reason}")
