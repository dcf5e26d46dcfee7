"""Ranking of documents: learners, files, evaluation; a rival to compare with, and choices on validation queries."""

from ramify.apps.ranking.evaluation import RankingEvaluation, evaluate_scores
from ramify.apps.ranking.learners import make_ranker
from ramify.apps.ranking.pairwise_svm import PairwiseSVM
from ramify.apps.ranking.ranker import Ranker
from ramify.apps.ranking.selection import Selected, select

__all__ = [
    "PairwiseSVM",
    "Ranker",
    "RankingEvaluation",
    "Selected",
    "evaluate_scores",
    "make_ranker",
    "select",
]
