"""Supervision that costs less: questions that a learner asks by itself, and transfer between domains."""

from palmette.supervision.active import ActiveLearner
from palmette.supervision.evaluation import Evaluation
from palmette.supervision.questions import Question
from palmette.supervision.stopping import StoppingRule
from palmette.supervision.strategies import STRATEGIES, Strategy
from palmette.supervision.transfer import Transfer
from palmette.supervision.transfer_comparison import TransferComparison, compare_transfer

__all__ = [
    "STRATEGIES",
    "ActiveLearner",
    "Evaluation",
    "Question",
    "StoppingRule",
    "Strategy",
    "Transfer",
    "TransferComparison",
    "compare_transfer",
]
