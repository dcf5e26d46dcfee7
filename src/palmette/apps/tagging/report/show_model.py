"""What a model learnt, and how well it was trained, as parts of a page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from palmette.apps.tagging.report.show_scores import matrix
from palmette.inspection import NamedWeights, Weight
from palmette.page import Html, Part, bar, cell, curve, facts, note, table, tag

OPEN_CARDS, MOST_LABELS = 6, 30
Sides = tuple[list[Weight], list[Weight]]


def show_features(weights: NamedWeights, labels: Sequence[Any], template: str, top: int = 8) -> Part:
    """A card per label with the features for and against it; the first few open, the others behind a fold."""
    cards = [_card(weights, label, top) for label in labels]
    shown = tag("div", cards[:OPEN_CARDS], cls="cards")
    more = None
    if cards[OPEN_CARDS:]:
        summary = tag("summary", f"{len(cards) - OPEN_CARDS} more labels")
        more = tag("details", summary, tag("div", cards[OPEN_CARDS:], cls="cards"))
    lead = (
        "The features of the largest and of the smallest weight with each label; the commonest labels first."
    )
    legend = None
    if template:
        lines = "\n".join(line for line in template.splitlines() if line and not line.startswith("# "))
        legend = tag("details", tag("summary", "The template that makes the features"), tag("pre", lines))
    return Part("Strongest features", "features", [legend, shown, more], lead)


def _card(weights: NamedWeights, label: Any, top: int) -> Html:
    sides = weights.of_label(label, top)
    tables = _lists(sides, ("for", "against"), lambda weight: [_feature(weight)], "quiet weights")
    return tag("div", tag("h3", label), tables or tag("p", "no weights", cls="small"), cls="card")


def _lists(
    sides: Sides, titles: tuple[str, str], name: Callable[[Weight], list[Any]], cls: str = "quiet"
) -> list[Html]:
    """The positive and the negative weights, each with the cells that name it."""
    strongest, made = _strongest(sides), []
    for title, hue, side in zip(titles, ("cool", "warm"), sides):
        rows = [[*name(w), f"{w.value:+.2f}", bar(abs(w.value) / strongest, hue=hue)] for w in side]
        if rows:
            made.append(table([title, *[""] * (len(rows[0]) - 1)], rows, cls=cls))
    return made


def _strongest(sides: Sides) -> float:
    return max((abs(weight.value) for side in sides for weight in side), default=1.0)


def _feature(weight: Weight) -> Html:
    return cell(tag("code", weight.feature), cls="wrap")


def show_edge_features(weights: NamedWeights, top: int = 12) -> Part | None:
    """The strongest features of label pairs, if the model has such."""
    sides = weights.strongest_edge_features(top)
    if not any(sides):
        return None
    lists = _lists(sides, ("sought", "avoided"), lambda w: [_feature(w), cell(_follow(w), cls="num")])
    lead = "Features of label pairs: they stand at the right one of two neighbours and speak for or against the pair."
    return Part("Edge features", "edges", [tag("div", lists, cls="pair")], lead)


def _follow(weight: Weight) -> str:
    return " → ".join(map(str, weight.labels))


def show_transitions(weights: NamedWeights, labels: Sequence[Any], top: int = 8) -> Part | None:
    """The strongest label pairs, and the matrix of the commonest labels."""
    if not np.any(weights.transitions):
        return None
    sides = weights.strongest_transitions(top)
    lists, strongest = _lists(sides, ("likely", "unlikely"), lambda w: [_follow(w)]), _strongest(sides)
    place = {label: code for code, label in enumerate(weights.labels)}
    kept = sorted(labels[:MOST_LABELS], key=str)
    codes = [place[label] for label in kept]
    rows = [
        [label, *(_transition(weights.transitions[i, j], strongest) for j in codes)]
        for label, i in zip(kept, codes)
    ]
    shown = matrix(["from ╲ to", *kept], rows, len(kept))
    most = f" of the {MOST_LABELS} commonest labels" if len(labels) > MOST_LABELS else ""
    lead = f"Weight of each label (row) being followed by each label (column){most}: blue is sought, amber avoided."
    return Part("Transitions", "transitions", [tag("div", lists, cls="pair"), shown], lead)


def _transition(value: float, strongest: float) -> Html:
    hue, shown = "cool" if value > 0 else "warm", f"{value:+.1f}"
    small = shown in ("+0.0", "-0.0")
    return cell("" if small else shown, heat=abs(value) / strongest, hue=hue, title=f"{value:+.4g}")


def show_learning(model: Any) -> Part:
    """The certificate of the training: what was reached, and how far from the optimum it can be."""
    result = model.result_
    step, gap = result.step, result.gap
    stop = result.reason if result.converged else f"{result.reason}, NOT CONVERGED"
    if type(model).__name__ == "Perceptron" and result.reason == "max_iter":  # which has no optimum to reach
        stop = "its limit of epochs"
    listed = [
        *([] if math.isnan(result.primal) else [("objective", f"{result.primal:.6g}")]),
        ("iterations", f"{step.n_iter:,}, {step.n_oracle:,.6g} passes over the data, {step.seconds:.3g} s"),
        ("stopped by", stop),
    ]
    if math.isnan(gap):
        verdict = note("No bound on the distance to an optimum: this way of learning has none to give.")
    else:
        relative = gap / abs(result.primal) if result.primal else gap
        listed[1:1] = [
            ("optimum", f"at least {result.lower:.6g}"),
            ("gap", f"{gap:.3g}, relative {relative:.2e}"),
        ]
        text = f"The objective is proven to be within {100 * relative:.3g} % of the best possible one."
        verdict = note(text, kind="" if result.converged else "warn")
    if hasattr(model, "l2_"):
        listed.append(("penalty", f"l2 = {model.l2_:.4g} on the weights of features"))
    points = [(each.seconds, each.gap / abs(each.primal)) for each in result.history if each.primal]
    chart = curve(points, x="seconds", y="relative gap", title="Relative gap over time")
    return Part("Learning", "learning", [verdict, tag("div", facts(listed), chart, cls="pair")])


def show_tuning(model: Any) -> Part | None:
    """The held-out scores by which the penalty was chosen, if it was."""
    if not hasattr(model, "cv_scores_"):
        return None
    means = np.mean(np.atleast_2d(model.cv_scores_), axis=1)
    best = int(np.argmax(means))
    low, high = float(means.min()), float(means.max())
    rows = []
    for k, (l2, mean) in enumerate(zip(model.l2s_, means)):
        chosen = " (chosen)" if k == best else ""
        share = (mean - low) / (high - low) if high > low else 1.0
        rows.append([f"{l2:.4g}{chosen}", f"{100 * mean:.2f}", bar(share)])
    n_folds = np.atleast_2d(model.cv_scores_).shape[1]
    where = "on held-out data" if n_folds == 1 else f"on {n_folds} folds of the training data"
    lead = f"Mean score in % {where} by the strength of the L2 penalty, from which it was chosen."
    return Part("Choice of the penalty", "tuning", [table(["l2", "score %", ""], rows, cls="quiet")], lead)
