"""Small dense learning problems in plain NumPy, for the tests of solvers and certificates."""

from __future__ import annotations

import clarabel
import numpy as np
from scipy import sparse
from scipy.special import expit, log_softmax, xlogy

from palmette.regularizers import ElasticNet


class BinaryLogistic:
    """``sum_i log(1 + exp(-y_i <x_i, w>))``, labels -1 and 1."""

    smooth = True

    def __init__(self, X, y, l2=1.0, l1=0.0):
        self.X, self.y, self.n_params, self.n_calls = X, y, X.shape[1], 0
        self.regularizer = penalty(self.n_params, l2, l1)

    def loss(self, w):
        self.n_calls += 1
        margin = self.y * (self.X @ w)
        return float(np.logaddexp(0.0, -margin).sum()), -self.X.T @ (self.y * expit(-margin))

    def entropies(self, w):
        p = expit(self.X @ w)
        return -xlogy(p, p) - xlogy(1.0 - p, 1.0 - p)


class MulticlassLogistic:
    """Multinomial log loss; ``w`` is a table (features x labels)."""

    smooth = True

    def __init__(self, X, y, l2=1.0, l1=0.0, n_labels=3):
        self.X, self.y, self.n_labels, self.n_calls = X, y, n_labels, 0
        self.n_params = X.shape[1] * n_labels
        self.regularizer = penalty(self.n_params, l2, l1)
        self.one_hot = np.eye(n_labels)[y]

    def scores(self, w):
        return self.X @ w.reshape(-1, self.n_labels)

    def loss(self, w):
        self.n_calls += 1
        log_p = log_softmax(self.scores(w), axis=1)
        return float(-(log_p * self.one_hot).sum()), (self.X.T @ (np.exp(log_p) - self.one_hot)).ravel()


class MulticlassHinge(MulticlassLogistic):
    """``sum_i max_k [k != y_i] + <w_k - w_(y_i), x_i>``."""

    smooth = False

    def loss(self, w):
        self.n_calls += 1
        margins = self.scores(w) + 1.0 - self.one_hot
        margins -= (margins * self.one_hot).sum(axis=1, keepdims=True)
        rival = np.eye(self.n_labels)[margins.argmax(axis=1)]
        return float((margins * rival).sum()), (self.X.T @ (rival - self.one_hot)).ravel()

    def optimum(self):
        """Minimum of the whole objective, by an interior point method on its quadratic program."""
        n, k, p = len(self.X), self.n_labels, self.n_params
        rows, bounds = [], []
        for i, (x, y) in enumerate(zip(self.X, self.y)):
            for label in range(k):
                table = np.zeros((len(x), k))
                table[:, label] += x
                table[:, y] -= x
                slack = np.zeros(n)
                slack[i] = -1.0
                rows.append(np.concatenate([table.ravel(), slack]))
                bounds.append(-float(label != y))
        curvature = sparse.diags_array(np.concatenate([self.regularizer.l2, np.zeros(n)])).tocsc()
        linear = np.concatenate([np.zeros(p), np.ones(n)])
        return clarabel_minimum(curvature, linear, np.array(rows), np.array(bounds))[1]


def penalty(n_params, l2, l1):
    return ElasticNet(np.broadcast_to(l2, n_params), np.broadcast_to(l1, n_params))


def objective(problem, w):
    return problem.loss(w)[0] + problem.regularizer.value(w)


def make(kind, rng, n=40, n_features=6, l2=1.0, l1=0.0):
    """A random problem whose labels depend on the features."""
    X = rng.normal(size=(n, n_features)) * 10.0 ** rng.uniform(-1, 1, n_features)
    if kind is BinaryLogistic:
        y = np.where(X @ rng.normal(size=n_features) + rng.normal(size=n) > 0, 1.0, -1.0)
    else:
        y = (X @ rng.normal(size=(n_features, 3)) + rng.normal(size=(n, 3))).argmax(axis=1)
    return kind(X, y, l2=l2, l1=l1)


def clarabel_minimum(P, q, A, b, n_equal=0):
    """Minimise ``x'Px / 2 + qx`` subject to ``Ax = b`` (first rows) and ``Ax <= b`` (the others)."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    cones = [clarabel.ZeroConeT(n_equal)] if n_equal else []
    cones.append(clarabel.NonnegativeConeT(len(b) - n_equal))
    upper = sparse.csc_matrix(sparse.triu(P))
    solution = clarabel.DefaultSolver(upper, q, sparse.csc_matrix(A), b, cones, settings).solve()
    return np.array(solution.x), solution.obj_val
