"""Anderson's extrapolation of a fixed-point iteration on large arrays, ``x <- x + step(x)``."""

from __future__ import annotations

import numpy as np

MEMORY = 15
RIDGE = 1e-10  # of the least-squares problem, relative


class Anderson:
    """The last points and their steps, and where they lead.

    Of all combinations of the points, weights summing to 1, the one with the shortest step is taken, and that step is
    made from there.

    Examples
    --------
    >>> memory, x = Anderson(1), np.array([0.0])
    >>> for _ in range(2):  # step(x) = (1 - x) / 10
    ...     x = memory.next(x, (1.0 - x) / 10.0)
    >>> x.round(6)
    array([1.])
    """

    def __init__(self, n: int) -> None:
        self._moved, self._changed = np.empty((MEMORY, n)), np.empty((MEMORY, n))  # of points and of steps
        self._gram = np.zeros((MEMORY, MEMORY))
        self.forget()

    def forget(self) -> None:
        """Begin anew: the iteration has changed."""
        self._count = 0
        self._last: tuple[np.ndarray, np.ndarray] | None = None

    def next(self, x: np.ndarray, step: np.ndarray) -> np.ndarray:
        """The point to go on with, from the point ``x`` and its step, of the same shape."""
        if self._last is not None:
            place = self._count % MEMORY
            np.subtract(x.ravel(), self._last[0].ravel(), out=self._moved[place])
            np.subtract(step.ravel(), self._last[1].ravel(), out=self._changed[place])
            self._count += 1
            known = min(self._count, MEMORY)
            self._gram[place, :known] = self._changed[:known] @ self._changed[place]
            self._gram[:known, place] = self._gram[place, :known]
        self._last = x, step
        known = min(self._count, MEMORY)
        if not known:
            return x + step
        gram = self._gram[:known, :known]
        damped = gram + RIDGE * np.trace(gram) * np.eye(known)
        if not damped.any():  # the steps are all the same
            return x + step
        weights = np.linalg.solve(damped, self._changed[:known] @ step.ravel())
        gone = weights @ self._moved[:known] + weights @ self._changed[:known]
        return x + step - gone.reshape(x.shape)
