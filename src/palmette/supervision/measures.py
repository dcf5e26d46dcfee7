"""What a measure of uncertainty is, and where it is found by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from palmette.contracts.structure import require
from palmette.errors import MissingCapability

if TYPE_CHECKING:
    from palmette.contracts.structure import Structure

STRATEGIES: dict[str, type[Strategy]] = {}
"""The measures by name."""

Class = TypeVar("Class", bound="type[Strategy]")


def strategy(name: str) -> Callable[[Class], Class]:
    """Decorate a measure that users choose by name."""

    def note(cls: Class) -> Class:
        cls.name = name
        STRATEGIES[name] = cls
        return cls

    return note


class Strategy:
    """A measure of uncertainty.

    :meth:`samples` and :meth:`parts` return *keys*, higher for more uncertain ones; :meth:`uncertainty` turns keys into
    what is reported and averaged. Keys of the margin measures are exponents, which keep their order where the
    exponential does not. ``theta`` are potentials of a block of samples, ``known`` is what has been answered of their
    parts (None: nothing), and ``squares`` has the squared length of every feature row.
    """

    name: ClassVar[str] = ""
    sample_needs: ClassVar[tuple[str, ...]] = ()
    part_needs: ClassVar[tuple[str, ...] | None] = ()
    """Answers that a structure must have; None: the measure is for whole samples only."""

    def check(self, structure: Structure, unit: str) -> None:
        """Raise :class:`~palmette.errors.MissingCapability` unless the structure has what the measure needs."""
        user = f"ActiveLearner(strategy={self.name!r}, unit={unit!r})"
        if unit == "sample":
            require(
                structure, self.sample_needs, user=user, remedy="Use strategy='best_vs_second' or 'random'."
            )
        elif self.part_needs is None:
            raise MissingCapability(
                f"{user}: {self.name} compares whole outputs; use unit='sample', or strategy='best_vs_second'"
            )
        else:
            require(structure, self.part_needs, user=user, remedy="Use unit='sample' or strategy='random'.")

    def samples(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        """Keys of samples, shape (n_samples,)."""
        raise NotImplementedError

    def parts(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        """Keys of parts, shape (n_parts,)."""
        raise NotImplementedError

    def uncertainty(self, keys: np.ndarray) -> np.ndarray:
        """What is reported for keys."""
        return keys

    def reason(self, key: float, unit: str) -> str:
        """In words, why something with this key is asked."""
        raise NotImplementedError


def within(structure: Structure, theta: Any, known: Any) -> Any:
    """The restriction to outputs that agree with the answers; None without answers."""
    return None if known is None else structure.agreeing(theta, known)
