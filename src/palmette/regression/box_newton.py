r"""The last digits of SOSC over a box: the proximal point method, each step by Newton's method in the dual.

A step goes from ``B`` to the minimum of ``|S A - t|^2 / 2 + |A - B|^2 / (2 sigma)`` over the box. With dual variables
``y`` of the residual ``S A - t``, of shape (r, k), it is ``A(y) = clip(B - sigma S'y)`` where

    ``phi(y) = |y|^2 / 2 + <t, y> - <S'y, A(y)> - |A(y) - B|^2 / (2 sigma)``

is least: a smooth convex function with the gradient ``y + t - S A(y)`` and the Hessian ``I + sigma S P S'``, where P
keeps the entries inside the box. Conjugate gradients solve Newton's equations. Their preconditioner has the blocks of
the Hessian that belong to groups of rows of ``y`` (all of it, where there is one group, or no sample is in two), or,
where blocks would be too large, the diagonal ``1 + sigma p s^2``, p the share of free entries. The larger sigma, the
fewer steps and the harder each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from palmette.regression.box_problem import BoxProblem, size

FIRST = 1e4  # sigma, relative to 1 / curvature
FACTOR = 10.0  # by which sigma grows after a step that was cheap, and falls after one that was given up
BUDGET = 200  # iterations of a step
CHEAP = 70
CLOSE = (
    0.2  # gradient of phi, relative to the distance of the step from optimality, at which it counts as done
)
FORCING = 0.1  # relative residual of Newton's equations
SHORTEST = 1e-6  # step of a line search
Watch = Callable[[int, float], None]


class Arrived(NamedTuple):
    """The best point met, what is left of its optimality conditions, and the iterations it took."""

    point: np.ndarray
    kkt: float
    n_iter: int


def proximal_newton(
    problem: BoxProblem, start: np.ndarray, tol: float, max_iter: int, watch: Watch | None = None
) -> Arrived:
    """From a point of the box to optimality ``tol``; an iteration is one of conjugate gradients or a look."""
    best = Arrived(start, problem.off_optimum(start), 1)
    sigma, centre, n = FIRST / problem.curvature, start, 1
    while best.kkt > tol and n < max_iter:
        step = _Step(problem, centre, sigma, tol)
        limit = min(n + BUDGET, max_iter)
        begun = n
        while True:
            n += 1
            kkt = step.off_optimum()
            if kkt < best.kkt:
                best = Arrived(step.point, kkt, n)
            if watch is not None:
                watch(n, kkt)
            if kkt <= tol or step.done() or n + 1 >= limit:
                break
            n += step.move(limit - n - 1)  # and one for the look behind it
        if step.done():
            centre = step.point
            sigma *= FACTOR if n - begun <= CHEAP else 1.0
        else:
            sigma /= FACTOR
    return best._replace(n_iter=n)


class _Step:
    """One step of the proximal point method, and where Newton's method has got."""

    def __init__(self, problem: BoxProblem, centre: np.ndarray, sigma: float, tol: float) -> None:
        self.problem, self.centre, self.sigma = problem, centre, sigma
        self.least = 0.3 * tol * problem.steepest
        self.dual = problem.scale * problem.turned(centre) - problem.target
        self.pulled = problem.back(problem.scale * self.dual)  # S'y
        self._look()

    def _look(self) -> None:
        """The point of the dual variables, its image, and the gradient of phi."""
        before = self.centre - self.sigma * self.pulled
        self.point = self.problem.clipped(before)
        self.free = np.abs(before) < self.problem.bound
        self.image = self.problem.scale * self.problem.turned(self.point)
        self.gradient = self.dual + self.problem.target - self.image

    def off_optimum(self) -> float:
        """Of the point, in the problem itself."""
        return self.problem.off_optimum(self.point, self.image)

    def done(self) -> bool:
        """Whether what is left of this step is little beside what the step leaves."""
        left = size(self.point - self.centre) / self.sigma
        return size(self.problem.scale * self.gradient) <= CLOSE * max(left, self.least)

    def move(self, limit: int) -> int:
        """One step of Newton's method; the number of iterations, at most ``limit``."""
        direction, pulled, n = self._direction(limit)
        slope, here, length = (
            float(np.vdot(self.gradient, direction)),
            self._value(self.dual, self.pulled),
            1.0,
        )
        rounding = 1e-14 * abs(here)
        while length > SHORTEST:
            there = self._value(self.dual + length * direction, self.pulled + length * pulled)
            if there <= here + 1e-4 * length * slope + rounding:
                break
            length /= 2.0
        self.dual = self.dual + length * direction
        self.pulled = self.pulled + length * pulled
        self._look()
        return n

    def _direction(self, limit: int) -> tuple[np.ndarray, np.ndarray, int]:
        """Newton's direction, ``S'`` of it, and the iterations of conjugate gradients."""
        problem = self.problem
        scale, solve = problem.scale, self._roughly()
        found, pulled = np.zeros_like(self.dual), np.zeros_like(self.pulled)
        residual = -self.gradient
        ready = solve(residual)
        direction, power, n = ready, float(np.vdot(residual, ready)), 0
        wanted = FORCING**2 * power
        while power > wanted and n < limit:
            n += 1
            inside = problem.back(scale * direction)
            image = direction + self.sigma * scale * problem.turned(np.where(self.free, inside, 0.0))
            length = power / float(np.vdot(direction, image))
            found += length * direction
            pulled += length * inside
            residual = residual - length * image
            ready = solve(residual)
            last, power = power, float(np.vdot(residual, ready))
            direction = ready + power / last * direction
        return found, pulled, n

    def _roughly(self) -> Callable[[np.ndarray], np.ndarray]:
        """What solves Newton's equations without the parts between rows of ``y`` in different groups."""
        problem = self.problem
        if not problem.groups:
            diagonal = 1.0 + self.sigma * float(self.free.mean()) * problem.scale**2
            return lambda right: right / diagonal
        factors = [cho_factor(self._block(rows), lower=True, overwrite_a=True) for rows in problem.groups]

        def solve(right: np.ndarray) -> np.ndarray:
            parts = [
                cho_solve(factor, right[rows].ravel()).reshape(-1, right.shape[1])
                for factor, rows in zip(factors, problem.groups)
            ]
            return np.concatenate(parts)

        return solve

    def _block(self, rows: slice) -> np.ndarray:
        """The Hessian of some rows of ``y``, its lower half."""
        problem = self.problem
        own, inputs = problem.outputs[:, rows], problem.inputs
        n, k = own.shape[1], inputs.shape[1]
        block = np.zeros((n, k, n, k))
        for i in range(n):
            for j in range(i + 1):
                share = (own[:, i] * own[:, j]) @ self.free
                block[i, :, j] = inputs.T @ (share[:, None] * inputs)
        found = block.reshape(n * k, n * k)
        scale = problem.scale[rows].ravel()
        found *= self.sigma * scale[:, None]
        found *= scale
        found.flat[:: n * k + 1] += 1.0
        return found

    def _value(self, dual: np.ndarray, pulled: np.ndarray) -> float:
        point = self.problem.clipped(self.centre - self.sigma * pulled)
        moved = point - self.centre
        return float(
            0.5 * np.vdot(dual, dual) + np.vdot(self.problem.target, dual) - np.vdot(pulled, point)
            - np.vdot(moved, moved) / (2.0 * self.sigma)
        )  # fmt: skip
