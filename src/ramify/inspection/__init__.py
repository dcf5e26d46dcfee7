"""Looking into fitted models: their strongest weights, and why a label won."""

from ramify.inspection.contests import Contest, Explanation, Term
from ramify.inspection.explain import Explainer, explain
from ramify.inspection.weights import NamedWeights, Weight, is_nameable

__all__ = ["Contest", "Explainer", "Explanation", "NamedWeights", "Term", "Weight", "explain", "is_nameable"]
