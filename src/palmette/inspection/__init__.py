"""Inspection of fitted models: strongest weights, explanations of predictions, tightness of the bounds."""

from palmette.inspection.bound import Bound
from palmette.inspection.bounds_report import BoundsReport
from palmette.inspection.contests import Contest, Explanation, Term
from palmette.inspection.explain import Explainer, explain
from palmette.inspection.margin_loss import MarginLosses, margin_loss, margin_losses
from palmette.inspection.risk_bounds import BoundValues, bound_values
from palmette.inspection.weights import NamedWeights, Weight, is_nameable

__all__ = [
    "Bound",
    "BoundValues",
    "BoundsReport",
    "Contest",
    "Explainer",
    "Explanation",
    "MarginLosses",
    "NamedWeights",
    "Term",
    "Weight",
    "bound_values",
    "explain",
    "is_nameable",
    "margin_loss",
    "margin_losses",
]
