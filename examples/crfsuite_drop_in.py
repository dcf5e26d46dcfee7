"""A named-entity script as users of sklearn-crfsuite write it; only the first import below is new.

``from sklearn_crfsuite import CRF, metrics`` prints the same, but for the size of the model file.
"""

from collections import Counter
from itertools import product
from random import Random

from scipy.stats import expon
from sklearn.metrics import make_scorer
from sklearn.model_selection import RandomizedSearchCV

from palmette.compat import CRF, metrics

# Invented text: (word, label) pairs. Some names stand for a person and for a place.
people = ["Ada Berg", "Milo Stone", "Paris Lane", "Ivo Kent", "Sofia May", "Jordan Moor"]
places = ["Paris", "Sofia", "North Bay", "Jordan", "Old Kent", "Lima"]
frames = ["{} met {} in {} .", "Yesterday {} and {} left {} by train .", "In {2} , {0} wrote to {1} ."]


def tagged(frame, entities):
    """Words of a sentence with their labels, B- and I- for the words of an entity."""
    marked = [f"{k}{'|'.join(name.split())}" for k, name in zip(("PER/", "PER/", "LOC/"), entities)]
    for token in frame.format(*marked).split():
        kind, _, name = token.rpartition("/")
        for i, word in enumerate(name.split("|")):
            yield word, f"{'I' if i else 'B'}-{kind}" if kind else "O"


def word2features(sentence, i):
    word = sentence[i][0]
    features = {"bias": 1.0, "word": word.lower(), "suffix": word[-2:], "title": word.istitle()}
    for name, j in (("before", i - 1), ("after", i + 1)):
        inside = 0 <= j < len(sentence)
        features[name] = {"word": sentence[j][0].lower()} if inside else {"border": True}
    return features


choices = [(f, (p, q, r)) for f, p, q, r in product(frames, people, people, places) if p != q]
sentences = [list(tagged(frame, entities)) for frame, entities in choices]
Random(0).shuffle(sentences)
X = [[word2features(sentence, i) for i in range(len(sentence))] for sentence in sentences]
y = [[label for _, label in sentence] for sentence in sentences]
X_train, y_train, X_test, y_test = X[:12], y[:12], X[12:], y[12:]

crf = CRF(algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100, all_possible_transitions=True)
crf.fit(X_train, y_train)
labels = sorted((label for label in crf.classes_ if label != "O"), key=lambda label: (label[1:], label[0]))
print(metrics.flat_classification_report(y_test, crf.predict(X_test), labels=labels, digits=3))

scorer = make_scorer(metrics.flat_f1_score, average="weighted", labels=labels)
space = {"c1": expon(scale=0.5), "c2": expon(scale=0.05)}
search = RandomizedSearchCV(crf, space, cv=3, n_iter=4, scoring=scorer, random_state=0).fit(X_train, y_train)
print(f"best F1 in cross-validation: {search.best_score_:.3f}, model of {search.best_estimator_.size_} bytes")

for (left, right), weight in Counter(crf.transition_features_).most_common(3):
    print(f"{left:6} -> {right:6} {weight:.3f}")
for (attribute, label), weight in Counter(crf.state_features_).most_common(3):
    print(f"{label:6} {attribute:20} {weight:.3f}")
