r"""What the loss of a prediction is at most, from scores: the convex bound and the ramp.

Lemmas 1 and 2 of C. B. Do, Q. Le, C. H. Teo, O. Chapelle and A. Smola, "Tighter bounds for structured estimation"
(NIPS 2008), for outputs that are listed. :func:`palmette.inspection.bound_values` computes the same by inference.
With ``s(y') = f(x, y') - f(x, y)`` and a rescaling G that does not fall (1 for margin rescaling, D for slack
rescaling),

    ``D(y, y_bar) >= ramp >= D(y, y*)``, ``convex >= ramp``

where ``y_bar`` maximises ``G(D) s + D``, and y* is the prediction. (The text swaps the names of the two rescalings.)
"""

from __future__ import annotations

from typing import Any

import numpy as np


def convex_bound(margins: Any, losses: Any, rescaled: Any = 1.0) -> np.ndarray:
    """Lemma 1: ``max_y' [G s(y') + D(y')]``, shape (n_samples,).

    Parameters
    ----------
    margins, losses : arrays of shape (n_samples, n_outputs)
        ``s(y')`` and ``D(y, y')`` of every output; the true one has 0 in both.
    rescaled : float or array of shape (n_samples, n_outputs), default=1
        ``G(D(y, y'))``.

    Examples
    --------
    >>> convex_bound([[0.0, 3.0]], [[0.0, 1.0]])
    array([4.])
    """
    return _largest(margins, losses, rescaled)[0]


def ramp_bound(margins: Any, losses: Any, rescaled: Any = 1.0) -> np.ndarray:
    """Lemma 2: ``max_y' [G s(y') + D(y')] - max_y' G s(y')``; parameters as for :func:`convex_bound`.

    >>> ramp_bound([[0.0, 3.0]], [[0.0, 1.0]])
    array([1.])
    """
    augmented, plain = _largest(margins, losses, rescaled)
    return augmented - plain


def _largest(margins: Any, losses: Any, rescaled: Any) -> tuple[np.ndarray, np.ndarray]:
    margins, losses = np.asarray(margins, float), np.asarray(losses, float)
    if margins.ndim != 2 or margins.shape != losses.shape or not margins.shape[1]:
        raise ValueError(
            f"margins and losses must have the same shape (n_samples, n_outputs), got {margins.shape}, {losses.shape}"
        )
    if not np.all(np.any((margins == 0.0) & (losses == 0.0), axis=1)):
        raise ValueError("every sample needs its true output, with margin 0 and loss 0")
    scaled = np.asarray(rescaled, float) * margins
    return (scaled + losses).max(axis=1), scaled.max(axis=1)
