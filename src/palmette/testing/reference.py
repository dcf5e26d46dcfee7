"""What `check_structure` needs to know of a family of outputs, stated from its definition alone.

A reference enumerates and scores outputs in the plainest way and shares no code with the inference it judges.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.errors import MissingCapability

if TYPE_CHECKING:
    from palmette.contracts.structure import Structure

Output = Any  # one output of one sample: any hashable object, such as a tuple of codes
Part = Any  # one label part of an output: any hashable object, such as ("node", 3, 1)


@dataclass(frozen=True)
class Instance:
    """A small batch of potentials on which a structure is checked.

    Parameters
    ----------
    name : str
        Names the batch in messages.
    theta : the potentials, as the structure takes them
    exact : bool
        Whether all potentials are integers whose sums a double holds exactly. Ties are then real, so
        outputs are compared and not only their values.
    """

    name: str
    theta: Any
    exact: bool = False


@dataclass(frozen=True)
class Cost:
    """A cost twice: as the structure takes it, and as one ``{part: number}`` a sample (0 for other parts)."""

    name: str
    given: Any
    parts: Sequence[Mapping[Part, float]]


@dataclass(frozen=True)
class Limit:
    """A restriction twice: as the structure takes it, and as a predicate on (sample, output).

    ``contradicting`` says that it names an annotation to contradict; ``best_contradicting`` takes no second.
    ``of(theta, samples)`` makes it for some of the samples; by default the reference does.
    """

    name: str
    given: Any
    allows: Callable[[int, Output], bool]
    contradicting: bool = False
    of: Callable[[Any, Sequence[int]], Any] | None = None


class Reference(ABC):
    """The definition of a family of outputs, for :func:`palmette.testing.check_structure`.

    Outputs are hashable Python objects (tuples of codes, say), label parts too. The abstract methods are the
    least a reference has: enough for ``best``, ``worst``, ``k_best``, ``expectation``, ``entropy``,
    ``sample``, ``score``, ``log_proba`` and ``count``. The others are needed for costs, restrictions and
    further answers; without :meth:`draw_cost` and :meth:`draw_limits` those cases are left out.
    """

    @abstractmethod
    def instances(self, rng: np.random.Generator) -> Iterable[Instance]:
        """One round of small random batches, the most telling kinds first; a batch has several samples."""

    @abstractmethod
    def outputs(self, theta: Any, s: int) -> list[Output]:
        """All outputs of sample ``s``; among equally good ones the first in this list must win."""

    @abstractmethod
    def score(self, theta: Any, s: int, y: Output) -> float:
        """``f(y)`` by definition; -inf if the potentials forbid ``y``."""

    @abstractmethod
    def counts(self, theta: Any, weights: Sequence[Mapping[Output, float]]) -> Any:
        """``sum_s sum_y weights[s][y] count(y)`` in theta's shape."""

    @abstractmethod
    def pack(self, theta: Any, outputs: Sequence[Output]) -> Any:
        """One output per sample, as the structure takes and returns them."""

    @abstractmethod
    def unpack(self, theta: Any, codes: Any) -> list[Output]:
        """Inverse of :meth:`pack`."""

    @abstractmethod
    def select(self, theta: Any, samples: Sequence[int]) -> Any:
        """The potentials of some samples (perhaps of none) as a batch of its own."""

    def of(self, structure: Structure) -> Reference:
        """The reference for one structure of the class, if its parameters matter."""
        return self

    def n_samples(self, theta: Any) -> int:
        """Number of samples of a batch."""
        return len(theta)

    def dot(self, theta: Any, counts: Any) -> float:
        """``<theta, counts>``, with -inf times 0 = 0."""
        return theta.dot(counts)

    def zeros(self, theta: Any) -> Any:
        """The same batch with all potentials 0."""
        raise self._lacks("zeros", "the log-partition at zero potentials")

    def invalid(self, rng: np.random.Generator) -> Iterable[tuple[Instance, list[Output]]]:
        """Batches that every answer must refuse with ValueError, each with one output per sample."""
        return ()

    # -- label parts: costs, restrictions, marginals ----------------------------------------------------

    def parts(self, theta: Any, s: int, y: Output) -> Sequence[Part]:
        """The label parts of an output, on which costs and restrictions live."""
        return ()

    def read_parts(self, theta: Any, tables: Any) -> list[dict[Part, float]]:
        """What ``marginals`` or ``max_marginals`` returned: a number for every label part of each sample."""
        raise self._lacks("read_parts", "marginals() and max_marginals()")

    def draw_cost(self, rng: np.random.Generator, theta: Any, whole: bool) -> Cost | None:
        """A random cost (of integers if ``whole``), or None if the structure takes none."""
        return None

    def draw_limits(self, rng: np.random.Generator, theta: Any) -> Iterable[Limit]:
        """Random restrictions of every kind, at least one of which leaves some sample without an output."""
        return ()

    def select_cost(self, theta: Any, given: Any, samples: Sequence[int]) -> Any:
        """The cost of some samples of the batch ``theta``."""
        raise self._lacks("select_cost", "cost=")

    def select_within(self, theta: Any, given: Any, samples: Sequence[int]) -> Any:
        """The restriction of some samples of the batch ``theta``."""
        raise self._lacks("select_within", "within=")

    # -- annotations and risks --------------------------------------------------------------------------

    def draw_annotations(self, rng: np.random.Generator, theta: Any) -> Iterable[list[Any]]:
        """Annotations for ``best_contradicting``, one per sample, packed by :meth:`pack`; parts may be open."""
        raise self._lacks("draw_annotations", "best_contradicting()")

    def contradicts(self, y: Output, annotation: Any) -> bool:
        """Whether output ``y`` contradicts an annotation of its sample."""
        return y != annotation

    def draw_risks(
        self, rng: np.random.Generator, theta: Any
    ) -> Iterable[tuple[dict[str, Any], Callable[[Output, Output], float]]]:
        """Losses for ``min_risk``: its keywords, and the loss of (true output, answered output)."""
        raise self._lacks("draw_risks", "min_risk()")

    # -- samples to learn from --------------------------------------------------------------------------

    def draw_samples(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """Inputs and outputs as ``fit`` takes them, at least eight; an output has one entry for each of its parts."""
        raise self._lacks("draw_samples", "active questions and transfer")

    def _lacks(self, method: str, what: str) -> MissingCapability:
        return MissingCapability(f"{type(self).__name__} cannot check {what}: implement {method}()")


_REFERENCES: dict[type, Reference] = {}


def register_reference(structure: type, reference: Reference) -> None:
    """Let :func:`check_structure` find ``reference`` for ``structure`` and its subclasses."""
    _REFERENCES[structure] = reference


def reference_for(structure: Structure) -> Reference:
    """The reference registered for the nearest class of ``structure``.

    >>> from palmette.structures import Multiclass
    >>> type(reference_for(Multiclass())).__name__
    'MulticlassReference'
    """
    for cls in type(structure).__mro__:
        if cls in _REFERENCES:
            return _REFERENCES[cls].of(structure)
    known = ", ".join(sorted(cls.__name__ for cls in _REFERENCES))
    raise MissingCapability(
        f"no reference is known for {type(structure).__name__} (known: {known}); give check_structure one as "
        "its second argument, or register it with palmette.testing.register_reference"
    )
