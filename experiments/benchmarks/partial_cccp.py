"""The bridge loss by CCCP: what recycled cuts and adaptive precision save, on chains, graphs and rankings.

`chains` are the handwritten words of one fold of Kassel and Taskar, `graphs` 8 training images of the snakes (edges
know directions); half of their letters and pixels are unknown, drawn one by one. (With 40 images `neither` had not
ended after 28 CPU minutes.) `rankings` are the training queries of one fold of OHSUMED: three grades, and documents of
one grade may stand in any order. Seeds are folds, or the next 8 images. `SSVM(loss="bridge")` minimises the same
objective in four ways by bundles:

* `both`: cuts of the convex part are kept from round to round, and a round ends when it has gained 0.1 of what its
  problem may still gain (the defaults);
* `recycled`: cuts are kept, every round is solved to `tol`;
* `adaptive`: cuts are forgotten, the gap of rounds falls from 0.1 by halves to `tol` (Algorithm 1.1 of the chapter);
* `neither`: cuts are forgotten and every round is solved to `tol`, the procedure as usually written.

On chains also by visits of single samples (compiled Frank-Wolfe, the default there): `visits` keeps dual variables and
ends rounds early, `visits neither` does not, and is what `visits` is compared with.

All start at the same weights and stop when a round decreases the objective by less than `tol`, relatively. An oracle
call is one maximisation over the outputs of one sample; passes are calls per sample. `neither` and another way are
compared by their calls up to the worse one of their two final objectives (plus `tol` of it): the procedure is not
convex, so that ways may end in different points. Penalties were fixed once, as in other benchmarks of these sets.
"""

from experiments.harness import Study, StudyTable

# A pass over graphs takes long, and few passes solve the convex problems of rankings.
TOLERANCES = {"chains": (1e-3,), "graphs": (1e-2,), "rankings": (1e-3, 1e-4)}
SEEDS = (0, 1)
IMAGES = 8
NEITHER, PLAIN_VISITS = "neither", "visits neither"
WAYS = {
    "both": {"recycle": True, "precision": "auto"},
    "recycled": {"recycle": True, "precision": "fixed"},
    "adaptive": {"recycle": False, "precision": "geometric"},
    NEITHER: {"recycle": False, "precision": "fixed"},
}
VISITS = {
    "visits": {"inner": "frank_wolfe", **WAYS["both"]},
    PLAIN_VISITS: {"inner": "frank_wolfe", **WAYS[NEITHER]},
}
FEWER = 3.0  # times fewer calls


def words(seed):
    import numpy as np

    from palmette import Chain
    from palmette.datasets import load_ocr_letters

    data = load_ocr_letters()
    own = np.flatnonzero(np.asarray(data.folds) == seed)
    return Chain(), [data.data[i] for i in own], hidden([list(data.target[i]) for i in own], seed), 10.0


def snakes(seed):
    from experiments.harness.grids import snake_grid
    from palmette import Graph
    from palmette.datasets import load_snakes

    data, own = load_snakes("train"), slice(IMAGES * seed, IMAGES * (seed + 1))
    grids = [snake_grid(image, False) for image in data.data[own]]
    return Graph(), grids, hidden([y.ravel().tolist() for y in data.target[own]], seed), 1.0


def queries(seed):
    from palmette import Ranking
    from palmette.datasets import load_letor_ohsumed

    data = load_letor_ohsumed(fold=seed + 1)
    return Ranking(), data.data, data.target, 1.0


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

    structure, X, y, l2 = SETS[point["set"]](point["seed"])
    solver = CCCP(tol=point["tol"], **{"inner": "bundle", **{**WAYS, **VISITS}[point["way"]]})
    model = SSVM(structure, l2=l2, loss="bridge", solver=solver, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # maxima on graphs are relaxed, and the run says so
        model.fit(X, y)
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
    value = (1.0 + record["tol"]) * max(record["objective"], plain["objective"])
    return passes_to(plain, value) / passes_to(record, value)


def summarise(records):
    import numpy as np

    found = {(r["set"], r["tol"], r["way"], r["seed"]): r for r in records}
    rows, targets = [], []
    for name, tol, way in dict.fromkeys((p["set"], p["tol"], p["way"]) for p in BENCHMARK.points):
        own = [r for key, r in found.items() if key[:3] == (name, tol, way)]
        base = PLAIN_VISITS if way in VISITS else NEITHER
        plain = [found.get((name, tol, base, r["seed"])) for r in own]
        saved = [fewer(r, p) for r, p in zip(own, plain) if p is not None and way != base]
        if own:
            shown = ", ".join(f"{times:.2f}" for times in saved)
            numbers = [f"{np.mean([r[key] for r in own]):.{d}f}" for key, d in COLUMNS.items()]
            rows.append([f"{name}, tol {tol:g}, {way}", *numbers, shown])
        if way in ("both", "visits") and saved:
            verdict = "met" if min(saved) >= FEWER else "MISSED"
            targets.append([f"{name}, tol {tol:g}, {way}", f"{FEWER:g}", f"{min(saved):.2f}", verdict])
    header = ["", *COLUMNS, "times fewer passes than neither, by seed"]
    return [
        StudyTable("Passes, means over seeds", header, rows),
        StudyTable("Targets: times fewer passes, the worst seed", ["", "at least", "reached", ""], targets),
    ]


COLUMNS = {"objective": 1, "rounds": 1, "passes": 1, "cpu": 1}
BENCHMARK = Study(
    name="partial_cccp",
    doc=__doc__,
    points=[
        {"set": name, "tol": tol, "way": way, "seed": seed}
        for seed in SEEDS
        for name, tolerances in TOLERANCES.items()
        for tol in tolerances
        for way in (*WAYS, *(VISITS if name == "chains" else ()))
    ],
    run=run,
    summarise=summarise,
)
