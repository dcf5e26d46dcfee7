"""GEFF, the graph exchange file format: lineages with the measurements of their detections, in a zarr folder."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from palmette.apps.tracking.extras import extra
from palmette.apps.tracking.geff_graph import PURPOSE, GeffGraph, is_geff
from palmette.apps.tracking.nodes import nodes_of, track_labels
from palmette.apps.tracking.tables import BOX_COLUMNS, LONGEST_GAP
from palmette.errors import DataFileError
from palmette.structures.tracking.detections import Detections
from palmette.structures.tracking.lineage import Lineage

_AT_ONCE = 200_000  # detections that are read together
_OWN = {"seg_id", "track_id"}  # properties beside the measurements


def write_geff(
    path: str | os.PathLike[str],
    lineage: Lineage,
    movie: Iterable[Detections],
    *,
    units: Mapping[str, str] | None = None,
    scale: Mapping[str, float] | None = None,
    overwrite: bool = False,
) -> None:
    """Write a lineage as GEFF, whole or not at all.

    Nodes have the properties ``t``, ``y``, ``x`` (and ``z``), ``track_id`` (declared as tracklet), ``seg_id`` (the id
    within the frame, the label in the mask), the features of the detections and the corners of their boxes. Axes have
    names, types and units, and display hints say which is horizontal, vertical, depth and time: what viewers such as
    napari, through their readers of GEFF, ask for.

    Parameters
    ----------
    path : path
        The folder to be made, ``tracks.geff`` or ``tracks.zarr``.
    lineage : Lineage
    movie : iterable of Detections
        Where the detections are; gone through once.
    units : dict, optional
        Unit of each axis, such as ``{"t": "minute", "y": "micrometer"}``; by default ``"frame"`` and ``"pixel"``. Axes
        that `scale` names are in frames or pixels, and this is the unit after scaling.
    scale : dict, optional
        Factor of each axis from frames or pixels to `units`, such as ``{"t": 5.0, "y": 0.64}``.
    overwrite : bool, default=False
        Whether to replace a GEFF that is there.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> movie = [Detections([[1.0, 2.0]], {"area": [30.0]}, frame=t) for t in range(2)]
    >>> cells = Lineage.from_links([(0, 0), (1, 0)], [((0, 0), (1, 0))])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tracks.geff"
    ...     write_geff(path, cells, movie, units={"t": "minute"}, scale={"t": 5.0})
    ...     read_geff_lineage(path).edges.tolist(), [each.features["area"].tolist() for each in GeffMovie(path)]
    ([[0, 1]], [[30.0], [30.0]])
    """
    spec, core = extra("geff_spec", PURPOSE), extra("geff.core_io", PURPOSE)
    target = Path(os.path.realpath(path))
    if target.exists() and not (overwrite and is_geff(target)):
        remedy = (
            "pass overwrite=True, or name another" if is_geff(target) else "it is no GEFF; name another path"
        )
        raise FileExistsError(f"{os.fspath(path)}: there is something already; {remedy}")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{os.fspath(path)}: there is no folder {target.parent}; make it first")
    nodes = nodes_of(lineage, movie)
    space = ("z", "y", "x")[-nodes.position.shape[1] :]
    metadata = spec.GeffMetadata(
        directed=True,
        axes=[_axis(spec, name, units or {}, scale or {}) for name in ("t", *space)],
        node_props_metadata={},
        edge_props_metadata={},
        track_node_props={"tracklet": "track_id"},
        display_hints=spec.DisplayHint(
            display_horizontal="x",
            display_vertical="y",
            display_depth="z" if "z" in space else None,
            display_time="t",
        ),
    )
    columns: dict[str, np.ndarray] = {"t": lineage.frame}
    columns |= {name: nodes.position[:, k] for k, name in enumerate(space)}
    columns |= {"seg_id": lineage.id, "track_id": track_labels(lineage)}
    if nodes.boxes is not None:
        corners = [each for each in BOX_COLUMNS if each[0] in space]
        columns |= {name: nodes.boxes[:, k] for k, name in enumerate(corners)}
    taken = next((name for name in nodes.features if name in columns or "/" in name), None)
    if taken is not None:
        raise ValueError(
            f"the feature {taken!r} has a name that GEFF files need for another thing; rename it"
        )
    columns |= nodes.features
    temporary = target.with_name(f".palmette-{secrets.token_hex(8)}.tmp")
    try:
        core.write_arrays(
            temporary,
            np.arange(len(lineage), dtype=np.uint64),
            {name: {"values": values, "missing": None} for name, values in columns.items()},
            lineage.edges.astype(np.uint64),
            {},
            metadata,
        )
        if target.exists():
            aside = target.with_name(f".palmette-{secrets.token_hex(8)}.old")
            os.replace(target, aside)
            os.replace(temporary, target)
            shutil.rmtree(aside)
        else:
            os.replace(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _axis(spec: Any, name: str, units: Mapping[str, str], scale: Mapping[str, float]) -> Any:
    kind, plain = ("time", "frame") if name == "t" else ("space", "pixel")
    if name in scale:
        return spec.Axis(name=name, type=kind, unit=plain, scale=scale[name], scaled_unit=units.get(name))
    return spec.Axis(name=name, type=kind, unit=units.get(name, plain))


# -- reading ---------------------------------------------------------------------------------------------------------


class GeffMovie:
    """The nodes of a GEFF as a movie, of which some frames at a time are in memory.

    The time and the position of nodes are those of its axes, or the properties ``t``, ``z``, ``y``, ``x`` if it
    declares none. Ids are the property ``seg_id`` if there is one, else the ids of the nodes. Boxes are ``y0, x0, y1,
    x1``. All other properties with one number per node are features, but for ids of tracks. Frames without nodes
    between the first and the last are empty.

    Parameters
    ----------
    path : path
    features : list of str, optional
        Properties to be features, instead of all.
    shape : tuple of float, optional
        The size of the image.

    Raises
    ------
    DataFileError
        No GEFF, or one without time or position; a value that lacks. The message names property, node and remedy.

    Examples
    --------
    See :func:`write_geff`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        features: Sequence[str] | None = None,
        shape: tuple[float, ...] | None = None,
    ) -> None:
        self.path, self.shape = path, shape
        graph = GeffGraph(path)
        self._axes = graph.space
        corners = [f"{axis}{end}" for end in "01" for axis in self._axes]
        self._corners = corners if set(corners) <= set(graph.columns) else []
        others = graph.columns - {graph.time, *self._axes, *self._corners, *graph.track_props, *_OWN}
        if features is not None and not set(features) <= others:
            unknown = min(set(features) - others)
            raise ValueError(
                f"features: {os.fspath(path)} has no property {unknown!r} with one number per node; it has "
                f"{', '.join(sorted(others)) or 'none'}"
            )
        self.feature_names = sorted(others) if features is None else list(features)
        self._frame = graph.frames()
        self._ids = graph.ids()
        known = np.unique(self._frame)
        jump = np.flatnonzero(np.diff(known) > LONGEST_GAP + 1)
        if len(jump):
            raise DataFileError(
                f"{os.fspath(path)}: frame {known[jump[0] + 1]} follows frame {known[jump[0]]}, with no nodes between "
                f"them; number the frames 0, 1, ... in the property {graph.time!r}"
            )

    @property
    def frames(self) -> range:
        """The frames, with those that have no nodes."""
        return range(int(self._frame.min()), int(self._frame.max()) + 1) if len(self._frame) else range(0)

    def __len__(self) -> int:
        return len(self.frames)

    def __iter__(self) -> Iterator[Detections]:
        graph = GeffGraph(self.path)
        names = [*self._axes, *self._corners, *self.feature_names]
        counts = np.bincount(self._frame - self.frames.start, minlength=len(self.frames))
        ends = np.cumsum(counts)
        start = 0
        while start < len(self.frames):
            done = ends[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, done + _AT_ONCE, side="right")))
            low, high = self.frames[start], self.frames[stop - 1]
            rows = np.flatnonzero((self._frame >= low) & (self._frame <= high))
            table = graph.table(names, rows)
            order = np.lexsort((self._ids[rows], self._frame[rows]))
            cuts = np.searchsorted(self._frame[rows][order], np.arange(low, high + 1))[1:]
            for frame, own in zip(range(low, high + 1), np.split(order, cuts)):
                yield self._detections(frame, self._ids[rows[own]], table[own])
            start = stop

    def _detections(self, frame: int, ids: np.ndarray, table: np.ndarray) -> Detections:
        position, boxes, values = np.split(table, np.cumsum([len(self._axes), len(self._corners)]), axis=1)
        features = {name: values[:, k] for k, name in enumerate(self.feature_names)}
        return Detections(position, features, ids, boxes if self._corners else None, frame, self.shape)


def read_geff_lineage(path: str | os.PathLike[str]) -> Lineage:
    """Read the nodes of a GEFF by frame and id (those of :class:`GeffMovie`), and its edges.

    Examples
    --------
    See :func:`write_geff`.
    """
    graph = GeffGraph(path)
    frame = graph.frames()
    ids = graph.ids()
    node_ids, edges = graph.node_ids, graph.edges
    order = np.argsort(node_ids)
    own = order[np.searchsorted(node_ids[order], edges)] if len(edges) else edges.astype(np.int64)
    if not graph.directed:  # from earlier to later
        own = np.where((frame[own[:, 0]] > frame[own[:, 1]])[:, None], own[:, ::-1], own)
    nodes = list(zip(frame.tolist(), ids.tolist()))
    return Lineage.from_links(nodes, ((nodes[a], nodes[b]) for a, b in own.tolist()))
