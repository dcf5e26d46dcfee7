"""From user data to a training problem: everything that is checked before the first step."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from palmette.contracts.structure import Structure
from palmette.contracts.training import Encoded, WeightOptions
from palmette.data.annotation import UNKNOWN_CODE
from palmette.data.batch import Batch, SparseRows
from palmette.data.labels import LabelCodec
from palmette.data.linked import Linked, check_pairs
from palmette.data.outside import refuse_masked
from palmette.data.samples import Samples
from palmette.data.sequences import check_same_length, listed
from palmette.errors import InfeasibleError, MissingCapability
from palmette.estimators.settings import settings_of
from palmette.executors.shards import ROWS_A_SHARD, cut
from palmette.features.base import Encoder, check_lengths
from palmette.features.encoded import EncodedInputs
from palmette.stages import stage

LARGEST_VALUE = 1e100


def encode_training(
    X: Any, y: Any, structure: Structure, classes: Any, sample_weight: Any, **options: Any
) -> Encoded:
    """Encode inputs and labels, refusing what cannot be learnt from; ``options`` of :func:`encode_inputs`."""
    y = listed(y)
    refuse_linked(y, structure)
    y, X = given_labels(y, structure.layout), structure.admit(X)
    if isinstance(X, list | tuple) and structure.layout == "sequences":  # before any work
        check_outputs(X, y, structure)
    encoded = encode_inputs(X, structure, **options)
    encoder, batch = encoded.encoder, encoded.batch
    check_outputs(batch if structure.layout == "items" else positions(batch), y, structure)
    codec = structure.make_codec(y, _declared(classes), batch.lengths)
    check_magnitudes(batch, encoder)
    samples = encode_samples(structure, codec, batch, y, sample_weight)
    return Encoded(encoder, codec, samples, bound_structure(structure, codec, samples))


def encode_samples(
    structure: Structure, codec: LabelCodec, batch: Batch, y: Any, sample_weight: Any
) -> Samples:
    """Samples of encoded inputs and outputs; codes are -1 where annotation leaves more than one.

    A structure may replace outputs that it does not have (``learnable``).
    """
    bound = structure.bind(codec.classes_)
    offsets = bound.output_offsets(batch)
    y = structure.admit_outputs(y, batch)
    annotation = codec.encode_annotation(y, np.diff(offsets), structure.layout)
    if annotation.pairs is not None:
        links: Any = structure
        check_pairs(annotation, links.links(batch), offsets, codec.classes_)
    codes = annotation.known
    partial = bool(np.any(codes == UNKNOWN_CODE))
    if partial and annotation.pairs is None and np.all(annotation.codes == UNKNOWN_CODE):
        raise ValueError(
            "y has no known part: every label is UNKNOWN, so that there is nothing to learn from"
        )
    own = None if offsets is batch.offsets else offsets
    weight = checked_weights(sample_weight, len(batch))
    samples = Samples(batch, codes, weight, own, annotation if partial else None)
    return bound.learnable(samples)


def completed(data: Encoded, scorer: Any) -> Encoded:
    """The data with whole outputs where annotation is partial: those that agree with it and are best at w = 0."""
    samples, structure = data.samples, data.structure
    if samples.annotation is None:
        return data
    nothing, found = np.zeros(scorer.n_params), []
    for a, b in cut(samples.batch.offsets, max(1, samples.batch.n_rows // ROWS_A_SHARD)):
        own = samples.slice(a, b)
        try:
            found.append(structure.best_agreeing(scorer.score(nothing, own.batch), own.known).codes)
        except InfeasibleError as error:
            remedy = "Correct it, or mark the doubtful parts as UNKNOWN"
            if error.sample is None:  # the text has the number of the sample
                raise ValueError(
                    f"y contradicts itself or the rules of the structure: {error}. {remedy}"
                ) from error
            raise ValueError(
                f"y[{a + error.sample}] contradicts itself or the rules of the structure: no output agrees with this "
                f"annotation. {remedy}"
            ) from error
    return replace(data, samples=samples._replace(codes=np.concatenate(found)))


def check_magnitudes(batch: Batch, encoder: Encoder) -> None:
    """Refuse values whose squares and products leave the range of a double."""
    first = 0
    for table, _ in batch.feature_tables():
        values = table.values if isinstance(table, SparseRows) else table
        if values.size and max(values.max(), -values.min()) > LARGEST_VALUE:
            place = int(np.argmax(np.abs(values)))
            own = table.indices[place] if isinstance(table, SparseRows) else place % table.shape[1]
            names, column = encoder.feature_names, first + int(own)
            name = f"column {column}" if names is None else f"the feature {names[column]!r}"
            raise ValueError(
                f"{name} of X has the value {values.ravel()[place]:g}, beyond {LARGEST_VALUE:g}, which sums of squares "
                "cannot hold: scale the features, for example by sklearn.preprocessing.StandardScaler"
            )
        first += table.shape[1]


def encode_inputs(
    X: Any, structure: Structure, *, allow_empty: bool = False, min_count: int = 1, n_hash: int | None = None
) -> EncodedInputs:
    """Inputs with an encoder whose columns they fix; what is encoded already stays as it is."""
    X = structure.admit(X)
    if isinstance(X, EncodedInputs):
        X.checked()
        if X.encoder.layout != structure.layout:
            raise ValueError(
                f"X was encoded as {X.encoder.layout}, but {type(structure).__name__} needs {structure.layout}"
            )
        check_lengths(X.lengths, allow_empty)
        structure.check_encoder(X.encoder)
        return X
    with stage("encoding the inputs"):
        encoder = structure.make_encoder(X, min_count=min_count, n_hash=n_hash)
        return EncodedInputs(encoder.fit_transform(X, allow_empty=allow_empty), encoder)


@contextlib.contextmanager
def numbering(places: np.ndarray) -> Iterator[None]:
    """A context in which the samples asked together have the numbers ``places`` in ``X``, and so in errors."""
    try:
        yield
    except InfeasibleError as error:
        if error.sample is None:
            raise
        raise error.renumbered(int(places[error.sample])) from error


def positions(batch: Batch) -> list[range]:
    """The positions of the samples of a batch, for comparing their number with that of the labels."""
    return [range(n) for n in batch.lengths.tolist()]


def bound_structure(structure: Structure, codec: LabelCodec, samples: Samples | None = None) -> Structure:
    """The structure on the codes of ``codec``; outputs that it forbids are refused."""
    structure = structure.bind(codec.classes_)
    if samples is not None:
        structure.check_outputs(samples.codes, samples.code_offsets, samples.batch)
    return structure


def _declared(classes: Any) -> Any:
    """The labels of ``classes=``, in an order that does not change from run to run."""
    if classes is not None and (
        isinstance(classes, str | bytes | set | frozenset) or not hasattr(classes, "__iter__")
    ):
        raise TypeError(f"classes must be a list of labels, got {classes!r}")
    return classes


def given_labels(y: Any, layout: str) -> Any:
    """Outputs as the user gave them: a list of labels (items) or of label sequences."""
    return item_labels(y) if layout == "items" else listed(y)


def refuse_linked(y: Any, structure: Structure) -> None:
    """Refuse allowed labels of edges where the structure cannot restrict outputs to them."""
    given = y.tolist() if isinstance(y, np.ndarray) and y.dtype == object else y
    if (
        structure.annotated_pairs
        or not isinstance(given, list | tuple)
        or Linked not in set(map(type, given))
    ):
        return
    i = next(i for i, labels in enumerate(given) if isinstance(labels, Linked))
    raise MissingCapability(
        f"y[{i}] is Linked, with allowed labels of edges, and {type(structure).__name__} takes what is known of single "
        "parts: give labels, OneOf and UNKNOWN, or use a Graph with these edges (chain_graph of palmette.structures "
        "joins the positions of a sequence)"
    )


def check_outputs(X: Any, y: Any, structure: Structure) -> None:
    """As many outputs as samples, and as many labels as positions unless the codec says what an output is."""
    check_same_length(X, y, structure.layout if structure.label_per_row else "items")


def encode_outputs(codec: LabelCodec, y: Any, offsets: np.ndarray, layout: str) -> np.ndarray:
    """Codes of outputs that must be complete; those of sample i are at ``offsets[i]:offsets[i + 1]``."""
    codes = codec.encode_annotation(y, np.diff(offsets), layout).known
    refuse_unknown(codes, offsets, layout)
    return codes


def item_labels(y: Any) -> list[Any]:
    """One label per sample, as a list; the shapes and kinds that scikit-learn refuses are refused likewise."""
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import column_or_1d

    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    refuse_masked(y, "y")
    if isinstance(y, list | tuple) and not any(isinstance(label, list | np.ndarray) for label in y):
        kinds = set(map(type, y))
        truths = kinds & {bool, np.bool_}  # which an array with numbers would turn into numbers
        if not all(issubclass(kind, Real | np.bool_) for kind in kinds) or (truths and kinds - truths):
            return list(y)
    array = column_or_1d(y, warn=True)
    if array.dtype.kind == "f":
        if not np.all(np.isfinite(array)):
            raise ValueError("Input y contains NaN or infinity; labels must be proper values")
        check_classification_targets(array)
    return array.tolist()


def refuse_unknown(codes: np.ndarray, offsets: np.ndarray, layout: str) -> None:
    """Name the first unknown part where outputs must be complete."""
    unknown = np.flatnonzero(codes < 0)
    if len(unknown):
        row = int(unknown[0])
        sample = int(np.searchsorted(offsets, row, side="right")) - 1
        place = f"y[{sample}]" if layout == "items" else f"y[{sample}][{row - offsets[sample]}]"
        raise ValueError(
            f"{place} is not known (UNKNOWN, or OneOf several labels), and this needs complete outputs: label this "
            "position or leave the sample out"
        )


def checked_weights(sample_weight: Any, n_samples: int) -> np.ndarray:
    """One non-negative weight per sample; ones by default."""
    if sample_weight is None:
        return np.ones(n_samples)
    refuse_masked(sample_weight, "sample_weight")
    weight = np.array(sample_weight, dtype=float)
    if weight.ndim == 0:
        weight = np.full(n_samples, float(weight))
    if weight.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got shape {weight.shape}")
    if len(weight) != n_samples:
        raise ValueError(
            f"sample_weight has {len(weight)} entries, but there are {n_samples} samples: one per sample"
        )
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(bad):
        raise ValueError(
            f"sample_weight[{bad[0]}] is {weight[bad[0]]}; weights must be finite and at least 0"
        )
    if not weight.any():
        raise ValueError("sample_weight is zero for every sample; at least one must be positive")
    return weight


def layout_weights(estimator: Any, data: Encoded, intercept: bool | None = None) -> Any:
    """Which weights exist: the scorer of the structure, for the options of a learner (``intercept`` overrides one).

    Where several codes or pairs are possible, the weights of all of them exist; parts that are unknown ask for none.
    """
    encoding = settings_of(estimator, "encoding")
    bias = estimator.fit_intercept if intercept is None else intercept
    options = WeightOptions(encoding.states, encoding.transitions, bias, estimator.edge_features)
    if data.samples.annotation is None:
        return data.structure.make_scorer(data, options)
    scorer = None
    for codes in data.samples.annotation.readings():
        own = replace(data, samples=data.samples._replace(codes=codes))
        found: Any = data.structure.make_scorer(own, options)
        scorer = found if scorer is None else found.joined(scorer)
    return scorer


def seed_of(random_state: Any) -> int:
    """An integer seed for whatever scikit-learn accepts as ``random_state``."""
    from sklearn.utils import check_random_state

    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def without_empty(batch: Batch) -> tuple[Batch, np.ndarray]:
    """The samples that have positions, and a mask that says which ones they are."""
    keep = batch.lengths > 0
    return batch.without(~keep), keep
