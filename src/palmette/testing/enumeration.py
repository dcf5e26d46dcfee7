"""A batch with cost and restriction, solved by listing all outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from palmette.testing.reference import Cost, Instance, Limit, Output, Part, Reference

ROUNDING = 1e-13  # times the magnitude of the potentials: what sums and logarithms may lose


@dataclass(frozen=True, eq=False)
class Problem:
    """One question's inputs and all that follows from them by enumeration.

    ``values[s]`` maps every output of sample s, in the order in which ties are decided, to score plus cost,
    or to -inf where the restriction or the potentials forbid it.
    """

    reference: Reference
    instance: Instance
    cost: Cost | None = None
    limit: Limit | None = None
    scores: Sequence[dict[Output, float]] | None = None  # f(y), if somebody has computed it already

    @property
    def theta(self) -> Any:
        """The potentials."""
        return self.instance.theta

    @property
    def keywords(self) -> dict[str, Any]:
        """``cost=`` and ``within=`` as the structure takes them."""
        given = {"cost": self.cost, "within": self.limit}
        return {
            name: drawn.given
            for name, drawn in given.items()
            if drawn is not None and drawn.given is not None
        }

    @property
    def case(self) -> str:
        """What the inputs are, for messages."""
        names = [f"instance {self.instance.name!r}"]
        return ", ".join(names + [drawn.name for drawn in (self.cost, self.limit) if drawn is not None])

    @cached_property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.reference.n_samples(self.theta)

    @cached_property
    def bare_scores(self) -> Sequence[dict[Output, float]]:
        """``f(y)`` of every output, without cost and restriction."""
        if self.scores is not None:
            return self.scores
        outputs = [self.reference.outputs(self.theta, s) for s in range(self.n_samples)]
        return [{y: self.reference.score(self.theta, s, y) for y in ys} for s, ys in enumerate(outputs)]

    @cached_property
    def values(self) -> list[dict[Output, float]]:
        """Score plus cost of every output; -inf if forbidden."""
        return [
            {y: self._value(s, y, f) for y, f in scores.items()} for s, scores in enumerate(self.bare_scores)
        ]

    def _value(self, s: int, y: Output, score: float) -> float:
        if self.limit is not None and not self.limit.allows(s, y):
            return -math.inf
        if self.cost is None:
            return score
        costs = self.cost.parts[s]
        return math.fsum([score, *(costs.get(part, 0.0) for part in self.reference.parts(self.theta, s, y))])

    @cached_property
    def allowed(self) -> list[dict[Output, float]]:
        """The outputs that are not forbidden, with their values."""
        return [{y: v for y, v in values.items() if v > -math.inf} for values in self.values]

    @property
    def infeasible(self) -> list[int]:
        """The samples without an allowed output."""
        return [s for s, allowed in enumerate(self.allowed) if not allowed]

    @cached_property
    def log_z(self) -> list[float]:
        """Log-partition of every sample."""
        tops = [max(allowed.values()) for allowed in self.allowed]
        return [
            top + math.log(math.fsum(math.exp(v - top) for v in allowed.values()))
            for top, allowed in zip(tops, self.allowed)
        ]

    @cached_property
    def probabilities(self) -> list[dict[Output, float]]:
        """``p(y) ~ exp(value)`` of the allowed outputs."""
        return [
            {y: math.exp(v - z) for y, v in allowed.items()} for z, allowed in zip(self.log_z, self.allowed)
        ]

    def by_part(self, numbers: dict[Output, float], s: int) -> Iterator[tuple[Part, float]]:
        """(part, number of the output) for every part of every output in ``numbers``."""
        for y, number in numbers.items():
            for part in self.reference.parts(self.theta, s, y):
                yield part, number

    @cached_property
    def tolerances(self) -> list[float]:
        """What rounding may change in each sample's values, relatively in its probabilities."""
        costs = [0.0] * self.n_samples
        if self.cost is not None:
            costs = [max(map(abs, parts.values()), default=0.0) for parts in self.cost.parts]
        sizes = [_magnitude(self.reference.select(self.theta, [s])) for s in range(self.n_samples)]
        return [ROUNDING * (1.0 + 4.0 * (size + cost)) for size, cost in zip(sizes, costs)]

    def close(self, s: int, found: float, expected: float, factor: float = 1.0) -> bool:
        """Whether two numbers of sample s differ by rounding only; infinities must be equal, NaN never is."""
        return found == expected or abs(found - expected) <= factor * self.tolerances[s]

    def compare(
        self, answer: str, s: int, found: float, expected: float, factor: float = 1.0, about: str = "{}"
    ) -> None:
        """Fail unless a number of a sample is as expected; ``about`` says in the message what it is."""
        if not self.close(s, found, expected, factor):
            self.fail(answer, s, about.format(expected), found)

    def where(self, allows: Callable[[int, Output], bool], name: str) -> Problem:
        """The same problem with fewer outputs; ``name`` says which."""
        limit, given = self.limit, None if self.limit is None else self.limit.given
        both = allows if limit is None else lambda s, y: limit.allows(s, y) and allows(s, y)
        name = name if limit is None else f"{limit.name}, {name}"
        fewer = Limit(name, given, both, of=None if limit is None else limit.of)
        return Problem(self.reference, self.instance, self.cost, fewer, self.bare_scores)

    def select(self, samples: Sequence[int]) -> Problem:
        """Some of the samples as a problem of their own."""
        theta, reference, cost, limit = self.theta, self.reference, self.cost, self.limit
        if cost is not None:
            given = reference.select_cost(theta, cost.given, samples)
            cost = Cost(cost.name, given, [cost.parts[s] for s in samples])
        if limit is not None:
            limit = self._select_limit(limit, samples)
        name = f"{self.instance.name} (samples {list(samples)})"
        part = Instance(name, reference.select(theta, samples), self.instance.exact)
        return Problem(reference, part, cost, limit, [self.bare_scores[s] for s in samples])

    def _select_limit(self, limit: Limit, samples: Sequence[int]) -> Limit:
        allows, of = limit.allows, limit.of
        if of is not None:
            given = of(self.reference.select(self.theta, samples), samples)
            deeper = lambda theta, places: of(theta, [samples[i] for i in places])  # noqa: E731
        else:
            given = limit.given
            if given is not None:
                given = self.reference.select_within(self.theta, given, samples)
            deeper = None
        return replace(limit, given=given, allows=lambda i, y: allows(samples[i], y), of=deeper)

    @cached_property
    def singles(self) -> list[Problem]:
        """Every sample as a problem of its own."""
        return [self.select([s]) for s in range(self.n_samples)]

    def fail(self, answer: str, s: int | None, expected: Any, found: Any) -> NoReturn:
        """Raise AssertionError."""
        sample = "" if s is None else f", sample {s}"
        raise AssertionError(f"{answer}: {self.case}{sample}: expected {expected}, found {found}")


def arrays(thing: Any) -> Iterator[np.ndarray]:
    """All arrays inside nested containers, dataclasses and plain objects, in a fixed order."""
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, (list, tuple)):
        for item in thing:
            yield from arrays(item)
    elif isinstance(thing, dict):
        yield from arrays(list(thing.values()))
    elif hasattr(thing, "__dict__") and not callable(thing):
        yield from arrays(vars(thing))


def _magnitude(theta: Any) -> float:
    floats = [array for array in arrays(theta) if np.issubdtype(array.dtype, np.floating)]
    return max(
        (float(np.max(np.abs(array[np.isfinite(array)]), initial=0.0)) for array in floats), default=0.0
    )
