"""Outputs of any structure: the kernel counts common parts, and the structure's own inference finds pre-images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone

from palmette.contracts.structure import Structure, can
from palmette.contracts.training import Encoded, WeightOptions
from palmette.data.checks import check_whole, entry
from palmette.data.ragged import Ragged, offsets_from_lengths
from palmette.data.samples import Samples
from palmette.data.sequences import check_same_length, n_items
from palmette.errors import MissingCapability
from palmette.kernels.objects import as_objects
from palmette.kernels.rows import products, squared_norms
from palmette.losses.base import resolve_loss
from palmette.outputs.base import OutputSpace, PreImages
from palmette.registry import find, kind_of, register


def structured_outputs(structure: Structure, task_loss: Any = None) -> OutputSpace:
    """The space of the outputs of a structure: of its own parts if it names them, else of codes at positions."""
    if structure.can("part_features", "best_by_parts"):
        if task_loss is not None:
            raise MissingCapability(
                f"task_loss={task_loss!r} with {type(structure).__name__}: give a function of a true and a predicted "
                "output, whose sum is then minimised over candidates"
            )
        return PartOutputs(structure)
    return PositionOutputs(structure, task_loss)


class StructureOutputs(OutputSpace):
    """What both spaces share: outputs as codes of the structure's codec, and features of codes."""

    structure: Any

    def fit(self, y: Any, X: Any = None) -> Self:
        """A copy that knows the labels, and the features of the training outputs."""
        own, outputs = clone(self), as_objects(y, "y")
        if not outputs:
            raise ValueError("y has no outputs; a regression needs at least one")
        sizes = own.sizes(outputs, X)
        own.codec_ = self.structure.make_codec(outputs, None, sizes)
        own.structure_ = self.structure.bind(own.codec_.classes_)
        own.learn(sizes)
        codes, offsets = own.encode(outputs, sizes)
        own.structure_.check_outputs(codes, offsets)
        own.rows = own.code_features(codes, offsets)
        own.constant_norm = own.constant_norm or bool(np.ptp(squared_norms(own.rows)) <= 1e-9)
        return own

    def encode(self, outputs: list[Any], sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Codes of outputs, and where those of each begin and end."""
        found = self.codec_.encode_annotation(outputs, sizes, self.structure_.layout)
        codes, offsets = found.known, self.offsets(outputs, sizes)
        if codes.min(initial=0) < 0:
            i = int(np.searchsorted(offsets, int(np.argmin(codes)), side="right")) - 1
            raise ValueError(
                f"y[{i}] = {outputs[i]!r:.60} is not known wholly; a regression needs complete outputs"
            )
        return codes, offsets

    def features(self, outputs: Any) -> sparse.csr_array:
        """Features of any outputs."""
        outputs = as_objects(outputs, "outputs")
        return self.code_features(*self.encode(outputs, self.sizes(outputs, None)))

    def decoded(self, codes: np.ndarray, offsets: np.ndarray) -> list[Any]:
        """Outputs of codes."""
        if self.structure_.layout == "items":
            return self.codec_.decode(codes)
        return list(self.codec_.decode_sequences(Ragged(codes, offsets)))

    def values(self, votes: np.ndarray, outputs: Any) -> np.ndarray:
        """``K_Y(y, y) - 2 <psi(y), v>`` of given outputs for every row of ``votes``, shape (n, len(outputs))."""
        rows = self.features(outputs)
        reached = min(rows.shape[1], np.shape(votes)[1])  # nobody votes beyond the longest training output
        return squared_norms(rows) - 2.0 * (rows[:, :reached] @ np.asarray(votes, float).T[:reached]).T

    def gram(self, left: Any, right: Any) -> np.ndarray:
        """Number of common parts of all pairs."""
        return products(self.features(left), self.features(right))

    def norms(self, outputs: Any) -> np.ndarray:
        """Number of parts."""
        return squared_norms(self.features(outputs))

    def pairs(self, left: Any, right: Any) -> np.ndarray:
        """Number of common parts of each pair."""
        return np.asarray(self.features(left).multiply(self.features(right)).sum(axis=1), float).ravel()

    def sizes(self, outputs: list[Any], X: Any) -> np.ndarray:
        """Number of codes of each output."""
        raise NotImplementedError

    def offsets(self, outputs: list[Any], sizes: np.ndarray) -> np.ndarray:
        """Where the codes of each output begin and end."""
        return offsets_from_lengths(sizes)

    def learn(self, sizes: np.ndarray) -> None:
        """Whatever the features need to know, before they are made."""

    def code_features(self, codes: np.ndarray, offsets: np.ndarray) -> sparse.csr_array:
        """Features of codes."""
        raise NotImplementedError

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The codec; the structure itself is a parameter of the learner."""
        header, arrays = super().state()
        return header | {"codec": {"kind": kind_of(self.codec_), "state": self.codec_.state()}}, arrays

    @classmethod
    def from_state(cls, header: Any, arrays: Mapping[str, np.ndarray], output: Any = None) -> Self:
        """Inverse of :meth:`state`; ``output`` is the structure, or a space of it."""
        own = super().from_state(header, arrays, output)
        own.structure, codec = (
            getattr(output, "structure", output),
            entry(header, "codec", dict, "the output"),
        )
        if not isinstance(own.structure, Structure):
            raise ValueError(f"the output of a regression on a structure needs it again, got {output!r:.60}")
        own.codec_ = find("codec", codec.get("kind")).from_state(codec.get("state"))  # type: ignore[attr-defined]
        own.structure_ = own.structure.bind(own.codec_.classes_)
        own.revived()
        return own

    def revived(self) -> None:
        """Check, and complete, what came from a file, with the structure at hand."""


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
        found = self.structure_.best_by_parts(votes, 2.0 * np.asarray(votes, float) - 1.0)
        values = -np.asarray(found.values, float)
        outputs = self.decoded(found.codes, self.structure_.output_offsets(votes))
        return PreImages(outputs, values, values, "inference")


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
        if X is None:
            return np.array([n_items(output) for output in outputs], np.int64)
        check_same_length(X, outputs, self.structure.layout if self._plain else "items")
        return np.diff(self.structure.output_offsets(self._batch(X)[1]))

    @property
    def _plain(self) -> bool:
        """Whether inputs are rows of features and nothing else, so that only their number matters."""
        return type(self.structure).make_encoder is Structure.make_encoder

    def _batch(self, X: Any) -> tuple[Any, Any]:
        """An encoder and encoded inputs; features do not matter."""
        if self._plain:
            items = self.structure.layout == "items"
            X = np.zeros((n_items(X), 1)) if items else [np.zeros((n_items(x), 1)) for x in X]
        X = self.structure.admit(X)
        encoder = self.structure.make_encoder(X)
        return encoder, encoder.fit_transform(X, allow_empty=True)

    def learn(self, sizes: np.ndarray) -> None:
        """Number of positions with features, and the costs of confusions."""
        n_labels = len(self.codec_.classes_)
        self.longest_, self.table_ = int(sizes.max(initial=0)), None
        self.n_codes_ = self.structure_.code_costs(np.zeros((n_labels, n_labels))).shape[1]
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

    def pre_images(self, votes: np.ndarray, X: Any = None) -> PreImages:
        """The best output of the structure for every row of votes."""
        if X is None or n_items(X) != len(votes):
            found = "none are given" if X is None else f"there are {n_items(X)}"
            raise ValueError(
                f"outputs of {type(self.structure).__name__} need the {len(votes)} inputs; {found}"
            )
        theta = self._potentials(X)
        offsets = self.structure_.output_offsets(theta)
        sizes = np.diff(offsets)
        gains = self._gains(np.asarray(votes, float), sizes)
        if self.table_ is not None:
            gains = -gains @ self.table_
        codes, best, bounds = self.structure_.bounded_best(theta, cost=theta.position_cost(gains))
        outputs = self.decoded(codes, offsets)
        if self.table_ is not None:
            return PreImages(outputs, -best, -bounds, "inference")
        return PreImages(outputs, sizes - 2.0 * best, sizes - 2.0 * bounds, "inference")

    def _gains(self, votes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Votes of all positions of all samples, (n_codes, kinds of codes); nobody votes beyond the longest."""
        table = votes.reshape(len(votes), self.longest_, self.n_codes_)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        place = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        gains = np.zeros((len(owner), self.n_codes_))
        known = place < self.longest_
        gains[known] = table[owner[known], place[known]]
        return gains

    def _potentials(self, X: Any) -> Any:
        """Potentials of inputs that are 0 everywhere."""
        encoder, batch = self._batch(X)
        offsets = self.structure_.output_offsets(batch)
        codes = np.zeros(int(offsets[-1]), np.int32)
        samples = Samples(batch, codes, np.ones(len(batch)), None if offsets is batch.offsets else offsets)
        scorer = self.structure_.make_scorer(
            Encoded(encoder, self.codec_, samples, self.structure_), WeightOptions(states="all")
        )
        theta = scorer.score(np.zeros(scorer.n_params), batch)
        if not can(theta, "position_cost"):
            raise MissingCapability(
                f"{type(self.structure).__name__} has neither costs of positions nor named parts "
                "(part_features, best_by_parts), so that it cannot be the output of a regression"
            )
        return theta


def _as_wide(left: sparse.csr_array, right: sparse.csr_array) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Both with as many columns as the wider one."""
    width = max(left.shape[1], right.shape[1])
    for rows in (left, right):
        rows.resize(rows.shape[0], width)
    return left, right
