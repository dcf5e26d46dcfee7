"""Structure regularisation: accuracy and training time against the size n' of the pieces that samples are cut into.

Every epoch cuts the training samples anew at random into pieces of mean size n'
(`palmette.regularizers.Decomposition`); `none` leaves them whole and else goes the same way. All models have the
same features on the same positions and predict whole sequences. They are trained on the
`fit` part of a data set (the first 8,000 lines of it in `cws-pd199801`, the
first 20,000 sentences in `brown`) and scored on `dev` and `test`: F1 of chunks (`conll2000`, `jnlpba`), F1 of words
(`cws-...`), accuracy of labels elsewhere. Penalties and rates were chosen on `dev`, without cuts (`brown`, `masc`,
`ptb-sample` and `cws-udc` have those of the larger set of their task); `test` chooses nothing.

* `equal-epochs`: a CRF by 12 epochs of averaged adaptive steps, an averaged perceptron by 10 epochs.
* `stopping-rule`, as in the paper (X. Sun, NIPS 2014): a CRF by plain steps with a decaying rate, until the objective
  of an epoch changes by less than 1e-4, relatively, at most 30 epochs. The rate is tuned for each size: the best
  objective after 2 epochs on a quarter of the data. The time of tuning is not in that of training.
* `edges`: some features stand on edges, with a weight for each pair of labels (the paper's rich edge features).

Time is CPU time of one thread, from encoded features to weights. p is of approximate randomisation over test sentences,
the seeds pooled.
"""

import time
import warnings
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from experiments.harness import Study, StudyTable
from experiments.harness.tables import mean
from palmette.features.template_lines import affixes, template
from palmette.features.template_lines import cells as x

SIZES = (1.5, 2.5, 3.5, 5.5, 10.5, 15.5, 20.5, "none")
WHOLE = 1e6  # pieces that no sample is longer than: nothing is cut
SEEDS = (0, 1, 2)
EPOCHS = {"crf": 12, "perceptron": 10}
STOP = {"tol": 1e-4, "max_iter": 30}
TRIED_RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # of plain steps
RESAMPLES = 2000


# -- data and features ------------------------------------------------------------------------------------------------


def looks(row):
    """Digit, letter or punctuation."""
    return "/".join(x(row, macro="t", argument=f',"{kind}"') for kind in (r"\d", "[A-Za-z]", r"\p"))


WINDOW = [x(row) for row in (-2, -1, 0, 1, 2)]
WORDS = [*WINDOW, x(-1, 0), x(0, 1)]
TAGS = [x(*rows, column=1) for rows in [(-2,), (-1,), (0,), (1,), (2,), (-2, -1), (-1, 0), (0, 1), (1, 2)]]
TAGS += [x(*rows, column=1) for rows in [(-2, -1, 0), (-1, 0, 1), (0, 1, 2)]]
LOWER = [x(row, macro="X") for row in (-1, 0, 1)]
SPELLING = [*affixes("P", (1, 2, 3, 4)), *affixes("S", (1, 2, 3, 4)), x(0, macro="h")]
SPELLING += [*affixes("S", (2, 3), -1), *affixes("S", (2, 3), 1), *(x(row, macro="H") for row in (-1, 0, 1))]
SHAPES = [x(*rows, macro="H") for rows in [(-1, 0), (0, 1), (-1, 0, 1)]]
SHAPES += [*affixes("P", (5,)), *affixes("S", (5,))]
CHARACTERS = (*WINDOW, x(-2, -1), x(-1, 0), x(0, 1), x(1, 2), x(-1, 1), x(-1, 0, 1))
CHARACTERS += (looks(-1), looks(0), looks(1), "/".join(map(looks, (-1, 0, 1))))


@dataclass(frozen=True)
class Task:
    """A data set: its loader and score in palmette, features of labels (none: arrays) and of edges, settings, runs."""

    loader: str
    score: str
    features: tuple
    l2: float  # of the CRF
    rate: float  # of its adaptive steps
    edges: tuple = ()
    protocols: tuple = ("few",)
    n_lines: int | None = None

    @property
    def setup(self):
        """What changes when the settings of a run do."""
        settings = (self.loader, self.score, self.features, self.l2, self.rate, self.edges, self.n_lines)
        return f"{zlib.crc32(repr((settings, STOP, TRIED_RATES, EPOCHS)).encode()):08x}"

    def template(self, edges):
        return template(self.features, edges)


