"""Chains that know more: features on edges, forbidden transitions, second order.

Made-up logs of a device that is idle (O) or in a job (B, then I). Every job has at least three steps, and the word
"toggle" means that the device changes from one state to the other at this step.
"""

import numpy as np

from palmette import CRF, Chain

rng = np.random.default_rng(0)


def make_log():
    """Words and labels of one log."""
    labels = []
    while len(labels) < 12:
        labels += ["O"] * int(rng.integers(1, 5))
        labels += ["B"] + ["I"] * int(rng.integers(2, 5))
    words, busy = [], False
    for label in labels:
        changes = busy != (label != "O")
        busy = label != "O"
        words.append("toggle" if changes and rng.random() < 0.8 else rng.choice(["tick", "tock"]))
    return [[f"w:{word}"] for word in words], labels


def is_valid(labels):
    """Whether no I stands at the start or right after O."""
    return all(label != "I" or before != "O" for before, label in zip(["O", *labels], labels))


logs = [make_log() for _ in range(400)]
X, Y = [x for x, _ in logs], [y for _, y in logs]
X_train, Y_train, X_test, Y_test = X[:50], Y[:50], X[200:], Y[200:]

settings = {"l2": 3.0, "solver": "lbfgs"}
models = {
    "plain": CRF(Chain(), **settings),
    "edge features": CRF(Chain(), edge_features="all", **settings),
    "+ valid spans only": CRF(Chain(allowed="IOB2"), edge_features="all", **settings),
    "+ second order": CRF(Chain(order=2, allowed="IOB2"), edge_features="all", **settings),
}
scores = {}
print(f"{'model':<20} {'weights':>7} {'right':>7} {'valid outputs':>14} {'log-probability of the truth':>30}")
for name, model in models.items():
    model.fit(X_train, Y_train)
    predicted = model.predict(X_test)
    valid = np.mean([is_valid(labels) for labels in predicted])
    scores[name] = model.log_proba(X_test, Y_test).mean()
    right = model.score(X_test, Y_test)
    print(f"{name:<20} {len(model.coef_):7} {right:7.1%} {valid:14.1%} {scores[name]:30.2f}")

# Each step describes logs that it has not seen better than the one before.
assert list(scores.values()) == sorted(scores.values())
assert all(is_valid(labels) for labels in models["+ second order"].predict(X_test))
