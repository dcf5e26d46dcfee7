"""How well outputs agree with the truth: accuracy, chunks, words; how sure that is, and whether it is chance."""

from ramify.metrics.accuracy import token_accuracy
from ramify.metrics.chunks import (
    ChunkCounts,
    ChunkReport,
    chunk_report,
    chunks,
    format_chunk_table,
    looks_like_chunks,
)
from ramify.metrics.significance import Comparison, Interval, bootstrap_interval, compare
from ramify.metrics.tally import Tally, pooled, tally_accuracy, tally_chunks, tally_words
from ramify.metrics.words import WordReport, word_report

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
    "pooled",
    "tally_accuracy",
    "tally_chunks",
    "tally_words",
    "token_accuracy",
    "word_report",
]
