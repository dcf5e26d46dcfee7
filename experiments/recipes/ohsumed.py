"""Ranking medical abstracts: the ramp loss of NDCG on OHSUMED.

106 queries with 16,140 abstracts that people judged as relevant, possibly relevant or not (LETOR 3.0, QueryLevelNorm,
45 features, five folds). A linear score sorts the abstracts of a query, and NDCG@10 tells how many relevant ones come
first.

The structured hinge is a convex bound of 1 - NDCG@10, and a bad one: relevant and other documents mix so much that no
scores beat no scores, and its minimum is at w = 0. The ramp loss (Do, Le, Teo, Chapelle and Smola, NIPS 2008) is the
difference of two such bounds, at most 1 a query, and stays close to NDCG wherever the scores are; here it is minimised
by descent on the sphere |w| = radius, from the best rankings minus the worst, and by the concave-convex procedure with
a penalty. Beside them: the Plackett-Luce likelihood, and a ranking SVM, scikit-learn's on differences of documents.

Settings are chosen by NDCG@10 on the validation part of each fold, of 21 or 22 queries; the test part is ranked once.
The quick run is the first fold with one setting each.
"""

import warnings
from functools import cache

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from palmette import SSVM, PlackettLuce, Ranking
from palmette.apps.ranking import PairwiseSVM, evaluate_scores, make_ranker, select
from palmette.datasets import load_letor_ohsumed
from palmette.errors import EmptyModelWarning
from palmette.losses import NDCG
from palmette.metrics import compare, tally_queries

SYSTEMS = {  # settings, the first for the quick run, and what makes a learner of one
    "ramp": ([4.0, 2.0, 8.0], lambda radius: make_ranker("ramp", radius=radius)),
    "ramp, CCCP": ([3.0, 1.0, 10.0], lambda l2: make_ranker("ramp", l2=l2, tol=1e-4)),
    "hinge": ([1.0, 0.1, 10.0], lambda l2: SSVM(Ranking(), task_loss=NDCG(10), l2=l2, tol=1e-4)),
    "hinge, whole NDCG": ([100.0, 10.0, 1.0], lambda l2: make_ranker("ssvm", l2=l2, tol=1e-4)),
    "Plackett-Luce": ([100.0, 1000.0, 10.0], lambda l2: PlackettLuce(l2=l2)),
    "ranking SVM": ([1e-5, 1e-6, 1e-4], lambda C: PairwiseSVM(C=C, by_query=False)),
}


@cache
def queries(fold, part):
    return load_letor_ohsumed(fold, part, return_X_y=True)


def ranked(learner, fold, quick):
    """The setting chosen on the validation part of a fold, and the measures of the queries of its test part."""
    settings, make = SYSTEMS[learner]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of liblinear
        warnings.simplefilter("ignore", EmptyModelWarning)  # of the hinge, which is here to show it
        warnings.filterwarnings("ignore", message=".* queries")  # one has no relevant document
        settings = settings[:1] if quick else settings
        chosen = select(make, settings, queries(fold, "train"), queries(fold, "validation"))
    X, y = queries(fold, "test")
    return chosen, evaluate_scores(y, chosen.model.row_scores(X))


def run(context):
    folds = [1] if context.quick else [1, 2, 3, 4, 5]
    tests = [queries(fold, "test")[1] for fold in folds]
    chance = [evaluate_scores(y, [np.zeros(len(grades)) for grades in y]) for y in tests]
    values = {"random order": np.concatenate([found.ndcg for found in chance])}
    rows = [row("random order", values["random order"], chance, [])]
    for learner in SYSTEMS:
        results = [ranked(learner, fold, context.quick) for fold in folds]
        found = [evaluation for _, evaluation in results]
        values[learner] = np.concatenate([evaluation.ndcg for evaluation in found])
        rows.append(row(learner, values[learner], found, [chosen for chosen, _ in results]))
        context.log(f"{learner}: NDCG@10 {values[learner][:, -1].mean():.4f}")
    header = ["learner", "NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "MAP", "chosen, by fold", "CPU s"]
    context.add_table("Test queries", header, rows)

    differences = []
    for name in [name for name in values if name != "ramp"]:
        found = compare(*(tally_queries("NDCG@10", values[each][:, -1]) for each in ("ramp", name)))
        differences.append([f"against {name}", found.difference, found.error, found.p_value])
    context.add_table("NDCG@10 of ramp, paired differences", ["", "difference", "error", "p"], differences)
    context.add_figure("NDCG by rank", lambda figure: draw(figure, values))

    at_10 = {name: found[:, -1].mean() for name, found in values.items()}
    context.add_target("NDCG@10, ramp", at_10["ramp"], ">=", 0.30 if context.quick else 0.455)
    context.add_target(
        "NDCG@10, ramp above hinge", at_10["ramp"] - at_10["hinge"], ">=", 0.15 if context.quick else 0.20
    )
    if not context.quick:
        context.add_target("NDCG@10, ramp above ranking SVM", at_10["ramp"] - at_10["ranking SVM"], ">=", 0.0)


def row(name, values, found, chosen):
    """A line of the table."""
    average_precision = np.concatenate([evaluation.average_precision for evaluation in found])
    settings = ", ".join(f"{one.setting:g}" for one in chosen)
    seconds = sum(one.all_seconds for one in chosen)
    return [
        name,
        *values.mean(axis=0)[[0, 2, 4, 9]].tolist(),
        float(average_precision.mean()),
        settings,
        seconds,
    ]


def draw(figure, values):
    panel = figure.subplots()
    for name, found in values.items():
        panel.plot(range(1, 11), found.mean(axis=0), marker=".", label=name)
    panel.set_xlabel("k")
    panel.set_ylabel("NDCG@k")
    panel.legend(fontsize="small", ncols=2)
