"""The tracks layer of napari: an array of vertices, and a graph of tracks."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from palmette.apps.tracking.nodes import nodes_of, parent_tracks, track_labels
from palmette.io.atomic import write_atomically
from palmette.structures.tracking.detections import Detections
from palmette.structures.tracking.lineage import Lineage


class NapariTracks(NamedTuple):
    """What ``viewer.add_tracks(tracks.data, graph=tracks.graph, properties=tracks.properties)`` takes.

    Attributes
    ----------
    data : array of shape (n, 4) or (n, 5)
        Columns track_id, t, [z,] y, x; sorted by track, then by time.
    graph : dict of int to list of int
        From a track to its parents, for all tracks that have some.
    properties : dict of str to array of shape (n,)
        Measurements of the vertices, and their ids within the frame.
    """

    data: np.ndarray
    graph: dict[int, list[int]]
    properties: dict[str, np.ndarray]


def napari_layer(lineage: Lineage, movie: Iterable[Detections]) -> NapariTracks:
    """A lineage as the arrays of a tracks layer.

    Parameters
    ----------
    lineage : Lineage
    movie : iterable of Detections
        Where the detections are; gone through once.

    Examples
    --------
    >>> movie = [Detections([[1.0, 2.0]]), Detections([[2.0, 2.0], [2.0, 8.0]], frame=1)]
    >>> cells = Lineage.from_links([(0, 0), (1, 0), (1, 1)], [((0, 0), (1, 0)), ((0, 0), (1, 1))])
    >>> tracks = napari_layer(cells, movie)
    >>> tracks.data.tolist(), tracks.graph
    ([[1.0, 0.0, 1.0, 2.0], [2.0, 1.0, 2.0, 2.0], [3.0, 1.0, 2.0, 8.0]], {2: [1], 3: [1]})
    """
    nodes = nodes_of(lineage, movie)
    labels = track_labels(lineage)
    order = np.lexsort((lineage.frame, labels))
    data = np.column_stack([labels, lineage.frame, nodes.position])[order]
    properties = {"id": lineage.id[order]} | {
        name: values[order] for name, values in nodes.features.items() if name != "id"
    }
    return NapariTracks(data, parent_tracks(lineage, labels), properties)


def write_napari_tracks(
    path: str | os.PathLike[str], lineage: Lineage, movie: Iterable[Detections]
) -> NapariTracks:
    """Write a lineage as a CSV of tracks, whole or not at all, and return its arrays.

    napari itself has no file format for tracks. The columns ``track_id, t, [z,] y, x`` are those of the layer; with
    ``parent_track_id`` (-1 for none; of several parents the first) and ``id`` they are what reader plugins for tracks
    take (that of ultrack for one). The first columns of the file, without its header, are the array of the layer.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> movie = [Detections([[1.0, 2.0]], frame=t) for t in range(2)]
    >>> cells = Lineage.from_links([(0, 0), (1, 0)], [((0, 0), (1, 0))])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tracks.csv"
    ...     tracks = write_napari_tracks(path, cells, movie)
    ...     print(path.read_text(), end="")
    track_id,t,y,x,id,parent_track_id
    1,0,1.0,2.0,0,-1
    1,1,1.0,2.0,0,-1
    """
    tracks = napari_layer(lineage, movie)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    axes = ("z", "y", "x")[5 - tracks.data.shape[1] :]
    writer.writerow(["track_id", "t", *axes, "id", "parent_track_id"])
    for row, own in zip(tracks.data.tolist(), tracks.properties["id"].tolist()):
        label = int(row[0])
        writer.writerow([label, int(row[1]), *row[2:], own, tracks.graph.get(label, [-1])[0]])
    with write_atomically(path) as file:
        file.write(text.getvalue().encode())
    return tracks
