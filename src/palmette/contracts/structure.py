"""What an output structure answers: the contract between inference and everything above it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator

from palmette.contracts.reductions import REDUCTIONS
from palmette.contracts.scorer import Scorer
from palmette.contracts.training import Encoded, WeightOptions
from palmette.data.annotation import UNKNOWN, Known, OneOf
from palmette.data.batch import Batch
from palmette.data.labels import LabelCodec
from palmette.data.linked import Linked
from palmette.data.samples import Samples
from palmette.data.sequences import check_same_length
from palmette.errors import MissingCapability
from palmette.features.base import Encoder
from palmette.features.choose_encoder import admitted, make_encoder


class Best(NamedTuple):
    """Outputs of a maximisation (or minimisation) and their values, cost included."""

    codes: Any  # outputs of the batch, one after the other, as `Structure.output_offsets` cuts them
    values: np.ndarray  # (n_samples,)


class Expectation(NamedTuple):
    """Log-partitions of a batch and the expected counts, in the shape of the potentials."""

    log_z: np.ndarray  # (n_samples,)
    counts: Any


class Allowed:
    """Base class of restrictions, which say what outputs may be; ``a & b`` is what both allow."""


class Words(NamedTuple):
    """What messages call the parts of a structure."""

    outputs: str = "predictions"
    between_rows: str = "between positions"  # where features must differ to be of any use
    between_labels: str = "between labels"
    hinge_remedy: str = ""  # what to try where the hinge learns nothing


class Structure(BaseEstimator):
    """A family of outputs with its inference, on packed batches; the base class of every structure.

    ``theta`` are the potentials of a batch; ``f(x, y) = <theta, count(y)>`` for every output. An output is an array of
    integer codes; those of a batch stand one after the other, cut by :meth:`output_offsets`. Every answer takes
    ``cost=`` (added to the score, per label part) and ``within=`` (a restriction of the structure, such as
    :meth:`agreeing` and :meth:`contradicting` make).

    **A structure has at least** :meth:`best`, :meth:`score`, :meth:`count`, :meth:`make_scorer`, :meth:`agreeing` and
    :meth:`contradicting`. Everything else that has a body here is a default.

    **Answers that a structure may lack** are methods that it then does not have: ``worst``, ``k_best``,
    ``max_marginals`` | ``log_partition``, ``expectation``, ``marginals``, ``entropy``, ``sample``, ``min_risk``,
    ``log_proba`` | ``best_by_level`` (with ``level_costs``), ``relaxed_best``, ``first_weights``,
    ``best_equivalent`` (the best of the outputs that no loss can tell from the true one) | ``links(batch)`` (pairs of
    codes that depend on each other, where these are not neighbours), ``parts_at(theta)`` (of structures whose parts
    join labels of rows: the parts of each row, and the most labels of a part) | as outputs of a regression, of bound
    structures whose outputs do not depend on the input: ``part_features(codes, offsets)`` (which parts outputs have,
    sparse), ``best_by_parts(sized, gains)`` (the best sums of gains of parts), ``first_besides(codes)`` (the lowest
    codes of an output that is none of these); ``neighbour_cost(theta, node, pair)`` (costs of the codes of positions,
    and of each two that ``links`` join, or else of each and the next one). Who needs one says so before the first step
    (:func:`require`, :meth:`can`), with the reason in :attr:`lacks`.

    **Potentials** have ``len()``, ``offsets`` (rows of the samples), ``dot(counts)``, ``any()`` (whether a difference
    of counts is not 0), ``distance()`` (how many parts it differs in), ``zeros()``, ``take(samples)``; they are
    dataclasses whose arrays of floats are scores. For losses that cost per code they have ``position_cost(costs)`` with
    ``costs`` of shape (n_codes, n_kinds of codes), and where there are :attr:`annotated_pairs`
    ``pair_cost(costs, pairs)``. **Scorers** have ``n_params``, ``n_labels``, ``has_edges``, ``blocks`` (name to slice
    of the weights, one of them ``"node"``), ``score(w, batch)``, its adjoint ``pull_back(counts, batch, out)``,
    ``carry_over(old, w, labels, columns)`` for warm starts, and for model files ``state()`` and ``check()``; for bounds
    they may have ``part_norms(batch)`` (norms of the features of parts, in the shape of potentials) and
    ``weight_norm(w)`` (where that is not the Euclidean one).
    """

    layout: ClassVar[Any] = "sequences"
    """"sequences": a sample is a run of rows. "items": a sample is one row of a table, and has one label."""
    has_edges: ClassVar[bool] = False
    """Whether there are weights for label pairs."""
    labelled: ClassVar[bool] = True
    """Whether outputs are made of labels, which users may declare (``classes=``)."""
    label_per_row: ClassVar[bool] = False
    """Whether an output is one label per row, in the order of the rows."""
    exact: ClassVar[bool] = True
    """Whether :meth:`best` always finds the best output."""
    costly: ClassVar[bool] = False
    """Whether :meth:`best` takes so long that solvers should ask for as few maxima as they can."""
    removable_edges: ClassVar[bool] = False
    """Whether edges can be dropped one by one and leave labels (``Decomposition``); a subclass says so anew."""
    determined: ClassVar[bool] = True
    """Whether only one output agrees with a complete annotation."""
    annotated_pairs: ClassVar[bool] = False
    """Whether annotations may say which codes two parts may have together (``Linked``); the parts have ``links``."""
    compares_rows: ClassVar[bool] = False
    """Whether only differences between the rows of a sample matter: what all of them share changes no output."""
    default_loss: ClassVar[Any] = "zero_one"
    """The task loss that fits: a name, or an object with ``bind(structure, classes)``."""
    usual_share: ClassVar[float | None] = None
    """The usual penalty of array columns as a share of their spread; None: that of the learner."""
    lacks: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Why answers are missing and what to use instead, by the name of the answer; "kernel": why there is none."""
    words: ClassVar[Words] = Words()
    functions: ClassVar[tuple[str, ...]] = ()
    """Parameters that may be functions. Files hold no code, so they are given again on loading."""
    part_kinds: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({})
    """The registered kinds of "codec", "encoder" and "scorer" that go with this structure; all if not named."""
    order: int | None = None
    """Of chains: how many neighbours back an output remembers."""
    ties: str = "given"
    """"best": of the outputs as good as the true one, the one that scores best is the truth (`best_equivalent`)."""
    allowed: Any = None
    """Which labels may follow each other, as users write it."""
    rules: Any = None
    """The same on the codes of labels: tables ``start``, ``transition``, ``end``; None: everything is allowed."""

    def can(self, *answers: str) -> bool:
        """Whether the structure has all these answers."""
        return can(self, *answers)

    # -- what users give and get --------------------------------------------------------------------------------

    def admit(self, X: Any) -> Any:
        """Inputs as the encoder takes them; what is encoded already stays as it is."""
        return admitted(X, self.layout)

    def admit_outputs(self, y: Any, batch: Any) -> Any:
        """Outputs as the codec takes them, given the encoded inputs that they are about; here as they are."""
        return y

    def make_encoder(self, X: Any, *, min_count: int = 1, n_hash: int | None = None) -> Encoder:
        """The encoder for inputs like these, not fitted yet."""
        return make_encoder(X, self.layout, min_count=min_count, n_hash=n_hash)

    def check_encoder(self, encoder: Encoder) -> None:
        """Raise ValueError for the encoder of inputs that were encoded for another structure."""
        if encoder.of != "rows":
            raise ValueError(f"X was encoded as {encoder.of}, but {type(self).__name__} needs {self.layout}")

    def make_codec(self, y: Any, classes: Any, lengths: np.ndarray) -> LabelCodec:
        """The codec between outputs like ``y`` and codes; ``lengths`` are the numbers of rows of the samples."""
        return LabelCodec.from_labels(y, classes, layout=self.layout)

    def make_scorer(self, data: Encoded, options: WeightOptions) -> Scorer:
        """The layout of the weights for training data: a scorer."""
        raise NotImplementedError(f"{type(self).__name__} must have make_scorer(data, options)")

    def bind(self, classes: Sequence[Any]) -> Self:
        """The same structure for the labels ``classes``, whose codes are their places; settings are checked."""
        return self

    def check_outputs(self, codes: np.ndarray, offsets: np.ndarray, batch: Any = None) -> None:
        """Raise ValueError at the first true output that is forbidden; ``batch`` has the inputs, if at hand."""

    def learnable(self, samples: Samples) -> Samples:
        """Training samples with true outputs that the structure has; here as given, since :meth:`check_outputs` judges.

        A structure whose references are often outside of its family may answer with the nearest ones inside, and say
        so.
        """
        return samples

    def restore_encoder(self, encoder: Any) -> None:
        """Give an encoder from a file what files cannot hold."""

    def check_model(self, encoder: Any, weights: Any, codec: Any) -> None:
        """Raise ValueError unless the parts of a model agree, so that no compiled loop reads past an array."""

    def measure(self, model: Any, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """How good the predictions of a model are: what each sample reaches, and what it could reach.

        Here the number of right codes, and of known ones, where an annotated edge counts as one. ``score`` is the
        ratio of their sums.
        """
        encoded = model.encode(X)
        predicted = model.predict(encoded)
        check_same_length(predicted, y, "items")
        lengths = np.diff(self.output_offsets(encoded.batch)).tolist()
        parts, true = (model.codec_.positions(each, lengths) for each in (predicted, y))
        if self.layout == "items":
            parts, true = [[label] for label in predicted.tolist()], [[label] for label in y]
        check_same_length(parts, true)
        right = [sum(_is_right(p, t) for p, t in zip(ps, ts)) for ps, ts in zip(parts, true)]
        known = [sum(label is not UNKNOWN for label in labels) for labels in true]
        for i, labels in enumerate(true):
            if isinstance(labels, Linked):
                right[i] += labels.right(parts[i], f"y[{i}]")
                known[i] += len(labels.pairs)
        return np.array(right, float), np.array(known, float)

    def units(self, codes: np.ndarray, labels: Sequence[Any]) -> list[tuple[slice, Any]]:
        """What an explanation of the output of one sample is about: rows, and what they are in the output."""
        return [(slice(t, t + 1), labels[code]) for t, code in enumerate(codes.tolist())]

    # -- how training goes --------------------------------------------------------------------------------------

    def telling(self) -> contextlib.AbstractContextManager[Any]:
        """A context that gathers what is answered approximately, and warns once at its end."""
        return contextlib.nullcontext()

    def told(self) -> Any:
        """What :meth:`telling` gathers just now, if anything: picklable, for :meth:`tell` elsewhere."""
        return None

    def loosen(self, error: float) -> bool:
        """Sums of a sample may lack ``error`` until :meth:`refine`; False if nothing is gained."""
        return False

    def refine(self) -> bool:
        """Find maxima, and sums, to a higher accuracy from now on; False if that is not possible."""
        return False

    def code_costs(self, table: np.ndarray) -> np.ndarray:
        """Costs of label confusions, shape (n_labels, n_labels), as costs of codes."""
        return table

    def simplified(self, data: Encoded, scorer: Any) -> tuple[Encoded, Any]:
        """The same training problem in a simpler structure, if a registered reduction finds one; else as given."""
        own = REDUCTIONS.get(f"{type(self).__module__}.{type(self).__qualname__}")
        return (data, scorer) if own is None else own(data, scorer)

    def in_pieces(
        self, samples: Samples, n_labels: int, decomposition: Any, seed: int, epoch: int
    ) -> tuple[Batch, np.ndarray]:
        """The inputs in pieces that a decomposition draws for this epoch, and the sample of each piece."""
        return samples.batch.in_pieces(decomposition, seed, epoch)

    def adds(self, other: Structure) -> bool:
        """Whether potentials of a model of the other structure can be added: ``theta.plus(theirs.relabelled(...))``."""
        return False

    def output_offsets(self, sized: Any) -> np.ndarray:
        """Where the codes of each sample start and stop, int64 (n_samples + 1,), from potentials or from a batch.

        How many codes an output has may depend on the labels, so that who has them asks the bound structure.
        """
        return sized.offsets

    # -- answers ------------------------------------------------------------------------------------------------

    def best(self, theta: Any, *, cost: Any = None, within: Any = None) -> Best:
        """Highest-scoring output of every sample."""
        raise NotImplementedError(f"{type(self).__name__} must have best(theta, cost=, within=)")

    def score(self, theta: Any, codes: Any, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """Score plus cost of given outputs, shape (n_samples,); -inf for one that the restriction forbids."""
        raise NotImplementedError(f"{type(self).__name__} must have score(theta, codes, cost=, within=)")

    def count(self, theta: Any, codes: Any, *, weight: Any = None, into: Any = None) -> Any:
        """Counts of given outputs in theta's shape, times ``weight``; added to ``into`` if given."""
        raise NotImplementedError(f"{type(self).__name__} must have count(theta, codes, weight=, into=)")

    def agreeing(self, theta: Any, codes: Known) -> Any:
        """The restriction to outputs that agree with an annotation: codes (-1: any), sets of codes, allowed pairs."""
        raise NotImplementedError(f"{type(self).__name__} must have agreeing(theta, codes)")

    def contradicting(self, theta: Any, codes: Known) -> Any:
        """The restriction to outputs that do not agree with an annotation."""
        raise NotImplementedError(f"{type(self).__name__} must have contradicting(theta, codes)")

    def contradicts(self, theta: Any, annotation: Known, codes: np.ndarray) -> np.ndarray:
        """Whether each of the given outputs contradicts its annotation, bool (n_samples,)."""
        return np.isneginf(self.score(theta, codes, within=self.agreeing(theta, annotation)))

    def position_marginals(self, theta: Any, *, within: Any = None) -> np.ndarray:
        """Probability of every label at every row, shape (n_rows, n_labels), of structures with sums over outputs."""
        answers: Any = self
        return answers.expectation(theta, within=within).counts.node

    def part_marginals(self, theta: Any, *, within: Any = None) -> np.ndarray:
        """Probability of every code of each part, shape (n_codes, n_kinds of codes); mostly parts are positions."""
        return self.position_marginals(theta, within=within)

    def best_agreeing(self, theta: Any, codes: Known) -> Best:
        """Highest-scoring output that agrees with an annotation."""
        return self.best(theta, within=self.agreeing(theta, codes))

    def best_contradicting(self, theta: Any, codes: Known, *, cost: Any = None, within: Any = None) -> Best:
        """Highest-scoring output that contradicts an annotation (-1 in ``codes`` cannot be contradicted)."""
        own = self.contradicting(theta, codes)
        return self.best(theta, cost=cost, within=own if within is None else within & own)

    def bounded_best(self, theta: Any, *, cost: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Codes and values of the best outputs found, and proven upper bounds of the maxima."""
        found = self.best(theta, cost=cost)
        return found.codes, found.values, found.values

    def bounds(self, theta: Any) -> np.ndarray:
        """Proven upper bounds on the score of the best output of every sample."""
        return self.best(theta).values

    def finds_best(self, theta: Any) -> np.ndarray:
        """Whether :meth:`best` finds the best output of each sample for certain, bool (n_samples,)."""
        return np.ones(len(theta), bool)

    def relaxes(self, theta: Any) -> bool:
        """Whether learners maximise over a relaxation, ``relaxed_best``, since the best output is not known."""
        return False


def _is_right(predicted: Any, true: Any) -> bool:
    return predicted in true.labels if isinstance(true, OneOf) else predicted == true


def can(component: Any, *names: str) -> bool:
    """Whether a component has all these methods.

    >>> can("text", "upper"), can("text", "upper", "sum")
    (True, False)
    """
    return all(callable(getattr(component, name, None)) for name in names)


def require(component: Any, needs: tuple[str, ...], *, user: str, remedy: str) -> None:
    """Raise :class:`MissingCapability` if ``component`` lacks one of the named methods.

    >>> require("text", ("upper",), user="Demo", remedy="")
    """
    missing = [f"{name}()" for name in needs if not can(component, name)]
    if missing:
        name = type(component).__name__
        known = getattr(component, "lacks", {})  # why it cannot have some answers, and what to use instead
        reason = next((known[need] for need in needs if need in known), remedy)
        raise MissingCapability(f"{user} cannot use {name}: it has no {', '.join(missing)}. {reason}".strip())
