"""The test that every structure passes: each answer against brute force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from typing import Any

import numpy as np

from palmette.contracts.structure import Structure
from palmette.errors import MissingCapability
from palmette.testing import best_checks, given_checks, sum_checks
from palmette.testing.enumeration import Problem
from palmette.testing.queries import Case
from palmette.testing.reference import Instance, Limit, Reference, reference_for

CHECKS = {
    "best": best_checks.check_best,
    "worst": best_checks.check_worst,
    "best_contradicting": best_checks.check_best_contradicting,
    "k_best": best_checks.check_k_best,
    "max_marginals": best_checks.check_max_marginals,
    "log_partition": sum_checks.check_log_partition,
    "expectation": sum_checks.check_expectation,
    "marginals": sum_checks.check_marginals,
    "entropy": sum_checks.check_entropy,
    "sample": sum_checks.check_sample,
    "min_risk": best_checks.check_min_risk,
    "score": given_checks.check_score,
    "log_proba": given_checks.check_log_proba,
    "count": given_checks.check_count,
}


@dataclass(frozen=True)
class StructureReport:
    """What :func:`check_structure` checked.

    Attributes
    ----------
    structure : str
    checked : dict of str to int
        For each answer the number of instances on which it agreed with enumeration.
    n_cases : int
        Instances with and without costs and restrictions, over all.
    missing : tuple of str
        Answers that the structure does not have.
    """

    structure: str
    checked: dict[str, int]
    n_cases: int
    missing: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.structure}: {self.n_cases} cases"]
        lines += [f"  {answer:<20}{n:>4} instances" for answer, n in self.checked.items()]
        return "\n".join(lines + [f"  {answer:<20}   - not there" for answer in self.missing])


def check_structure(
    structure: Structure,
    reference: Reference | None = None,
    *,
    n_instances: int | None = None,
    answers: Iterable[str] | None = None,
    required: Iterable[str] = ("best", "score", "count"),
    random_state: int = 0,
) -> StructureReport:
    """Compare every answer of a structure with brute-force enumeration on small random batches.

    Each answer is asked without and with a cost, without and with restrictions of every kind, and compared
    with its definition; outputs too, and their order, where all sums are exact. Along the way: inputs stay as
    they are, a sample gets the same answer alone and in a batch (numbers up to their last bits), an empty batch has
    an empty answer,
    a restriction that leaves no output is an ``InfeasibleError`` that names the sample, draws repeat for a
    seed and follow the distribution, what :meth:`agreeing` and :meth:`contradicting` make of complete and of
    partial annotations restricts every answer, ``f(y) = <theta, count(y)>``, and at zero potentials the
    log-partition is the log of the number of outputs, so that each output is derived exactly once.

    Parameters
    ----------
    structure : object with some of the methods of :class:`palmette.structures.Structure`
        An answer that it does not have as a method is not checked.
    reference : Reference, optional
        The outputs by definition. By default the one registered for the structure's class or a base of it.
    n_instances : int, optional
        Number of batches; by default one of every kind that the reference knows. A few make a quick check.
    answers : iterable of str, optional
        Check only these; by default all.
    required : iterable of str
        Answers that must be there.
    random_state : int
        Seed of the batches.

    Returns
    -------
    StructureReport

    Raises
    ------
    AssertionError
        At the first disagreement, naming the answer, the instance, the sample, and what was expected and
        found.
    MissingCapability
        If a required answer is not there, or the reference lacks what a check needs.

    Examples
    --------
    >>> from palmette.structures import Multiclass
    >>> report = check_structure(Multiclass(), n_instances=2)
    >>> report.checked["best"], report.missing
    (2, ())
    """
    reference = reference_for(structure) if reference is None else reference
    wanted = _names(CHECKS if answers is None else answers, "answers")
    present = [name for name in wanted if callable(getattr(structure, name, None))]
    missing = tuple(name for name in wanted if name not in present)
    absent = [name for name in _names(required, "required") if not callable(getattr(structure, name, None))]
    if absent:
        raise MissingCapability(
            f"{type(structure).__name__} has no {'(), '.join(absent)}(), which is required"
        )
    rng = np.random.default_rng(random_state)
    checked: Counter[str] = Counter()
    n_cases = 0
    for instance in _instances(reference, rng, n_instances):
        problems = list(_problems(structure, reference, instance, rng))
        n_cases += len(problems)
        for name in present:
            for i, problem in enumerate(problems):
                # The plain problem and the richest combination get the checks that take long.
                CHECKS[name](Case(structure, problem, rng, thorough=i in (0, len(problems) - 1)))
        checked.update(present)
    for instance, outputs in reference.invalid(rng):
        for name in present:
            _check_refused(structure, reference, name, instance, outputs)
    return StructureReport(type(structure).__name__, dict(checked), n_cases, missing)


def _names(names: Iterable[str], parameter: str) -> list[str]:
    names = list(names)
    for name in names:
        if name not in CHECKS:
            raise ValueError(f"{parameter} names {name!r}; known answers: {', '.join(CHECKS)}")
    return names


def _instances(reference: Reference, rng: np.random.Generator, n: int | None) -> Iterable[Instance]:
    """One round of instances, or ``n`` of them from as many rounds as it takes."""
    if n is None:
        return reference.instances(rng)
    rounds = (reference.instances(rng) for _ in count())
    return islice(chain.from_iterable(rounds), n)


def _problems(
    structure: Structure, reference: Reference, instance: Instance, rng: np.random.Generator
) -> Iterator[Problem]:
    """The batch as it is, with cost, with each restriction, with both, and some of it without samples."""
    theta = instance.theta
    plain = Problem(reference, instance)
    scores = plain.bare_scores
    yield plain
    yield plain.select([])
    cost = reference.draw_cost(rng, theta, instance.exact)
    if cost is not None:
        yield Problem(reference, instance, cost, None, scores)
    for limit in _annotated(structure, reference, theta, rng):
        drawn = reference.draw_cost(rng, theta, instance.exact) if rng.random() < 0.5 else None
        yield Problem(reference, instance, drawn, limit, scores)
    for limit in reference.draw_limits(rng, theta):
        yield Problem(reference, instance, None, limit, scores)
        cost = reference.draw_cost(rng, theta, instance.exact)
        if cost is not None:
            both = Problem(reference, instance, cost, limit, scores)
            yield both.select([])
            yield both


def _annotated(
    structure: Structure, reference: Reference, theta: Any, rng: np.random.Generator
) -> Iterator[Limit]:
    """Restrictions that the structure makes of annotations: outputs that agree with them, and that contradict them."""
    offered = [name for name in ("agreeing", "contradicting") if callable(getattr(structure, name, None))]
    for annotation in reference.draw_annotations(rng, theta) if offered else ():
        for name in offered:
            try:
                limit = _limit(structure, reference, theta, annotation, name)
            except (MissingCapability, NotImplementedError):
                continue
            yield limit


def _limit(structure: Structure, reference: Reference, theta: Any, annotation: list[Any], name: str) -> Limit:
    def of(part: Any, samples: Sequence[int]) -> Any:
        return getattr(structure, name)(part, reference.pack(part, [annotation[s] for s in samples]))

    def allows(s: int, y: Any) -> bool:
        return reference.contradicts(y, annotation[s]) == (name == "contradicting")

    given = of(theta, range(len(annotation)))
    return Limit(f"{name} {annotation}", given, allows, contradicting=name == "contradicting", of=of)


def _check_refused(
    structure: Structure, reference: Reference, name: str, instance: Instance, outputs: Sequence[Any]
) -> None:
    about_outputs = name in ("score", "log_proba", "count", "best_contradicting")
    codes = (reference.pack(instance.theta, outputs),) if about_outputs else ()
    options = {"k": 2} if name == "k_best" else {}
    try:
        found = getattr(structure, name)(instance.theta, *codes, **options)
    except ValueError:
        return
    raise AssertionError(f"{name}: {instance.name}: expected ValueError, found {found}")
