"""How well outputs agree with the truth: token accuracy and the chunk table of CoNLL."""

from ramify.metrics.accuracy import token_accuracy
from ramify.metrics.chunks import (
    ChunkCounts,
    ChunkReport,
    chunk_report,
    chunks,
    format_chunk_table,
    looks_like_chunks,
)

__all__ = [
    "ChunkCounts",
    "ChunkReport",
    "chunk_report",
    "chunks",
    "format_chunk_table",
    "looks_like_chunks",
    "token_accuracy",
]
