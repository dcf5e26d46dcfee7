"""Answers about given outputs, compared with their definition."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from palmette.testing.queries import Case, numbers, unsplit
from palmette.testing.reference import Output
from palmette.testing.sum_checks import compare_counts

FEW_OUTPUTS, MANY_OUTPUTS = 2, 12


def _given(case: Case) -> Iterator[list[Output]]:
    """Random outputs, allowed or not, one per sample, several times."""
    candidates = [list(scores) for scores in case.problem.bare_scores]
    for _ in range(MANY_OUTPUTS if case.thorough else FEW_OUTPUTS):
        yield [ys[case.rng.integers(len(ys))] for ys in candidates]


def check_score(case: Case) -> None:
    """Score plus cost; -inf for a forbidden output."""
    problem = case.problem
    for outputs in _given(case):
        reply = case.ask("score", numbers, outputs=outputs, total=True)
        for s, (y, found) in enumerate(zip(outputs, reply.found)):
            problem.compare("score", s, found, problem.values[s][y], about=f"{{}} for {y}")


def check_log_proba(case: Case) -> None:
    """Value minus log-partition; -inf for a forbidden output."""
    problem = case.problem
    for outputs in _given(case):
        reply = case.ask("log_proba", numbers, outputs=outputs)
        for s, (y, found) in enumerate(zip(outputs, reply.found)):
            expected = problem.values[s][y] - problem.log_z[s]
            problem.compare("log_proba", s, found, expected, 2.0, f"{{}} for {y}")


def check_count(case: Case) -> None:
    """Counts in theta's shape, weighted, added to others, and the law ``f(y) = <theta, count(y)>``."""
    problem = case.problem
    if problem.keywords:
        return  # counts depend on neither cost nor restriction
    for outputs in _given(case):
        weight = np.round(case.rng.uniform(-1.0, 3.0, problem.n_samples), 1)
        plain = case.ask("count", unsplit, outputs=outputs, alone=False, total=True).result
        compare_counts(problem, "count", [{y: 1.0} for y in outputs], plain, 1.0)
        found = problem.reference.dot(problem.theta, plain)
        expected = math.fsum(problem.values[s][y] for s, y in enumerate(outputs))
        if not (found == expected or abs(found - expected) <= sum(problem.tolerances)):
            problem.fail("count", None, f"<theta, count> = {expected} = f of {outputs}", found)
        for into, total in ({}, weight), ({"into": plain}, 1.0 + weight):
            options = {"weight": weight, **into}
            counts = case.ask(
                "count", unsplit, outputs=outputs, alone=False, total=True, options=options
            ).result
            compare_counts(
                problem, "count", [{y: float(factor)} for y, factor in zip(outputs, total)], counts, 1.0
            )
