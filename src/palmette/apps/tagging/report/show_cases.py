"""Sentences, sure errors and reliability as parts of a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from palmette.apps.tagging.report.cases import Case, SureError
from palmette.apps.tagging.report.confidence import calibration_error
from palmette.inspection import Term
from palmette.page import Html, Part, cell, note, reliability, table, tag

NOT_CALIBRATED = (
    "This model was not trained to give probabilities: those shown here are the exponentials of its scores, divided by "
    "their sum. Take them as a ranking of how sure it is, not as chances."
)
SURE = 0.995  # probabilities above this are not worth a number
_CONTEXT = 4  # words shown on each side of a sure error
_PRO, _CONTRA = 5, 2  # terms shown for the prediction and for the truth


def show_reliability(bins: Sequence[tuple[float, float, int]], calibrated: bool) -> Part:
    """Whether probabilities can be believed."""
    error = calibration_error(bins)
    rows = [[f"{p:.3f}", f"{share:.3f}", f"{n:,}"] for p, share, n in bins]
    figure = tag(
        "figure",
        reliability(bins, title="Share of right labels against the probability given"),
        tag("figcaption", f"Expected calibration error {100 * error:.2f} %."),
    )
    lead = (
        "Tokens grouped by the probability of their predicted label. On the diagonal a label of probability 0.8 is "
        "right in 80 % of the cases; below it the model is too sure of itself."
    )
    warning = None if calibrated else note(NOT_CALIBRATED, kind="warn")
    both = tag("div", figure, table(["mean probability", "share right", "tokens"], rows), cls="pair")
    return Part("Confidence", "confidence", [warning, both], lead)


def show_sentences(cases: Sequence[Case], calibrated: bool) -> Part:
    """The worst sentences, each token in the colour of its doubt."""
    with_model = any(case.p_true is not None for case in cases)
    if not cases:
        return Part("Worst sentences", "sentences", [tag("p", "No label is wrong.")])
    if with_model:
        lead = (
            "Sentences whose predicted labels beat the true ones by most: here the model is most surely wrong, or the "
            "annotation is. Below each word stands the predicted label; a wrong one is struck out, with the true one "
            f"below it. The number is the probability of the predicted label where it is below {SURE}."
        )
        scale = tag("div", "true label likely", tag("i"), "unlikely", cls="legend")
    else:
        lead = "Sentences with the most wrong labels. A wrong label is struck out, with the true one below."
        scale = None
    warning = note(NOT_CALIBRATED, kind="warn") if with_model and not calibrated else None
    shown = [_sentence(case) for case in cases]
    return Part("Worst sentences", "sentences", [warning, scale, shown], lead)


def _sentence(case: Case) -> Html:
    facts = [f"sentence {case.index + 1}", case.place, f"{case.n_wrong} of {len(case.words)} labels wrong"]
    if not math.isnan(case.lead):
        if math.isinf(case.lead):
            facts.append("the model cannot give the true labels")
        else:
            facts.append(f"prediction ahead by {case.lead:.2f}")
            facts.append(f"log-probability of the truth {case.log_true:.2f}")
    head = tag("header", [tag("span", fact) for fact in facts if fact])
    tokens = tag("div", [_token(case, t) for t in range(len(case.words))], cls="tokens")
    return tag("div", head, tokens, _reasons(case), cls="sentence")


def _token(case: Case, t: int) -> Html:
    true, predicted, word = case.true[t], case.predicted[t], case.words[t]
    wrong = true != predicted
    doubt, chance, title = float(wrong), "", None
    if case.p_true is not None and case.p_predicted is not None:
        p_true, p_predicted = float(case.p_true[t]), float(case.p_predicted[t])
        doubt = 1.0 - p_true
        chance = f" {p_predicted:.2f}".replace(" 0.", " .") if p_predicted < SURE else ""
        title = f"{predicted}: probability {p_predicted:.4f}"
        title += f"; true {true}: {p_true:.4f}" if wrong else ""
    below = [tag("s", predicted) if wrong else predicted, chance]
    parts = [tag("span", word), tag("small", below), tag("small", tag("b", true)) if wrong else None]
    kind = "token wrong" if wrong else "token"
    return tag("span", parts, cls=kind, style=f"--h:{min(max(doubt, 0.0), 1.0):.3f}", title=title)


def _reasons(case: Case) -> Html | None:
    """The strongest terms for the prediction, the strongest for the truth, and the sum of the others."""
    if not case.reasons:
        return None
    pro = [term for term in case.reasons if term.contribution > 0][:_PRO]
    contra = [term for term in case.reasons if term.contribution < 0][:_CONTRA]
    items = [tag("li", _reason(term, case.words)) for term in (*pro, *contra)]
    rest = len(case.reasons) - len(items)
    if rest:
        total = case.lead - sum(term.contribution for term in (*pro, *contra))
        items.append(tag("li", tag("span", f"{total:+.2f}", cls="mono"), f" from {rest} more"))
    summary = tag("summary", "why the prediction won")
    return tag("details", summary, tag("ul", items, cls="why"), cls="small")


def _reason(term: Term, words: Sequence[str]) -> list[Any]:
    hue = "good" if term.contribution > 0 else "bad"
    ours, theirs = (" → ".join(map(str, labels)) for labels in (term.labels, term.rival_labels))
    name = tag("code", term.name) if term.name else term.kind
    return [
        tag("span", f"{term.contribution:+.2f}", cls=f"mono ink {hue}"),
        " ",
        name,
        f" at {words[term.position]}: {ours} {term.weight:+.2f}, {theirs} {term.rival_weight:+.2f}",
    ]


def show_sure_errors(errors: Sequence[SureError], words: Sequence[Sequence[str]]) -> Part | None:
    """Single wrong labels of which the model was sure, with their neighbours."""
    if not errors:
        return None
    rows = []
    for error in errors:
        sentence, t = words[error.index], error.position
        before, after = sentence[max(0, t - _CONTEXT) : t], sentence[t + 1 : t + 1 + _CONTEXT]
        context = [" ".join(before), " ", tag("b", sentence[t]), " ", " ".join(after)]
        chances = [cell(f"{p:.4f}", cls="num") for p in (error.p_predicted, error.p_true)]
        number = cell(f"{error.index + 1:,}", cls="num zero")
        rows.append([cell(context, cls="wrap"), tag("b", error.true), error.predicted, *chances, number])
    header = ["word in context", "true", "predicted", "probability", "of the true", "sentence"]
    lead = "Wrong labels with the highest probability, one per sentence. Many tend to be errors of the annotation."
    return Part("Surest errors", "errors", [table(header, rows, cls="text")], lead)
