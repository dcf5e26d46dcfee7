"""Encoders: user inputs in, packed batches out; word clusters as further columns."""

from palmette.features.base import Encoder
from palmette.features.choose_encoder import encoder_from_state, make_encoder
from palmette.features.clusters import WordClusters, append_clusters
from palmette.features.encoded import EncodedInputs
from palmette.features.templates import ColumnSentences, Template

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
