"""Ranking: the ramp loss of NDCG against its convex bound, a ranking SVM and boosted trees on OHSUMED.

LETOR 3.0, QueryLevelNorm, five folds of 106 queries; settings are chosen by NDCG@10 on the validation part of each fold
(21 or 22 queries) with models trained on its training part (63 or 64), and the model chosen ranks the test part once.
Measures have the conventions of LETOR; equal scores count as the mean of all their orders. Differences are paired, over
the 106 test queries, with their standard error (bootstrap over queries). CPU seconds are of one thread: of the training
with the setting chosen, and of all trainings of the choice; means over folds.

* `ramp`: `SSVM(Ranking(), loss="ramp", task_loss=NDCG(10))` by descent on a sphere, |w| = 2, 4 or 8, from the best
  minus the worst rankings, until the decrease hoped for is below 1 % of the objective.
* `ramp, CCCP`: the same loss with a penalty l2 = 10, 3 or 1 by the concave-convex procedure.
* `hinge`: its convex bound, l2 = 100, 10, 1, 0.1 or 0.01. `hinge, whole NDCG`: the score weights ranks as NDCG does,
  and all ranks count: a convex bound that seldom collapses.
* `Plackett-Luce`: likelihood of the orders by grade, l2 = 1000, 100, 10, 1 or 0.1.
* `ranking SVM`: scikit-learn's `LinearSVC` on the differences of documents, squared hinge, C over six powers of ten,
  pairs of a query weighing 1 together or each.
* `LightGBM` (lambdarank, 4, 7, 15 or 31 leaves, at least 50 documents in each) and `XGBoost` (rank:ndcg, depth 2, 3, 4
  or 6): rate 0.05, 25, 50, 100 or 200 trees.
* `... of 3`: the same with as few settings to choose from as `ramp` has, since on 21 queries the best of many is often
  lucky: those that the validation parts prefer, pairs weighing 1 each and C = 1e-6, 1e-5 or 1e-4; 7 leaves, or depth
  3, and 50, 100 or 200 trees. Targets are against the better of both.
* `random order`: all scores equal.

The position weights, the radii and where descent stops were settled on validation parts; every query of a validation
part is a test query of another fold.
"""

from importlib.util import find_spec

from experiments.harness import Study, StudyTable
from experiments.harness.tables import cells, mean, target_row

FOLDS = (1, 2, 3, 4, 5)
CUTS = range(1, 11)
TREES = (25, 50, 100, 200)
SETTINGS = {
    "ramp": [2.0, 4.0, 8.0],
    "ramp, CCCP": [10.0, 3.0, 1.0],
    "hinge": [100.0, 10.0, 1.0, 0.1, 0.01],
    "hinge, whole NDCG": [100.0, 10.0, 1.0, 0.1, 0.01],
    "Plackett-Luce": [1000.0, 100.0, 10.0, 1.0, 0.1],
    "ranking SVM": [
        *((True, 10.0**p) for p in range(-3, 3)),
        *((False, 10.0**p) for p in range(-7, -1)),
    ],
    "LightGBM": [(leaves, trees) for leaves in (4, 7, 15, 31) for trees in TREES],
    "XGBoost": [(depth, trees) for depth in (2, 3, 4, 6) for trees in TREES],
    "ranking SVM of 3": [(False, 1e-6), (False, 1e-5), (False, 1e-4)],
    "LightGBM of 3": [(7, 50), (7, 100), (7, 200)],
    "XGBoost of 3": [(3, 50), (3, 100), (3, 200)],
    "random order": [None],
}
PACKAGES = {"LightGBM": "lightgbm", "XGBoost": "xgboost"}  # left out where they are not installed
OURS = "ramp"
TARGETS = (  # what, at least (at most for time)
    ("NDCG@10", 0.455),
    ("NDCG@10 above hinge", 0.20),
    ("NDCG@10 above ranking SVM", 0.0),
    ("NDCG@10 above LightGBM", 0.015),
    ("CPU seconds / LightGBM", 2.0),
)


