"""The constrained regression as a general convex program, solved by Clarabel."""

from __future__ import annotations

import clarabel
import numpy as np
from scipy import sparse


def least_risk(gram, rows, *, radius=None, box=None):
    """``min |rows' (I - A K)|^2 / m`` over ``|A|_F <= radius`` or ``|A_ij| <= box``.

    The residuals are variables of their own, so that the program does not square the kernel, and the constraint has
    the radius 1.
    """
    (m, q), n, size = rows.shape, len(gram) ** 2, radius or box
    residuals = sparse.hstack([sparse.csr_matrix(size * np.kron(rows.T, gram)), sparse.eye(q * m)])
    bounds = [rows.T.ravel()]
    edge = sparse.hstack([sparse.eye(n), sparse.csr_matrix((n, q * m))])
    if radius is None:
        constraints = [residuals, edge, -edge]
        bounds += [np.ones(2 * n)]
        cones = [clarabel.ZeroConeT(q * m), clarabel.NonnegativeConeT(2 * n)]
    else:
        constraints = [residuals, sparse.csr_matrix((1, n + q * m)), -edge]
        bounds += [[1.0], np.zeros(n)]
        cones = [clarabel.ZeroConeT(q * m), clarabel.SecondOrderConeT(n + 1)]
    curvature = sparse.block_diag([sparse.csr_matrix((n, n)), 2.0 / m * sparse.eye(q * m)], format="csc")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solver = clarabel.DefaultSolver(
        curvature,
        np.zeros(n + q * m),
        sparse.vstack(constraints).tocsc(),
        np.concatenate(bounds),
        cones,
        settings,
    )
    return solver.solve().obj_val
