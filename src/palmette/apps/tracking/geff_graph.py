"""A GEFF that was opened: what its properties mean, and their values."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from palmette.apps.tracking.extras import extra
from palmette.errors import DataFileError

PURPOSE = "files of the format GEFF"


def is_geff(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder with nodes and edges in it, as GEFF has them.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     is_geff(folder)
    False
    """
    return (Path(path) / "nodes").is_dir() and (Path(path) / "edges").is_dir()


class GeffGraph:
    """Nodes and edges of a GEFF, its axes of time and space, and its properties with one number per node."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = os.fspath(path)
        geff = extra("geff", PURPOSE)
        if not is_geff(path):
            raise DataFileError(
                f"{self.name}: no GEFF: there are no folders nodes and edges in it; name one that is"
            )
        try:
            self.reader = geff.GeffReader(path)
        except (ValueError, KeyError, OSError) as error:
            raise DataFileError(f"{self.name}: not a valid GEFF ({error}); write it again") from error
        metadata = self.reader.metadata
        self.directed = bool(metadata.directed)
        self.node_ids = np.asarray(self.reader.nodes[:])
        self.edges = np.asarray(self.reader.edges[:]).reshape(-1, 2)
        self.track_props = set((metadata.track_node_props or {}).values())
        self.columns = {
            name for name, each in metadata.node_props_metadata.items()
            if not each.varlength and np.dtype(each.dtype).kind in "biuf" and self._values(name).ndim == 1
        }  # fmt: skip
        axes = metadata.axes or []
        times = [axis.name for axis in axes if axis.type == "time"] or [
            each for each in "t" if each in self.columns
        ]
        self.space = [axis.name for axis in axes if axis.type == "space"] or [
            each for each in "zyx" if each in self.columns
        ]
        if len(times) != 1 or len(self.space) not in (2, 3):
            raise DataFileError(
                f"{self.name}: expected an axis of type time and two or three of type space, found {len(times)} and "
                f"{len(self.space)}; declare them in its metadata"
            )
        self.time = times[0]

    def _values(self, name: str) -> Any:
        if name not in self.reader.node_props:
            self.reader.read_node_props([name])
        return self.reader.node_props[name]["values"]

    def frames(self) -> np.ndarray:
        """The frame of each node."""
        return self._whole(self.time, self.table([self.time], np.arange(len(self.node_ids)))[:, 0])

    def ids(self) -> np.ndarray:
        """The id of each node within its frame."""
        if "seg_id" not in self.columns:
            return self.node_ids.astype(np.int64)
        return self._whole("seg_id", self.table(["seg_id"], np.arange(len(self.node_ids)))[:, 0])

    def _whole(self, name: str, values: np.ndarray) -> np.ndarray:
        bad = np.flatnonzero(values != np.floor(values))
        if len(bad):
            raise DataFileError(
                f"{self.name}: node {self.node_ids[bad[0]]}: the property {name!r} is {values[bad[0]]}, expected a "
                "whole number; number the frames"
            )
        return values.astype(np.int64)

    def table(self, names: Sequence[str], rows: np.ndarray) -> np.ndarray:
        """Properties of some nodes, a column for each."""
        found = np.empty((len(rows), len(names)))
        first, last = (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)
        for k, name in enumerate(names):
            found[:, k] = np.asarray(self._values(name)[first:last])[rows - first]
            missing = self.reader.node_props[name].get("missing")
            absent = ~np.isfinite(found[:, k])
            if missing is not None:
                absent |= np.asarray(missing[first:last])[rows - first]
            if absent.any():
                node = self.node_ids[rows[np.flatnonzero(absent)[0]]]
                raise DataFileError(
                    f"{self.name}: node {node} has no finite value of the property {name!r}; add it, or choose other "
                    "properties with features=[...]"
                )
        return found
