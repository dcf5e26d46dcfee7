"""How well outputs agree with the truth: accuracy, chunks, words, orders; how sure that is, and is it chance."""

from palmette.metrics.accuracy import token_accuracy
from palmette.metrics.chunks import (
    ChunkCounts,
    ChunkReport,
    chunk_report,
    chunks,
    format_chunk_table,
    looks_like_chunks,
)
from palmette.metrics.ranking import (
    mean_average_precision,
    ndcg,
    precision_at,
    reciprocal_rank,
    tally_queries,
)
from palmette.metrics.significance import Comparison, Interval, bootstrap_interval, compare
from palmette.metrics.tally import Tally, pooled, tally_accuracy, tally_chunks, tally_words
from palmette.metrics.words import WordReport, word_report

__all__ = [
    "ChunkCounts",
    "ChunkReport",
    "Comparison",
    "Interval",
    "Tally",
    "WordReport",
    "bootstrap_interval",
    "chunk_report",
    "chunks",
    "compare",
    "format_chunk_table",
    "looks_like_chunks",
    "mean_average_precision",
    "ndcg",
    "pooled",
    "precision_at",
    "reciprocal_rank",
    "tally_accuracy",
    "tally_chunks",
    "tally_queries",
    "tally_words",
    "token_accuracy",
    "word_report",
]
