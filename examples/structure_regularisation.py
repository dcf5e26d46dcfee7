"""Simpler structures in training: random pieces, whole templates dropped, and two models that decode together.

The first table cuts the training sentences into random pieces of a mean size (inf: whole) and scores held-out
ones; then the size is chosen by cross-validation. A group lasso keeps the templates that tell a tag (the word, the
beginning of a sentence, transitions) and drops the others: noise, and the neighbouring words, which in this
simulation say nothing that transitions do not. At the end a model of whole sentences and one of single words decode
together.
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from palmette import CRF, Chain, CombinedDecoder, Decomposition, GroupLasso, Perceptron
from palmette.datasets import make_tagging

warnings.simplefilter("ignore", ConvergenceWarning)  # cuts that change leave no optimum to converge to

X, Y = make_tagging(300, n_tags=6, n_words=200, mean_length=20, random_state=0)
X_train, Y_train, X_test, Y_test = X[:60], Y[:60], X[60:], Y[60:]

print("size of pieces   CRF     perceptron")
for size in (np.inf, 10.5, 5.5, 2.5, 1.5, 1):
    cut = Decomposition(size)
    models = CRF(Chain(), l2=0.5, regularizer=cut, max_iter=30), Perceptron(Chain(), regularizer=cut)
    scores = [model.fit(X_train, Y_train).score(X_test, Y_test) for model in models]
    print(f"{size:<14}", *(f"{score:9.3f}" for score in scores))

auto = Perceptron(Chain(), regularizer=Decomposition("auto")).fit(X_train, Y_train)
print(f"chosen by cross-validation: size {auto.decomposition_.size}")

rng = np.random.default_rng(0)
noisy = [[{**position, "noise": str(rng.integers(50))} for position in x] for x in X_train]
lasso = GroupLasso(1.2, by="template")
model = CRF(Chain(), l2=0.1, regularizer=lasso).fit(noisy, Y_train)
for name, group in lasso.groups(model.scorer_, model.encoder_).items():
    print(f"template {name:<8} |w| = {np.linalg.norm(model.coef_[group]):6.2f}")

whole = CRF(Chain(), l2=0.5).fit(X_train, Y_train)
single = CRF(Chain(), l2=0.5, regularizer=Decomposition(1), max_iter=30).fit(X_train, Y_train)
decoder = CombinedDecoder([whole, single]).tuned(X_test[:100], Y_test[:100])
print(f"whole {whole.score(X_test[100:], Y_test[100:]):.3f}", end="   ")
print(f"single {single.score(X_test[100:], Y_test[100:]):.3f}", end="   ")
print(f"together {decoder.score(X_test[100:], Y_test[100:]):.3f} (weight {decoder.weight})")
