"""Answers that maximise or minimise, compared with all outputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from palmette.testing.enumeration import Problem
from palmette.testing.queries import Case, outputs_and_values, parts
from palmette.testing.reference import Output, Reference


def check_best(case: Case) -> None:
    """The highest value, and where sums are exact the first output that has it."""
    _check_extreme(case, "best", max)


def check_worst(case: Case) -> None:
    """The lowest value among allowed outputs, and where sums are exact the first output that has it."""
    _check_extreme(case, "worst", min)


def _check_extreme(case: Case, answer: str, extreme: Callable[..., float], annotation: Any = None) -> None:
    problem = case.problem
    reply = case.ask(answer, outputs_and_values, outputs=annotation)
    for s, (y, value) in enumerate(reply.found):
        expected = extreme(problem.allowed[s].values())
        first = next(z for z, v in problem.allowed[s].items() if v == expected)
        _check_output(problem, answer, s, y, value)
        if problem.instance.exact and (y, value) != (first, expected):
            problem.fail(answer, s, (first, expected), (y, value))
        if not problem.close(s, value, expected):
            problem.fail(answer, s, (first, expected), (y, value))


def _check_output(problem: Problem, answer: str, s: int, y: Output, value: float) -> None:
    """An output must be allowed and have the value that is claimed."""
    if y not in problem.allowed[s]:
        problem.fail(answer, s, "an allowed output", y)
    problem.compare(answer, s, value, problem.allowed[s][y], about=f"value {{}} of {y}")


def check_best_contradicting(case: Case) -> None:
    """The best of the outputs that differ from an annotation where it is known."""
    reference = case.problem.reference
    if case.problem.limit is not None and case.problem.limit.contradicting:
        return
    for annotation in reference.draw_annotations(case.rng, case.problem.theta):
        differs = partial(_differs, reference, annotation)
        limited = case.problem.where(differs, f"contradicting {annotation}")
        _check_extreme(Case(case.structure, limited, case.rng), "best_contradicting", max, annotation)


def _differs(reference: Reference, annotation: list[Any], s: int, y: Output) -> bool:
    return reference.contradicts(y, annotation[s])


def check_k_best(case: Case) -> None:
    """Distinct outputs, best first, fewer where fewer exist; where sums are exact also their order."""
    problem = case.problem
    most = max((len(allowed) for allowed in problem.allowed), default=0)
    for k in dict.fromkeys((1, 3, most + 2)):
        reply = case.ask("k_best", _ranked, options={"k": k})
        for s, ranked in enumerate(reply.found):
            expected = sorted(problem.allowed[s].items(), key=lambda item: -item[1])[:k]
            outputs = [y for y, _ in ranked]
            if len(ranked) != len(expected):
                problem.fail("k_best", s, f"{len(expected)} outputs for k={k}", f"{len(ranked)}: {ranked}")
            if len(set(outputs)) != len(outputs):
                problem.fail("k_best", s, "distinct outputs", outputs)
            if problem.instance.exact and ranked != expected:
                problem.fail("k_best", s, expected, ranked)
            for (y, value), (_, wanted) in zip(ranked, expected):
                _check_output(problem, "k_best", s, y, value)
                if not problem.close(s, value, wanted):
                    problem.fail("k_best", s, expected, ranked)


def _ranked(problem: Problem, result: Any) -> list[list[tuple[Output, float]]]:
    found = []
    for s, ranked in enumerate(result):
        theta = problem.reference.select(problem.theta, [s])
        found.append([(problem.reference.unpack(theta, codes)[0], float(value)) for codes, value in ranked])
    return found


def check_max_marginals(case: Case) -> None:
    """The best value with each part fixed; -inf for a part of no allowed output."""
    problem = case.problem
    reply = case.ask("max_marginals", parts)
    for s, found in enumerate(reply.found):
        expected = dict.fromkeys(found, -math.inf)
        for part, value in problem.by_part(problem.allowed[s], s):
            expected[part] = max(value, expected.get(part, -math.inf))
        compare_parts(problem, "max_marginals", s, expected, found)


def compare_parts(
    problem: Problem,
    answer: str,
    s: int,
    expected: dict[str, Any],
    found: dict[str, Any],
    factor: float = 1.0,
) -> None:
    """Every part must have its number."""
    for part, wanted in expected.items():
        if part not in found:
            problem.fail(answer, s, f"{wanted} for part {part}", "no such part")
        problem.compare(answer, s, found[part], wanted, factor, f"{{}} for part {part}")


def check_min_risk(case: Case) -> None:
    """The least expected loss among the allowed outputs."""
    problem = case.problem
    for keywords, loss in problem.reference.draw_risks(case.rng, problem.theta):
        reply = case.ask("min_risk", outputs_and_values, options=keywords)
        for s, (y, value) in enumerate(reply.found):
            chances = problem.probabilities[s]
            risks = {z: math.fsum(p * loss(true, z) for true, p in chances.items()) for z in chances}
            least = min(risks.values())
            largest = max(loss(true, z) for true in chances for z in chances)
            if y not in risks:
                problem.fail("min_risk", s, "an allowed output", y)
            if not all(problem.close(s, number, least, 1.0 + largest) for number in (value, risks[y])):
                problem.fail("min_risk", s, least, f"{value} for {y}, whose risk is {risks[y]}")
