"""Ranking of documents: learners, files, evaluation; a rival to compare with, and choices on validation queries."""

from palmette.apps.ranking.evaluation import RankingEvaluation, evaluate_scores
from palmette.apps.ranking.learners import make_ranker
from palmette.apps.ranking.pairwise_svm import PairwiseSVM
from palmette.apps.ranking.ranker import Ranker
from palmette.apps.ranking.selection import Selected, select

__all__ = [
    "PairwiseSVM",
    "Ranker",
    "RankingEvaluation",
    "Selected",
    "evaluate_scores",
    "make_ranker",
    "select",
]
