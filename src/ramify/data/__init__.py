"""Data layer: ragged batches, labels and their codes, sequences cut from tables, spans and words."""

from ramify.data.batch import Batch, SparseRows
from ramify.data.factors import Agreement, AtMostOne, Clique, Parity
from ramify.data.graph_batch import GraphBatch, GraphLayout
from ramify.data.graphs import GraphInput, chain_graph, grid_graph, tree_graph
from ramify.data.labels import UNKNOWN, UNKNOWN_CODE, LabelCodec
from ramify.data.letor import Queries, read_letor, write_letor
from ramify.data.ragged import Ragged, offsets_from_lengths
from ramify.data.rankings import RankingCodec, by_query
from ramify.data.sequences import as_sequences, check_same_length, listed
from ramify.data.span_checks import check_spans, detect_encoding
from ramify.data.span_encodings import ENCODINGS, Transitions, allowed_transitions
from ramify.data.spans import convert_spans, find_spans
from ramify.data.words import join_words, tag_words

__all__ = [
    "ENCODINGS",
    "UNKNOWN",
    "UNKNOWN_CODE",
    "Agreement",
    "AtMostOne",
    "Batch",
    "Clique",
    "GraphBatch",
    "GraphInput",
    "GraphLayout",
    "LabelCodec",
    "Parity",
    "Queries",
    "Ragged",
    "RankingCodec",
    "SparseRows",
    "Transitions",
    "allowed_transitions",
    "as_sequences",
    "by_query",
    "chain_graph",
    "check_same_length",
    "check_spans",
    "convert_spans",
    "detect_encoding",
    "find_spans",
    "grid_graph",
    "join_words",
    "listed",
    "offsets_from_lengths",
    "read_letor",
    "tag_words",
    "tree_graph",
    "write_letor",
]
