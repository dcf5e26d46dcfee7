"""Columns, streams and small models
===================================

A tagger on columns, without a string for any attribute; then three ways to need less memory: a stream instead of a
list, hashed features instead of a vocabulary, and an L1 model without its zeros.
"""

from palmette import CRF, Chain, Encoding
from palmette.datasets import make_tagging
from palmette.features import ColumnSentences

X, Y = make_tagging(300, 4, 200, random_state=0)
words = [[(token["w"],) for token in sentence] for sentence in X]
train, test = slice(0, 200), slice(200, None)

# %%
# A template reads the word and its neighbours. It is compiled: only distinct words ever meet Python.
template = "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[1,0]\nU3:%x[-1,0]/%x[0,0]\nB"
columns = CRF(Chain()).fit(ColumnSentences(words[train], template), Y[train])
accuracy = columns.score(ColumnSentences(words[test], template), Y[test])
print(f"columns: {columns.encoder_.n_columns} features, accuracy {accuracy:.3f}")

# %%
# What is to be predicted many times is encoded once.
encoded = columns.encode(ColumnSentences(words[test], template))
assert columns.predict(encoded) == columns.predict(ColumnSentences(words[test], template))

# %%
# Features of one's own come from a generator: they are never in memory together.


def features(sentences):
    for sentence in sentences:
        yield [[f"w={word}", f"first={word[:1]}"] for (word,) in sentence]


streamed = CRF(Chain(), encoding=Encoding(min_count=2)).fit(features(words[train]), Y[train])
hashed = CRF(Chain(), encoding=Encoding(n_hash=256)).fit(features(words[train]), Y[train])
for name, model in {"streamed": streamed, "hashed": hashed}.items():
    score = model.score(features(words[test]), Y[test])
    print(f"{name}: {model.encoder_.n_columns} columns, accuracy {score:.3f}")

# %%
# An L1 penalty leaves zeros, and `prune` drops them.
sparse = CRF(Chain(), l1=0.5, l2=0.1).fit(ColumnSentences(words[train], template), Y[train])
before, predicted = sparse.encoder_.n_columns, sparse.predict(ColumnSentences(words[test], template))
sparse.prune()
assert sparse.predict(ColumnSentences(words[test], template)) == predicted
print(f"pruned: {before} features, {sparse.encoder_.n_columns} of them needed")
