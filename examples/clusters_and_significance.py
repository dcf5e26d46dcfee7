"""Word clusters from raw text help a tagger that saw few labelled sentences; is the gain more than chance?

A small grammar makes phrases with many different words. Forty sentences have labels, two thousand have none.
Labels are learned as IOBES, scored as IOB2, and the two taggers are compared on the same test sentences.
"""

import numpy as np

from palmette import CRF, Chain
from palmette.data import convert_spans
from palmette.features import WordClusters
from palmette.metrics import bootstrap_interval, compare, tally_chunks

rng = np.random.default_rng(0)
LETTERS = list("abcdefghijklmnopqrstuvwxyz")
WORDS = {kind: ["".join(rng.choice(LETTERS, 5)) for _ in range(200)] for kind in ("adj", "noun", "verb")}


def phrase(label, *kinds):
    """Some words as one span; a few are frequent, most are rare."""
    words = [WORDS[kind][min(int(rng.exponential(40)), 199)] for kind in kinds]
    return [(word, f"{'I' if k else 'B'}-{label}") for k, word in enumerate(words)]


def sentence():
    """The words and labels of a noun phrase, a verb phrase and another noun phrase."""
    parts = [phrase("NP", *["adj"] * rng.integers(3), "noun") for _ in range(2)]
    parts.insert(1, phrase("VP", *["verb"] * rng.integers(1, 3)))
    return map(list, zip(*(token for part in parts for token in part)))


def features(tokens):
    """The columns of a token and of those beside it."""
    padded = [(), *tokens, ()]
    three = [padded[t : t + 3] for t in range(len(tokens))]
    return [[f"{d}.{k}={cell}" for d in range(3) for k, cell in enumerate(beside[d])] for beside in three]


def evaluated(columns):
    """F1, sentence by sentence, of a CRF on some columns of the tokens."""
    X_train, X_test = ([features(s) for s in columns(words)] for words in (train_words, test_words))
    model = CRF(Chain(), l2=0.5).fit(X_train, convert_spans(train_labels, "IOB2", "IOBES"))
    predicted = convert_spans(model.predict(X_test), "IOBES", "IOB2", invalid="repair")
    return tally_chunks(test_labels, predicted)


(raw, _), (train_words, train_labels), (test_words, test_labels) = (
    zip(*(sentence() for _ in range(n))) for n in (2000, 40, 400)
)
clusters = WordClusters(n_clusters=(8, 32), n_components=20).fit(raw)
baseline = evaluated(lambda sentences: [[(word,) for word in words] for words in sentences])
system = evaluated(clusters.transform)
print("words alone        F1", bootstrap_interval(baseline))
print("words and clusters F1", bootstrap_interval(system))
print("gain", compare(system, baseline))
