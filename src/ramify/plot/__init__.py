"""Plots of models and their training, as scikit-learn's displays; drawing one imports matplotlib."""

from ramify.plot.bounds import BoundDisplay
from ramify.plot.convergence import ConvergenceDisplay
from ramify.plot.marginals import MarginalsDisplay
from ramify.plot.transitions import TransitionsDisplay

__all__ = ["BoundDisplay", "ConvergenceDisplay", "MarginalsDisplay", "TransitionsDisplay"]
