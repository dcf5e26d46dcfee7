"""What bounds ask of a fitted model of weights and its data: norms of features and weights, sizes, penalties."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from palmette.contracts.structure import can
from palmette.contracts.training import Encoded
from palmette.data.batch import SparseRows
from palmette.data.samples import Samples
from palmette.data.sequences import listed
from palmette.errors import MissingCapability
from palmette.estimators.strengths import own_strength
from palmette.estimators.training import (
    check_outputs,
    completed,
    encode_samples,
    given_labels,
    positions,
)
from palmette.executors.shards import cut
from palmette.inspection.bound import DoesNotApplyError
from palmette.objectives.risk import rows_a_block

# Blocks whose features are there or not, so that their usual penalty is 1.
_PLAIN_BLOCKS = ("bias", "edge", "edge2", "factors", "length")


@dataclass
class Norms:
    """The largest norms of features, over all samples that were looked at."""

    part: float = 0.0  # of a part, |phi_p(x, y)|
    whole: float = 0.0  # of an output, sum of those of its parts: at least |phi(x, y)|
    difference: float = 0.0  # at least |phi(x, y) - phi(x, true)|


class ModelSizes:
    """Numbers of a fitted model and of samples, computed when they are asked for.

    Parameters
    ----------
    model : fitted CRF, SSVM or Perceptron
    X, y
        Samples, as for ``fit``.
    """

    def __init__(self, model: Any, X: Any, y: Any) -> None:
        self.model, self.structure, self.scorer = model, model.structure_, model.scorer_
        y, batch = given_labels(listed(y), self.structure.layout), model._transform(X)
        check_outputs(batch if self.structure.layout == "items" else positions(batch), y, self.structure)
        samples = encode_samples(self.structure, model.codec_, batch, y, None)
        filled = np.flatnonzero(batch.lengths > 0)
        if not len(filled):
            raise ValueError("X has no sample with positions: bounds need some")
        samples = samples if len(filled) == len(batch) else samples.take(filled)
        given = Encoded(model.encoder_, model.codec_, samples, self.structure)
        self.samples = completed(given, self.scorer).samples
        self.lengths = np.diff(self.samples.code_offsets)

    @property
    def m(self) -> int:
        """Number of samples."""
        return len(self.samples.weight)

    @property
    def partial(self) -> bool:
        """Whether some outputs are annotated in part."""
        return self.samples.annotation is not None

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.scorer.n_labels)

    @cached_property
    def norm(self) -> float:
        """``|w|``."""
        own = self.scorer.weight_norm if can(self.scorer, "weight_norm") else np.linalg.norm
        return float(own(self.model.coef_))

    @cached_property
    def norms(self) -> Norms:
        """Norms of features."""
        if not can(self.scorer, "part_norms"):
            raise DoesNotApplyError(
                f"the norms of the features of {type(self.scorer).__name__} are not known: give feature_norm"
            )
        found = Norms()
        for own in self._blocks():
            try:
                theta = self.scorer.part_norms(own.batch)
            except MissingCapability as error:
                raise DoesNotApplyError(f"{error}: give feature_norm") from None
            most = self.structure.bounds(theta)
            found.part = max(found.part, largest(theta))
            found.whole = max(found.whole, float(most.max()))
            found.difference = max(
                found.difference, float((most + self.structure.score(theta, own.codes)).max())
            )
        return found

    @cached_property
    def log_outputs(self) -> float:
        """``ln |Y|``, the largest number of outputs of a sample: the log-partition of scores of 0."""
        if not self.structure.can("log_partition"):
            raise DoesNotApplyError(f"{type(self.structure).__name__} cannot count its outputs")
        return float(
            max(
                self.structure.log_partition(self._potentials(own, at_zero=True)).max()
                for own in self._blocks()
            )
        )

    @cached_property
    def parts_at(self) -> tuple[int, int]:
        """Most parts at a position, and most labels of a part."""
        found = [self.structure.parts_at(self._potentials(own)) for own in self._blocks()]
        return max(int(at.max()) for at, _ in found), max(arity for _, arity in found)

    @cached_property
    def row_sizes(self) -> tuple[int, float]:
        """Most features that a position has, and the largest of their values in size."""
        rows = getattr(self.samples.batch, "rows", None)
        if isinstance(rows, SparseRows):
            lo, hi = int(rows.indptr[0]), int(rows.indptr[-1])
            values = np.abs(rows.values[lo:hi]) if len(rows.values) else np.ones(hi - lo)
            return max(1, int(np.diff(rows.indptr).max(initial=1))), float(values.max(initial=0.0))
        if isinstance(rows, np.ndarray) and rows.size:
            return max(1, int((rows != 0.0).sum(axis=1).max())), float(np.abs(rows).max())
        raise DoesNotApplyError(f"samples of {type(self.structure).__name__} have no rows of features")

    @cached_property
    def l2(self) -> float:
        """The smallest L2 penalty of a weight, from the settings of the model."""
        model = self.model
        if not hasattr(model, "l2_"):
            raise DoesNotApplyError(f"{type(model).__name__} has no L2 penalty: its weights minimise nothing")
        found = [float(model.l2_)]
        for block, place in self.scorer.blocks.items():
            if block == "node" or place.stop == place.start or block == "edge_kernel":
                continue
            name = "edge" if block in ("edge_features", "edge2", "factors") else block
            times, multiple = own_strength(model, f"l2_{name}")
            if multiple and block not in _PLAIN_BLOCKS:
                raise DoesNotApplyError(f"the penalty of {block} is a multiple of the usual one: give l2")
            found.append(times)
        if min(found) <= 0.0:
            raise DoesNotApplyError(
                "some weights have no L2 penalty, so that the objective is not strongly convex"
            )
        return min(found)

    @cached_property
    def surrogate(self) -> Any:
        """The loss that was minimised."""
        model, classes = self.model, tuple(self.model.codec_.classes_)
        if getattr(model, "class_weight", None) is not None:
            raise DoesNotApplyError("class_weight makes samples count differently")
        return model._partial_surrogate(classes) if self.partial else model._surrogate(classes)

    @cached_property
    def convex_surrogate(self) -> Any:
        """The same where it is convex, and its slope in the scores is a difference of outputs."""
        found = self.surrogate
        if not getattr(found, "convex", False):
            raise DoesNotApplyError(f"its loss, {type(found).__name__}, is not convex")
        if getattr(found, "rescaling", None) is not None:
            raise DoesNotApplyError("its loss is rescaled by the task loss")
        return found

    def losses(self, surrogate: Any, at_zero: bool = False) -> np.ndarray:
        """What was minimised, of every sample; or at weights of 0."""
        out = []
        for own in self._blocks():
            theta = self._potentials(own, at_zero)
            found = surrogate.evaluate(self.structure, theta, own.truth, np.ones(len(theta)))
            out.append(found.values + found.slack)
        return np.concatenate(out)

    def largest_loss(self, task_loss: Any) -> float:
        """Upper bound on the task loss of any output of any sample."""
        return float(
            max(
                np.max(task_loss.largest(self.structure, self._potentials(own), own.codes))
                for own in self._blocks()
            )
        )

    def _potentials(self, own: Samples, at_zero: bool = False) -> Any:
        return self.scorer.score(np.zeros_like(self.model.coef_) if at_zero else self.model.coef_, own.batch)

    def _blocks(self) -> list[Samples]:
        """The samples in blocks whose tables stay in the cache."""
        batch = self.samples.batch
        n = max(1, batch.n_rows // rows_a_block(self.scorer))
        return [self.samples.slice(a, b) for a, b in cut(batch.offsets, n)]


def largest(theta: Any) -> float:
    """The largest number of potentials that is not infinite."""
    found = 0.0
    for own in fields(theta):
        value = getattr(theta, own.name)
        for array in value if isinstance(value, tuple) else (value,):
            if isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.size:
                found = max(found, float(array.max(where=np.isfinite(array), initial=0.0)))
    return found
