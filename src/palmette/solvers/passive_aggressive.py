"""Passive-aggressive learning: the smallest change of the weights that repairs a mistake."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from palmette._kernels.constants import PA, PA_I, PA_II
from palmette.registry import register
from palmette.solvers.online import Online


@register("solver")
@dataclass(frozen=True)
class PassiveAggressive(Online):
    r"""Move the weights as little as a margin over the wrong prediction demands; averaged over all steps.

    Where the prediction :math:`\hat y` differs from the truth y in d labels, with
    :math:`\delta = \phi(x, y) - \phi(x, \hat y)` and the loss :math:`\ell = \sqrt d - \langle w, \delta\rangle`

    .. math:: w \leftarrow w + \tau \delta, \qquad \tau = \ell / |\delta|^2, \quad
              \min(C, \ell / |\delta|^2), \quad \ell / (|\delta|^2 + 1 / (2 C))

    for the variants 0, 1 and 2. Variant 0 is the nearest point at which :math:`\langle w, \delta\rangle = \sqrt d`
    holds; 1 and 2 pay C times the (squared) shortfall instead, which keeps single outliers from moving much. A sample
    weight multiplies C.

    Parameters
    ----------
    variant : {0, 1, 2}
    C : float
        Aggressiveness of the variants 1 and 2.
    error_sensitive : bool
        Whether the margin is :math:`\sqrt d`; 1 otherwise.
    averaged : bool
        Return the average of the weights over all steps, the last weights otherwise.
    max_iter, tol, random_state, callbacks
        As for :class:`palmette.solvers.online.Online`: epochs, and the mean loss of an epoch below which to stop.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer, Online passive-aggressive algorithms, JMLR 7 (2006).

    Examples
    --------
    >>> from palmette import Chain, Perceptron
    >>> X, Y = [[["w=the"], ["w=dog"]], [["w=a"], ["w=dog"]]], [["D", "N"], ["D", "N"]]
    >>> Perceptron(Chain(), solver=PassiveAggressive(C=0.5)).fit(X, Y).predict(X) == Y
    True
    """

    variant: int = 1
    C: float = 1.0
    error_sensitive: bool = True
    averaged: bool = True  # type: ignore[misc]

    name: ClassVar[str] = "passive_aggressive"
    positive: ClassVar = ("max_iter", "C")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant not in (0, 1, 2):
            raise ValueError(f"PassiveAggressive: variant must be 0, 1 or 2, got {self.variant!r}")

    def _rule(self) -> tuple[int, float, bool]:
        return (PA, PA_I, PA_II)[self.variant], self.C, self.error_sensitive
