"""Asking a structure one question in all the ways that must agree."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from palmette.errors import InfeasibleError
from palmette.testing.enumeration import Problem, arrays
from palmette.testing.reference import Output, Part

if TYPE_CHECKING:
    from palmette.contracts.structure import Structure

View = Callable[[Problem, Any], list[Any]]
LAST_BITS = 16 * np.finfo(float).eps  # relative
NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


class Answer(NamedTuple):
    """What a structure returned, and the same as plain Python objects, one per sample.

    ``(None, [])`` stands for the error that some sample has no output, where that is right.
    """

    result: Any
    found: list[Any]


@dataclass(frozen=True)
class Case:
    """A structure before a problem.

    ``thorough`` asks for checks that take many calls or draws; the others are made in every case.
    """

    structure: Structure
    problem: Problem
    rng: np.random.Generator
    thorough: bool = False

    def ask(
        self,
        answer: str,
        view: View,
        *,
        outputs: Sequence[Output] | None = None,
        alone: bool = True,
        total: bool = False,
        options: Mapping[str, Any] = NO_OPTIONS,
    ) -> Answer:
        """Put a question.

        Inputs must stay as they were (but for ``into``, which is there to be added to), and if ``alone``
        every sample must get the same answer in a batch of its own, numbers up to their last bits: compiled loops may
        add rows of another layout in another order. Questions about given outputs
        have ``outputs``; a ``total`` one has an answer even where nothing is allowed.
        """
        problem = self.problem
        try:
            result = self._call(problem, answer, outputs, options)
        except InfeasibleError as error:
            if total or not problem.infeasible:
                raise AssertionError(f"{answer}: {problem.case}: there are outputs, but {error!r}") from error
            named = re.search(r"\bsample (\d+)", str(error))
            if named is None or int(named.group(1)) not in problem.infeasible:
                problem.fail(answer, None, f"an error naming a sample of {problem.infeasible}", repr(error))
            return Answer(None, [])
        if problem.infeasible and not total:
            problem.fail(answer, problem.infeasible[0], "InfeasibleError", result)
        found = self._view(view, problem, answer, result)
        if alone and problem.n_samples > 1:
            for s, single in enumerate(problem.singles):
                weight = {"weight": options["weight"][[s]]} if "weight" in options else {}
                given = None if outputs is None else [outputs[s]]
                same = self._view(
                    view, single, answer, self._call(single, answer, given, {**options, **weight})
                )
                if not _alike(same, [found[s]]):
                    problem.fail(answer, s, f"{same} (asked alone)", f"{found[s]} (asked in the batch)")
        return Answer(result, found)

    def _call(self, problem: Problem, answer: str, outputs: Any, options: Mapping[str, Any]) -> Any:
        codes = () if outputs is None else (problem.reference.pack(problem.theta, outputs),)
        keywords = {**problem.keywords, **options}
        given = [problem.theta, codes, {k: value for k, value in keywords.items() if k != "into"}]
        before = [array.copy() for array in arrays(given)]
        try:
            result = getattr(self.structure, answer)(problem.theta, *codes, **keywords)
        except InfeasibleError:
            raise
        except Exception as error:
            raise AssertionError(f"{answer}: {problem.case}: raised {error!r}") from error
        if not all(map(np.array_equal, before, arrays(given))):
            problem.fail(answer, None, "inputs left as they are", "that they were modified")
        return result

    def _view(self, view: View, problem: Problem, answer: str, result: Any) -> list[Any]:
        try:
            found = view(problem, result)
        except AssertionError as error:
            raise AssertionError(f"{answer}: {problem.case}: {error}") from error
        if len(found) != problem.n_samples:
            problem.fail(answer, None, f"{problem.n_samples} samples", len(found))
        return found


def numbers(problem: Problem, result: Any) -> list[float]:
    """One number per sample."""
    if np.shape(result) != (problem.n_samples,):
        raise AssertionError(
            f"found shape {np.shape(result)}, expected one number per sample, {(problem.n_samples,)}"
        )
    return np.asarray(result, float).tolist()


def outputs_and_values(problem: Problem, result: Any) -> list[tuple[Output, float]]:
    """(output, value) of each sample of a ``Best``."""
    outputs = problem.reference.unpack(problem.theta, result.codes)
    return list(zip(outputs, numbers(problem, result.values)))


def parts(problem: Problem, result: Any) -> list[dict[Part, float]]:
    """The number of every label part of each sample."""
    return problem.reference.read_parts(problem.theta, result)


def unsplit(problem: Problem, result: Any) -> list[None]:
    """For answers that do not fall apart into samples."""
    return [None] * problem.n_samples


def _alike(one: Any, other: Any) -> bool:
    """Whether two answers are equal, numbers up to a few units in the last place.

    >>> _alike([((0, 1), 0.1 + 0.2)], [((0, 1), 0.3)]), _alike([0.3], [0.30001])
    (True, False)
    """
    if isinstance(one, float) and isinstance(other, float):
        return one == other or bool(abs(one - other) <= LAST_BITS * max(abs(one), abs(other)))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(own, other[key]) for key, own in one.items())
    if isinstance(one, list | tuple) and type(one) is type(other):
        return len(one) == len(other) and all(map(_alike, one, other))
    return bool(one == other)
