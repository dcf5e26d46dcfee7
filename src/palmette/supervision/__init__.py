"""Supervision that costs less: questions that a learner asks by itself."""

from palmette.supervision.active import ActiveLearner
from palmette.supervision.evaluation import Evaluation
from palmette.supervision.questions import Question
from palmette.supervision.stopping import StoppingRule
from palmette.supervision.strategies import STRATEGIES, Strategy

__all__ = ["STRATEGIES", "ActiveLearner", "Evaluation", "Question", "StoppingRule", "Strategy"]
