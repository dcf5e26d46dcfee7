"""The bridge loss by CCCP: what recycled cuts and adaptive precision save, on chains, graphs and rankings.

Half of the parts of every output are unknown, drawn one by one. `chains` are the handwritten words of the first fold of
Kassel and Taskar, `graphs` the 200 training images of the snakes (edges know directions), `rankings` the training
queries of the first fold of OHSUMED. `SSVM(loss="bridge")` minimises the same objective in four ways, all by bundles:

* `both`: cuts of the convex part are kept from round to round, and a round ends when it has gained 0.3 of what its
  problem may still gain (the defaults);
* `recycled`: cuts are kept, every round is solved to `tol`;
* `adaptive`: cuts are forgotten, the gap of rounds falls from 0.1 by halves to `tol` (Algorithm 1.1 of the chapter);
* `neither`: cuts are forgotten and every round is solved to `tol`, the procedure as usually written.

All start at the same weights and stop when a round decreases the objective by less than `tol`, relatively. An oracle
call is one maximisation over the outputs of one sample; passes are calls per sample. `neither` and another way are
compared by their calls up to the worse one of their two final objectives (plus `tol` of it): the procedure is not
convex, so that ways may end in different points. Penalties were fixed once, as in other benchmarks of these sets.
"""

from experiments.harness import Study, StudyTable

TOL = 1e-3
SEEDS = (0, 1, 2)
NEITHER = "neither"
WAYS = {
    "both": {"recycle": True, "precision": "auto"},
    "recycled": {"recycle": True, "precision": "fixed"},
    "adaptive": {"recycle": False, "precision": "geometric"},
    NEITHER: {"recycle": False, "precision": "fixed"},
}
FEWER = 3.0  # times fewer calls


def words():
    import numpy as np

    from palmette import Chain
    from palmette.datasets import load_ocr_letters

    data = load_ocr_letters()
    own = np.flatnonzero(np.asarray(data.folds) == 0)
    return Chain(), [data.data[i] for i in own], [list(data.target[i]) for i in own], 10.0


def snakes():
    from experiments.harness.grids import snake_grid
    from palmette import Graph
    from palmette.datasets import load_snakes

    data = load_snakes("train")
    return Graph(), [snake_grid(x, False) for x in data.data], [y.ravel().tolist() for y in data.target], 1.0


def queries():
    from palmette import Ranking
    from palmette.datasets import load_letor_ohsumed

    data = load_letor_ohsumed(fold=1)
    return Ranking(), data.data, [list(y) for y in data.target], 1.0


SETS = {"chains": words, "graphs": snakes, "rankings": queries}


def hidden(Y, seed):
    """Outputs of which half the parts are known."""
    import numpy as np

    from palmette import UNKNOWN

    rng = np.random.default_rng(seed)
    return [[part if rng.random() < 0.5 else UNKNOWN for part in y] for y in Y]


def run(point):
    import warnings

    from palmette import SSVM
    from palmette.solvers import CCCP

    structure, X, Y, l2 = SETS[point["set"]]()
    solver = CCCP(tol=TOL, inner="bundle", **WAYS[point["way"]])
    model = SSVM(structure, l2=l2, loss="bridge", solver=solver, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # maxima on graphs are relaxed, and the run says so
        model.fit(X, hidden(Y, point["seed"]))
    result = model.result_
    curve = [[result.history[k].n_oracle, result.history[k].primal] for k in result.rounds]
    return {
        "passes": float(result.step.n_oracle), "objective": float(result.primal), "rounds": len(curve), "curve": curve,
        "reason": result.reason, "cpu": model.fit_seconds_["solve"],
    }  # fmt: skip


# -- summary ----------------------------------------------------------------------------------------------------------


def passes_to(record, value):
    """Passes until a round ends with an objective of at most ``value``."""
    return next((n for n, objective in record["curve"] if objective <= value), record["passes"])


def fewer(record, plain):
    """How many times fewer passes than ``plain``, to the worse of both objectives."""
    value = (1.0 + TOL) * max(record["objective"], plain["objective"])
    return passes_to(plain, value) / passes_to(record, value)


def summarise(records):
    import numpy as np

    found = {(r["set"], r["way"], r["seed"]): r for r in records}
    rows, targets = [], []
    for name in SETS:
        for way in WAYS:
            own = [r for (s, w, _), r in found.items() if (s, w) == (name, way)]
            pairs = [(r, found.get((name, NEITHER, r["seed"]))) for r in own]
            saved = [fewer(r, plain) for r, plain in pairs if plain is not None]
            if own:
                shown = f"{np.min(saved):.2f} to {np.max(saved):.2f}" if saved and way != NEITHER else ""
                numbers = [f"{np.mean([r[key] for r in own]):.{d}f}" for key, d in COLUMNS.items()]
                rows.append([f"{name}, {way}", *numbers, shown, str(len(own))])
            if way == "both" and saved:
                verdict = "met" if min(saved) >= FEWER else "MISSED"
                targets.append([name, f"{FEWER:g}", f"{np.min(saved):.2f}", verdict])
    header = ["", *COLUMNS, "times fewer passes than neither", "seeds"]
    return [
        StudyTable("Passes", header, rows),
        StudyTable("Targets: times fewer passes, the worst seed", ["", "at least", "reached", ""], targets),
    ]


COLUMNS = {"objective": 1, "rounds": 1, "passes": 1, "cpu": 1}
BENCHMARK = Study(
    name="partial_cccp",
    doc=__doc__,
    points=[{"set": name, "way": way, "seed": seed} for seed in SEEDS for name in SETS for way in WAYS],
    run=run,
    summarise=summarise,
)
