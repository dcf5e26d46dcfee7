"""Rankings as parts of a page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palmette.apps.ranking.evaluation import CUTS, RankingEvaluation
from palmette.data.letor import Queries
from palmette.metrics import Comparison, Interval
from palmette.page import Html, Part, bar, cell, table, tag

TOP = 10  # documents of a query that are shown
BURIED = 3  # relevant documents below them that are shown, too
MOST_WEIGHTS = 15
MOST_CHANGED = 5


def show_scores(intervals: dict[str, Interval], n_resamples: int) -> Part:
    """Tiles with the means over queries."""
    tiles = [
        tag(
            "div",
            tag("div", name, cls="what"),
            tag("div", f"{each.score:.4f}", cls="value"),
            tag("div", f"[{each.low:.4f}, {each.high:.4f}]", cls="range"),
            bar(each.score, low=each.low, high=each.high),
            cls="tile",
        )
        for name, each in intervals.items()
    ]
    level = next(iter(intervals.values())).level
    lead = (
        f"Means over queries. In brackets the interval in which {100 * level:g} % of {n_resamples:,} bootstrap samples "
        "of the queries lie: differences smaller than that may be chance."
    )
    return Part("Scores", "scores", [tag("div", tiles, cls="tiles")], lead)


def show_comparison(
    comparisons: dict[str, Comparison],
    own: RankingEvaluation,
    other: RankingEvaluation,
    name: str,
    ids: Sequence[str],
) -> Part:
    """Differences of two models on the same queries."""
    rows = []
    for measure, each in comparisons.items():
        sure = each.low > 0 or each.high < 0
        verdict = ("better" if each.difference > 0 else "worse") if sure else "may be chance"
        hue = "missed" if sure and each.difference < 0 else "met" if sure else "zero"
        interval = f"[{each.low:+.4f}, {each.high:+.4f}]"
        rows.append(
            [measure, f"{each.difference:+.4f}", interval, f"{each.p_value:.2g}", cell(verdict, cls=hue)]
        )
    change = own.ndcg[:, -1] - other.ndcg[:, -1]
    wins, losses = int((change > 1e-12).sum()), int((change < -1e-12).sum())
    counts = f"By NDCG@{CUTS[-1]}: {wins:,} queries better, {losses:,} worse, {len(change) - wins - losses:,} equal."
    order = np.argsort(change, kind="stable")
    changed = [*order[::-1][: min(MOST_CHANGED, wins)], *order[: min(MOST_CHANGED, losses)][::-1]]
    listed = [
        [ids[q], f"{other.ndcg[q, -1]:.4f}", f"{own.ndcg[q, -1]:.4f}", f"{change[q]:+.4f}"] for q in changed
    ]
    body = [table(["measure", "difference", "interval", "p", ""], rows, row_headers=True), tag("p", counts)]
    if listed:
        header = ["query", name, "this model", "difference"]
        body.append(
            table(header, listed, caption="Queries with the largest gains and losses", row_headers=True)
        )
    lead = (
        f"This model minus {name}, paired by query: intervals by the bootstrap over queries, p-values by exchanging "
        "the two models at random."
    )
    return Part("Comparison", "comparison", body, lead)


def show_ranks(own: RankingEvaluation, other: RankingEvaluation | None) -> Part:
    """NDCG and precision by rank."""
    rows = []
    for name, values in (("NDCG", own.ndcg), ("precision", own.precision)):
        rows.append([name, *(f"{value:.4f}" for value in values.mean(axis=0))])
    if other is not None:
        for name, values in (("baseline NDCG", other.ndcg), ("baseline precision", other.precision)):
            rows.append([name, *(cell(f"{value:.4f}", cls="zero") for value in values.mean(axis=0))])
    lead = (
        "Means over queries at each rank; documents with equal scores count as the mean of all their orders."
    )
    return Part("Ranks", "ranks", [table(["", *(f"@{k}" for k in CUTS)], rows, row_headers=True)], lead)


def show_distribution(queries: Queries, own: RankingEvaluation) -> Part:
    """How NDCG@10 is distributed over the queries that have relevant documents."""
    relevant = np.array([bool(y.any()) for y in queries.y])
    values = own.ndcg[relevant, -1]
    edges = np.linspace(0.0, 1.0, 11)
    counts, _ = np.histogram(values, edges)
    most = max(int(counts.max(initial=0)), 1)
    rows = [
        [f"{low:.1f} to {high:.1f}", f"{n:,}", bar(n / most)]
        for low, high, n in zip(edges[:-1], edges[1:], counts)
    ]
    quartiles = (
        ", ".join(f"{v:.3f}" for v in np.quantile(values, (0.25, 0.5, 0.75))) if len(values) else "none"
    )
    n_without = int((~relevant).sum())
    without = f" {n_without:,} queries without relevant documents are left out here and score 0 in all means."
    lead = f"Queries by their NDCG@{CUTS[-1]}; quartiles {quartiles}.{without if n_without else ''}"
    return Part(
        "Queries", "queries", [table([f"NDCG@{CUTS[-1]}", "queries", ""], rows, row_headers=True)], lead
    )


def show_worst(queries: Queries, scores: Sequence[np.ndarray], own: RankingEvaluation, worst: int) -> Part:
    """The queries of lowest NDCG, with their first documents and the relevant ones that came too late."""
    value = own.ndcg[:, -1]
    chosen = [q for q in np.argsort(value, kind="stable") if queries.y[q].any() and value[q] < 1 - 1e-9][
        :worst
    ]
    body = [_query(queries, scores[q], q, value[q]) for q in chosen] or [tag("p", "No query has a mistake.")]
    lead = (
        f"Of the queries with relevant documents those of lowest NDCG@{CUTS[-1]}: the first {TOP} documents, and the "
        "first relevant ones below. The stronger the green, the higher the grade."
    )
    return Part("Worst queries", "worst", body, lead)


def _query(queries: Queries, scores: np.ndarray, q: int, value: float) -> Html:
    grades, highest = queries.y[q], max(int(queries.y[q].max()), 1)
    order = np.argsort(-scores, kind="stable")
    below = [rank for rank in range(TOP, len(order)) if grades[order[rank]] > 0]
    rows = []
    for rank in [*range(min(TOP, len(order))), *below[:BURIED]]:
        d = order[rank]
        grade = cell(int(grades[d]), heat=grades[d] / highest, hue="good")
        text = cell(queries.comments[q][d], cls="wrap")
        rows.append([rank + 1, grade, f"{scores[d]:.4g}", int(queries.lines[q][d]), text])
    said = (
        f"NDCG@{CUTS[-1]} {value:.4f}; {len(order):,} documents, {int((grades > 0).sum()):,} of them relevant"
    )
    if len(below) > BURIED:
        said += f", {len(below) - BURIED:,} of these further down"
    shown = table(["rank", "grade", "score", "line", "comment"], rows, cls="text")
    return tag("div", tag("h3", f"Query {queries.ids[q]}"), tag("p", said, cls="small"), shown)


def show_weights(weights: Sequence[tuple[str, float]]) -> Part:
    """The features of largest weight, of either sign."""
    ranked = sorted((pair for pair in weights if pair[1]), key=lambda pair: -abs(pair[1]))[:MOST_WEIGHTS]
    strongest = abs(ranked[0][1]) if ranked else 1.0
    rows = [
        [name, f"{w:+.4g}", bar(abs(w) / strongest, hue="cool" if w > 0 else "warm")] for name, w in ranked
    ]
    lead = "Of either sign: documents with large values of a blue feature rise, of an amber one they fall."
    return Part(
        "Strongest features", "features", [table(["feature", "weight", ""], rows, row_headers=True)], lead
    )
