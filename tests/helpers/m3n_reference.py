"""The duals of max-margin Markov networks written out as quadratic programs, for small problems; solved by Clarabel.

``labelings`` is (7) of the paper, one variable for each labeling. ``local`` is (10), marginals of nodes and edges that
agree on every node. ``cliques`` adds the marginals of the cliques of a triangulated graph, with which all must agree.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from toy_problems import clarabel_minimum

from palmette.inference.elimination import elimination
from palmette.inference.factor_graph import Topology


class Captured(Exception):
    """Ends a fit."""


@dataclass(frozen=True)
class Capture:
    """A solver that hands its problem over and ends the fit."""

    def solve(self, problem, w0=None):
        raise Captured(problem)


def problem_of(model, X, Y):
    """The problem that ``model.fit(X, Y)`` would solve."""
    try:
        model.set_params(solver=Capture(), n_jobs=1).fit(X, Y)
    except Captured as caught:
        return caught.args[0]


def dual_optimum(problem, polytope):
    """Maximum of the dual over the named polytope: ``labelings``, ``local`` or ``cliques``."""
    samples, p = problem.samples, problem.n_params
    features, gains, rows, right = [], [], [], []
    truth = np.zeros(p)
    for s in range(problem.n_samples):
        sample = _Sample(problem, s)
        truth += sample.weight * sample.counts_of(samples.codes[sample.rows])
        g, c, a, b = getattr(sample, polytope)()
        features.append(sample.weight * g)
        gains.append(sample.weight * c)
        rows.append(a)
        right.append(b)
    G, n = np.concatenate(features, axis=1), sum(len(c) for c in gains)
    equal = sparse.block_diag(rows)
    A = sparse.bmat(
        [[sparse.eye(p), -G], [None, equal], [None, -sparse.eye(n)]], format="csc"
    )  # z = G mu - truth, mu in the polytope, mu >= 0
    b = np.concatenate([-truth, *right, np.zeros(n)])
    P = sparse.diags_array(np.concatenate([1.0 / problem.regularizer.l2, np.zeros(n)])).tocsc()
    q = -np.concatenate([np.zeros(p), *gains])
    return -clarabel_minimum(P, q, A, b, n_equal=p + equal.shape[0])[1]


class _Sample:
    def __init__(self, problem, s):
        self.problem, self.one = problem, problem.samples.slice(s, s + 1)
        offsets = problem.samples.batch.offsets
        self.rows, self.weight = slice(offsets[s], offsets[s + 1]), float(self.one.weight[0])
        self.theta = problem.scorer.score(np.zeros(problem.n_params), self.one.batch)
        self.n, self.k = self.theta.node.shape
        self.cost = problem.surrogate.task_loss.cost(self.theta, self.one.codes).node
        if hasattr(self.theta, "edge_table"):
            self.edges = [tuple(edge) for edge in self.theta.edges.tolist()]
            self.table = self.theta.edge_table
        else:
            self.edges = [(t, t + 1) for t in range(self.n - 1)] if problem.structure.has_edges else []
            self.table = (
                np.zeros(len(self.edges), int) if len(self.theta.edge) == 1 else np.arange(len(self.edges))
            )

    def pulled(self, parts):
        """Features of parts ``((node,), (label,))`` and ``(edge number, (i, j))``."""
        counts = self.theta.zeros()
        for kind, where, labels in parts:
            if kind == "node":
                counts.node[where, labels[0]] += 1.0
            else:
                counts.edge[(self.table[where], *labels)] += 1.0
        out = np.zeros(self.problem.n_params)
        self.problem.scorer.pull_back(counts, self.one.batch, out)
        return out

    def counts_of(self, y):
        nodes = [("node", t, (y[t],)) for t in range(self.n)]
        return self.pulled(nodes + [("edge", e, (y[a], y[b])) for e, (a, b) in enumerate(self.edges)])

    def labelings(self):
        every = list(itertools.product(range(self.k), repeat=self.n))
        G = np.array([self.counts_of(y) for y in every]).T
        c = np.array([self.cost[range(self.n), y].sum() for y in every])
        return G, c, np.ones((1, len(every))), np.ones(1)

    def local(self):
        return self._marginals([])

    def cliques(self):
        topology = Topology.from_scopes([self.k] * self.n, self.edges)
        order = elimination(topology)
        found = [
            tuple(sorted([int(v), *order.rest[order.ptr[i] : order.ptr[i + 1]].tolist()]))
            for i, v in enumerate(order.order)
        ]
        maximal = [c for c in found if not any(set(c) < set(d) for d in found)]
        return self._marginals([c for c in dict.fromkeys(maximal) if len(c) > 2])

    def _marginals(self, cliques):
        scopes = [(t,) for t in range(self.n)] + self.edges + cliques
        sizes = [self.k ** len(scope) for scope in scopes]
        first = np.concatenate([[0], np.cumsum(sizes)])
        G, c = np.zeros((self.problem.n_params, first[-1])), np.zeros(first[-1])
        for f, scope in enumerate(scopes[: self.n + len(self.edges)]):
            for q, labels in enumerate(itertools.product(range(self.k), repeat=len(scope))):
                kind, where = ("node", f) if len(scope) == 1 else ("edge", f - self.n)
                G[:, first[f] + q] = self.pulled([(kind, where, labels)])
                if kind == "node":
                    c[first[f] + q] = self.cost[f, labels[0]]
        rows, right = [], []
        for t in range(self.n):
            row = np.zeros(first[-1])
            row[first[t] : first[t + 1]] = 1.0
            rows.append(row)
            right.append(1.0)
        for f, g in itertools.combinations(range(len(scopes)), 2):
            shared = [v for v in scopes[f] if v in scopes[g]]
            if not shared or (len(scopes[f]) == len(scopes[g]) == 2 and len(shared) == 1):
                continue  # edges meet through their nodes
            for labels in itertools.product(range(self.k), repeat=len(shared)):
                row = np.zeros(first[-1])
                for part, sign in ((f, 1.0), (g, -1.0)):
                    for q, own in enumerate(itertools.product(range(self.k), repeat=len(scopes[part]))):
                        if all(own[scopes[part].index(v)] == k for v, k in zip(shared, labels)):
                            row[first[part] + q] += sign
                rows.append(row)
                right.append(0.0)
        return G, c, np.array(rows), np.array(right)