# -- learners ---------------------------------------------------------------------------------------------------------


def peer(learner):
    """Its name without the number of settings."""
    return learner.removesuffix(" of 3")


def make(learner, setting):
    """A learner with one of its settings."""
    from palmette import SSVM, PlackettLuce, Ranking
    from palmette.apps.ranking import PairwiseSVM, make_ranker
    from palmette.losses import NDCG

    if learner == "ramp":
        return make_ranker("ramp", radius=setting, n_jobs=1)
    if learner == "ramp, CCCP":
        return make_ranker("ramp", l2=setting, tol=1e-4, n_jobs=1)
    if learner == "hinge":
        return SSVM(Ranking(), task_loss=NDCG(10), l2=setting, tol=1e-4, n_jobs=1)
    if learner == "hinge, whole NDCG":
        return make_ranker("ssvm", l2=setting, tol=1e-4, n_jobs=1)
    if learner == "Plackett-Luce":
        return PlackettLuce(l2=setting, n_jobs=1)
    if peer(learner) == "ranking SVM":
        return PairwiseSVM(by_query=setting[0], C=setting[1])
    return {"LightGBM": LambdaRank, "XGBoost": RankNDCG, "random order": NoOrder}[peer(learner)](setting)


class Trees:
    """Boosted trees with the interface of our learners."""

    def __init__(self, setting):
        self.size, self.n_trees = setting

    def fit(self, X, y):
        import numpy as np

        self.train(np.concatenate(X), np.concatenate(y), [len(grades) for grades in y])
        return self

    def row_scores(self, X):
        import numpy as np

        return np.split(self.predict(np.concatenate(X)), np.cumsum([len(table) for table in X])[:-1])


class LambdaRank(Trees):
    def train(self, X, y, sizes):
        import lightgbm

        options = {
            "objective": "lambdarank", "label_gain": [0, 1, 3], "learning_rate": 0.05, "num_leaves": self.size,
            "min_data_in_leaf": 50, "num_threads": 1, "verbose": -1, "seed": 0,
        }  # fmt: skip
        self.model = lightgbm.train(options, lightgbm.Dataset(X, y, group=sizes), self.n_trees)

    def predict(self, X):
        return self.model.predict(X)


class RankNDCG(Trees):
    def train(self, X, y, sizes):
        import numpy as np
        import xgboost

        data = xgboost.DMatrix(X, y, qid=np.repeat(np.arange(len(sizes)), sizes))
        options = {"objective": "rank:ndcg", "eta": 0.05, "max_depth": self.size}
        options |= {"nthread": 1, "verbosity": 0, "seed": 0}
        self.model = xgboost.train(options, data, self.n_trees)

    def predict(self, X):
        import xgboost

        return self.model.predict(xgboost.DMatrix(X))


class NoOrder:
    def __init__(self, setting):
        pass

    def fit(self, X, y):
        return self

    def row_scores(self, X):
        return [0.0 * table[:, 0] for table in X]


# -- one run ----------------------------------------------------------------------------------------------------------


def points():
    return [
        {"fold": fold, "learner": learner, "settings": repr(settings)}
        for learner, settings in SETTINGS.items()
        if find_spec(PACKAGES.get(peer(learner), "palmette"))
        for fold in FOLDS
    ]


