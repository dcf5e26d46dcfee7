"""Cheap data: what few labels are worth if they are learnt from well.

Three ways to spend less on annotation, on text. First, partial annotation: CoNLL-2000 chunking with a share of the
tokens labelled, drawn at random; a conditional random field sums over what is not known (`partial`), or the others are
left out (`drop`), or they are filled in once by such a model (`fill`). Second, active learning: the model says which
tokens it wants to be told (the best label against the second), or they are drawn at random. Third, transfer:
part-of-speech tagging of newspapers (`ptb-sample`) from few of their sentences and the many genres of `masc`.

Penalties of the first two are those of complete data in the benchmark `crf_chunking`; the third chooses its own by
cross-validation on training sentences. Test sentences are read once for each figure. The quick run takes 800 sentences
for chunking and 120 for tagging.
"""

import numpy as np

from experiments.benchmarks.active_text import f1
from experiments.benchmarks.crf_chunking import L2, attributes
from experiments.benchmarks.partial_text import runs_of_known
from experiments.benchmarks.transfer_text import parts
from palmette import CRF, UNKNOWN, ActiveLearner, Chain, compare_transfer
from palmette.apps.tagging.default_template import default_template
from palmette.datasets import load_conll2000
from palmette.features import ColumnSentences, Template

WAYS = ("partial", "drop", "fill")
ASKED = ("best_vs_second", "random")


def run(context):
    train, test = (load_conll2000(subset=name) for name in ("train", "test"))
    n, n_test = (800, 300) if context.quick else (len(train.data), len(test.data))
    Y, Y_test = train.target[:n], test.target[:n_test]
    classes = sorted({label for y in Y for label in y})
    model = CRF(Chain(), l2=L2, tol=1e-2 if context.quick else 1e-3, classes=classes)
    X = [attributes(sentence) for sentence in train.data[:n]]
    X_test = [attributes(sentence) for sentence in test.data[:n_test]]
    whole = f1(model.fit(X, Y), X_test, Y_test)
    context.log(f"all tokens: chunk F1 {whole:.2f}")

    shares = (0.25,) if context.quick else (0.05, 0.1, 0.25, 0.5)
    partial = {way: [] for way in WAYS}
    for share in shares:
        for way in WAYS:
            partial[way].append(f1(learnt(model, X, Y, share, way), X_test, Y_test))
        context.log(f"{share:.0%} of the tokens: " + ", ".join(f"{w} {partial[w][-1]:.2f}" for w in WAYS))
    rows = [[way, *scores] for way, scores in partial.items()]
    context.add_table("Partial annotation: chunk F1", ["way", *(f"{s:.0%}" for s in shares)], rows)

    steps = (0.05, 0.1) if context.quick else (0.02, 0.05, 0.1, 0.15, 0.25)
    asked = {}
    for strategy in ASKED:
        asked[strategy] = ask(model, X, Y, strategy, steps, lambda fitted: f1(fitted, X_test, Y_test))
        context.log(
            f"asked by {strategy}: " + ", ".join(f"{s:.0%} {f:.2f}" for s, f in zip(steps, asked[strategy]))
        )
    rows = [[strategy, *scores] for strategy, scores in asked.items()]
    context.add_table("Active learning by tokens: chunk F1", ["strategy", *(f"{s:.0%}" for s in steps)], rows)

    found = transfer(context.quick)
    context.add_table("Transfer from masc to ptb-sample: accuracy of tags", *found.table())
    context.log(str(found))

    def draw(figure):
        left, right = figure.subplots(1, 2, sharey=True)
        for panel, at, curves in ((left, shares, partial), (right, steps, asked)):
            panel.axhline(whole, color="0.5", label="all tokens")
            for name, scores in curves.items():
                panel.plot([100 * s for s in at], scores, marker="o", label=name)
            panel.set_xlabel("% of the tokens labelled")
            panel.legend()
        left.set_ylabel("chunk F1")

    context.add_figure("Chunk F1 by labelled tokens", draw, size=(9, 4))
    at_quarter = partial["partial"][shares.index(0.25)]
    context.add_target(
        "F1 lost with 25 % of the tokens", whole - at_quarter, "<=", 5.0 if context.quick else 1.5
    )
    context.add_target("F1 gained by asking", asked[ASKED[0]][-1] - asked[ASKED[1]][-1], ">=", 0.0)
    gained = found.row("Transfer").score - found.row("Partial target").score
    context.add_target("accuracy gained by transfer, points", 100 * gained, ">=", 0.0)


def learnt(model, X, Y, share, way):
    """A model of a share of the labels."""
    from sklearn.base import clone

    rng = np.random.default_rng(0)
    some = [[label if rng.random() < share else UNKNOWN for label in y] for y in Y]
    if way == "partial":
        return clone(model).fit(X, some)
    dropped = clone(model).fit(*runs_of_known(X, some))
    if way == "drop":
        return dropped
    found = dropped.predict(X)
    return clone(model).fit(
        X, [[a if b is UNKNOWN else b for a, b in zip(p, y)] for p, y in zip(found, some)]
    )


def ask(model, X, Y, strategy, shares, score):
    """Scores of models of the labels that were asked for, at every share."""
    learner = ActiveLearner(model, X, strategy, "part", random_state=0)
    n_tokens, scores = sum(map(len, Y)), []
    for share in shares:
        while (left := round(share * n_tokens) - learner.n_answered_) > 0:
            questions = learner.query(min(left, max(n_tokens // 200, 50)))
            learner.tell_all(questions, [[Y[q.sample][t] for t in q.parts] for q in questions])
        scores.append(score(learner.finish()))
    return scores


def transfer(quick):
    """The comparison of source, target, union and transfer."""
    rng, sizes = np.random.default_rng(0), (120, 120, 100) if quick else (1000, 1000, 500)
    drawn = [
        [part[i] for i in rng.permutation(len(part))[:n]]
        for part, n in zip(parts("masc -> ptb-sample"), sizes)
    ]
    X, y = zip(*(pair for part in drawn for pair in part))
    domains = ["masc"] * len(drawn[0]) + ["ptb"] * (len(drawn[1]) + len(drawn[2]))
    model = CRF(Chain(), tol=1e-2)
    inputs = model.encode(ColumnSentences(list(X), Template.parse(default_template(2))))
    test = np.arange(len(X)) >= len(drawn[0]) + len(drawn[1])
    few = {"settings": [{"l2": "0.3x"}], "transfer_settings": [{"model__l2": "0.3x", "rho": "10x"}]}
    return compare_transfer(model, inputs, list(y), domains, "ptb", test=test, **(few if quick else {}))
