"""Pairwise alignment: aligners, files of sequences and alignments, matrices and parameters, measures."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from palmette.apps.aligning.aligned import Aligned
    from palmette.apps.aligning.aligner import Aligner
    from palmette.apps.aligning.cigar import format_cigar, parse_cigar
    from palmette.apps.aligning.constraints import Constraint
    from palmette.apps.aligning.evaluation import AlignmentReport, evaluate_alignments
    from palmette.apps.aligning.files import (
        FORMATS,
        Format,
        read_alignments,
        read_sequences,
        write_alignments,
    )
    from palmette.apps.aligning.matrix_files import SubstitutionMatrix, read_matrix, write_matrix
    from palmette.apps.aligning.parameter_files import from_contralign, read_parameters, write_parameters
    from palmette.apps.aligning.records import PairRecord, SequenceRecord, aligned_rows

_NAMES_OF = {
    "aligned": "Aligned",
    "aligner": "Aligner",
    "cigar": "format_cigar parse_cigar",
    "constraints": "Constraint",
    "evaluation": "AlignmentReport evaluate_alignments",
    "files": "FORMATS Format read_alignments read_sequences write_alignments",
    "matrix_files": "SubstitutionMatrix read_matrix write_matrix",
    "parameter_files": "from_contralign read_parameters write_parameters",
    "records": "PairRecord SequenceRecord aligned_rows",
}
_HOME = {name: module for module, names in _NAMES_OF.items() for name in names.split()}

__all__ = [
    "FORMATS",
    "Aligned",
    "Aligner",
    "AlignmentReport",
    "Constraint",
    "Format",
    "PairRecord",
    "SequenceRecord",
    "SubstitutionMatrix",
    "aligned_rows",
    "evaluate_alignments",
    "format_cigar",
    "from_contralign",
    "parse_cigar",
    "read_alignments",
    "read_matrix",
    "read_parameters",
    "read_sequences",
    "write_alignments",
    "write_matrix",
    "write_parameters",
]


def __getattr__(name: str) -> Any:
    # Imported when first used: the command line reads the options of this task without its readers.
    if name in _HOME:
        return getattr(importlib.import_module(f"palmette.apps.aligning.{_HOME[name]}"), name)
    raise AttributeError(f"module 'palmette.apps.aligning' has no attribute {name!r}")
