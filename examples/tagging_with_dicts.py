"""Tagging with features in dicts, and the penalty chosen by cross-validation.

The input is what sklearn-crfsuite takes: a sentence is a list of dicts. A text value becomes a feature of its own
(`w=w17`), `True` counts 1 and a number counts as itself.
"""

from sklearn.model_selection import GridSearchCV

from ramify import CRF, Chain
from ramify.datasets import make_tagging

X, Y = make_tagging(n_samples=400, n_tags=6, n_words=300, ambiguity=0.05, random_state=0)
X_train, Y_train, X_test, Y_test = X[:250], Y[:250], X[250:], Y[250:]
print("a token:", X_train[0][1], "->", Y_train[0][1])

# `classes` names all tags, so that a fold may lack one.
tags = sorted({tag for tags in Y for tag in tags})
search = GridSearchCV(CRF(Chain(), classes=tags, tol=1e-3), {"l2": [0.1, 0.3, 1.0, 3.0]}, cv=3)
search.fit(X_train, Y_train)
for l2, score in zip(search.cv_results_["param_l2"], search.cv_results_["mean_test_score"]):
    print(f"l2 = {l2:<4g} accuracy in cross-validation {score:.3f}")
print(f"chosen: {search.best_params_}, accuracy on the test: {search.score(X_test, Y_test):.3f}")

model = search.best_estimator_
for labels, score in model.predict_nbest(X_test[:1], n=3)[0]:
    print(f"score {score:7.3f}: {' '.join(labels)}")
print(f"log-probability of the true tags: {model.log_proba(X_test[:1], Y_test[:1])[0]:.2f}")
