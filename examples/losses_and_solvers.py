"""What a mistake costs is a parameter, and every solver proves how near it came.

First two SSVMs that differ in their task loss alone: a higher cost of missing label 0 shifts the errors to the others.
Then one CRF and one SSVM objective by several solvers: all proven intervals of one objective contain its optimum.
"""

import numpy as np

from palmette import CRF, SSVM, Chain
from palmette.datasets import make_chains
from palmette.losses import Hamming

X, Y = make_chains(150, n_classes=3, n_features=3, noise=1.5, random_state=0)
X_train, Y_train, X_test, Y_test = X[:100], Y[:100], X[100:], Y[100:]
true = np.concatenate(Y_test)


def missed(model, label):
    """Share of the positions with this label that got another one."""
    predicted = np.concatenate(model.predict(X_test))
    return np.mean(predicted[true == label] != label)


print("task loss                     missed: label 0   label 1   label 2")
for task_loss in (Hamming(), Hamming({0: 5.0})):
    model = SSVM(Chain(), l2=0.1, task_loss=task_loss).fit(X_train, Y_train)
    print(f"{task_loss!s:<30}", "".join(f"{missed(model, label):10.1%}" for label in range(3)))

print("\nlearner  solver       passes  proven interval of the optimum   relative gap   stopped by")
runs = [(CRF, "lbfgs"), (CRF, "bundle"), (CRF, "stochastic"), (SSVM, "bundle"), (SSVM, "frank_wolfe")]
intervals = {CRF: [], SSVM: []}
for learner, solver in runs:
    result = learner(Chain(), l2=10.0, solver=solver, tol=1e-3).fit(X_train, Y_train).result_
    intervals[learner].append((result.lower, result.primal))
    print(
        f"{learner.__name__:<8} {solver:<12} {result.step.n_oracle:6.0f}   "
        f"[{result.lower:12.4f}, {result.primal:12.4f}]   {result.gap / result.primal:12.1e}   {result.reason}"
    )

for learner, found in intervals.items():
    lower, upper = max(low for low, _ in found), min(high for _, high in found)
    print(
        f"{learner.__name__}: all agree that the optimum is in [{lower:.4f}, {upper:.4f}]: {lower <= upper}"
    )
