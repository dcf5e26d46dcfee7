"""RNA folding: folders, files of sequences and structures, parameters, measures."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from palmette.apps.folding.constraints import make_restriction
    from palmette.apps.folding.evaluation import FoldingReport, evaluate_folds
    from palmette.apps.folding.evidence import read_evidence, shape_scores
    from palmette.apps.folding.files import FORMATS, Format, read_records, write_records
    from palmette.apps.folding.folder import Folded, Folder
    from palmette.apps.folding.parameter_files import read_parameters, write_parameters
    from palmette.apps.folding.records import RNARecord
    from palmette.apps.folding.stockholm import Alignment, read_alignments

_NAMES_OF = {
    "constraints": "make_restriction",
    "evaluation": "FoldingReport evaluate_folds",
    "evidence": "read_evidence shape_scores",
    "files": "FORMATS Format read_records write_records",
    "folder": "Folded Folder",
    "parameter_files": "read_parameters write_parameters",
    "records": "RNARecord",
    "stockholm": "Alignment read_alignments",
}
_HOME = {name: module for module, names in _NAMES_OF.items() for name in names.split()}

__all__ = [
    "FORMATS",
    "Alignment",
    "Folded",
    "Folder",
    "FoldingReport",
    "Format",
    "RNARecord",
    "evaluate_folds",
    "make_restriction",
    "read_alignments",
    "read_evidence",
    "read_parameters",
    "read_records",
    "shape_scores",
    "write_parameters",
    "write_records",
]


def __getattr__(name: str) -> Any:
    # Imported when first used: the command line reads the options of this task without its readers.
    if name in _HOME:
        return getattr(importlib.import_module(f"palmette.apps.folding.{_HOME[name]}"), name)
    raise AttributeError(f"module 'palmette.apps.folding' has no attribute {name!r}")
