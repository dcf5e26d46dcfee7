"""Trackers of simulated cells, which come with the package: they serve where nothing was trained yet."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Any

KINDS = {"position": (), "area": ("area",), "intensity": ("area", "intensity")}
"""Names of the trackers, and what they measure, the least first."""


def load_pretrained(measured: set[str]) -> Any:
    """The tracker with the most measurements that are all there.

    >>> load_pretrained({"area", "roundness"}).measurements
    ('area',)
    """
    from palmette.apps.tracking.tracker import Tracker

    fitting = [name for name, own in KINDS.items() if measured.issuperset(own)]
    with as_file(files("palmette.apps.tracking") / "models" / f"{fitting[-1]}.palmette") as path:
        return Tracker.load(path)


def train_pretrained(folder: str) -> None:
    """Train them anew on simulated movies and write them to a folder, as ``NAME.palmette``.

    Movies differ in density, speed and length of the cell cycle, so that no single one is learnt by heart.
    """
    import os

    from palmette.apps.tracking.tracker import Tracker
    from palmette.datasets import make_cells

    movies = []
    for seed, (n_cells, speed, cycle) in enumerate(
        ((20, 1.5, 25.0), (40, 2.5, 20.0), (30, 4.0, 30.0), (60, 3.0, 15.0))
    ):
        made = make_cells(n_cells, 25, speed=speed, cycle=cycle, p_miss=0.01, p_false=0.01, random_state=seed)
        movies.append((made.frames, made.lineage))
    os.makedirs(folder, exist_ok=True)
    for name, measurements in KINDS.items():
        tracker = Tracker.train(movies, measurements=measurements, random_state=0)
        tracker.model.structure.max_distance = None  # by the size of the cells
        tracker.save(os.path.join(folder, f"{name}.palmette"))
