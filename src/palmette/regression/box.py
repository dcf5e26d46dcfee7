r"""SOSC with a bound on every coefficient: ``min tr[(I - A K)' K_Y (I - A K)] / m``, ``|A_ij| <= c_ij``.

The alternating direction method of multipliers splits the risk from the box. The step on the risk is a division in the
bases of both kernels, where projected gradients crawl if a kernel is ill-conditioned. It finds most of the entries at
their bounds soon, and its last digits late: Anderson's extrapolation makes them cheaper, and turns of a proximal Newton
method, each from where the iteration stands, end it where few entries are still undecided.
"""

from __future__ import annotations

import numpy as np

from palmette.regression.anderson import Anderson
from palmette.regression.box_newton import Watch, proximal_newton
from palmette.regression.box_problem import BoxProblem, size
from palmette.regression.result import RegressionResult
from palmette.regression.ridge import inner
from palmette.regression.spectra import Spectra

RELAXATION = 1.6
CHECK_EVERY = 10
BALANCE = 3.0  # wanted ratio of the relative residuals of split and gradient, by measurement
UNBALANCED = 3.0  # distance from it, as a factor, at which the penalty moves
RARER = 1.15  # waits between moves of the penalty grow by this, so that they end
LONGER = 2.0  # growth of the step at which an extrapolation is taken back
FIRST, TURN, NEWTON = (
    600,
    400,
    300,
)  # iterations before the first turn of Newton's method, between turns, and of each


def box_constrained(
    gram: np.ndarray,
    rows: np.ndarray,
    bound: float | np.ndarray,
    metric: np.ndarray | None = None,
    total: float | None = None,
    tol: float = 1e-8,
    max_iter: int = 3000,
    watch: Watch | None = None,
) -> tuple[np.ndarray, RegressionResult]:
    """``A`` (m, m) and its certificate.

    Optimality is measured at a point of the box: ``h |A - clip(A - grad / h)| / |grad(0)|``, ``h`` the largest
    curvature. An iteration, of either method, turns two matrices between the bases: ``4 m^2 r + 4 m r k`` operations
    at ranks r of outputs and k of inputs.

    Parameters
    ----------
    gram, rows, metric, total
        As for :class:`~palmette.regression.constrained.BallPath`.
    bound : float or ndarray of shape (m, m)
        ``c``, at least 0 and somewhere above.
    tol : float
        Of the optimality conditions.
    max_iter : int
    watch : callable, optional
        Is told iterations and what is left of the optimality conditions there.
    """
    if not (np.all(np.asarray(bound) >= 0.0) and np.any(bound)):
        raise ValueError(
            f"the bound of coefficients must be at least 0, and somewhere above, got {np.min(bound):g}"
        )
    total = float(len(gram) if total is None else total)
    problem = BoxProblem.of(Spectra.of(gram, rows, metric), bound, total)
    point, kkt, n = np.zeros(gram.shape), 0.0, 0
    if problem.steepest > 0.0:
        kkt, split = np.inf, _Split(problem)
        turn, wanted = FIRST, min(FIRST, max_iter)
        while kkt > tol and n < max_iter:
            while n < wanted and kkt > tol:
                n += 1
                split.iterate(n)
                if n % CHECK_EVERY == 0 or n == max_iter:
                    point, kkt = _better(point, kkt, split.point, problem.off_optimum(split.point))
                    if watch is not None:
                        watch(n, kkt)
            if kkt > tol and n < max_iter:
                found = proximal_newton(problem, split.point, tol, min(NEWTON, max_iter - n))
                point, kkt = _better(point, kkt, found.point, found.kkt)
                n, turn = n + found.n_iter, TURN
                if watch is not None:
                    watch(n, kkt)
            wanted = min(n + turn, max_iter)
    return point, _result(gram, rows, metric, total, point, kkt, n, tol)


def _better(point: np.ndarray, kkt: float, other: np.ndarray, its: float) -> tuple[np.ndarray, float]:
    return (other, its) if its <= kkt else (point, kkt)


class _Split:
    """The method of multipliers as an iteration of one table, ``state = point + dual``."""

    def __init__(self, problem: BoxProblem) -> None:
        self.problem = problem
        self.penalty = 1e-3 * problem.curvature
        self.curvature, self.slope = problem.scale**2, problem.scale * problem.target
        shape = (len(problem.outputs), len(problem.inputs))
        self.state = self.point = np.zeros(shape)
        self.memory = Anderson(self.state.size)
        self.wait = self.move = float(CHECK_EVERY)
        self.plain: tuple[np.ndarray, float] | None = None  # where the last plain step led, and its length

    def iterate(self, n: int) -> None:
        """The n-th step; ``point`` is the point of the box that it ends at."""
        problem, before = self.problem, self.problem.clipped(self.state)
        start = 2.0 * before - self.state
        pull = self.slope - self.curvature * problem.turned(start)
        free = start + problem.back(pull / (self.curvature + self.penalty))
        step = RELAXATION * (free - before)
        length = size(step)
        if self.plain is not None and length > LONGER * self.plain[1]:
            self.state, self.plain = self.plain[0], None
            self.memory.forget()
            return
        after = self.state + step
        self.point = problem.clipped(after)
        if n >= self.move and self._rebalance(n, free, before, after):
            self.plain = None
            self.memory.forget()
            return
        self.plain = after, length
        self.state = self.memory.next(self.state, step)

    def _rebalance(self, n: int, free: np.ndarray, before: np.ndarray, after: np.ndarray) -> bool:
        """Change the penalty so that the relative residuals of split and gradient are balanced, if they are not."""
        dual = after - self.point
        apart = size(free - self.point) / max(size(free), 1e-300)
        moved = size(self.point - before) / max(size(dual), 1e-300)
        ratio = apart / max(BALANCE * moved, 1e-300)
        self.wait *= RARER
        self.move = n + self.wait
        if 1.0 / UNBALANCED <= ratio <= UNBALANCED:
            return False
        factor = float(np.clip(np.sqrt(ratio), 0.2, 5.0))
        self.penalty *= factor
        self.state = self.point + dual / factor
        return True


def _result(
    gram: np.ndarray, rows: np.ndarray, metric: np.ndarray | None, total: float, found: np.ndarray, kkt: float,
    n: int, tol: float,
) -> RegressionResult:  # fmt: skip
    residual = rows - gram @ (found.T @ rows)
    return RegressionResult(
        objective=inner(residual, residual, metric) / total,
        kkt=kkt,
        n_steps=n,
        converged=kkt <= tol,
        radius=float(np.abs(found).max(initial=0.0)),
    )
