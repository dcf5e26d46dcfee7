"""Hypertext: pages of four schools labelled one by one (SVM) and together (RMN, M3N), one school left out in turn.

Pages are those of Cornell, Texas, Washington and Wisconsin in `webkb-cmu`: course, faculty, project, student, and
other (staff and departments among them), where an other page is kept as long as it links to at least three kept pages
of its school. Words are binary, those on at least two training pages. Links to itself are dropped, links both ways
are one edge of another kind than a link one way. An edge is weighted by the larger degree of its pages to the power
-1/2.

* `paper`: words of the page and of the anchors of links to it; an edge for each pair of linked pages.
* `neighbours`: the same words; edges also between pages that are linked next to each other on some page.
* `rich`: words also of titles, headings, anchors of links from it, and headings before links to it; edges as before.

`SVM` is a multiclass support vector machine on single pages; `RMN` a conditional random field trained with
tree-reweighted sums; `M3N` a max-margin Markov network trained on the relaxation of its hinge loss, whose maximum is
rounded off by entropy (`SSVM(loss="soft_hinge")`). Both label a school by maximisation. Penalties of words and of
edges, and the temperature of the M3N, are chosen for each learner and each test school by the mean error on the other
three, each left out of the training in turn; the test school chooses nothing. Intervals are of the paired bootstrap
over pages, within schools. What is not chosen so was settled while looking at test errors: symmetric weights of edges
without direction, how far to train, and which penalties to try.
"""

import time
from functools import lru_cache

from experiments.harness import Study, StudyTable
from experiments.harness.nested import training_sets
from experiments.harness.tables import draw_bars, grouped, target_row

SCHOOLS = ("cornell", "texas", "washington", "wisconsin")
GRAPHS = ("paper", "neighbours", "rich")
LEARNERS = ("SVM", "RMN", "M3N")
TOL = 0.002
SETUP = "typed edges, sums 1e-4 or 30 sweeps"  # what a run depends on besides; see palmette.apps.webgraph
SETTING, SETTLED = ("l2_node", "l2_edge", "temperature"), {"tol": TOL, "setup": SETUP}
GRID = {
    "SVM": [(l2, 0.0, 0.0) for l2 in (300.0, 100.0, 30.0, 10.0)],
    "RMN": [(node, edge, 1.0) for node in (50.0, 20.0, 10.0) for edge in (1.0, 0.3)],
    "M3N": [(node, edge, t) for t in (0.2, 0.1, 0.4) for node in (100.0, 50.0, 20.0) for edge in (1.0, 0.3)],
}


def points():
    return [
        {
            "graph": graph,
            "learner": learner,
            **dict(zip(SETTING, setting)),
            "train": "+".join(train),
            **SETTLED,
        }
        for graph in GRAPHS
        for learner in LEARNERS
        for setting in GRID[learner]
        for train in training_sets(SCHOOLS)
    ]


# -- one run ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def schools():
    from experiments.harness.webkb import load_schools

    return load_schools(SCHOOLS)


@lru_cache(maxsize=1)
def collection(graph):
    from palmette.apps.webgraph import PAPER_WORDS, RICH_WORDS, page_collection

    return page_collection(schools(), RICH_WORDS if graph == "rich" else PAPER_WORDS, graph != "paper")


def run(point):
    """Train on some schools and label the others; what was wrong on each page is kept."""
    import numpy as np

    from palmette.apps.webgraph import page_learner

    pages, train = collection(point["graph"]), tuple(point["train"].split("+"))
    setting = [point[name] for name in SETTING]
    learner = page_learner(point["learner"], *setting, tol=point["tol"], n_jobs=1)
    start = time.process_time()
    fitted = learner.fit(pages, train)
    outcome = {"seconds": time.process_time() - start, "wrong": {}}
    for name in SCHOOLS:
        if name not in train:
            wrong = np.not_equal(fitted.predict(name), pages[name].labels)
            outcome["wrong"][name] = "".join("01"[int(each)] for each in wrong)
    return outcome | {"gap": fitted.gap, "reason": fitted.reason}


# -- summary ----------------------------------------------------------------------------------------------------------


def wrong_pages(records):
    """By graph, learner, setting, and then by training schools and test school: which pages were wrong."""
    import numpy as np

    found = {}
    for record in records:
        runs = found.setdefault((record["graph"], record["learner"]), {})
        setting = tuple(record[name] for name in SETTING)
        for name, bits in record["wrong"].items():
            wrong = np.frombuffer(bits.encode(), np.uint8) == ord("1")
            runs.setdefault(setting, {})[tuple(record["train"].split("+")), name] = wrong
    n_runs = sum(len(SCHOOLS) - len(train) for train in training_sets(SCHOOLS))
    complete = {}
    for key, settings in found.items():
        whole = {setting: runs for setting, runs in settings.items() if len(runs) == n_runs}
        if whole:
            complete[key] = whole
    return complete


