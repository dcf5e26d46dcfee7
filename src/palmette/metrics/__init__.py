"""Measures of agreement with the truth: accuracy, chunks, words, orders, paths; intervals and significance tests."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from palmette.metrics.accuracy import sequence_accuracy, token_accuracy
from palmette.metrics.chunks import (
    ChunkCounts,
    ChunkReport,
    chunk_report,
    chunks,
    format_chunk_table,
    looks_like_chunks,
)
from palmette.metrics.hierarchy import (
    HierarchicalScores,
    hierarchical_f1,
    hierarchical_scores,
    level_accuracies,
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

if TYPE_CHECKING:
    from palmette.metrics.scoring import (
        SCORERS,
        QueryScorer,
        chunk_f1,
        chunk_precision,
        chunk_recall,
        get_scorer,
    )

__all__ = [
    "SCORERS",
    "ChunkCounts",
    "ChunkReport",
    "Comparison",
    "HierarchicalScores",
    "Interval",
    "QueryScorer",
    "Tally",
    "WordReport",
    "bootstrap_interval",
    "chunk_f1",
    "chunk_precision",
    "chunk_recall",
    "chunk_report",
    "chunks",
    "compare",
    "format_chunk_table",
    "get_scorer",
    "hierarchical_f1",
    "hierarchical_scores",
    "level_accuracies",
    "looks_like_chunks",
    "mean_average_precision",
    "ndcg",
    "pooled",
    "precision_at",
    "reciprocal_rank",
    "sequence_accuracy",
    "tally_accuracy",
    "tally_chunks",
    "tally_queries",
    "tally_words",
    "token_accuracy",
    "word_report",
]

_SCORING = ("SCORERS", "QueryScorer", "chunk_f1", "chunk_precision", "chunk_recall", "get_scorer")


def __getattr__(name: str) -> Any:
    # Imported when first used: scikit-learn's scorers load half of it.
    if name in _SCORING:
        return getattr(importlib.import_module("palmette.metrics.scoring"), name)
    raise AttributeError(f"module 'palmette.metrics' has no attribute {name!r}")
