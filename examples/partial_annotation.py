"""Learning from sentences of which a quarter of the tokens is labelled, and from labels that are one of several."""

import numpy as np

from palmette import CRF, SSVM, UNKNOWN, Chain, OneOf, Perceptron
from palmette.datasets import make_chains

X, y = make_chains(600, random_state=0)
X, y, X_new, y_new = X[:400], y[:400], X[400:], y[400:]
labels = sorted({label for sentence in y for label in sentence})
rng = np.random.default_rng(0)

# A quarter of the labels, and of the others one of two possible ones where the annotator was in doubt.
quarter = [[label if rng.random() < 0.25 else UNKNOWN for label in sentence] for sentence in y]
doubtful = [
    [label if rng.random() < 0.25 else OneOf(label, labels[rng.integers(len(labels))]) for label in sentence]
    for sentence in y
]

print(f"{'learner':12}{'all labels':>12}{'a quarter':>12}{'one of two':>12}")
for name, complete, partial in (
    ("CRF", CRF(Chain()), CRF(Chain())),
    ("SSVM", SSVM(Chain()), SSVM(Chain(), loss="bridge")),
    ("Perceptron", Perceptron(Chain()), Perceptron(Chain())),
):
    scores = [complete.fit(X, y).score(X_new, y_new)]
    scores += [partial.fit(X, some).score(X_new, y_new) for some in (quarter, doubtful)]
    print(f"{name:12}" + "".join(f"{score:12.3f}" for score in scores))

counts = CRF(Chain()).fit(X, quarter).annotation_
print(
    f"a quarter: {counts.known:,} labels, {counts.unknown:,} unknown; {counts.n_empty} sentences had no label"
)
