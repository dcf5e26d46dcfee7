"""Writing detections as CSV."""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np

from palmette.apps.tracking.tables import BOX_COLUMNS
from palmette.io.atomic import write_atomically
from palmette.structures.tracking.detections import Detections


def write_table(path: str | os.PathLike[str], movie: Iterable[Detections]) -> None:
    """Write detections as CSV that ``TableMovie`` reads, whole or not at all, a frame at a time.

    Frames at the begin or the end without detections are lost, since no line names them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "cells.csv"
    ...     write_table(path, [Detections([[1.0, 2.5]], {"area": [30.0]}, ids=[4])])
    ...     print(path.read_text(), end="")
    frame,id,y,x,area
    0,4,1.0,2.5,30.0
    """
    columns: list[str] = []
    with write_atomically(path) as file:
        for cells in movie:
            axes = ("z", "y", "x")[-cells.position.shape[1] :]
            corners = [] if cells.boxes is None else [each for each in BOX_COLUMNS if each[0] in axes]
            own = ["frame", "id", *axes, *corners, *cells.features]
            if not columns:
                columns = own
                file.write((",".join(columns) + "\n").encode())
            if own != columns:
                if not len(cells):
                    continue
                raise ValueError(
                    f"frame {cells.frame} has the columns {', '.join(own)}, the frames before it "
                    f"{', '.join(columns)}; measure the same in all frames"
                )
            tables = [cells.position, *([] if cells.boxes is None else [cells.boxes])]
            numbers = np.column_stack([*tables, *cells.features.values()]).tolist()
            for identity, row in zip(cells.ids.tolist(), numbers):
                file.write((",".join(map(str, [cells.frame, identity, *row])) + "\n").encode())
