"""Plots of models and their training, as scikit-learn's displays; drawing one imports matplotlib."""

from palmette.plot.alignment_posteriors import MatchDisplay
from palmette.plot.alignments import AlignmentDisplay
from palmette.plot.bounds import BoundDisplay
from palmette.plot.convergence import ConvergenceDisplay
from palmette.plot.hierarchies import HierarchyDisplay
from palmette.plot.lineages import LineageDisplay, plot_lineage
from palmette.plot.marginals import MarginalsDisplay
from palmette.plot.overlays import OverlayDisplay, plot_overlay
from palmette.plot.rna_arcs import ArcDisplay
from palmette.plot.rna_dots import DotPlotDisplay
from palmette.plot.rna_folds import FoldDisplay
from palmette.plot.transitions import TransitionsDisplay

__all__ = [
    "AlignmentDisplay",
    "ArcDisplay",
    "BoundDisplay",
    "ConvergenceDisplay",
    "DotPlotDisplay",
    "FoldDisplay",
    "HierarchyDisplay",
    "LineageDisplay",
    "MarginalsDisplay",
    "MatchDisplay",
    "OverlayDisplay",
    "TransitionsDisplay",
    "plot_lineage",
    "plot_overlay",
]
