"""Types of nodes, edges and factors: names outside, numbers inside."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from palmette.data.checks import check_type, check_whole
from palmette.data.labels import LabelCodec
from palmette.structures.graph.cliques import KINDS, MOST_NODES, NO_LABEL, Factor


class FactorType(NamedTuple):
    """What factors of one type have in common."""

    name: Any
    kind: str
    arity: int  # 0 where it does not matter
    label: Any

    @classmethod
    def of(cls, factor: Factor) -> FactorType:
        """The type of some factors."""
        return cls(factor.type, factor.kind, factor.arity, factor.label)

    @classmethod
    def from_state(cls, state: Any) -> FactorType:
        """The type from its entry in a model file: name, kind, arity, label."""
        name, kind, arity, label = check_type("a type of factors", state, list)
        if kind not in KINDS:
            raise ValueError(f"a type of factors is of kind {kind!r:.60}, expected one of {', '.join(KINDS)}")
        check_whole("the arity of factors", arity, *((3, MOST_NODES) if kind == "table" else (0, 0)))
        return cls(types_of(name)[0], kind, arity, None if kind in NO_LABEL else types_of(label)[0])

    @property
    def text(self) -> str:
        """For messages."""
        of = f" of {self.arity} nodes" if self.arity else ""
        return f"{self.kind} factors{of}" + (
            "" if self.kind in NO_LABEL else f" for the label {self.label!r}"
        )


def typed(names: list[str], types: tuple[Any, ...]) -> list[str]:
    """Names of the columns of all types, with the type before each if there are several."""
    if len(types) < 2:
        return list(names)
    return [f"{kind}: {name}" for kind in types for name in names]


def flat(parts: list[np.ndarray], empty: np.ndarray) -> np.ndarray:
    """The parts one after the other; ``empty`` if there are none."""
    return np.concatenate(parts) if parts else empty


def known_types(lists: list[list[Any]], what: str) -> tuple[Any, ...]:
    """The types that occur, in the order of their codes."""
    return tuple(LabelCodec.from_labels(lists, where=f"{what}_types").classes_) if any(lists) else ()


def type_codes(lists: list[list[Any]], known: tuple[Any, ...], what: str) -> list[np.ndarray]:
    """Numbers of the types of every sample; one that is not known is refused, naming sample and place."""
    place = {name: k for k, name in enumerate(known)}
    found = []
    for i, own in enumerate(lists):
        try:
            found.append(np.fromiter((place[name] for name in own), np.int64, len(own)))
        except (KeyError, TypeError):
            at = next(t for t, name in enumerate(own) if not _hashable(name) or name not in place)
            raise ValueError(
                f"sample {i}: {what} {at} has the type {own[at]!r}, which does not occur in the training data; known: "
                f"{list(known)}"
            ) from None
    return found


def _hashable(name: Any) -> bool:
    try:
        hash(name)
    except TypeError:
        return False
    return True


def plain_types(names: Any) -> list[Any]:
    """Types as JSON values."""
    return LabelCodec(list(names)).state() if len(names) else []


def types_of(state: list[Any]) -> tuple[Any, ...]:
    """Inverse of :func:`plain_types`."""
    return tuple(LabelCodec.from_state(state).classes_) if state else ()
