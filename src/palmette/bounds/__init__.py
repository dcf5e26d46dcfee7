"""Generalisation and convergence bounds from the papers, as functions of numbers.

What computes the numbers from a fitted model is in :mod:`palmette.inspection`.
"""

from palmette.bounds.arguments import level
from palmette.bounds.max_margin import covering_bound, max_margin_bound
from palmette.bounds.partial import partial_annotation_bound
from palmette.bounds.ramp import convex_bound, ramp_bound
from palmette.bounds.regression import (
    compression_bound,
    loss_constant,
    noise_term,
    output_kernel_loss,
    pac_bayes_bound,
    quadratic_bound,
    saturated_bound,
)
from palmette.bounds.structure import (
    convergence_rate,
    convergence_steps,
    lipschitz_stability,
    loss_stability,
    overfit_bound,
    overfit_bound_short,
    sample_loss_stability,
    stability,
    stability_bound,
    to_lambda,
)

__all__ = [
    "compression_bound", "convergence_rate", "convergence_steps", "convex_bound", "covering_bound", "level",
    "lipschitz_stability", "loss_constant", "loss_stability", "max_margin_bound", "noise_term", "output_kernel_loss",
    "overfit_bound", "overfit_bound_short", "pac_bayes_bound", "partial_annotation_bound", "quadratic_bound",
    "ramp_bound", "sample_loss_stability", "saturated_bound", "stability", "stability_bound", "to_lambda",
]  # fmt: skip
