"""Data layer: ragged batches, labels and their codes, sequences cut from tables."""

from ramify.data.batch import Batch, SparseRows
from ramify.data.labels import UNKNOWN, UNKNOWN_CODE, LabelCodec
from ramify.data.ragged import Ragged, offsets_from_lengths
from ramify.data.sequences import as_sequences, check_same_length, listed

__all__ = [
    "UNKNOWN",
    "UNKNOWN_CODE",
    "Batch",
    "LabelCodec",
    "Ragged",
    "SparseRows",
    "as_sequences",
    "check_same_length",
    "listed",
    "offsets_from_lengths",
]
