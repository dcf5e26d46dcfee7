"""Data layer: ragged batches, labels and their codes, sequences cut from tables, spans and words."""

from palmette.data.annotation import UNKNOWN, UNKNOWN_CODE, Annotation, OneOf
from palmette.data.batch import Batch, SparseRows
from palmette.data.labels import LabelCodec
from palmette.data.letor import Queries, read_letor, write_letor
from palmette.data.linked import Linked
from palmette.data.outputs import Outputs
from palmette.data.ragged import Ragged
from palmette.data.sequences import as_sequences
from palmette.data.span_checks import check_spans, detect_encoding
from palmette.data.span_encodings import ENCODINGS, Transitions, allowed_transitions
from palmette.data.spans import convert_spans, find_spans
from palmette.data.words import join_words, tag_words

__all__ = [
    "ENCODINGS",
    "UNKNOWN",
    "UNKNOWN_CODE",
    "Annotation",
    "Batch",
    "LabelCodec",
    "Linked",
    "OneOf",
    "Outputs",
    "Queries",
    "Ragged",
    "SparseRows",
    "Transitions",
    "allowed_transitions",
    "as_sequences",
    "check_spans",
    "convert_spans",
    "detect_encoding",
    "find_spans",
    "join_words",
    "read_letor",
    "tag_words",
    "write_letor",
]
