"""Pieces: what an epoch on random pieces of the samples costs, and the CPU time until the development F1 has a level.

Data, features and penalties are those of `structreg`; `none` goes the same way as cuts, with pieces that no sample is
longer than. Only `fit` and `dev` parts are read. Time is CPU time of one thread, from encoded features on.

* `epoch`: CPU time of an epoch for each mean size of pieces, relative to `none`: the least of three epochs after the
  first, each size six times, in turns, in one process. Targets: 1.1 at 5.5 and 1.3 at 1.5.
* `accuracy`: development F1 of the averaged weights after each of 16 epochs, and the CPU time spent so far without
  the time of looking. The rate of a CRF's adaptive steps is chosen for each size alike: of three, the one with the best
  development F1 after 3 epochs. The time of choosing is not counted; it is the same number of epochs for each size.
  All runs end at the cap, the best F1 on the way is told with its epoch.
* `optimum`: the CRF's objective without cuts, minimised to a proven gap of 1e-3, relatively: the baseline that is
  converged.
"""

import time
from dataclasses import replace

from experiments.benchmarks.structreg import TASKS, no_warnings, prepared
from experiments.harness import Study, StudyTable

DATA = ("conll2000", "cws-pd199801")
LEARNERS = ("crf", "perceptron")
CUTS = (1.5, 2.5, 5.5, 10.5)
COMPARED = ("none", 5.5, 2.5, 1.5)
EPOCHS, CAP, TRIAL, TURNS = 4, 16, 3, 6
RATES = (0.3, 1.0, 2.0)
LEVELS = {"conll2000": (93.0, 93.5, 94.0, 94.25), "cws-pd199801": (92.0, 93.0, 93.5, 94.0, 94.25)}
TARGETS = {"5.5": 1.1, "1.5": 1.3}


def points():
    """All runs, those of a data set next to each other."""
    found = []
    for data in DATA:
        shared = {"data": data, "setup": TASKS[data].setup}
        found += [{**shared, "protocol": "epoch", "learner": learner, "size": "all"} for learner in LEARNERS]
        found += [
            {**shared, "protocol": "accuracy", "learner": learner, "size": size}
            for learner in LEARNERS
            for size in COMPARED
        ]
        found.append({**shared, "protocol": "optimum", "learner": "crf", "size": "none"})
    return found


class Watch:
    """CPU time at the end of each epoch, without what looking at it takes; and the weights, if asked for."""

    sees_weights = True

    def __init__(self, keep):
        self.keep, self.seconds, self.weights = keep, [], []
        self.spent, self.since = 0.0, time.process_time()

    def __call__(self, step, weights):
        self.spent += time.process_time() - self.since
        self.seconds.append(self.spent)
        if self.keep:
            self.weights.append(weights())
        self.since = time.process_time()


def trained(task, learner, size, epochs, rate=None, keep=False):
    """A model after some epochs, and what was seen of each."""
    watch = Watch(keep)
    model = task.learner(learner, size)
    if learner == "crf":
        solver = replace(model.solver, max_iter=epochs, callbacks=(watch,), rate=rate or model.solver.rate)
        model.set_params(solver=solver)
    else:
        model.set_params(max_iter=epochs, callbacks=(watch,))
    with no_warnings():
        watch.since = time.process_time()
        model.fit(task.X, task.y)
    return model, watch


def cost_of_epochs(task, learner):
    """The least CPU time of an epoch for each size."""
    least = {}
    for _ in range(TURNS):
        for size in ("none", *CUTS):
            seconds = trained(task, learner, size, EPOCHS)[1].seconds
            least[size] = min([least.get(size, 1e9), *(b - a for a, b in zip(seconds, seconds[1:]))])
    return {"seconds": {str(size): value for size, value in least.items()}}


