"""Inspection of fitted models: strongest weights, explanations of predictions, tightness of the bounds."""

from palmette.inspection.contests import Contest, Explanation, Term
from palmette.inspection.explain import Explainer, explain
from palmette.inspection.risk_bounds import BoundValues, bound_values
from palmette.inspection.weights import NamedWeights, Weight, is_nameable

__all__ = [
    "BoundValues",
    "Contest",
    "Explainer",
    "Explanation",
    "NamedWeights",
    "Term",
    "Weight",
    "bound_values",
    "explain",
    "is_nameable",
]
