"""The limited-memory BFGS estimate of an inverse Hessian, in its compact matrix form."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

_LEAST_CURVATURE = 1e-12  # cosine between the changes of point and gradient


class InverseHessian:
    """Inverse Hessian estimate from the last ``memory`` changes ``s`` of the point and ``y`` of the gradient.

    With R the upper triangle of ``<s_i, y_j>`` (old to new), D its diagonal and ``c = <s, y> / <y, y>`` of the
    newest pair, ``H = c I + [S cY] [[R^-T (D + c Y'Y) R^-1, -R^-T], [-R^-1, 0]] [S cY]'``. That equals the
    two-loop recursion, but works on all pairs at once: two thirds of its time for 450,000 weights.

    A diagonal guess of H may take the place of I (``rescale``): all of this then happens in the variables ``w / root``,
    root the square root of the guess.

    Examples
    --------
    It maps the newest gradient change to the newest change of the point:

    >>> estimate = InverseHessian(2, memory=5)
    >>> estimate.update(np.array([1.0, 0.0]), np.zeros(2), np.array([4.0, 1.0]), np.zeros(2))
    True
    >>> estimate.times(np.array([4.0, 1.0]))
    array([1., 0.])
    """

    def __init__(self, n_params: int, memory: int) -> None:
        self.memory = memory
        self._root: np.ndarray | None = None
        self._pairs = np.empty((2 * memory, n_params))  # s and y of a pair in neighbouring rows
        self._sy = np.zeros((memory, memory))
        self._yy = np.zeros((memory, memory))
        self._seen = 0

    def __len__(self) -> int:
        return min(self._seen, self.memory)

    def clear(self) -> None:
        """Forget all pairs; the estimate is the identity again, or the diagonal guess."""
        self._seen = 0

    def rescale(self, diagonal: np.ndarray) -> None:
        """Replace the diagonal guess; the pairs are kept."""
        root, n = np.sqrt(diagonal), len(self)
        change = root if self._root is None else root / self._root
        self._pairs[0 : 2 * n : 2] /= change
        self._pairs[1 : 2 * n : 2] *= change
        y = self._pairs[1 : 2 * n : 2]
        self._yy[:n, :n] = y @ y.T
        self._root = root

    def update(self, w: np.ndarray, w_before: np.ndarray, g: np.ndarray, g_before: np.ndarray) -> bool:
        """Take the changes of point and gradient in place of the oldest pair.

        Without curvature between the two points it forgets all pairs instead, and the answer is false.
        """
        place = self._seen % self.memory
        s = np.subtract(w, w_before, out=self._pairs[2 * place])
        y = np.subtract(g, g_before, out=self._pairs[2 * place + 1])
        if self._root is not None:
            s /= self._root
            y *= self._root
        if not float(s @ y) > _LEAST_CURVATURE * np.sqrt(float(s @ s) * float(y @ y)):
            self.clear()
            return False
        self._seen += 1
        n = len(self)
        with_y = self._pairs[: 2 * n] @ y
        self._sy[:n, place] = with_y[0::2]
        self._yy[:n, place] = self._yy[place, :n] = with_y[1::2]
        # <s_new, y_i> of older pairs stands below the diagonal of R and is never read.
        return True

    def times(self, g: np.ndarray) -> np.ndarray:
        """``H g``."""
        if self._root is None:
            return self._times(g)
        product = self._times(self._root * g)
        product *= self._root
        return product

    def _times(self, g: np.ndarray) -> np.ndarray:
        n = len(self)
        if not n:
            return g.copy()
        # Pairs stand in a ring buffer; R and Y'Y are read in the order of age. Two passes over the pairs,
        # O(memory x weights), and O(memory^2) for the triangular systems.
        order = np.arange(self._seen - n, self._seen) % self.memory  # old to new
        both = np.ix_(order, order)
        upper, yy = np.triu(self._sy[both]), self._yy[both]
        scale = upper[-1, -1] / yy[-1, -1]
        with_g = self._pairs[: 2 * n] @ g
        x = solve_triangular(upper, with_g[0::2][order], check_finite=False)
        shares = np.empty(2 * n)
        rest = upper.diagonal() * x + scale * (yy @ x - with_g[1::2][order])
        shares[2 * order] = solve_triangular(upper, rest, trans=1, check_finite=False)
        shares[2 * order + 1] = -scale * x
        product = shares @ self._pairs[: 2 * n]
        product += scale * g
        return product