def run(point):
    """Choose on the validation part of a fold, rank its test part, and keep the measures of every query."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    from palmette.apps.ranking import evaluate_scores, select
    from palmette.datasets import load_letor_ohsumed

    learner = point["learner"]
    train, validation = (
        load_letor_ohsumed(point["fold"], part, return_X_y=True) for part in ("train", "validation")
    )
    make(learner, SETTINGS[learner][0]).fit(*(part[:2] for part in train))  # compiles
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of liblinear
        warnings.filterwarnings("ignore", ".* queries")  # one has no relevant document
        chosen = select(lambda setting: make(learner, setting), SETTINGS[learner], train, validation)
    X, y = load_letor_ohsumed(point["fold"], "test", return_X_y=True)
    found = evaluate_scores(y, chosen.model.row_scores(X))
    return {
        "chosen": repr(chosen.setting),
        "validation": chosen.scores[chosen.setting],
        "seconds": chosen.seconds,
        "all_seconds": chosen.all_seconds,
        "ndcg": found.ndcg.tolist(),
        "average_precision": found.average_precision.tolist(),
    }


# -- summary ----------------------------------------------------------------------------------------------------------


def measured(records):
    """By learner, if all folds are there: measures of all queries, mean CPU seconds, choices."""
    import numpy as np

    found = {}
    for learner in SETTINGS:
        runs = sorted((r for r in records if r["learner"] == learner), key=lambda r: r["fold"])
        if len(runs) == len(FOLDS):
            found[learner] = {
                "ndcg": np.concatenate([run["ndcg"] for run in runs]),
                "map": np.concatenate([run["average_precision"] for run in runs]),
                "chosen": [run["chosen"] for run in runs],
                **{name: mean(runs, name) for name in ("seconds", "all_seconds", "validation")},
            }
    return found


def difference(found, learner, other):
    """NDCG@10 of a learner minus that of another, over queries."""
    from palmette.metrics import compare, tally_queries

    return compare(*(tally_queries("NDCG@10", found[name]["ndcg"][:, -1]) for name in (learner, other)))


def summarise(records):
    found = measured(records)
    scores = [
        [name, *(f"{value:.3f}" for value in one["ndcg"].mean(axis=0)), f"{one['map'].mean():.3f}"]
        for name, one in found.items()
    ]
    differences = []
    for name in found:
        if name != OURS and OURS in found:
            one = difference(found, OURS, name)
            interval = f"[{one.low:+.3f}, {one.high:+.3f}]"
            shown = f"{one.difference:+.4f} +- {one.error:.4f}"
            differences.append([f"against {name}", shown, interval, f"{one.p_value:.2g}"])
    costs = [
        [name, *cells(one, "validation:.3f", "seconds:.2f", "all_seconds:.1f"), ", ".join(one["chosen"])]
        for name, one in found.items()
    ]
    return [
        StudyTable("NDCG@k on the test parts", ["", *(f"@{k}" for k in CUTS), "MAP"], scores),
        StudyTable("NDCG@10 of ramp minus that of the others", ["", "difference", "95 %", "p"], differences),
        StudyTable("Choices by fold", ["", "NDCG@10, validation", "CPU s", "CPU s, all", "chosen"], costs),
        StudyTable("Targets", ["", "bound", "reached", ""], targets(found)),
    ]


def targets(found):
    """The bounds of the project, as far as the runs for them are there."""
    if OURS not in found:
        return []
    ours, rows = found[OURS], []
    score = {name: one["ndcg"][:, -1].mean() for name, one in found.items()}
    for what, bound in TARGETS:
        name = what.partition(" above ")[2] or what.partition(" / ")[2]
        rivals = [each for each in found if peer(each) == name]
        if name and not rivals:
            continue
        if " / " in what:
            value, sign = ours["seconds"] / min(found[each]["seconds"] for each in rivals), "<="
        else:
            value, sign = score[OURS] - max((score[each] for each in rivals), default=0.0), ">="
        rows.append(target_row(what, sign, bound, value, 4))
    return rows


def missed(records):
    return [
        f"{what}: {value}, wanted {bound}"
        for what, bound, value, verdict in targets(measured(records))
        if verdict == "MISSED"
    ]


def draw(figure, records):
    """NDCG by rank."""
    panel = figure.subplots()
    for name, one in measured(records).items():
        panel.plot(list(CUTS), one["ndcg"].mean(axis=0), marker=".", label=name)
    panel.set_xlabel("k")
    panel.set_ylabel("NDCG@k")
    panel.legend(fontsize="small")


BENCHMARK = Study("ramp_ranking", __doc__, points(), run, summarise, draw, missed)
