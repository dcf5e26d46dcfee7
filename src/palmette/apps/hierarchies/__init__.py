"""Classification into a tree of classes: files of paths, learners, evaluation level by level."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from palmette.apps.hierarchies.classifier import PathClassifier
    from palmette.apps.hierarchies.evaluation import PathEvaluation, evaluate_paths
    from palmette.apps.hierarchies.records import Records, read_records

_HOME = {
    "PathClassifier": "classifier",
    "PathEvaluation": "evaluation",
    "Records": "records",
    "evaluate_paths": "evaluation",
    "read_records": "records",
}
__all__ = ["PathClassifier", "PathEvaluation", "Records", "evaluate_paths", "read_records"]


def __getattr__(name: str) -> Any:
    # Imported when first used: the command line reads the options of this task without its learners.
    if name in _HOME:
        return getattr(importlib.import_module(f"palmette.apps.hierarchies.{_HOME[name]}"), name)
    raise AttributeError(f"module 'palmette.apps.hierarchies' has no attribute {name!r}")
