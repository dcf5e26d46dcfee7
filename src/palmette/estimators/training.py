"""From user data to a training problem: everything that is checked before the first step."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from palmette.data.batch import Batch, SparseRows
from palmette.data.labels import LabelCodec
from palmette.data.outside import refuse_masked
from palmette.data.sequences import check_same_length, listed
from palmette.errors import InfeasibleError
from palmette.estimators.edge_features import select_columns
from palmette.estimators.settings import settings_of
from palmette.features.base import Encoder, check_lengths
from palmette.features.choose_encoder import admitted, make_encoder
from palmette.features.encoded import EncodedInputs
from palmette.objectives.risk import Samples
from palmette.structures.chain.edge_scorer import EdgeScorer
from palmette.structures.graph.batch import GraphBatch
from palmette.structures.graph.encoder import GraphEncoder
from palmette.structures.graph.scorer import GraphScorer
from palmette.structures.positions.linear_scorer import LinearScorer
from palmette.structures.ranking.codec import RankingCodec
from palmette.structures.ranking.scorer import RankingScorer
from palmette.structures.segments.codec import SegmentCodec
from palmette.structures.segments.scorer import SegmentScorer

LARGEST_VALUE = 1e100


@dataclass(frozen=True)
class Encoded:
    """Training data after the door: encoder, label codec, packed samples, and the structure on their labels."""

    encoder: Encoder
    codec: LabelCodec
    samples: Samples
    structure: Any


def encode_training(
    X: Any, y: Any, structure: Any, classes: Any, sample_weight: Any, **options: Any
) -> Encoded:
    """Encode inputs and labels, refusing what cannot be learnt from; ``options`` of :func:`encode_inputs`."""
    y = given_labels(y, structure.layout)
    X = admitted_to(structure, X)
    if isinstance(X, list | tuple) and structure.layout == "sequences":  # before any work
        check_outputs(X, y, structure)
    encoded = encode_inputs(X, structure, **options)
    encoder, batch = encoded.encoder, encoded.batch
    check_outputs(batch if structure.layout == "items" else positions(batch), y, structure)
    if hasattr(structure, "make_codec"):
        codec = structure.make_codec(y, _declared(classes), batch.lengths)
    else:
        codec = LabelCodec.from_labels(y, _declared(classes), layout=structure.layout)
    codes = encode_outputs(codec, y, batch.offsets, structure.layout)
    check_magnitudes(batch, encoder)
    samples = Samples(batch, codes, checked_weights(sample_weight, len(batch)))
    return Encoded(encoder, codec, samples, bound_structure(structure, codec, samples))


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
    X: Any, structure: Any, *, allow_empty: bool = False, min_count: int = 1, n_hash: int | None = None
) -> EncodedInputs:
    """Inputs with an encoder whose columns they fix; what is encoded already stays as it is."""
    X = admitted_to(structure, X)
    if isinstance(X, EncodedInputs):
        X.checked()
        if X.encoder.layout != structure.layout:
            raise ValueError(
                f"X was encoded as {X.encoder.layout}, but {type(structure).__name__} needs {structure.layout}"
            )
        check_lengths(X.lengths, allow_empty)
        if hasattr(structure, "check_encoder"):
            structure.check_encoder(X.encoder)
        elif isinstance(X.encoder, GraphEncoder):
            raise ValueError(
                f"X was encoded as graphs, but {type(structure).__name__} needs {structure.layout}"
            )
        return X
    if hasattr(structure, "make_encoder"):
        encoder = structure.make_encoder(X, min_count=min_count, n_hash=n_hash)
    else:
        encoder = make_encoder(X, structure.layout, min_count=min_count, n_hash=n_hash)
    if hasattr(structure, "extend_encoder"):
        encoder = structure.extend_encoder(encoder)
    return EncodedInputs(encoder.fit_transform(X, allow_empty=allow_empty), encoder)


def admitted_to(structure: Any, X: Any) -> Any:
    """`X` as the encoders of a structure take it."""
    return structure.admit(X) if hasattr(structure, "admit") else admitted(X, structure.layout)


def telling(structure: Any) -> Any:
    """A context in which a structure gathers what it answers approximately, and says so once at the end."""
    return structure.telling() if hasattr(structure, "telling") else contextlib.nullcontext()


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


def bound_structure(structure: Any, codec: LabelCodec, samples: Samples | None = None) -> Any:
    """The structure on the codes of ``codec``, if its labels matter to it; outputs that it forbids are refused."""
    if not hasattr(structure, "bind"):
        return structure
    structure = structure.bind(codec.classes_)
    if samples is not None and hasattr(structure, "check_outputs"):
        structure.check_outputs(samples.codes, samples.batch.offsets)
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


def check_outputs(X: Any, y: Any, structure: Any) -> None:
    """As many outputs as samples, and as many labels as positions unless the structure has a codec of its own."""
    whole = hasattr(structure, "make_codec")  # which checks each output when it encodes it
    check_same_length(X, y, "items" if whole else structure.layout)


def encode_outputs(codec: LabelCodec, y: Any, offsets: np.ndarray, layout: str) -> np.ndarray:
    """Codes of completely annotated outputs, one per row."""
    codes = codec.encode_items(y) if layout == "items" else codec.encode_outputs(y, np.diff(offsets))
    refuse_unknown(codes, offsets, layout)
    return codes


def item_labels(y: Any) -> list:
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
    """Complete annotation only, for now: name the first unknown part."""
    unknown = np.flatnonzero(codes < 0)
    if len(unknown):
        row = int(unknown[0])
        sample = int(np.searchsorted(offsets, row, side="right")) - 1
        place = f"y[{sample}]" if layout == "items" else f"y[{sample}][{row - offsets[sample]}]"
        raise ValueError(
            f"{place} is UNKNOWN, and learning from partial annotation is not supported yet: "
            "label this position or leave the sample out"
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


def layout_weights(estimator: Any, data: Encoded) -> LinearScorer:
    """Which weights exist: by default those seen in training for named features, all of them for arrays."""
    named = data.encoder.named
    states = _choice(estimator, "states", "observed" if named else "all")
    transitions = _choice(estimator, "transitions", "all")
    intercept = estimator.fit_intercept
    if intercept not in ("auto", True, False):
        raise ValueError(f"fit_intercept must be 'auto', True or False, got {intercept!r}")
    if isinstance(data.encoder, GraphEncoder):
        return _graph_weights(estimator, data, states, transitions)
    if isinstance(data.codec, RankingCodec):
        return _document_weights(estimator, data)
    make: Any = LinearScorer.for_data
    own = {}
    if isinstance(data.codec, SegmentCodec):
        make, own = SegmentScorer.for_data, {"longest": data.codec.longest}
    scorer = make(
        data.samples.batch, data.samples.codes, len(data.codec.classes_), states=states, transitions=transitions,
        intercept=not named if intercept == "auto" else bool(intercept), has_edges=estimator.structure.has_edges,
        **own,
    )  # fmt: skip
    return _with_edges(estimator, data, scorer, states, transitions)


def _document_weights(estimator: Any, data: Encoded) -> RankingScorer:
    """The weights of a ranking: one per feature."""
    if estimator.fit_intercept is True:
        raise ValueError(
            "fit_intercept=True: an intercept adds the same to all documents of a query and changes no order; leave it "
            "at 'auto'"
        )
    if getattr(estimator, "edge_features", None) is not None:
        raise ValueError("edge_features need the edges of a Chain; Ranking has none")
    return RankingScorer.for_columns(data.samples.batch.n_columns)


def _graph_weights(estimator: Any, data: Encoded, states: str, transitions: str) -> Any:
    """The weights of a graph; features of edges are given with the graphs, not chosen among those of nodes."""
    if getattr(estimator, "edge_features", None) is not None:
        raise ValueError(
            "edge_features of the learner choose features of positions for the edges of a Chain; those of a Graph come "
            "with its inputs: GraphInput(nodes, edges, edge_features)"
        )
    encoder, structure, codes = data.encoder, data.structure, data.samples.codes
    batch = data.samples.batch
    assert isinstance(encoder, GraphEncoder) and isinstance(batch, GraphBatch)
    allowed = structure.label_sets(encoder, data.codec.classes_, batch, codes)
    structure.check_factors(encoder, data.codec.classes_, batch, codes)
    intercept = estimator.fit_intercept
    named_edges = encoder.edges is not None and encoder.edges.named
    return GraphScorer.for_data(
        batch, codes, len(data.codec.classes_), states=states, transitions=transitions,
        intercept=not encoder.named if intercept == "auto" else bool(intercept), symmetric=encoder.symmetric_types,
        n_node_types=max(len(encoder.node_types), 1), allowed=allowed, edge_bias=structure.edge_bias,
        edge_states=_choice(estimator, "states", "observed" if named_edges else "all"),
        factor_labels=structure.factor_labels(encoder, data.codec.classes_),
    )  # fmt: skip


def _with_edges(estimator: Any, data: Encoded, scorer: Any, states: str, transitions: str) -> Any:
    """Edge features and triples added to the layout, and label pairs left out that the structure forbids."""
    structure = data.structure
    order, rules = getattr(structure, "order", 1), getattr(structure, "rules", None)
    chosen = select_columns(getattr(estimator, "edge_features", None), data.encoder)
    if chosen is not None and not (structure.has_edges and type(scorer) is LinearScorer):
        raise ValueError(
            f"edge_features need the edges of a Chain; {type(estimator.structure).__name__} has none"
        )
    possible = None if rules is None else rules.transition
    if possible is not None:
        scorer = replace(scorer, pairs=np.intersect1d(scorer.pairs, np.flatnonzero(possible)))
    if chosen is None and order == 1:
        return scorer
    columns, only_edges = (None, False) if chosen is None else chosen
    return EdgeScorer.extending(
        scorer, data.samples.batch, data.samples.codes, states=states, transitions=transitions, order=order,
        edge_columns=columns, only_edges=only_edges, possible=possible,
    )  # fmt: skip


def _choice(estimator: Any, name: str, automatic: str) -> str:
    value = getattr(settings_of(estimator, "encoding"), name)
    if value not in ("auto", "observed", "all"):
        raise ValueError(f"{name} must be 'auto', 'observed' or 'all', got {value!r}")
    return automatic if value == "auto" else value


def seed_of(random_state: Any) -> int:
    """An integer seed for whatever scikit-learn accepts as ``random_state``."""
    from sklearn.utils import check_random_state

    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def without_empty(batch: Batch) -> tuple[Batch, np.ndarray]:
    """The samples that have positions, and a mask that says which ones they are."""
    keep = batch.lengths > 0
    if isinstance(batch, GraphBatch):
        return batch if np.all(keep) else batch.take(np.flatnonzero(keep)), keep
    offsets = np.concatenate([batch.offsets[:1], batch.offsets[1:][keep]])
    return replace(batch, offsets=offsets), keep
