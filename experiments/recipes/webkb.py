"""Hypertext: pages labelled one by one and together by their links, one school left out in turn.

Pages of the computer science departments of Cornell, Texas, Washington and Wisconsin are course, faculty, project,
student or other. The features of a page are the words in it, in its title and headings, in the anchors of links to
and from it, and in the headings before links to it. Pages are joined by links and, where they are linked next to each
other on some page, by another kind of edge. A multiclass SVM labels single pages; a relational Markov network (RMN, a
conditional random field with tree-reweighted sums) and a max-margin Markov network (M3N, the relaxed hinge, rounded off
by entropy) label schools as a whole, by maximisation: Figure 1(c) of Taskar, Guestrin and Koller, Max-margin Markov
networks, NIPS 2003.

Every penalty is chosen inside the training schools, by the mean error on each of them when the model is trained on
the others. The study `palmette bench m3n_webkb` has more settings, the graph of the paper and the costs. The quick run
has the words and links of `webkb-linqs`, where every page has a link and there is no class other, and fixed
penalties.
"""

import numpy as np

from experiments.harness.nested import choose, paired_difference, training_sets
from experiments.harness.tables import draw_bars
from experiments.harness.webkb import linqs_collection, load_schools
from palmette.apps.webgraph import RICH_WORDS, page_collection, page_learner

GRID = {
    "SVM": [(l2, 0.0) for l2 in (100.0, 30.0, 10.0)],
    "RMN": [(node, edge) for node in (20.0, 10.0) for edge in (1.0, 0.3)],
    "M3N": [(node, edge) for node in (100.0, 50.0) for edge in (1.0, 0.3)],
}
QUICK = {"SVM": [(10.0, 0.0)], "RMN": [(5.0, 1.0)], "M3N": [(10.0, 1.0)]}


def run(context):
    if context.quick:
        pages, grid = linqs_collection(), QUICK
    else:
        schools = load_schools()
        pages, grid = page_collection(schools, RICH_WORDS, neighbours=True), GRID
        counts = [[school.name, *school.counts.values()] for school in schools]
        context.add_table("Pages and links", ["school", *schools[0].counts], counts)

    names = pages.names
    wrong = {"majority": {test: other_majority(pages, test) for test in names}}
    chosen = {}
    for learner, settings in grid.items():
        found = {
            setting: errors_of(context, pages, learner, setting, len(settings) > 1) for setting in settings
        }
        shares = {s: {key: each.mean() for key, each in runs.items()} for s, runs in found.items()}
        wrong[learner] = {}
        for test in names:
            best = settings[0] if len(settings) == 1 else choose(shares, names, test)
            chosen.setdefault(learner, []).append("{:g} / {:g}".format(*best))
            wrong[learner][test] = found[best][tuple(name for name in names if name != test), test]

    errors = {name: [100 * each.mean() for each in by_test.values()] for name, by_test in wrong.items()}
    header = ["model", *names, "mean"]
    context.add_table(
        "Test error %", header, [[name, *row, float(np.mean(row))] for name, row in errors.items()]
    )
    context.add_table(
        "Penalties of words / edges", ["model", *names], [[name, *row] for name, row in chosen.items()]
    )
    context.add_table(*differences(wrong))
    context.add_figure("Test error of each school", lambda figure: draw(figure, names, errors))

    mean = {name: np.mean(row) for name, row in errors.items()}
    if context.quick:
        context.add_target("mean error %, M3N", mean["M3N"], "<=", 20.0)
    else:
        context.add_target("mean error %, M3N", mean["M3N"], "<=", 8.0)
        context.add_target("M3N / SVM", mean["M3N"] / mean["SVM"], "<=", 0.60)
        context.add_target("M3N / RMN", mean["M3N"] / mean["RMN"], "<=", 0.92)


def errors_of(context, pages, learner, setting, inner):
    """Which pages were wrong, by training schools and test school; `inner` trains on pairs of schools too."""
    found = {}
    for train in training_sets(pages.names):
        if inner or len(train) == len(pages.names) - 1:
            fitted = page_learner(learner, *setting).fit(pages, train)
            for test in pages.names:
                if test not in train:
                    found[train, test] = np.not_equal(fitted.predict(test), pages[test].labels)
                    error = 100 * found[train, test].mean()
                    context.log(f"{learner} {setting}, {'+'.join(train)}: {error:.1f} % of {test} wrong")
    return found


def other_majority(pages, test):
    """Which pages do not have the label that is most frequent in the other schools."""
    labels, counts = np.unique(
        np.concatenate([site.labels for site in pages.sites if site.name != test]), return_counts=True
    )
    return np.not_equal(pages[test].labels, labels[counts.argmax()])


def differences(wrong):
    """Title, header and rows of a table of paired differences."""
    rows = []
    for ours, theirs in (("RMN", "SVM"), ("M3N", "SVM"), ("M3N", "RMN")):
        found = paired_difference(wrong[ours].values(), wrong[theirs].values())
        rows.append([f"{ours} - {theirs}", str(found), f"{100 * (1 - found.ratio):.0f} %"])
    return "Difference of mean errors in points", ["models", "difference [95 %]", "below by"], rows


def draw(figure, names, errors):
    axes, models = figure.subplots(), [name for name in errors if name != "majority"]
    heights = {model: [*errors[model], np.mean(errors[model])] for model in models}
    draw_bars(axes, [*names, "mean"], heights)
    axes.set_ylabel("test error %")
    axes.legend()
