"""Chunking of CoNLL-2000: a CRF and an averaged perceptron on the default template.

Words and part-of-speech tags become features by ramify's default template for two columns. The penalty of the CRF and
the epochs of the perceptron are chosen on the last tenth of the training sentences; then each model is trained once on
all training sentences and the test sentences are labelled once. The quick run uses the first 1,000 training sentences.
"""

import numpy as np

from ramify import CRF, Chain, Perceptron
from ramify.apps.tagging.default_template import default_template
from ramify.apps.tagging.templates import Template
from ramify.datasets import load_conll2000
from ramify.metrics import chunk_report

# Token accuracy and chunk F1 (%) of others on the 19 templates of CRFsuite's chunking tutorial; not tuned.
PUBLISHED = {
    "CRFsuite, L-BFGS": (95.96, 93.61),
    "CRFsuite, averaged perceptron": (95.87, 93.43),
    "Wapiti": (96.09, 93.87),
}

SETTINGS = {
    "CRF": [CRF(Chain(), l2=l2, tol=1e-3) for l2 in (0.5, 1.0, 2.0)],
    "Perceptron": [Perceptron(Chain(), max_iter=epochs) for epochs in (5, 10, 20)],
}


def setting(model):
    return f"{model.max_iter} epochs" if isinstance(model, Perceptron) else f"l2 = {model.l2:g}"


def run(context):
    train, test = load_conll2000("train"), load_conll2000("test")
    n = 1000 if context.quick else len(train.data)
    template = Template.parse(default_template(3))
    X, Y, X_test = template.apply(train.data[:n]), train.target[:n], template.apply(test.data)
    context.log(f"{n} training sentences, {len({a for x in X for token in x for a in token})} attributes")

    cut = n - n // 10
    rows, reports = [], {}
    for name, candidates in SETTINGS.items():
        held_out = []
        for model in candidates:
            model.fit(X[:cut], Y[:cut])
            held_out.append(100 * chunk_report(Y[cut:], model.predict(X[cut:])).overall.f1)
            context.log(f"{name}, {setting(model)}: {held_out[-1]:.2f} F1 on held-out sentences")
        best = candidates[int(np.argmax(held_out))].fit(X, Y)
        reports[name] = report = chunk_report(test.target, best.predict(X_test))
        seconds = sum(best.fit_seconds_.values())
        rows.append([name, setting(best), 100 * report.accuracy, 100 * report.overall.f1, seconds])
        context.log(f"{name}, {setting(best)}: {100 * report.overall.f1:.2f} F1 on the test")

    rows += [[f"{name} (published)", None, *values, None] for name, values in PUBLISHED.items()]
    context.add_table("Chunking", ["model", "chosen", "token accuracy %", "F1 %", "training s"], rows)
    kinds = sorted(reports["CRF"].by_type, key=lambda kind: -reports["CRF"].by_type[kind].gold)
    by_kind = [
        [k, reports["CRF"].by_type[k].gold, *(100 * r.by_type[k].f1 for r in reports.values())] for k in kinds
    ]
    context.add_table("F1 % by type", ["type", "chunks", *reports], by_kind)
    context.add_figure("F1 by type", lambda figure: draw(figure, by_kind[:6], list(reports)))
    if not context.quick:
        context.add_target("CRF F1 %", 100 * reports["CRF"].overall.f1, ">=", PUBLISHED["Wapiti"][1])
        context.add_target("Perceptron F1 %", 100 * reports["Perceptron"].overall.f1, ">=", 93.43)
    else:
        context.add_target("CRF F1 %", 100 * reports["CRF"].overall.f1, ">=", 90.0)


def draw(figure, rows, names):
    ax = figure.subplots()
    places = np.arange(len(rows))
    for i, name in enumerate(names):
        ax.bar(places + 0.4 * i - 0.2, [row[2 + i] for row in rows], width=0.38, label=name)
    ax.set_xticks(places, [row[0] for row in rows])
    ax.set(ylabel="F1 %", ylim=(50, 100))
    ax.legend()
