"""What a regression proves of its solution."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RegressionResult:
    """Certificate of a regression.

    Attributes
    ----------
    objective : float
        Value of what is minimised.
    kkt : float
        Norm of what is left of the optimality conditions, divided by the norm of the gradient at zero.
    n_steps : int
        Newton steps to the multiplier (ball), iterations of ADMM and of the conjugate gradients inside its Newton
        steps (box), or of conjugate gradients; 0 where the solution is a closed form.
    converged : bool
    multiplier : float
        ``b`` of the constraint ``|A|_F <= R``: 0 where it does not bind.
    radius : float
        Norm that the constraint bounds: ``|A|_F`` of the ball, ``max |A_ij|`` of the box; NaN where none does.
    """

    objective: float
    kkt: float
    n_steps: int = 0
    converged: bool = True
    multiplier: float = 0.0
    radius: float = float("nan")
