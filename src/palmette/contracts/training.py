"""What a structure lays out weights for: encoded training data, and the options of a learner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from palmette.data.labels import LabelCodec
from palmette.data.samples import Samples
from palmette.features.base import Encoder

if TYPE_CHECKING:
    from palmette.contracts.structure import Structure


@dataclass(frozen=True)
class Encoded:
    """Training data after encoding.

    Parameters
    ----------
    encoder : Encoder
    codec : LabelCodec
    samples : Samples
    structure : Structure
        Bound to the labels of the codec (:meth:`palmette.structures.Structure.bind`).
    """

    encoder: Encoder
    codec: LabelCodec
    samples: Samples
    structure: Structure


@dataclass(frozen=True)
class WeightOptions:
    """Which weights a learner wants, in the words of its parameters.

    Parameters
    ----------
    states, transitions : {"auto", "observed", "all"}
        Pairs of feature and label, and of labels, that have a weight: those seen in training, or all.
    fit_intercept : "auto" or bool
    edge_features : any
        Which features of positions also stand on edges.

    Examples
    --------
    >>> WeightOptions().states_of(named=True), WeightOptions().intercept_of(named=True)
    ('observed', False)
    """

    states: str = "auto"
    transitions: str = "auto"
    fit_intercept: Any = "auto"
    edge_features: Any = None

    def __post_init__(self) -> None:
        for name in ("states", "transitions"):
            value = getattr(self, name)
            if value not in ("auto", "observed", "all"):
                raise ValueError(f"{name} must be 'auto', 'observed' or 'all', got {value!r}")
        if self.fit_intercept not in ("auto", True, False):
            raise ValueError(f"fit_intercept must be 'auto', True or False, got {self.fit_intercept!r}")

    def states_of(self, named: bool) -> str:
        """Return "observed" or "all"; "auto" is "observed" for named features."""
        return self.states if self.states != "auto" else "observed" if named else "all"

    @property
    def label_pairs(self) -> str:
        """Return "observed" or "all"; "auto" is "all"."""
        return "all" if self.transitions == "auto" else self.transitions

    def intercept_of(self, named: bool) -> bool:
        """Whether there is a bias per label; "auto" is one for arrays only."""
        return not named if self.fit_intercept == "auto" else bool(self.fit_intercept)
