"""Scores and confusions as parts of a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from palmette.apps.tagging.report.confusion import OTHERS, Mistake, SpanConfusion
from palmette.apps.tagging.report.scores import LEVEL, RESAMPLES, Scores
from palmette.metrics import Interval
from palmette.page import Html, Part, bar, cell, table, tag

WIDE = 10  # from this many columns on their names stand upright
_FATES = ("boundary", "boundary and type")


def percent(share: float) -> str:
    """A share in percent with two decimals.

    >>> percent(0.93612)
    '93.61'
    """
    return f"{100 * share:.2f}"


def show_scores(scores: Scores) -> Part:
    """Tiles with the scores, and the table by type."""
    tiles = [_tile(name, interval) for name, interval in scores.headline.items()]
    lead = (
        f"Percent. In brackets the interval in which {100 * LEVEL:g} % of {RESAMPLES:,} bootstrap samples of the "
        "sentences lie: differences smaller than that may be chance."
    )
    return Part("Scores", "scores", [tag("div", tiles, cls="tiles")], lead)


def _tile(name: str, interval: Interval) -> Html:
    return tag(
        "div",
        tag("div", name, cls="what"),
        tag("div", percent(interval.score), cls="value"),
        tag("div", f"[{percent(interval.low)}, {percent(interval.high)}]", cls="range"),
        bar(interval.score, low=interval.low, high=interval.high),
        cls="tile",
    )


def show_types(scores: Scores) -> Part:
    """Precision, recall and F1 of each type."""
    what = "type" if scores.has_chunks else "label"
    rows = []
    for each in scores.by_type:
        counts = each.counts
        numbers = [f"{n:,}" for n in (counts.gold, counts.predicted, counts.correct)]
        shares = [percent(counts.precision), percent(counts.recall), tag("b", percent(counts.f1))]
        interval = cell(f"[{percent(each.f1.low)}, {percent(each.f1.high)}]", cls="zero")
        whisker = bar(counts.f1, low=each.f1.low, high=each.f1.high)
        rows.append([kind_name(each.name), *numbers, *shares, interval, whisker])
    header = [what, "true", "predicted", "correct", "precision", "recall", "F1", "interval", ""]
    lead = (
        "A predicted chunk is correct if its type and both its ends are. The grey part of a bar is the interval of F1."
        if scores.has_chunks
        else "Each label against all others. The grey part of a bar is the interval of F1."
    )
    title = "Types" if scores.has_chunks else "Labels"
    return Part(title, "types", [table(header, rows, row_headers=True)], lead)


def kind_name(kind: str) -> str:
    """A type of chunks for people; bare ``B`` and ``I`` have none."""
    return kind or "(chunk)"


# -- confusions -------------------------------------------------------------------------------------------------


def show_spans(confusion: SpanConfusion) -> Part:
    """The matrix of spans: types, wrong boundaries, missed and spurious."""
    names = [kind_name(kind) for kind in confusion.types]
    gold = confusion.same.sum(axis=1) + confusion.true.sum(axis=1)
    found = confusion.same.sum(axis=0) + confusion.predicted.sum(axis=1)
    header = ["true ╲ predicted", *names, *_FATES, "missed", "all"]
    rows = []
    for i, name in enumerate(names):
        said = [f"of {gold[i]:,} true {name}, {n:,} " for n in [*confusion.same[i], *confusion.true[i]]]
        ends = [f"were taken for {other}" for other in names]
        ends[i] = "were found"
        ends += ["overlap a predicted one of the type", "overlap predicted ones of other types"]
        ends.append("were missed")
        titles = [a + b for a, b in zip(said, ends)]
        values = [*confusion.same[i], *confusion.true[i]]
        cells = [_count(n, gold[i], k == i, titles[k], k == len(names)) for k, n in enumerate(values)]
        rows.append([name, *cells, cell(f"{gold[i]:,}", cls="none apart")])
    blank = [cell("", cls="none apart" if k == 0 else "none") for k in range(4)]
    for k, fate in enumerate((*_FATES, "spurious")):
        cells = [
            _count(n, found[j], False, f"of {found[j]:,} predicted {names[j]}, {n:,}: {fate}", False)
            for j, n in enumerate(confusion.predicted[:, k])
        ]
        rows.append([fate, *cells, *blank])
    rows.append(["all", *(cell(f"{n:,}", cls="none") for n in found), *blank])
    shown = matrix(header, rows, len(names))
    lead = (
        "Each row says what became of the true chunks of a type, each column where the predicted ones came from. "
        "Inside: chunks with the same ends, green where the type is right. "
        "Boundary: it overlaps a chunk of its own type that has other ends; boundary and type: it overlaps only chunks "
        "of other types."
    )
    return Part("Confusion of chunks", "chunks", [shown], lead)


def matrix(header: Sequence[Any], rows: Sequence[Sequence[Any]], n_columns: int) -> Html:
    """A table with names on both sides."""
    return table(header, rows, cls="matrix wide" if n_columns > WIDE else "matrix", row_headers=True)


def _count(n: int, total: int, right: bool, title: str, apart: bool) -> Html:
    """A cell of a confusion; errors are coloured by the root of their share, which shows rare ones too."""
    if not n:
        return cell("", cls="none apart" if apart else "none")
    share = n / total
    hue, heat = ("good", share) if right else ("bad", math.sqrt(share))
    return cell(
        f"{n:,}", heat=heat, hue=hue, title=f"{title} ({100 * share:.1f} %)", cls="apart" if apart else None
    )


def show_tokens(
    labels: Sequence[str], counts: np.ndarray, mistakes: Sequence[Mistake], *, folded: bool
) -> Part:
    """The matrix of token labels, behind a fold if chunks are what matters, and the commonest mistakes."""
    rows = []
    for i, name in enumerate(labels):
        total = int(counts[i].sum())
        cells = [
            cell(f"{n:,}", title="among the other labels, right or wrong")
            if name == labels[j] == OTHERS
            else _count(int(n), total, i == j, f"{n:,} of {total:,} {name} became {labels[j]}", False)
            for j, n in enumerate(counts[i])
        ]
        rows.append([name, *cells, cell(f"{total:,}", cls="none apart")])
    header = ["true ╲ predicted", *labels, "all"]
    shown = matrix(header, rows, len(labels))
    if folded:
        shown = tag("details", tag("summary", "The whole matrix of token labels"), shown)
    total = max((mistake.count for mistake in mistakes), default=1)
    listed = []
    for mistake in mistakes:
        count, share = cell(f"{mistake.count:,}", cls="num"), bar(mistake.count / total, hue="bad")
        words = cell(_words(mistake), cls="wrap")
        listed.append([mistake.true, mistake.predicted, count, share, words])
    common = None
    if listed:
        header = ["true", "predicted", "tokens", "", "words, and how often"]
        common = table(header, listed, cls="text", caption="The commonest mistakes")
    lead = "True label of each token (rows) against the predicted one (columns)."
    return Part("Confusion of tokens", "tokens", [common, shown], lead)


def _words(mistake: Mistake) -> list[Any]:
    parts: list[Any] = []
    for word, n in mistake.words:
        parts += [", " if parts else None, tag("code", word), f" {n}" if n > 1 else None]
    rest = mistake.count - sum(n for _, n in mistake.words)
    return [*parts, f", {rest:,} others" if rest else None]