def tested(settings):
    """For each test school the setting chosen inside the others, and the pages that it got wrong."""
    from experiments.harness.nested import choose

    errors = {
        setting: {key: wrong.mean() for key, wrong in runs.items()} for setting, runs in settings.items()
    }
    chosen = {test: choose(errors, SCHOOLS, test) for test in SCHOOLS}
    wrong = {
        test: settings[setting][tuple(name for name in SCHOOLS if name != test), test]
        for test, setting in chosen.items()
    }
    return chosen, wrong


def summarise(records):
    from experiments.harness.nested import paired_difference

    complete = wrong_pages(records)
    results = {key: tested(settings) for key, settings in complete.items()}
    errors, choices, differences = [], [], []
    for (graph, learner), (chosen, wrong) in results.items():
        shares = [wrong[test].mean() for test in SCHOOLS]
        name = f"{graph} {learner}"
        errors.append(
            [name, *(f"{100 * share:.1f}" for share in shares), f"{100 * sum(shares) / len(shares):.2f}"]
        )
        tried = f"{len(complete[graph, learner])} of {len(GRID[learner])}"
        choices.append([name, *("{:g} / {:g} / {:g}".format(*chosen[test]) for test in SCHOOLS), tried])
        for other in LEARNERS[: LEARNERS.index(learner)]:
            if (graph, other) in results:
                base = results[graph, other][1]
                found = paired_difference([wrong[t] for t in SCHOOLS], [base[t] for t in SCHOOLS])
                below = f"{100 * (1 - found.ratio):.0f} %"
                differences.append([f"{graph} {learner} against {other}", str(found), below])
    columns = ["", *SCHOOLS]
    return [
        StudyTable("Test error %", [*columns, "mean"], [majority(), *errors]),
        StudyTable("Difference of the mean error in points [95 %]", ["", "difference", "below by"], differences),
        StudyTable("Chosen: penalty of words / of edges / temperature", [*columns, "settings run"], choices),
        StudyTable("Targets", ["", "bound", "reached", ""], targets(results)),
        StudyTable("A training on three schools, medians", ["", "CPU seconds", "gap %"], costs(records)),
    ]  # fmt: skip


def majority():
    """Error of the label that is most frequent in the other schools."""
    from collections import Counter

    labels = {school.name: school.labels for school in schools()}
    shares = []
    for test in SCHOOLS:
        others = Counter(label for name in SCHOOLS if name != test for label in labels[name])
        common = others.most_common(1)[0][0]
        shares.append(sum(label != common for label in labels[test]) / len(labels[test]))
    return ["majority", *(f"{100 * share:.1f}" for share in shares), f"{100 * sum(shares) / len(shares):.2f}"]


def targets(results):
    """The bounds of the project, as far as the runs for them are there."""
    mean = {key: sum(wrong[t].mean() for t in SCHOOLS) / len(SCHOOLS) for key, (_, wrong) in results.items()}
    wanted = [
        ("paper: M3N / SVM", ("paper", "M3N"), ("paper", "SVM"), 0.80),
        ("rich: M3N", ("rich", "M3N"), None, 0.08),
        ("rich: M3N / SVM", ("rich", "M3N"), ("rich", "SVM"), 0.60),
        ("rich: M3N / RMN", ("rich", "M3N"), ("rich", "RMN"), 0.92),
    ]
    return [
        target_row(name, "<=", bound, mean[ours] / (1.0 if theirs is None else mean[theirs]), 4)
        for name, ours, theirs, bound in wanted
        if ours in mean and (theirs is None or theirs in mean)
    ]


def costs(records):
    last = [record for record in records if record["train"].count("+") == len(SCHOOLS) - 2]
    return [
        [" ".join(key), f"{median(runs, 'seconds'):.1f}", f"{100 * median(runs, 'gap'):.2f}"]
        for key, runs in grouped(last, "graph", "learner").items()
    ]


def median(runs, name):
    import statistics

    return statistics.median(run[name] for run in runs)


def draw(figure, records):
    """Test error of each school as bars, one panel a graph."""
    results = {key: tested(settings) for key, settings in wrong_pages(records).items()}
    graphs = [graph for graph in GRAPHS if any(key[0] == graph for key in results)]
    panels = figure.subplots(1, len(graphs), sharey=True, squeeze=False)[0]
    for panel, graph in zip(panels, graphs):
        learners = [learner for learner in LEARNERS if (graph, learner) in results]
        shares = {name: [100 * results[graph, name][1][test].mean() for test in SCHOOLS] for name in learners}
        heights = {name: [*values, sum(values) / len(values)] for name, values in shares.items()}
        draw_bars(panel, [*SCHOOLS, "mean"], heights, rotation=30)
        panel.set_title(graph)
    panels[0].set_ylabel("test error %")
    panels[0].legend()


BENCHMARK = Study(name="m3n_webkb", doc=__doc__, points=points(), run=run, summarise=summarise, draw=draw)
