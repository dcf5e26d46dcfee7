"""Ranking: sort the documents of a query so that relevant ones come first; likelihood, ramp loss, its convex bound."""

import io

import numpy as np

from palmette import SSVM, PlackettLuce, Ranking
from palmette.data import read_letor
from palmette.losses import NDCG
from palmette.metrics import compare, mean_average_precision, ndcg, tally_queries
from palmette.solvers import Subgradient

rng = np.random.default_rng(0)
SIGNAL = np.array([1.0, 1.0, 0.5, -0.5, 0, 0, 0, 0])


def queries(n):
    """Documents with eight features and grades 0, 1, 2; a third of the queries were judged carelessly."""
    X = [rng.uniform(size=(rng.integers(20, 60), len(SIGNAL))) for _ in range(n)]
    y = []
    for table in X:
        appeal = table @ SIGNAL + rng.normal(0, 0.3 if rng.random() < 2 / 3 else 2.0, len(table))
        y.append(np.digitize(appeal, np.quantile(appeal, [0.8, 0.93])))
    return X, y


X, y = queries(60)
X_new, y_new = queries(200)
models = {
    "Plackett-Luce": PlackettLuce(l2=1.0),
    "ramp": SSVM(
        Ranking(),
        loss="ramp",
        task_loss=NDCG(10),
        l2=0.0,
        solver=Subgradient(radius=4.0, sphere=True, tol=0.01),
    ),
    "hinge": SSVM(Ranking(), task_loss=NDCG(10), l2=0.1),  # which ends at w = 0, and warns
}
tallies = {}
for name, model in models.items():
    scores = model.fit(X, y).row_scores(X_new)
    values = ndcg(y_new, scores, k=10, per_query=True)
    tallies[name] = tally_queries("NDCG@10", values)
    print(f"{name:15} NDCG@10 {values.mean():.3f}  MAP {mean_average_precision(y_new, scores):.3f}")
chance = ndcg(y_new, [np.zeros(len(grades)) for grades in y_new], k=10)
print(f"{'no scores':15} NDCG@10 {chance:.3f}")
print("ramp against hinge:", compare(tallies["ramp"], tallies["hinge"]))

# Files as other ranking tools have them: grade, query, features, comment.
TEXT = (
    "2 qid:7 1:0.9 2:0.8 8:0.1 #docid = A\n0 qid:7 1:0.1 8:0.9 #docid = B\n1 qid:7 2:0.7 8:0.4 #docid = C\n"
)
found = read_letor("-", stream=io.StringIO(TEXT))
(order,) = models["Plackett-Luce"].predict(found.X)
print("best first:", ", ".join(found.comments[0][document] for document in order))
