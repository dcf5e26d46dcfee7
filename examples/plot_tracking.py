"""Track simulated cells that divide: learn from one movie, track another, and draw its lineage tree.

Links that nobody gave count as unknown there, not as absent.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from palmette.apps.tracking import Tracker, evaluate_lineage
from palmette.datasets import make_cells
from palmette.structures import Lineage

movie, other = (make_cells(n_cells=12, n_frames=15, random_state=seed) for seed in (0, 1))
tracker = Tracker.train([(movie.frames, movie.lineage)])
tracked = tracker.track(other.frames)
print(tracked.headline())
print(f"learnt from all links:   {evaluate_lineage(other.lineage, tracked.lineage).headline()}")

known = np.random.default_rng(0).random(len(movie.lineage.edges)) < 0.5
some = Lineage(movie.lineage.frame, movie.lineage.id, movie.lineage.edges[known])
partial = Tracker.train([(movie.frames, some)], complete=False)
print(
    f"learnt from half of them: {evaluate_lineage(other.lineage, partial.track(other.frames).lineage).headline()}"
)

simulated = Tracker.pretrained(other.frames[0].features)
print(
    f"without any of our own:   {evaluate_lineage(other.lineage, simulated.track(other.frames).lineage).headline()}"
)

path = Path(sys.argv[1] if len(sys.argv) > 1 else Path(tempfile.gettempdir()) / "lineage.png")
try:
    from palmette.plot import plot_lineage

    plot_lineage(tracked.lineage).figure_.savefig(path, dpi=120, bbox_inches="tight")
    print(f"figure: {path}")
except ImportError as error:
    print(f"no figure: {error}")
