"""Tag simulated sentences whose tokens are dicts of features; choose the penalty by cross-validation.

Lists of dicts go straight into scikit-learn's tools: nothing has to be vectorised first.
"""

from math import exp

from sklearn.model_selection import GridSearchCV, KFold

from palmette import CRF, Chain
from palmette.datasets import make_tagging

X, Y = make_tagging(500, n_tags=5, n_words=300, stickiness=0.2, ambiguity=0.05, random_state=0)
X_train, Y_train, X_test, Y_test = X[:300], Y[:300], X[300:], Y[300:]
print("a token:", X_train[0][1], "->", Y_train[0][1])

search = GridSearchCV(CRF(Chain()), {"l2": [0.1, 1.0, 10.0]}, cv=KFold(3))
search.fit(X_train, Y_train)
for l2, accuracy in zip(search.cv_results_["param_l2"], search.cv_results_["mean_test_score"]):
    print(f"l2 = {l2:<5} cross-validated accuracy {accuracy:.3f}")

model = search.best_estimator_
print(f"l2 = {model.l2}: test accuracy {model.score(X_test, Y_test):.3f}")

# Features that training never saw are ignored, so any sentence can be tagged.
sentence = [{"w": "w7", "first": True}, {"w": "new", "w-1": "w7", "w+1": "w9"}, {"w": "w9"}]

print("\nthree best taggings of a sentence, with score and probability:")
for tags, score in model.predict_nbest([sentence], n=3)[0]:
    probability = exp(model.log_proba([sentence], [tags])[0])
    print(f"  {' '.join(tags)}   score {score:6.2f}   probability {probability:.3f}")

print("\nprobability of each tag at each token:")
print("        ", "  ".join(f"{tag:>5}" for tag in model.classes_))
for token, row in zip(sentence, model.predict_marginals([sentence])[0]):
    print(f"  {token['w']:>5}  ", "  ".join(f"{p:5.3f}" for p in row))