CHUNKS, SEGMENTS, LABELS = "tally_chunks", "tally_words", "tally_accuracy"
TAGGING = (*WORDS, *LOWER, *SPELLING)
CHUNK_EDGES = (x(0), x(0, column=1), x(-1, 0, column=1))
CHAR_EDGES = (x(0), x(-1, 0), looks(0))
GRID, EVERYTHING = ("grid",), ("grid", "stop", "edges")
TASKS = {
    "conll2000": Task("load_conll2000", CHUNKS, (*WORDS, *TAGS), 0.5, 1.0, CHUNK_EDGES, EVERYTHING),
    "jnlpba": Task("load_jnlpba", CHUNKS, (*TAGGING, *SHAPES), 2.0, 0.3, protocols=GRID),
    "ud-ewt": Task("load_ud_ewt", LABELS, TAGGING, 1.0, 1.0, protocols=GRID),
    "cws-pd199801": Task("load_cws_pd199801", SEGMENTS, CHARACTERS, 0.3, 1.0, CHAR_EDGES, EVERYTHING, 8000),
    "hapt": Task("load_hapt", LABELS, (), 5.0, 0.03, protocols=("grid", "stops")),
    "brown": Task("load_brown", LABELS, TAGGING, 1.0, 1.0, n_lines=20000),
    "masc": Task("load_masc", LABELS, TAGGING, 1.0, 1.0),
    "ptb-sample": Task("load_ptb_sample", LABELS, TAGGING, 1.0, 1.0),
    "cws-udc": Task("load_cws_udc", SEGMENTS, CHARACTERS, 0.3, 1.0),
}


def points():
    """All runs, those of one data set and its features next to each other."""
    return [
        {"data": data, "features": features, "protocol": protocol, "learner": learner, "size": size, "seed": seed,
         "setup": task.setup}
        for data, task in TASKS.items()
        for features, protocol, learners, sizes, seeds in plan(task)
        for seed in seeds
        for learner in learners
        for size in sizes
    ]  # fmt: skip


def plan(task):
    """Features, protocol, learners, sizes and seeds of the runs on a data set."""
    kinds = {
        "few": [("nodes", "equal-epochs", EPOCHS, (5.5, "none"), SEEDS[:1])],
        "grid": [("nodes", "equal-epochs", EPOCHS, SIZES, SEEDS)],
        "stop": [("nodes", "stopping-rule", ("crf",), SIZES, SEEDS[:1])],
        "stops": [("nodes", "stopping-rule", ("crf",), SIZES, SEEDS)],
        "edges": [
            ("edges", "equal-epochs", ("perceptron",), SIZES, SEEDS),
            ("edges", "equal-epochs", ("crf",), (2.5, 5.5, 10.5, "none"), SEEDS[:1]),
        ],
    }
    return [runs for protocol in task.protocols for runs in kinds[protocol]]


# -- one run ----------------------------------------------------------------------------------------------------------


