"""The report on a ranker: one page with measures and intervals, the worst queries, and a comparison."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette import __version__
from palmette.apps.ranking.evaluation import CUTS, RankingEvaluation, evaluate_scores
from palmette.apps.ranking.show import (
    show_comparison,
    show_distribution,
    show_ranks,
    show_scores,
    show_weights,
    show_worst,
)
from palmette.data.letor import Queries
from palmette.io import write_atomically
from palmette.metrics import Comparison, Interval, Tally, bootstrap_interval, compare, tally_queries
from palmette.page import Part, contents, facts, page, tag

RESAMPLES = 2000


@dataclass(frozen=True)
class RankingReport:
    """An evaluation of scores of documents for people to read, made by :func:`report_on_scores`.

    Parameters
    ----------
    title : str
    queries : Queries
    scores : list of ndarray of shape (n_documents,)
        Higher is better.
    evaluation : RankingEvaluation
    intervals : dict of str to Interval
        The means over queries, with bootstrap intervals over queries.
    worst : int
        Number of queries to show.
    baseline : RankingEvaluation, optional
        Of another model on the same queries, and under which name.
    baseline_name : str
    comparisons : dict of str to Comparison
        Of the same measures, paired by query; empty without a baseline.
    weights : sequence of (str, float), optional
        Names of features and their weights.
    """

    title: str
    queries: Queries
    scores: Sequence[np.ndarray]
    evaluation: RankingEvaluation
    intervals: dict[str, Interval]
    worst: int
    baseline: RankingEvaluation | None
    baseline_name: str
    comparisons: dict[str, Comparison]
    weights: Sequence[tuple[str, float]] = ()

    def parts(self) -> list[Part]:
        """The parts of the page, in order; what does not apply is left out."""
        found = [show_scores(self.intervals, RESAMPLES)]
        if self.baseline is not None:
            pair = self.evaluation, self.baseline
            found.append(show_comparison(self.comparisons, *pair, self.baseline_name, self.queries.ids))
        found += [
            show_ranks(self.evaluation, self.baseline),
            show_distribution(self.queries, self.evaluation),
            show_worst(self.queries, self.scores, self.evaluation, self.worst),
        ]
        if self.weights:
            found.append(show_weights(self.weights))
        return found

    def comparison_record(self) -> dict[str, Any] | None:
        """The comparison for JSON: of each measure the difference, its interval and p-value."""
        if self.baseline is None:
            return None
        keys = ("difference", "low", "high", "p_value")
        return {name: {key: getattr(c, key) for key in keys} for name, c in self.comparisons.items()}

    def html(self) -> str:
        """The report as one page that needs no other file."""
        parts = self.parts()
        about = facts([("data", f"{self.queries.source}: {self.queries.describe()}")])
        head = tag("header", tag("h1", self.title), about, contents(parts))
        foot = tag("footer", f"Written by palmette {__version__}.")
        return page(self.title, head, *(part.html() for part in parts), foot)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which appears when it is complete."""
        with write_atomically(path) as file:
            file.write(self.html().encode("utf-8"))


def report_on_scores(
    queries: Queries,
    scores: Sequence[np.ndarray],
    *,
    baseline: Sequence[np.ndarray] | None = None,
    baseline_name: str = "baseline",
    weights: Sequence[tuple[str, float]] = (),
    title: str = "Ranking",
    worst: int = 10,
) -> RankingReport:
    """Report on scores of documents, wherever they come from.

    Parameters
    ----------
    queries : Queries
        As `palmette.data.read_letor` returns them.
    scores : list of ndarray
        A score for each document of each query, higher is better.
    baseline : list of ndarray, optional
        Scores of another model for the same documents, to compare with.
    baseline_name, title : str
    weights : sequence of (str, float), optional
        Names of features and their weights.
    worst : int, default=10
        Queries to show.

    Returns
    -------
    RankingReport

    Examples
    --------
    >>> import io
    >>> from palmette.data import read_letor
    >>> text = "2 qid:1 1:3\\n0 qid:1 1:1\\n1 qid:2 1:5\\n0 qid:2 1:4\\n"
    >>> queries = read_letor("-", stream=io.StringIO(text))
    >>> report = report_on_scores(queries, [[1.0, 0.0], [0.0, 1.0]], baseline=[[1.0, 0.0], [1.0, 0.0]])
    >>> report.evaluation.headline()
    'NDCG@10 1.0000, MAP 0.7500'
    >>> report.comparisons["MAP"].difference
    -0.25
    """
    if not len(queries):
        raise ValueError("there are no queries to report on")
    evaluation = evaluate_scores(queries.y, scores)
    tallies = _tallies(evaluation)
    intervals = {name: bootstrap_interval(tally, n_resamples=RESAMPLES) for name, tally in tallies.items()}
    other, comparisons = None, {}
    if baseline is not None:
        other = evaluate_scores(queries.y, baseline)
        theirs = _tallies(other)
        comparisons = {
            name: compare(tally, theirs[name], n_resamples=RESAMPLES) for name, tally in tallies.items()
        }
    return RankingReport(
        title, queries, [np.asarray(s, float) for s in scores], evaluation, intervals, worst, other,
        baseline_name, comparisons, weights,
    )  # fmt: skip


def _tallies(evaluation: RankingEvaluation) -> dict[str, Tally]:
    """The measures that are compared, query by query."""
    ndcg = {f"NDCG@{k}": evaluation.ndcg[:, CUTS.index(k)] for k in (1, 3, 5, 10)}
    others = {"MAP": evaluation.average_precision, "reciprocal rank": evaluation.reciprocal_rank}
    return {name: tally_queries(name, values) for name, values in (ndcg | others).items()}
