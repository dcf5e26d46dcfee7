"""Ranking of documents: learners, files, evaluation; a rival to compare with, and choices on validation queries."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from palmette.apps.ranking.evaluation import RankingEvaluation, evaluate_scores
    from palmette.apps.ranking.learners import make_ranker
    from palmette.apps.ranking.pairwise_svm import PairwiseSVM
    from palmette.apps.ranking.ranker import Ranker
    from palmette.apps.ranking.report import RankingReport, report_on_scores
    from palmette.apps.ranking.selection import Selected, select

_HOME = {
    "PairwiseSVM": "pairwise_svm",
    "Ranker": "ranker",
    "RankingEvaluation": "evaluation",
    "RankingReport": "report",
    "Selected": "selection",
    "evaluate_scores": "evaluation",
    "make_ranker": "learners",
    "report_on_scores": "report",
    "select": "selection",
}
__all__ = [
    "PairwiseSVM",
    "Ranker",
    "RankingEvaluation",
    "RankingReport",
    "Selected",
    "evaluate_scores",
    "make_ranker",
    "report_on_scores",
    "select",
]


def __getattr__(name: str) -> Any:
    # Imported when first used: the command line reads the options of this task without its learners.
    if name in _HOME:
        return getattr(importlib.import_module(f"palmette.apps.ranking.{_HOME[name]}"), name)
    raise AttributeError(f"module 'palmette.apps.ranking' has no attribute {name!r}")