@contextmanager
def no_warnings():
    """The end of the epochs is not reported here."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


class Prepared:
    """The encoded parts of a data set, with kernels compiled."""

    def __init__(self, data, features):
        from palmette import datasets
        from palmette.features import ColumnSentences, Template

        self.task = TASKS[data]
        self.has_edges = features == "edges"
        bunches = {part: getattr(datasets, self.task.loader)(part) for part in ("fit", "dev", "test")}
        inputs = {part: bunch.data for part, bunch in bunches.items()}
        inputs["fit"] = inputs["fit"][: self.task.n_lines]
        if self.task.features:
            template = Template.parse(self.task.template(self.task.edges if self.has_edges else ()))
            inputs = {part: ColumnSentences(sentences, template) for part, sentences in inputs.items()}
        self.X = self.learner("perceptron").encode(inputs["fit"])
        self.y = bunches["fit"].target[: self.task.n_lines]
        few = len(self.X) // 100
        with no_warnings():
            for name in EPOCHS:
                small = self.learner(name, size=2.5).fit(self.X[:few], self.y[:few])
        self.held_out = {part: (small.encode(inputs[part]), bunches[part]) for part in ("dev", "test")}

    def learner(self, name, size="none", seed=0, rate=None, **stop):
        """A learner of equal epochs, or with a rate, one that stops by the rule."""
        from palmette import CRF, Chain, Perceptron
        from palmette.regularizers import Decomposition
        from palmette.solvers import Stochastic

        shared = {
            "regularizer": Decomposition(WHOLE if size == "none" else size),
            "edge_features": ["B"] if self.has_edges else None,
            "n_jobs": 1,
            "random_state": seed,
        }
        if name == "perceptron":
            return Perceptron(Chain(), max_iter=EPOCHS[name], **shared)
        if rate is None:
            solver = Stochastic(rate=self.task.rate, tol=0.0, max_iter=EPOCHS[name], random_state=seed)
        else:
            solver = Stochastic(rule="sgd", rate=rate, averaged=False, random_state=seed, **stop)
        return CRF(Chain(), l2=self.task.l2, solver=solver, **shared)

    def tuned_rate(self, size, seed):
        """The rate with the best objective after two epochs on a quarter of the data."""
        import numpy as np

        n, short = len(self.X) // 4, {"tol": 0.0, "max_iter": 2}
        learners = [self.learner("crf", size, seed, rate, **short) for rate in TRIED_RATES]
        found = [learner.fit(self.X[:n], self.y[:n]).objective_ for learner in learners]
        return TRIED_RATES[int(np.argmin(np.nan_to_num(found, nan=np.inf)))]

    def tally(self, model, part):
        from palmette import metrics
        from palmette.data import join_words

        X, bunch = self.held_out[part]
        found, true = model.predict(X), bunch.target
        if self.task.score == "tally_words":
            found, true = join_words([[c for (c,) in line] for line in bunch.data], found), bunch.words
        return getattr(metrics, self.task.score)(true, found)


prepared = lru_cache(maxsize=1)(Prepared)


def run(point):
    """Train and score; the counts of each test sentence are kept for the tests of significance."""
    import math

    task = prepared(point["data"], point["features"])
    learner, size, seed = point["learner"], point["size"], point["seed"]
    outcome, own = {}, {}
    with no_warnings():
        if point["protocol"] == "stopping-rule":
            start = time.process_time()
            own = {"rate": task.tuned_rate(size, seed), **STOP}
            outcome = {"rate": own["rate"], "tuning_seconds": time.process_time() - start}
        start = time.process_time()
        model = task.learner(learner, size, seed, **own).fit(task.X, task.y)
        seconds = time.process_time() - start
    dev, test = (task.tally(model, part) for part in ("dev", "test"))
    objective = float(model.objective_)
    return {
        "dev": dev.score, "test": test.score, "seconds": seconds, "epochs": model.n_iter_,
        "objective": objective if math.isfinite(objective) else None, **outcome, "reason": model.result_.reason,
        "score": test.name, "numerator": test.numerator.tolist(), "denominator": test.denominator.tolist(),
    }  # fmt: skip


# -- summary ----------------------------------------------------------------------------------------------------------


def curves(records):
    """Records by data set, features, protocol and learner, and then by size."""
    found = {}
    for record in records:
        curve = tuple(record[name] for name in ("data", "features", "protocol", "learner"))
        found.setdefault(curve, {}).setdefault(record["size"], []).append(record)
    return {curve: {size: sizes[size] for size in SIZES if size in sizes} for curve, sizes in found.items()}


def compared(runs, whole):
    """Difference on the test part to runs on whole samples, over the seeds that both have, and its p-value."""
    import numpy as np

    from palmette.metrics import Tally, compare, pooled

    seeds = {run["seed"] for run in runs} & {run["seed"] for run in whole}
    if not seeds:
        return None

    def tally(side):
        own = [run for run in side if run["seed"] in seeds]
        return pooled(Tally(r["score"], np.array(r["numerator"]), np.array(r["denominator"])) for r in own)

    return compare(tally(runs), tally(whole), n_resamples=RESAMPLES)


def summarise(records):
    """One row a curve and one column a size; and what a size chosen on development data brings."""
    tables = {
        "Test score %, mean ± standard deviation over seeds": lambda runs, whole: spread(runs, "test"),
        "Test score, difference to none in points (p)": lambda runs, whole: difference(runs, whole),
        "Development score %": lambda runs, whole: spread(runs, "dev"),
        "CPU seconds of training (ratio to none)": lambda runs, whole: cost(runs, whole, "seconds"),
        "Epochs": lambda runs, whole: f"{mean(runs, 'epochs'):.3g}",
        "Objective of the last epoch": lambda runs, whole: objective(runs),
    }
    found, header = curves(records), ["curve", *(f"{size}" for size in SIZES)]
    made = [chosen_on_dev(found)]
    for title, cell in tables.items():
        rows = [
            [named(curve), *(cell(sizes[s], sizes.get("none", [])) if s in sizes else "" for s in SIZES)]
            for curve, sizes in found.items()
        ]
        made.append(StudyTable(title, header, rows))
    tuned = {curve: sizes for curve, sizes in found.items() if curve[2] == "stopping-rule"}
    rows = [[named(c), *(rates(sizes[s]) if s in sizes else "" for s in SIZES)] for c, sizes in tuned.items()]
    return [*made, StudyTable("Tuned rate (CPU seconds of tuning)", header, rows)] if tuned else made


def named(curve):
    data, features, protocol, learner = curve
    notes = [note for note in (features, protocol) if note not in ("nodes", "equal-epochs")]
    return " ".join([data, learner, *notes])


def spread(runs, name):
    import statistics

    values = [100 * run[name] for run in runs]
    deviation = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{deviation}"


def difference(runs, whole):
    found = None if runs is whole else compared(runs, whole)
    return "" if found is None else f"{100 * found.difference:+.2f} ({found.p_value:.2g})"


def cost(runs, whole, name):
    ratio = f" ({mean(runs, name) / mean(whole, name):.2f})" if whole and runs is not whole else ""
    return f"{mean(runs, name):.3g}{ratio}"


def objective(runs):
    return "" if any(run["objective"] is None for run in runs) else f"{mean(runs, 'objective'):,.0f}"


def rates(runs):
    return f"{mean(runs, 'rate'):.2g} ({mean(runs, 'tuning_seconds'):.3g})"


def chosen_on_dev(found):
    """For each curve the size with the best development score, and what it does on the test part."""
    rows = []
    for curve, sizes in found.items():
        whole = sizes.get("none", [])
        best = max(sizes, key=lambda size: (mean(sizes[size], "dev"), size == "none"))
        row = [str(best), spread(sizes[best], "test"), spread(whole, "test") if whole else ""]
        rows.append([named(curve), *row, difference(sizes[best], whole), cost(sizes[best], whole, "seconds")])
    header = ["curve", "best on dev", "test %", "test % of none", "difference (p)", "CPU s (ratio)"]
    return StudyTable("The size chosen on development data", header, rows)


def draw(figure, records):
    """Test score (upper rows) and CPU time (lower rows) against the size, as the paper's Figures 2 and 3."""
    import statistics

    found = {curve: sizes for curve, sizes in curves(records).items() if len(sizes) > 2}
    if not found:
        raise ValueError("structreg: no curve to draw yet; the runs of at least three sizes make one")
    sets = list(dict.fromkeys(curve[0] for curve in found))
    kinds = sorted({curve[1:] for curve in found}, key=lambda kind: (kind[1], kind[0] == "edges", kind[2]))
    figure.set_size_inches(3 * len(sets), 2.2 * 2 * len(kinds))
    axes = figure.subplots(2 * len(kinds), len(sets), squeeze=False)
    for row, (kind, name) in enumerate((kind, name) for name in ("test", "seconds") for kind in kinds):
        for column, data in enumerate(sets):
            ax, sizes = axes[row, column], found.get((data, *kind))
            if sizes is None:
                ax.set_axis_off()
                continue
            scale = 100 if name == "test" else 1
            values = {size: [scale * run[name] for run in runs] for size, runs in sizes.items()}
            cut = [size for size in values if size != "none"]
            means = [statistics.mean(values[s]) for s in cut]
            errors = [statistics.stdev(values[s]) if len(values[s]) > 1 else 0 for s in cut]
            ax.errorbar(cut, means, errors, marker="o", ms=4, capsize=2, label="pieces")
            if "none" in values:
                ax.axhline(statistics.mean(values["none"]), color="C3", ls="--", label="none")
            label = named(("", *kind)).strip()
            ax.set(title=f"{data}, {label}", ylabel="test %" if name == "test" else "CPU s")
            if name == "seconds":
                ax.set_ylim(bottom=0)
            ax.title.set_fontsize(8)
            ax.grid(alpha=0.3)
    next(ax for ax in axes.flat if ax.axison).legend(fontsize=7)
    for ax in axes[-1]:
        ax.set_xlabel("n'")


BENCHMARK = Study("structreg", __doc__, points(), run, summarise, draw)
