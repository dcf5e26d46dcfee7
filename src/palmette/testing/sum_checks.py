"""Answers that sum over all outputs, compared with the sums written out."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from scipy.stats import chi2, poisson

from palmette.testing.best_checks import compare_parts
from palmette.testing.enumeration import Problem, arrays
from palmette.testing.queries import NO_OPTIONS, Case, numbers, parts, unsplit
from palmette.testing.reference import Output

CHANCE = 1e-9  # a sampler is refused if draws like its own are rarer than this
FEW_DRAWS, MANY_DRAWS = 10, 2000


def check_log_partition(case: Case) -> None:
    """``log sum_y exp(value)``; at zero potentials the log of the number of outputs."""
    problem = case.problem
    reply = case.ask("log_partition", numbers)
    for s, found in enumerate(reply.found):
        problem.compare("log_partition", s, found, problem.log_z[s])
    if case.thorough and not problem.keywords:
        zero = case.structure.log_partition(problem.reference.zeros(problem.theta))
        for s, found in enumerate(numbers(problem, zero)):
            n_outputs = len(problem.bare_scores[s])
            if abs(found - math.log(n_outputs)) > 1e-12:
                problem.fail("log_partition at zero", s, f"log({n_outputs})", f"log({math.exp(found)})")


def check_expectation(case: Case) -> None:
    """Log-partition, and expected counts in theta's shape, times a weight a sample."""
    problem = case.problem
    weight = np.maximum(0.0, case.rng.uniform(-0.5, 3.0, problem.n_samples))
    for options in (NO_OPTIONS, {"weight": weight}):
        reply = case.ask(
            "expectation", lambda problem, result: numbers(problem, result.log_z), options=options
        )
        if reply.result is None:
            return
        for s, found in enumerate(reply.found):
            problem.compare("expectation", s, found, problem.log_z[s], about="log-partition {}")
        factors = options.get("weight", np.ones(problem.n_samples)).tolist()
        weighted = [
            {y: factor * p for y, p in chances.items()}
            for factor, chances in zip(factors, problem.probabilities)
        ]
        compare_counts(problem, "expectation", weighted, reply.result.counts, 10.0)


def compare_counts(
    problem: Problem, answer: str, weighted: list[dict[str, Any]], found: Any, factor: float = 0.0
) -> None:
    """Counts must have theta's shape and be the weighted counts of outputs, up to ``factor`` x rounding."""
    expected = problem.reference.counts(problem.theta, weighted)
    slack = factor * sum(problem.tolerances)
    for wanted, array in zip(arrays(expected), arrays(found), strict=True):
        if array.shape != wanted.shape:
            problem.fail(answer, None, f"counts of shape {wanted.shape}", array.shape)
        if not np.all(np.abs(array - wanted) <= slack):
            problem.fail(answer, None, f"counts {wanted.tolist()}", array.tolist())


def check_marginals(case: Case) -> None:
    """The probability of every part."""
    problem = case.problem
    reply = case.ask("marginals", parts)
    for s, found in enumerate(reply.found):
        expected = dict.fromkeys(found, 0.0)
        for part, p in problem.by_part(problem.probabilities[s], s):
            expected[part] = expected.get(part, 0.0) + p
        compare_parts(problem, "marginals", s, expected, found, 3.0)


def check_entropy(case: Case) -> None:
    """``-sum_y p(y) log p(y)``."""
    problem = case.problem
    reply = case.ask("entropy", numbers)
    for s, found in enumerate(reply.found):
        expected = -math.fsum(p * math.log(p) for p in problem.probabilities[s].values() if p > 0.0)
        problem.compare("entropy", s, found, expected, 10.0)


def check_sample(case: Case) -> None:
    """Only allowed outputs, as often as their probabilities say, and the same ones for the same seed."""
    problem = case.problem
    n_draws = MANY_DRAWS if case.thorough else FEW_DRAWS
    seed = int(case.rng.integers(2**31))
    draws = _draw(case, n_draws, seed)
    if draws is None:
        return
    for s in range(problem.n_samples):
        drawn = Counter(draw[s] for draw in draws)
        for y in drawn:
            if y not in problem.allowed[s]:
                problem.fail("sample", s, "allowed outputs", y)
        _check_frequencies(problem, s, drawn, n_draws)
    if _draw(case, n_draws, seed) != draws:
        problem.fail("sample", None, "the same draws for the same seed", "others")
    certain = all(max(chances.values()) > 0.9 for chances in problem.probabilities)
    if case.thorough and not certain and _draw(case, n_draws, seed + 1) == draws:
        problem.fail("sample", None, "other draws for another seed", "the same")


def _draw(case: Case, n_draws: int, seed: int) -> list[list[Output]] | None:
    problem = case.problem
    options = {"n_draws": n_draws, "random_state": seed}
    reply = case.ask("sample", unsplit, alone=False, options=options)
    if reply.result is None:
        return None
    if len(reply.result) != n_draws:
        problem.fail("sample", None, f"{n_draws} draws", len(reply.result))
    return [problem.reference.unpack(problem.theta, codes) for codes in reply.result]


def _check_frequencies(problem: Problem, s: int, drawn: Counter[Any], n_draws: int) -> None:
    """Pearson's test on outputs that are expected often enough; the others are one event, tested alone."""
    expected = {y: n_draws * p for y, p in problem.probabilities[s].items()}
    often = [y for y, e in expected.items() if e >= 5.0]
    seldom = math.fsum(e for y, e in expected.items() if e < 5.0)
    n_seldom = n_draws - sum(drawn[y] for y in often)
    statistic = math.fsum((drawn[y] - expected[y]) ** 2 / expected[y] for y in often)
    if chi2.sf(statistic, max(len(often), 1)) < CHANCE or poisson.sf(n_seldom - 1, seldom) < CHANCE:
        problem.fail("sample", s, f"about {expected}", dict(drawn))
