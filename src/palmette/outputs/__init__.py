"""Output spaces: how a regression sees outputs, and how it finds the output that fits a prediction best."""

from __future__ import annotations

from palmette.outputs.base import OutputSpace, PreImages
from palmette.outputs.candidates import CandidateOutputs
from palmette.outputs.choose import output_space
from palmette.outputs.dirac import DiracOutputs
from palmette.outputs.hamming import HammingOutputs
from palmette.outputs.neighbours import NeighbourOutputs
from palmette.outputs.ngrams import NGramOutputs
from palmette.outputs.parts import PartLossOutputs, PartOutputs, WholeOutputs
from palmette.outputs.paths import PathOutputs
from palmette.outputs.structured import PositionOutputs
from palmette.outputs.task_losses import TaskLossOutputs
from palmette.outputs.vectors import VectorOutputs

__all__ = [
    "CandidateOutputs",
    "DiracOutputs",
    "HammingOutputs",
    "NGramOutputs",
    "NeighbourOutputs",
    "OutputSpace",
    "PartLossOutputs",
    "PartOutputs",
    "PathOutputs",
    "PositionOutputs",
    "PreImages",
    "TaskLossOutputs",
    "VectorOutputs",
    "WholeOutputs",
    "output_space",
]
