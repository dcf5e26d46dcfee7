"""Encoders: user inputs in, packed batches out; word clusters as further columns; feature sets by name."""

from palmette.features.base import Encoder
from palmette.features.choose_encoder import encoder_from_state, make_encoder
from palmette.features.clusters import WordClusters, append_clusters
from palmette.features.encoded import EncodedInputs
from palmette.features.sets import FeatureSet, feature_set
from palmette.features.templates import ColumnSentences, Template

__all__ = [
    "ColumnSentences",
    "EncodedInputs",
    "Encoder",
    "FeatureSet",
    "Template",
    "WordClusters",
    "append_clusters",
    "encoder_from_state",
    "feature_set",
    "make_encoder",
]
