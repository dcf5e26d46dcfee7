"""Segments instead of labels: find titles in text by looking at whole segments, with a list of known titles."""

import random

from palmette import CRF, Chain, SemiMarkov
from palmette.metrics import chunk_report

WORDS = "blue deep green house last lights long night old river road sea silent small train water".split()
COMMON = "a about again and as at before he it of on she the they to under was we with yesterday".split()
rng = random.Random(0)
TITLES = sorted({tuple(rng.sample(WORDS, rng.choice([2, 3]))) for _ in range(80)})
rng.shuffle(TITLES)
KNOWN = {" ".join(title) for title in TITLES}  # the list; half of it never occurs in the training text


def sentences(n, titles):
    """Common words, stray words of titles, and titles; which segments are titles."""
    X, Y = [], []
    for _ in range(n):
        tokens, segments = [], []
        for _ in range(rng.randint(3, 7)):
            piece = [rng.choice(COMMON + WORDS)]
            if rng.random() < 0.3:
                piece = list(rng.choice(titles))
                segments.append((len(tokens), len(tokens) + len(piece), "title"))
            tokens += piece
        X.append([{"word": token} for token in tokens])
        Y.append(segments)
    return X, Y


def in_the_list(sequence, start, stop):
    """A feature of the segment as a whole, which no label of a single token can have."""
    return {"known": " ".join(token["word"] for token in sequence[start:stop]) in KNOWN}


def as_labels(X, Y):
    """The same segments as IOB2 labels, for a chain."""
    labels = [["O"] * len(x) for x in X]
    for row, segments in zip(labels, Y):
        for start, stop, kind in segments:
            row[start:stop] = [f"B-{kind}"] + [f"I-{kind}"] * (stop - start - 1)
    return labels


X, Y = sentences(150, TITLES[:40])
X_new, Y_new = sentences(100, TITLES[40:])
truth = as_labels(X_new, Y_new)
chain = CRF(Chain(), l2=0.1).fit(X, as_labels(X, Y))
plain = CRF(SemiMarkov(max_length=3), l2=0.1).fit(X, Y)
model = CRF(SemiMarkov(max_length=3, segment_features=in_the_list), l2=0.1).fit(X, Y)
print(f"chain of labels          F1 {chunk_report(truth, chain.predict(X_new)).overall.f1:.2f}")
print(
    f"segments                 F1 {chunk_report(truth, as_labels(X_new, plain.predict(X_new))).overall.f1:.2f}"
)
print(
    f"segments with the list   F1 {chunk_report(truth, as_labels(X_new, model.predict(X_new))).overall.f1:.2f}"
)
print(" ".join(token["word"] for token in X_new[0]), "->", model.predict(X_new[:1])[0])
