"""Generalisation and convergence bounds from the papers."""

from palmette.bounds.max_margin import covering_bound, margin_loss, max_margin_bound
from palmette.bounds.structure import (
    convergence_rate,
    convergence_steps,
    loss_stability,
    overfit_bound,
    overfit_bound_short,
    sample_loss_stability,
    stability,
    to_lambda,
)

__all__ = [
    "convergence_rate", "convergence_steps", "covering_bound", "loss_stability", "margin_loss", "max_margin_bound",
    "overfit_bound", "overfit_bound_short", "sample_loss_stability", "stability", "to_lambda",
]  # fmt: skip
