"""How far mistake-driven learners go; the rules are those of ``palmette._kernels.constants``."""

from __future__ import annotations

from palmette._kernels.constants import PA, PA_I, PA_II, PERCEPTRON
from palmette._kernels.jit import kernel


@kernel()
def step_size(rule, cost, norm, strength):
    """How far to go along the difference of true and predicted counts, whose squared norm is ``norm``."""
    # PA: the least step with zero loss after it; PA-I caps it at ``strength``; PA-II and AROW damp it (for AROW
    # ``norm`` is delta^T Sigma delta). The caller skips norm = 0.
    if rule == PERCEPTRON:
        return strength
    if rule == PA:
        return cost / norm
    if rule == PA_I:
        return min(strength, cost / norm)
    if rule == PA_II:
        return cost / (norm + 0.5 / strength)
    return cost / (norm + strength)
