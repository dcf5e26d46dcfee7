"""Encoders: user inputs in, packed batches out; word clusters as further columns."""

from ramify.features.base import Encoder
from ramify.features.clusters import WordClusters, append_clusters
from ramify.features.door import encoder_from_state, make_encoder
from ramify.features.encoded import EncodedInputs
from ramify.features.templates import ColumnSentences, Template

__all__ = [
    "ColumnSentences",
    "EncodedInputs",
    "Encoder",
    "Template",
    "WordClusters",
    "append_clusters",
    "encoder_from_state",
    "make_encoder",
]
