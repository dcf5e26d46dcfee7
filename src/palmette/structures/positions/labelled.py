"""What structures with one label per position share."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.contracts.structure import Best, Structure
from palmette.contracts.training import Encoded, WeightOptions
from palmette.data.annotation import Annotation, Known
from palmette.structures.positions.linear_scorer import LinearScorer
from palmette.structures.positions.tables import ChainTables, Restriction


class LabelledPositions(Structure):
    """Outputs with one code per row: potentials are :class:`~palmette.structures.ChainTables` or extend them."""

    has_edges = True
    label_per_row = True
    default_loss = "hamming"
    scorer_class: Any = LinearScorer

    def make_scorer(self, data: Encoded, options: WeightOptions) -> Any:
        """Weights of features and labels, of labels, and of label pairs."""
        if options.edge_features is not None:
            raise ValueError(f"edge_features need the edges of a Chain; {type(self).__name__} has none")
        return self._linear_scorer(data, options)

    def _linear_scorer(self, data: Encoded, options: WeightOptions, **own: Any) -> Any:
        named = data.encoder.named
        return self.scorer_class.for_data(
            data.samples.batch, data.samples.codes, len(data.codec.classes_), states=options.states_of(named),
            transitions=options.label_pairs, intercept=options.intercept_of(named), has_edges=self.has_edges, **own,
        )  # fmt: skip

    def agreeing(self, theta: ChainTables, codes: Known) -> Restriction:
        """The restriction to outputs with these codes; -1 where any label will do."""
        return Restriction.fixed(codes, theta.n_labels)

    def contradicting(self, theta: ChainTables, codes: Known) -> Restriction:
        """The restriction to outputs that differ from these codes somewhere; -1 cannot be contradicted."""
        return Restriction(contradicts=codes)

    def contradicts(self, theta: ChainTables, annotation: Known, codes: np.ndarray) -> np.ndarray:
        """Whether outputs differ from an annotation where it is known, bool (n_samples,)."""
        return differ(annotation, codes, theta.offsets)

    def best_agreeing(self, theta: ChainTables, codes: Known) -> Best:
        """Highest-scoring output that agrees with an annotation; a complete one is the only such output."""
        if isinstance(codes, Annotation) or np.any(np.asarray(codes) < 0):
            return super().best_agreeing(theta, codes)
        return Best(np.asarray(codes, np.int32), self.score(theta, codes))

    def level_costs(self, theta: Any) -> tuple[np.ndarray, int]:
        """What ``best_by_level`` takes: numbers per level in the table of each sample, and steps per number."""
        states = theta.n_labels if theta.triple is None else theta.n_labels**2
        return np.diff(theta.offsets) * states, theta.n_labels

    def log_proba(self, theta: Any, codes: Any, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """Log-probability of given outputs."""
        given = self.score(theta, codes, cost=cost, within=within)
        return given - self.log_partition(theta, cost=cost, within=within)


def differ(annotation: Known, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Whether each sample's codes differ from an annotation where it is known (not -1), or pairs are not allowed.

    >>> differ(np.array([1, -1, 0]), np.array([1, 1, 1]), np.array([0, 2, 3]))
    array([False,  True])
    """
    if isinstance(annotation, Annotation):
        wrong = ~annotation.possible()[np.arange(len(codes)), codes]
        if annotation.pairs is not None:
            wrong[annotation.pairs.places[annotation.pairs.broken(codes), 0]] = True
    else:
        wrong = (annotation >= 0) & (annotation != codes)
    return np.logical_or.reduceat(wrong, offsets[:-1]) if len(offsets) > 1 else np.empty(0, bool)
