r"""How far learning from partial annotations can be from the best weights.

Theorem 1.1 (3 in the supplement) of X. Lou, M. Kloft, G. Raetsch and F. A. Hamprecht, "Structured learning from cheap
data" (2014), as a function. The loss of a sample with annotation y is
``l(w) = | max_{y' contradicts y} [f(y') + D(y, y')] - max_{y' agrees} f(y') |_+``; with complete annotations it is the
margin-rescaled hinge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.bounds.arguments import check_numbers, log_inverse

FORMS = ("corrected", "printed", "sharp")


def partial_annotation_bound(
    norm: float, *, m: int, feature_norm: float, largest: float, log_outputs: float, log_annotations: Any = None,
    delta: float = 0.05, form: str = "corrected",
) -> float:  # fmt: skip
    r"""By how much the expected loss can exceed that of the best weights, with probability ``1 - delta``.

    With mu = ``norm``, B = ``feature_norm``, Dmax = ``largest``, N = ``m``:

    ``"corrected"``
        ``[8 |Yp| |Y| (mu B + Dmax) + (2 mu B + Dmax) sqrt(2 ln(2/delta))] / sqrt(N)``. The print has
        ``mu B + Dmax`` in the second term, too. But the loss is a difference of two scores, each between ``-mu B`` and
        ``mu B``, plus D: it reaches ``2 mu B + Dmax``, and McDiarmid's inequality needs that.
    ``"printed"``
        As in the text. Not proven; for comparison.
    ``"sharp"``
        ``[2 |Yp| |Y| mu B + (2 mu B + Dmax) sqrt(2 ln(2/delta))] / sqrt(N)``. The same proof with one-sided steps: the
        deviation counts at the weights found (``2 R_N`` instead of ``4 R_N``) and at the best ones (Hoeffding), the
        contraction of ``|.|_+`` costs no factor 2 without absolute values, and adding a constant to a class does not
        change its complexity.

    Parameters
    ----------
    norm : float
        ``mu``: the weights minimise the mean loss over ``|w| <= mu``.
    m : int
        Training samples.
    feature_norm : float
        ``B >= |phi(x, y)|`` for all inputs and outputs.
    largest : float
        Largest task loss.
    log_outputs, log_annotations : float
        ``ln |Y|`` and ``ln |Yp|``, of all outputs and of all annotations that can occur; as many as outputs by default.
        The bound is proportional to both numbers, and so vacuous for structures of any size.
    delta : float, default=0.05
    form : {"corrected", "printed", "sharp"}

    Examples
    --------
    Two classes, all annotated:

    >>> given = dict(m=10**6, feature_norm=1.0, largest=1.0, log_outputs=np.log(2.0))
    >>> [round(partial_annotation_bound(1.0, form=form, **given), 3) for form in ("corrected", "printed", "sharp")]
    [0.072, 0.069, 0.016]
    """
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(map(repr, FORMS))}, got {form!r}")
    check_numbers(norm=norm, feature_norm=feature_norm, largest=largest)
    check_numbers(least=1, m=m)
    log_annotations = log_outputs if log_annotations is None else log_annotations
    check_numbers(least=0.0, log_outputs=log_outputs, log_annotations=log_annotations)
    score = norm * feature_norm
    with np.errstate(over="ignore"):
        pairs = float(np.exp(np.float64(log_outputs) + np.float64(log_annotations)))
    root = np.sqrt(2.0 * (log_inverse(delta) + np.log(2.0)))
    complexity = 2.0 * score if form == "sharp" else 8.0 * (score + largest)
    reach = (score if form == "printed" else 2.0 * score) + largest
    return float((complexity * pairs + reach * root) / np.sqrt(m))
