"""The output space for what a user gave as output: a name, a kernel, a structure, or a space."""

from __future__ import annotations

from typing import Any

from palmette.contracts.structure import Structure
from palmette.kernels import CommonPath, Custom, Dirac, Hamming, Kernel, Linear, NGram, resolve_kernel
from palmette.outputs.base import OutputSpace
from palmette.outputs.candidates import CandidateOutputs
from palmette.outputs.dirac import DiracOutputs
from palmette.outputs.hamming import HammingOutputs
from palmette.outputs.ngrams import NGramOutputs, has_bound
from palmette.outputs.parts import part_outputs
from palmette.outputs.paths import PathOutputs
from palmette.outputs.structured import PositionOutputs
from palmette.outputs.task_losses import TaskLossOutputs
from palmette.outputs.vectors import VectorOutputs

# What searches exactly, or with a bound, for the pre-image of a kernel; all others try candidates.
SEARCHES: dict[type, Any] = {
    Dirac: lambda kernel: DiracOutputs(),
    Hamming: HammingOutputs,
    CommonPath: PathOutputs,
    # Of a cosine only directions count: no vector is the best.
    Linear: lambda kernel: CandidateOutputs(kernel) if kernel.normalize else VectorOutputs(),
    NGram: lambda kernel: (NGramOutputs if has_bound(kernel) else CandidateOutputs)(kernel),
}


def output_space(output: Any, task_loss: Any = None) -> OutputSpace:
    """The space in which outputs are regressed, not fitted yet.

    Parameters
    ----------
    output : name, kernel, function of two outputs, structure or OutputSpace
    task_loss : callable, or for structures also a name, a table of costs or an object of palmette.losses; optional
        ``loss(true, predicted)``: predictions then have the lowest expected loss instead of the nearest features. A
        function is tried on candidates; costs of positions and of parts are minimised by the structure's inference.

    Examples
    --------
    >>> output_space("dirac"), output_space("hamming")
    (DiracOutputs(), HammingOutputs(kernel=Hamming()))
    """
    if isinstance(output, Structure) and not _is_function(task_loss):
        return structured_outputs(output, task_loss)
    if isinstance(output, Structure):
        return TaskLossOutputs(structured_outputs(output), task_loss)
    space = output if isinstance(output, OutputSpace) else _of_kernel(output)
    return space if task_loss is None else TaskLossOutputs(space, task_loss)


def structured_outputs(structure: Structure, task_loss: Any = None) -> OutputSpace:
    """The space of the outputs of a structure: of its own parts if it names them, else of codes at positions."""
    if structure.can("part_features", "best_by_parts"):
        return part_outputs(structure, task_loss)
    return PositionOutputs(structure, task_loss)


def _is_function(loss: Any) -> bool:
    """Whether a task loss is a function of two outputs, not a name, a table or an object of palmette.losses."""
    return callable(loss) and not hasattr(loss, "bind")


def _of_kernel(output: Any) -> OutputSpace:
    given = isinstance(output, str | type | Kernel) or not callable(output)
    kernel = resolve_kernel(output, "output") if given else Custom(output, of="pairs")
    if not isinstance(kernel, Kernel):
        raise TypeError(f"output must be a kernel, a structure or an output space, got {kernel!r}")
    return SEARCHES.get(type(kernel), CandidateOutputs)(kernel)