def score_over_time(task, learner, size):
    """Development F1 and CPU time after each epoch, at the rate that is best after a few."""
    rate, tried = None, {}
    if learner == "crf":
        for candidate in RATES:
            model, _ = trained(task, learner, size, TRIAL, candidate)
            tried[str(candidate)] = task.tally(model, "dev").score
        rate = max(RATES, key=lambda candidate: tried[str(candidate)])
    model, watch = trained(task, learner, size, CAP, rate, keep=True)
    scores = []
    for w in watch.weights:
        model.coef_ = w
        scores.append(task.tally(model, "dev").score)
    return {
        "rate": rate,
        "tried": tried,
        "seconds": watch.seconds,
        "scores": scores,
        "reason": model.result_.reason,
    }


def optimum(task):
    """The CRF on whole samples at the optimum of its objective."""
    from palmette import CRF, Chain

    model = CRF(Chain(), l2=task.task.l2, tol=1e-3, n_jobs=1)
    start = time.process_time()
    model.fit(task.X, task.y)
    seconds, result = time.process_time() - start, model.result_
    return {
        "seconds": seconds, "score": task.tally(model, "dev").score, "gap": float(result.gap / result.primal),
        "reason": result.reason, "solver": str(model.solver),
    }  # fmt: skip


def run(point):
    """One run; see the head of the file."""
    task = prepared(point["data"], "nodes")
    if point["protocol"] == "epoch":
        return cost_of_epochs(task, point["learner"])
    if point["protocol"] == "optimum":
        return optimum(task)
    return score_over_time(task, point["learner"], point["size"])


# -- summary ----------------------------------------------------------------------------------------------------------


def summarise(records):
    """Ratios of epochs; time to each level; optima."""
    kinds = {name: [r for r in records if r["protocol"] == name] for name in ("epoch", "accuracy", "optimum")}
    named = "{data} {learner}".format_map
    rows = []
    for record in kinds["epoch"]:
        seconds = record["seconds"]
        ratios = [f"{seconds[str(size)] / seconds['none']:.2f}" for size in CUTS]
        rows.append([named(record), *ratios, f"{seconds['none']:.3f}"])
    tables = [
        StudyTable("CPU time of an epoch relative to none", ["", *map(str, CUTS), "none: CPU s"], rows),
    ]
    for data, levels in LEVELS.items():
        own = [r for r in kinds["accuracy"] if r["data"] == data]
        rows = [
            [f"{named(r)} {r['size']}", rate(r), *(when(r, level) for level in levels), best(r)] for r in own
        ]
        header = ["", "rate", *(f"{level:g}" for level in levels), "best F1 (epoch, CPU s)"]
        tables.append(
            StudyTable(f"{data}: CPU seconds (epochs) until the development F1 is at least", header, rows)
        )
    rows = [
        [named(r), f"{100 * r['score']:.2f}", f"{r['gap']:.1e}", f"{r['seconds']:.1f}", r["reason"]]
        for r in kinds["optimum"]
    ]
    tables.append(
        StudyTable("Optimum without cuts", ["", "development F1 %", "gap", "CPU s", "stopped by"], rows)
    )
    return [table for table in tables if table.rows]


def rate(record):
    """The chosen rate, of learners that have one."""
    return "" if record["rate"] is None else f"{record['rate']:g}"


def when(record, level):
    """CPU seconds and epochs until the score has a level, a dash if it never has."""
    epoch = next((k for k, score in enumerate(record["scores"]) if 100 * score >= level), None)
    return "-" if epoch is None else f"{record['seconds'][epoch]:.1f} ({epoch + 1})"


def best(record):
    """The best score on the way."""
    epoch = max(range(len(record["scores"])), key=lambda k: record["scores"][k])
    return f"{100 * record['scores'][epoch]:.2f} ({epoch + 1}, {record['seconds'][epoch]:.1f})"


def missed(records):
    """Epochs that cost more than their target."""
    found = []
    for record in records:
        for size, target in TARGETS.items() if record["protocol"] == "epoch" else ():
            ratio = record["seconds"][size] / record["seconds"]["none"]
            if ratio > target:
                name = "{data} {learner}".format_map(record)
                found.append(
                    f"{name}: an epoch at {size} costs {ratio:.2f} of one without cuts, target {target}"
                )
    return found


BENCHMARK = Study("pieces", __doc__, points(), run, summarise, missed=missed)
