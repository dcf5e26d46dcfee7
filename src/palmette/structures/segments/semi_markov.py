"""Sequences cut into labelled segments: the structure that learners take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from types import MappingProxyType
from typing import Any

import numpy as np

from palmette.contracts.structure import Structure
from palmette.contracts.training import Encoded, WeightOptions
from palmette.data.batch import Batch
from palmette.data.samples import Samples
from palmette.features.base import Encoder
from palmette.registry import register
from palmette.structures.positions.edge_features import select_columns
from palmette.structures.positions.parts import ROW_ENCODERS
from palmette.structures.segments.codec import SegmentCodec
from palmette.structures.segments.encoder import SegmentEncoder
from palmette.structures.segments.inference import SegmentInference
from palmette.structures.segments.scorer import SegmentScorer
from palmette.structures.segments.tables import check_longest, code_costs


@register("structure")
class SemiMarkov(SegmentInference):
    """Segmentations: every position belongs to one labelled segment of at most ``max_length`` positions.

    The score of a segmentation is the sum over its segments of ``segment[start, length, label]`` and the ``node``
    potentials inside, plus ``edge[label, next label]`` between neighbouring segments. Learners score a segment by the
    features of its tokens, of its first and of its last token, by its length, and by ``segment_features``.

    Outputs are given to ``fit`` as segments ``(start, stop, label)`` or as IOB2 labels (``B-NP``, ``I-NP``, ``O``), and
    ``predict`` returns the same form.

    Parameters
    ----------
    max_length : int or dict
        Maximal positions of a segment: one number for all labels, or ``{label: number, None: number of the others}``.
        Segments of the label ``outside`` have one position unless the dict names it.
    segment_features : callable, optional
        ``segment_features(sequence, start, stop)`` gives features of the segment ``sequence[start:stop]`` as a whole: a
        dict or a list of strings, like the features of a position.
    outside : label or None, default="O"
        Label of the positions between the given segments. With None every position must belong to a given segment.

    Examples
    --------
    >>> from palmette import CRF, SemiMarkov
    >>> X = [[["a"], ["New"], ["York"], ["pub"]], [["old"], ["York"]]]
    >>> Y = [[(1, 3, "place")], [(1, 2, "place")]]
    >>> CRF(SemiMarkov(max_length=3), l2=0.1).fit(X, Y).predict([[["New"], ["York"], ["pub"], ["old"]]])
    [[(0, 2, 'place')]]

    With explicit potentials: two positions, one label, a segment of length two scores 1.

    >>> import numpy as np
    >>> from palmette.structures import SegmentTables
    >>> theta = SegmentTables(
    ...     np.zeros((2, 1)), np.zeros((1, 1, 1)), np.array([0, 2]),
    ...     segment=np.array([[[0.0], [1.0]], [[0.0], [0.0]]]), longest=np.array([2]),
    ... )
    >>> SemiMarkov(2).best(theta).codes  # label 0 begins, label 0 goes on (n_labels + 0)
    array([0, 1], dtype=int32)
    """

    compiled_as = "segments"
    label_per_row = False  # users give segments
    removable_edges = True
    scorer_class = SegmentScorer

    functions = ("segment_features",)
    part_kinds = MappingProxyType(
        {"codec": ("segments",), "encoder": (*ROW_ENCODERS, "segments"), "scorer": ("segments",)}
    )

    def __init__(
        self, max_length: Any, segment_features: Callable[..., Any] | None = None, outside: Any = "O"
    ) -> None:
        self.max_length = max_length
        self.segment_features = segment_features
        self.outside = outside

    # -- the door: what users give and get ----------------------------------------------------------------------

    def longest(self, classes: tuple[Any, ...]) -> np.ndarray:
        """Longest segment of every label, int64."""
        given = self.max_length
        if not isinstance(given, Mapping):
            given = {None: given, **({} if self.outside is None else {self.outside: 1})}
        for label, length in given.items():
            if not isinstance(length, Integral) or isinstance(length, bool) or length < 1:
                of = "" if label is None else f" of label {label!r}"
                raise ValueError(f"max_length{of} must be an integer of at least 1, got {length!r}")
            check_longest(int(length))
        missing = [label for label in classes if label not in given]
        if missing and None not in given:
            raise ValueError(
                f"max_length has no entry for the label {missing[0]!r}: add one, or max_length[None] for all others"
            )
        return np.array([given[label] if label in given else given[None] for label in classes], np.int64)

    def adds(self, other: Structure) -> bool:
        """Whether the other structure has scores for the same segments."""
        return isinstance(other, SemiMarkov) and (self.max_length, self.outside) == (
            other.max_length,
            other.outside,
        )

    def make_codec(self, y: Any, classes: Any, lengths: np.ndarray) -> SegmentCodec:
        """The codec of outputs like ``y``, which belong to sequences of these lengths."""
        return SegmentCodec.from_outputs(y, classes, self.longest, self.outside, lengths)

    def make_encoder(self, X: Any, *, min_count: int = 1, n_hash: int | None = None) -> Encoder:
        """The encoder of positions, extended by the features of segments if there are any."""
        tokens = super().make_encoder(X, min_count=min_count, n_hash=n_hash)
        if self.segment_features is None:
            return tokens
        if not callable(self.segment_features):
            raise TypeError(f"segment_features must be a function or None, got {self.segment_features!r}")
        return SegmentEncoder(tokens, self.segment_features, self._most())

    def make_scorer(self, data: Encoded, options: WeightOptions) -> SegmentScorer:
        """Weights of positions, segments and label pairs; edge features are those of a segment's first position."""
        scorer, samples = self._linear_scorer(data, options), data.samples
        chosen = select_columns(options.edge_features, getattr(data.encoder, "tokens", data.encoder))
        if chosen is None:
            return scorer
        states = options.states_of(data.encoder.named)
        return scorer.with_edge_features(samples.batch, samples.codes, *chosen, states=states)

    def _linear_scorer(self, data: Encoded, options: WeightOptions, **own: Any) -> SegmentScorer:
        return super()._linear_scorer(data, options, longest=data.codec.longest)  # type: ignore[attr-defined]

    def check_encoder(self, encoder: Encoder) -> None:
        """Refuse inputs that were encoded without the features of segments, or with others."""
        super().check_encoder(encoder)
        wanted, found = self.segment_features, getattr(encoder, "function", None)
        most = getattr(encoder, "max_length", self._most())
        if found is not wanted or most < self._most():
            raise ValueError(
                f"X was encoded with segment_features={found!r} of up to {most} positions, but the structure has "
                f"{wanted!r} of up to {self._most()}: encode X with the encode() of this learner"
            )

    def _most(self) -> int:
        return max(self.max_length.values()) if isinstance(self.max_length, Mapping) else self.max_length

    def in_pieces(
        self, samples: Samples, n_labels: int, decomposition: Any, seed: int, epoch: int
    ) -> tuple[Batch, np.ndarray]:
        """The samples in pieces of whole segments of the true outputs, so that each piece has a true output.

        Sizes of pieces count segments, as those of chains count positions. Only true boundaries are dropped, so that
        boundaries are rarer in pieces than in samples, and weights of transitions come out lower.
        """
        batch, begins = samples.batch, np.flatnonzero(samples.codes < n_labels)
        segments = np.searchsorted(begins, batch.offsets)
        starts, stops, sample = decomposition.pieces(segments, seed, epoch)
        rows = np.append(begins, batch.offsets[-1])
        return batch.recut(rows[np.append(starts, stops[-1:])], sample), sample

    def units(self, codes: np.ndarray, labels: Sequence[Any]) -> list[tuple[slice, Any]]:
        """The segments: their rows, and ``(start, stop, label)``."""
        first = np.flatnonzero(codes < len(labels)).tolist()
        pairs = zip(first, [*first[1:], len(codes)])
        return [(slice(a, b), (a, b, labels[codes[a]])) for a, b in pairs]

    def code_costs(self, table: np.ndarray) -> np.ndarray:
        """Costs of label confusions as costs of codes; see :func:`palmette.structures.segments.tables.code_costs`."""
        return code_costs(table)

    def restore_encoder(self, encoder: Any) -> None:
        """Give an encoder from a file its function again."""
        if isinstance(encoder, SegmentEncoder):
            encoder.function = self.segment_features

    def check_model(self, encoder: Any, weights: Any, codec: SegmentCodec) -> None:
        """Raise ValueError unless structure, features, weights and labels know the same longest segments."""
        longest = self.longest(codec.classes_)
        if not (np.array_equal(longest, codec.longest) and np.array_equal(longest, weights.longest)):
            raise ValueError("structure, labels and weights have different longest segments")
        if isinstance(encoder, SegmentEncoder) and encoder.max_length < longest.max():
            raise ValueError(
                f"features know segments of up to {encoder.max_length} positions, labels {longest.max()}"
            )
