"""Simulated movies of dividing cells, with the truth and with the errors of a segmentation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from palmette.datasets.cell_colony import Colony, ColonySettings
from palmette.datasets.cell_frames import CellFrame
from palmette.datasets.cell_views import Segmentation, ViewSettings
from palmette.structures.tracking.lineage import Lineage

RandomState = int | np.random.Generator | None


def make_cells(
    n_cells: int = 50,
    n_frames: int = 40,
    *,
    render: bool = False,
    **options: Any,
) -> Bunch:
    """Simulate a movie of dividing cells.

    Cells move with persistence and push each other apart, grow, divide at an age with spread, leave and enter through
    the border, and bleach. Before a cell divides it becomes round, small and bright; its daughters lie on either side
    along an axis and share its mass. A simulated segmentation measures them with noise, and misses cells, finds some
    where there are none, finds one as two or two as one.

    Parameters
    ----------
    n_cells : int, default=50
        In the first frame.
    n_frames : int, default=40
    render : bool, default=False
        Whether to return images; each is drawn when it is asked for.
    **options
        Those of :func:`stream_cells`: of the colony, the segmentation and ``random_state``.

    Returns
    -------
    movie : Bunch
        * ``frames``: list of Detections. Features: area, intensity, int_std, ecc, major, minor, orient, perim.
        * ``lineage``: Lineage among the detections, as a perfect tracker sees them. Two cells found as one have two
          parents and then two children; fragments have one parent and then one child; a missed cell breaks its track,
          or is bridged by a link over two frames (``bridge=True``).
        * ``cells``: Lineage of the real cells; the id is the number of the cell, the same in all frames.
        * ``matching``: array of shape (m, 2), numbers of detections in ``cells`` and in ``lineage``, where the second
          covers more than half of the first.
        * ``errors``: list of ``SegmentationError(frame, kind, ids, cells)``, kind ``"miss"``, ``"false"``, ``"split"``
          or ``"merge"``.
        * ``shape``: size of the images.
        * with ``render=True``: ``masks`` (ids of detections), ``cell_masks`` (numbers of cells) and ``images``
          (intensities), which are sequences.

    See Also
    --------
    stream_cells : The same frames one by one, for movies that do not fit in memory.

    Examples
    --------
    >>> from palmette.datasets import make_cells
    >>> movie = make_cells(n_cells=20, n_frames=30, p_miss=0.02, random_state=0)
    >>> len(movie.frames), len(movie.frames[0].ids) <= 20
    (30, True)
    >>> sum(len(frame) for frame in movie.frames) == len(movie.lineage)
    True
    >>> int((movie.cells.n_children == 2).sum()) > 3  # divisions
    True
    """
    seen = [
        frame if render else _without_shapes(frame) for frame in stream_cells(n_cells, n_frames, **options)
    ]
    found_at = np.cumsum([0, *(len(frame.detections) for frame in seen)])
    cells_at = np.cumsum([0, *(len(frame.cells) for frame in seen)])
    links, births, matching = [], [], []
    for t, frame in enumerate(seen):
        before, parent, child = frame.links.T
        links.append(np.stack([found_at[before] + parent - 1, found_at[t] + child - 1], axis=1))
        order = np.argsort(frame.cells)
        if t:
            births.append(_births(seen[t - 1].cells, frame, cells_at[t - 1], cells_at[t]))
        covered = frame.covering[order]
        matching.append(
            np.stack([cells_at[t] + np.arange(len(order)), found_at[t] + covered - 1], axis=1)[covered > 0]
        )
    lineage = Lineage(
        np.repeat(np.arange(n_frames), np.diff(found_at)),
        np.concatenate([frame.detections.ids for frame in seen]),
        np.concatenate(links),
    )
    cells = Lineage(
        np.repeat(np.arange(n_frames), np.diff(cells_at)),
        np.concatenate([np.sort(frame.cells) for frame in seen]),
        np.concatenate([np.empty((0, 2), int), *births]),
    )
    movie = Bunch(
        frames=[frame.detections for frame in seen],
        lineage=lineage,
        cells=cells,
        matching=np.concatenate(matching),
        errors=[error for frame in seen for error in frame.errors],
        shape=seen[0].detections.shape,
    )
    if render:
        from palmette.datasets.cell_images import LazyImages

        movie.masks = LazyImages(seen, CellFrame.mask)
        movie.cell_masks = LazyImages(seen, CellFrame.cell_mask)
        movie.images = LazyImages(seen, CellFrame.image)
    return movie


def stream_cells(
    n_cells: int = 50,
    n_frames: int = 40,
    *,
    max_cells: int | None = None,
    shape: tuple[int, int] | None = None,
    radius: float = 10.0,
    speed: float = 2.5,
    persistence: float = 0.8,
    cycle: float = 40.0,
    cycle_spread: float = 0.15,
    entering: float | None = None,
    noise: float = 0.05,
    bleaching: float = 0.002,
    p_miss: float = 0.0,
    p_false: float = 0.0,
    p_split: float = 0.0,
    p_merge: float = 0.0,
    bridge: bool = False,
    random_state: RandomState = None,
) -> Iterator[CellFrame]:
    """Simulate a movie of dividing cells, one frame at a time.

    The colony of a seed is the same for all settings of the segmentation.

    Parameters
    ----------
    n_cells : int, default=50
        In the first frame.
    n_frames : int, default=40
    max_cells : int, optional
        The nearer to it, the more slowly cells divide; ``4 * n_cells`` by default. With ``max_cells=n_cells`` a long
        movie keeps about the same number of cells.
    shape : tuple of int, optional
        Size of the image in pixels; by default a square which `max_cells` cells fill to 40 %.
    radius : float, default=10.0
        Typical radius of a cell in pixels.
    speed : float, default=2.5
        Standard deviation of the velocity along each axis, in pixels per frame.
    persistence : float, default=0.8
        Correlation of the velocities in successive frames: 0 for a random walk, below 1.
    cycle : float, default=40.0
        Median age at division, in frames.
    cycle_spread : float, default=0.15
        Standard deviation of its logarithm.
    entering : float, optional
        Expected number of cells that enter per frame; by default about as many as leave at first.
    noise : float, default=0.05
        Relative error of measurements.
    bleaching : float, default=0.002
        Rate at which intensities decay, per frame.
    p_miss, p_split : float, default=0.0
        Probability that a cell is not found; that it is found as two fragments.
    p_false : float, default=0.0
        Expected number of false detections per cell.
    p_merge : float, default=0.0
        Probability that two touching cells are found as one. Fragments and merged cells last for one frame, and there
        are none in the first and the last frame, near the border, or while a cell divides.
    bridge : bool, default=False
        Whether links lead over the frame in which a cell was missed.
    random_state : int, numpy.random.Generator or None, default=None

    Yields
    ------
    CellFrame
        With ``detections``, ``links`` to earlier frames, ``errors``, and methods ``mask()``, ``cell_mask()`` and
        ``image()``.

    Examples
    --------
    >>> from palmette.datasets import stream_cells
    >>> for frame in stream_cells(n_cells=5, n_frames=3, random_state=0):
    ...     print(frame.detections.frame, len(frame.detections), len(frame.links))
    0 5 0
    1 5 5
    2 5 5
    """
    for name, count in (("n_cells", n_cells), ("n_frames", n_frames)):
        _check_count(name, count)
    max_cells = 4 * n_cells if max_cells is None else max_cells
    _check_count("max_cells", max_cells)
    if max_cells < n_cells:
        raise ValueError(f"max_cells={max_cells} is below n_cells={n_cells}: begin with fewer cells")
    _check_number("radius", radius, 2, np.inf)
    _check_number("cycle", cycle, 8, np.inf)
    for name, value in (
        ("speed", speed),
        ("cycle_spread", cycle_spread),
        ("noise", noise),
        ("bleaching", bleaching),
    ):
        _check_number(name, value, 0, np.inf)
    for name, value in (
        ("persistence", persistence),
        ("p_miss", p_miss),
        ("p_split", p_split),
        ("p_merge", p_merge),
    ):
        _check_number(name, value, 0, 1)
    _check_number("p_false", p_false, 0, np.inf)
    if shape is None:
        side = int(np.ceil(np.sqrt(max_cells * np.pi * radius**2 / 0.4)))
        shape = (side, side)
    if len(shape) != 2 or min(shape) < 4 * radius:
        raise ValueError(f"shape={shape} must be two numbers of at least 4 * radius = {4 * radius:g} pixels")
    if entering is None:  # the flux of a gas of this density through the border
        entering = n_cells * speed * np.sqrt(1 / (2 * np.pi)) * 2 * sum(shape) / (shape[0] * shape[1])
    _check_number("entering", entering, 0, np.inf)
    shape = (int(shape[0]), int(shape[1]))
    settings = ColonySettings(
        n_cells, max_cells, shape, radius, speed, persistence, cycle, cycle_spread, entering
    )
    view = ViewSettings(shape, radius, speed, noise, bleaching, p_miss, p_false, p_split, p_merge, bridge)
    return _frames(settings, view, n_frames, np.random.default_rng(random_state))


def _frames(
    settings: ColonySettings, view: ViewSettings, n_frames: int, rng: np.random.Generator
) -> Iterator[CellFrame]:
    moves, sees = rng.spawn(2)
    seed = (int(rng.integers(2**32)),)
    colony, segmentation = Colony(settings, moves), Segmentation(view, sees)
    for t in range(n_frames):
        if t:
            colony.step()
        frame = segmentation.look(t, colony.cells, colony.dividing, last=t == n_frames - 1)
        yield replace(frame, bleaching=view.bleaching, seed=seed)


def _without_shapes(frame: CellFrame) -> CellFrame:
    """A frame that cannot be drawn: what make_cells keeps of a movie without images."""
    nothing = np.empty(0, int)
    return replace(frame, colony=frame.colony.take(nothing), outlines=frame.outlines.take(nothing))


def _births(before: np.ndarray, frame: CellFrame, first: int, second: int) -> np.ndarray:
    """Links between the real cells of two frames, as numbers in the lineage."""
    order = np.argsort(frame.cells)
    parents = frame.parents[order]
    own = np.flatnonzero(parents > 0)
    return np.stack([first + np.searchsorted(np.sort(before), parents[own]), second + own], axis=1)


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got {name}={value!r}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {name}={value!r}")


def _check_number(name: str, value: Any, low: float, high: float) -> None:
    if not isinstance(value, Real) or not low <= float(value) <= high or value == np.inf:
        bound = f"in [{low:g}, {high:g}]" if high < np.inf else f"a finite number >= {low:g}"
        raise ValueError(f"{name} must be {bound}, got {name}={value!r}")
