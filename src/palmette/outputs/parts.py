"""Outputs of structures that name their parts: the kernel counts common ones, and inference finds pre-images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from palmette.contracts.structure import Structure, can
from palmette.data.checks import check_array
from palmette.errors import MissingCapability
from palmette.kernels.objects import as_objects
from palmette.losses import ZeroOne
from palmette.losses.base import resolve_loss
from palmette.outputs.base import OutputSpace, PreImages
from palmette.outputs.candidates import indicators
from palmette.outputs.structure_codes import StructureOutputs
from palmette.registry import register

FUNCTION = "give a function of a true and a predicted output, whose sum is then minimised over candidates"


def part_outputs(structure: Structure, task_loss: Any = None) -> OutputSpace:
    """The space of a structure that names its parts; a task loss is minimised over all outputs of the structure."""
    if task_loss is None:
        return PartOutputs(structure)
    loss = structure.default_loss if isinstance(task_loss, str) and task_loss == "auto" else task_loss
    if not isinstance(loss, ZeroOne) and not (isinstance(loss, str) and loss == ZeroOne.called):
        return PartLossOutputs(structure, loss)
    if not structure.can("first_besides"):
        raise MissingCapability(
            f"task_loss={task_loss!r} with {type(structure).__name__}, which has no first_besides: {FUNCTION}"
        )
    return WholeOutputs(structure)


@register("output")
class PartOutputs(StructureOutputs):
    r"""Outputs of a structure that names its parts: ``K(y, y')`` is the number of common ones.

    ``K(y, y) - 2 <psi(y), v>`` is a sum of ``1 - 2 v[part]`` over the parts of y, which the structure minimises.
    """

    constant_norm = False

    def __init__(self, structure: Any) -> None:
        self.structure = structure

    def sizes(self, outputs: list[Any], X: Any) -> np.ndarray:
        """Known once the structure knows its labels."""
        return np.zeros(len(outputs), np.int64)

    def offsets(self, outputs: list[Any], sizes: np.ndarray) -> np.ndarray:
        """As the structure says."""
        return self.structure_.output_offsets(outputs)

    def code_features(self, codes: np.ndarray, offsets: np.ndarray) -> sparse.csr_array:
        """Indicators of parts."""
        return sparse.csr_array(self.structure_.part_features(codes, offsets))

    def encode(self, outputs: list[Any], sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Codes of outputs, whose number the structure knows."""
        return super().encode(outputs, np.diff(self.offsets(outputs, sizes)))

    def pre_images(self, votes: np.ndarray, X: Any = None) -> PreImages:
        """The best output of the structure for every row of votes."""
        return self._lowest(1.0 - 2.0 * np.asarray(votes, float), 0.0)

    def _lowest(self, costs: np.ndarray, constant: Any) -> PreImages:
        """The output with the lowest sum of the costs of its parts, for every row."""
        found = self.structure_.best_by_parts(costs, -costs)
        values = constant - np.asarray(found.values, float)
        return PreImages(
            self.decoded(found.codes, self.structure_.output_offsets(costs)), values, values, "inference"
        )


@register("output")
class PartLossOutputs(PartOutputs):
    r"""The same, decoded by ``argmin_y sum_i a_i D(y_i, y)`` for a task loss D that is a sum over the parts of y.

    The loss says what parts cost, ``D(y_i, y) = constant(y_i) + sum over the parts p of y of cost_p(y_i)``, where both
    are linear in the parts of y_i. So votes are ``sum_i a_i`` for each part of the y_i and for all of them, from which
    the costs follow, and the structure finds the best of all its outputs.

    Examples
    --------
    >>> from palmette import Hierarchy
    >>> paths = ["a.x", "a.y", "b.z"]
    >>> space = PartLossOutputs(Hierarchy(inner_ends=True), "symmetric_difference").fit(paths)
    >>> found = space.pre_images(np.array([[0.3, 0.3, 0.4]]) @ space.ballots.toarray())
    >>> found.outputs, found.values, found.exact  # it has the least mean distance, and is no training output
    (['a'], array([1.8]), array([ True]))
    """

    functions: ClassVar[tuple[str, ...]] = ("output", "task_loss")

    def __init__(self, structure: Any, task_loss: Any) -> None:
        self.structure = structure
        self.task_loss = task_loss

    def learn(self, sizes: np.ndarray, X: Any = None) -> None:
        """The loss on codes."""
        self.loss_: Any = resolve_loss(self.task_loss, self.structure_, self.codec_.classes_)
        if not can(self.loss_, "part_costs"):
            raise MissingCapability(
                f"task_loss={self.task_loss!r} is no sum over the parts of an output, so that "
                f"{type(self.structure).__name__} cannot minimise its sum: {FUNCTION}"
            )

    @classmethod
    def from_state(
        cls, header: Any, arrays: Mapping[str, np.ndarray], output: Any = None, task_loss: Any = None
    ) -> Self:
        """Inverse of :meth:`state`; the structure and the loss are parameters of the learner."""
        own = super().from_state(header, arrays, output)
        own.task_loss = getattr(output, "task_loss", None) if task_loss is None else task_loss
        own.learn(np.empty(0, np.int64))
        return own

    @property
    def ballots(self) -> sparse.csr_array:
        """The parts of an output, and 1."""
        return _and_one(self.rows)

    def _costs(self, votes: Any) -> tuple[np.ndarray, np.ndarray]:
        votes = np.asarray(votes, float)
        found: tuple[np.ndarray, np.ndarray] = self.loss_.part_costs(votes[:, :-1], votes[:, -1])
        return found

    def pre_images(self, votes: np.ndarray, X: Any = None) -> PreImages:
        """The output of the structure with the lowest sum of losses, for every row of votes."""
        return self._lowest(*self._costs(votes))

    def values(self, votes: np.ndarray, outputs: Any) -> np.ndarray:
        """Sums of losses of given outputs for every row of ``votes``, shape (n, len(outputs))."""
        costs, constant = self._costs(votes)
        return constant[:, None] + (self.features(outputs) @ costs.T).T

    def task_losses(self, true: Any, predicted: Any) -> np.ndarray:
        """Loss of each prediction."""
        costs, constant = self._costs(_and_one(self.features(true)).toarray())
        return constant + np.asarray(self.features(predicted).multiply(costs).sum(axis=1), float).ravel()


@register("output")
class WholeOutputs(PartOutputs):
    r"""The same, decoded by ``argmin_y sum_i a_i [y_i != y]``: the output with the most votes, of all that there are.

    Where no training output has votes above 0, any other output has a lower sum than those with votes below 0: of the
    outputs without votes that with the lowest codes is predicted.

    Examples
    --------
    >>> from palmette import Hierarchy
    >>> space = WholeOutputs(Hierarchy(["a.x", "a.y", "b"])).fit(["a.x", "b"])
    >>> votes = np.array([[0.5, 0.2], [-0.5, -0.2]])  # for "a.x" and "b"
    >>> space.pre_images(votes @ space.ballots.toarray()).outputs
    ['a.x', 'a.y']
    """

    kept: ClassVar[tuple[str, ...]] = ("seen_",)

    def remember(self, codes: np.ndarray, offsets: np.ndarray) -> None:
        """Which outputs there are, and which each one is."""
        rows = codes.reshape(len(offsets) - 1, -1)
        keys = [row.tobytes() for row in rows.astype(">u4")]  # which compare as the codes do
        place = {key: k for k, key in enumerate(sorted(set(keys)))}
        number = np.array([place[key] for key in keys])
        self.seen_ = rows[np.unique(number, return_index=True)[1]]
        self.ballots_ = indicators(number, len(self.seen_))
        self._find_other()

    def revived(self) -> None:
        """Check the codes that a file kept."""
        width = int(self.structure_.output_offsets([None])[-1])
        seen = check_array("seen_", self.seen_, np.int32, 2)
        if seen.shape[1] != width or not len(seen):
            raise ValueError(f"seen_ has shape {seen.shape}, expected {width} codes of at least one output")
        self.structure_.check_outputs(seen.ravel(), width * np.arange(len(seen) + 1))
        self._find_other()

    def _find_other(self) -> None:
        """The first output that is none of training, if there is one, and how many of these have lower codes."""
        self.other_ = self.structure_.first_besides(self.seen_)
        if self.other_ is not None:
            first = np.argmax(self.seen_ != self.other_, axis=1)
            self.before_ = int(np.sum(self.seen_[np.arange(len(first)), first] < self.other_[first]))

    @property
    def ballots(self) -> sparse.csr_array:
        """Which of the distinct training outputs each one is."""
        return self.ballots_

    def pre_images(self, votes: np.ndarray, X: Any = None) -> PreImages:
        """The output with the most votes; of several that with the lowest codes."""
        votes = np.asarray(votes, float)
        best = votes.argmax(axis=1)
        most, codes = votes[np.arange(len(votes)), best], self.seen_[best]
        if self.other_ is not None:
            wins = (most < 0.0) | ((most == 0.0) & (best >= self.before_))
            most, codes = np.where(wins, 0.0, most), np.where(wins[:, None], self.other_, codes)
        values = votes.sum(axis=1) - most
        offsets = np.arange(len(codes) + 1) * codes.shape[1]
        return PreImages(self.decoded(codes.ravel(), offsets), values, values, "vote")

    def values(self, votes: np.ndarray, outputs: Any) -> np.ndarray:
        """Sums of losses of given outputs for every row of ``votes``, shape (n, len(outputs))."""
        votes, same = np.asarray(votes, float), self._are(outputs)
        return votes.sum(axis=1, keepdims=True) - (same @ votes.T).T

    def task_losses(self, true: Any, predicted: Any) -> np.ndarray:
        """1 for each prediction that differs."""
        one, other = (self._codes(each) for each in (true, predicted))
        return np.any(one != other, axis=1).astype(float)

    def _codes(self, outputs: Any) -> np.ndarray:
        outputs = as_objects(outputs, "outputs")
        codes, offsets = self.encode(outputs, self.sizes(outputs, None))
        return codes.reshape(len(offsets) - 1, -1)

    def _are(self, outputs: Any) -> sparse.csr_array:
        """Which of the distinct training outputs each output is, if any."""
        place = {own.tobytes(): k for k, own in enumerate(self.seen_)}
        own = [place.get(own.tobytes(), -1) for own in self._codes(outputs).astype(self.seen_.dtype)]
        numbers = np.array(own, np.int64)
        table = indicators(np.where(numbers < 0, len(self.seen_), numbers), len(self.seen_) + 1)
        return table[:, :-1]


def _and_one(rows: sparse.csr_array) -> sparse.csr_array:
    """Rows with a last column of ones."""
    return sparse.hstack([rows, np.ones((rows.shape[0], 1))], format="csr")
