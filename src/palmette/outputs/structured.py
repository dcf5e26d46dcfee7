"""Outputs of structures with codes at positions: the kernel counts common ones, and inference finds pre-images."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from palmette.contracts.structure import Structure, can
from palmette.contracts.training import Encoded, WeightOptions
from palmette.data.checks import check_whole
from palmette.data.samples import Samples
from palmette.data.sequences import check_same_length, n_items
from palmette.errors import MissingCapability
from palmette.kernels.rows import products
from palmette.losses.base import resolve_loss
from palmette.outputs.base import PreImages
from palmette.outputs.structure_codes import StructureOutputs
from palmette.registry import register


@register("output")
class PositionOutputs(StructureOutputs):
    r"""Outputs of a structure with codes at positions: ``K(y, y')`` is the number of positions with the same code.

    An output has as many codes as its input asks for, and the structure finds the best one among those that it allows:
    ``argmin_y |y| - 2 sum_t v[t, y_t]``. With a task loss that is a table of costs of confusions,
    ``argmin_y sum_t sum_c v[t, c] cost[c, y_t]``: positions that a training output does not have cost nothing.

    Examples
    --------
    >>> from palmette import Chain
    >>> rules = [(None, "a"), (None, "b"), ("a", "a"), ("a", "b"), ("b", "b"), ("a", None), ("b", None)]
    >>> space = PositionOutputs(Chain(allowed=rules)).fit([["a", "b"], ["a", "a"]])
    >>> votes = np.array([[0.1, 0.9, 0.8, 0.2]])  # "b" then "a", which is not allowed
    >>> found = space.pre_images(votes, [["x", "x"]])
    >>> found.outputs, found.values.round(6), found.exact
    ([['b', 'b']], array([-0.2]), array([ True]))
    """

    kept: ClassVar[tuple[str, ...]] = ("longest_", "table_")
    constant_norm = True

    def __init__(self, structure: Any, task_loss: Any = None) -> None:
        self.structure = structure
        self.task_loss = task_loss

    def sizes(self, outputs: list[Any], X: Any) -> np.ndarray:
        """One code for every position."""
        if self.structure.layout == "items":
            return np.ones(len(outputs), np.int64)
        for i, output in enumerate(outputs):
            if not hasattr(output, "__len__"):
                raise TypeError(
                    f"y[{i}] is {output!r:.60}, a {type(output).__name__}; an output of "
                    f"{type(self.structure).__name__} is a list with a label for each position"
                )
        if X is None:
            return np.array([n_items(output) for output in outputs], np.int64)
        check_same_length(X, outputs, self.structure.layout if self._plain else "items")
        return np.diff(self.structure.output_offsets(self.batch(X)[1]))

    @property
    def columns(self) -> int:
        """Coordinates of each position."""
        return self.n_codes_

    @property
    def _plain(self) -> bool:
        """Whether inputs are rows of features and nothing else, so that only their number matters."""
        return type(self.structure).make_encoder is Structure.make_encoder

    def batch(self, X: Any) -> tuple[Any, Any]:
        """An encoder and encoded inputs; features do not matter."""
        if self._plain:
            items = self.structure.layout == "items"
            X = np.zeros((n_items(X), 1)) if items else [np.zeros((n_items(x), 1)) for x in X]
        X = self.structure.admit(X)
        encoder = self.structure.make_encoder(X)
        return encoder, encoder.fit_transform(X, allow_empty=True)

    def learn(self, sizes: np.ndarray, X: Any = None) -> None:
        """Number of positions with features, and the costs of confusions."""
        n_labels = len(self.codec_.classes_)
        self.longest_, self.table_ = int(sizes.max(initial=0)), None
        try:
            self.n_codes_ = self.structure_.code_costs(np.zeros((n_labels, n_labels))).shape[1]
        except (ValueError, MissingCapability) as error:
            raise self._no_output() from error
        if self.task_loss is not None:
            loss: Any = resolve_loss(self.task_loss, self.structure_, self.codec_.classes_)
            if loss.way != "parts":
                raise MissingCapability(
                    f"task_loss={self.task_loss!r} is no cost of positions, so that {type(self.structure).__name__} "
                    "cannot minimise its sum: give a function of a true and a predicted output, which candidates are "
                    "tried with"
                )
            self.table_ = np.asarray(loss.table, float)

    def revived(self) -> None:
        """The file has numbers that fit the structure."""
        n_labels, longest, table = (
            len(self.codec_.classes_),
            check_whole("longest_", self.longest_),
            self.table_,
        )
        self.learn(np.array([longest]))
        self.table_ = table
        if table is not None and np.shape(table) != (self.n_codes_, self.n_codes_):
            raise ValueError(f"table_ has shape {np.shape(table)}, expected one of {n_labels} labels")

    def code_features(self, codes: np.ndarray, offsets: np.ndarray) -> sparse.csr_array:
        """Indicators of (position, code)."""
        sizes = np.diff(offsets)
        place = np.arange(len(codes)) - np.repeat(offsets[:-1], sizes)
        width = max(self.longest_, int(sizes.max(initial=0)))
        entries = (np.ones(len(codes)), place * self.n_codes_ + codes, offsets)
        return sparse.csr_array(entries, shape=(len(sizes), width * self.n_codes_))

    def gram(self, left: Any, right: Any) -> np.ndarray:
        """Number of common codes of all pairs, which may be of any length."""
        return products(*_as_wide(self.features(left), self.features(right)))

    def pairs(self, left: Any, right: Any) -> np.ndarray:
        """Number of common codes of each pair."""
        x, y = _as_wide(self.features(left), self.features(right))
        return np.asarray(x.multiply(y).sum(axis=1), float).ravel()

    def values(self, votes: np.ndarray, outputs: Any) -> np.ndarray:
        """What pre-images minimise, with a task loss its sum, of given outputs for every row of ``votes``."""
        if self.table_ is None:
            return super().values(votes, outputs)
        votes = np.asarray(votes, float)
        costs = (votes.reshape(len(votes), self.longest_, self.n_codes_) @ self.table_).reshape(votes.shape)
        rows = self.features(outputs)
        reached = min(rows.shape[1], votes.shape[1])
        return (rows[:, :reached] @ costs.T[:reached]).T

    def task_losses(self, true: Any, predicted: Any) -> np.ndarray:
        """Loss of each prediction: the costs of its confusions."""
        if self.table_ is None:
            return super().task_losses(true, predicted)
        x, y = _as_wide(self.features(true), self.features(predicted))
        costs = x @ sparse.kron(sparse.eye_array(x.shape[1] // self.n_codes_), self.table_, format="csr")
        return np.asarray(y.multiply(costs).sum(axis=1), float).ravel()

    def pre_images(self, votes: np.ndarray, X: Any = None) -> PreImages:
        """The best output of the structure for every row of votes."""
        theta, offsets, gains = self._asked(np.asarray(votes, float), X)
        sizes = np.diff(offsets)
        if self.table_ is not None:
            gains = -gains @ self.table_
        codes, best, bounds = self.structure_.bounded_best(theta, cost=theta.position_cost(gains))
        outputs = self.decoded(codes, offsets)
        if self.table_ is not None:
            return PreImages(outputs, 0.0 - best, 0.0 - bounds, "inference")
        return PreImages(outputs, sizes - 2.0 * best, sizes - 2.0 * bounds, "inference")

    def _asked(self, votes: np.ndarray, X: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Potentials of the inputs that are 0, where the codes of each begin, and the votes of all positions."""
        if X is None or n_items(X) != len(votes):
            found = "none are given" if X is None else f"there are {n_items(X)}"
            raise ValueError(
                f"outputs of {type(self.structure).__name__} need the {len(votes)} inputs; {found}"
            )
        theta = self.potentials(X)
        offsets = self.structure_.output_offsets(theta)
        return theta, offsets, self._gains(votes, np.diff(offsets))

    def _gains(self, votes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Votes of all positions of all samples, (n_codes, columns); nobody votes beyond the longest."""
        table = votes.reshape(len(votes), self.longest_, self.columns)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        place = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        gains = np.zeros((len(owner), self.columns))
        known = place < self.longest_
        gains[known] = table[owner[known], place[known]]
        return gains

    def potentials(self, X: Any) -> Any:
        """Potentials of inputs that are 0 everywhere."""
        encoder, batch = self.batch(X)
        offsets = self.structure_.output_offsets(batch)
        codes = np.zeros(int(offsets[-1]), np.int32)
        samples = Samples(batch, codes, np.ones(len(batch)), None if offsets is batch.offsets else offsets)
        scorer = self.structure_.make_scorer(
            Encoded(encoder, self.codec_, samples, self.structure_), WeightOptions(states="all")
        )
        theta = scorer.score(np.zeros(scorer.n_params), batch)
        if not can(theta, "position_cost"):
            raise self._no_output()
        return theta

    def _no_output(self) -> MissingCapability:
        loss = "" if self.task_loss is None else f" with task_loss={self.task_loss!r}"
        return MissingCapability(
            f"{type(self.structure).__name__}{loss}: it has neither costs of codes at positions nor named parts "
            "(part_features, best_by_parts), so that it cannot be the output of a regression: give a kernel of "
            "outputs, output=CandidateOutputs(kernel), and any task loss as a function; candidates are then tried"
        )


def _as_wide(left: sparse.csr_array, right: sparse.csr_array) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Both with as many columns as the wider one."""
    width = max(left.shape[1], right.shape[1])
    for rows in (left, right):
        rows.resize(rows.shape[0], width)
    return left, right
