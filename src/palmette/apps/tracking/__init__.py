"""Cell tracking: trackers, files of movies and lineages, measures of lineages."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from palmette.apps.tracking.ctc import CTCMovie, FrameFiles, read_ctc_lineage
    from palmette.apps.tracking.ctc_results import write_ctc
    from palmette.apps.tracking.ctc_tracks import TrackRow, read_ctc_tracks, write_ctc_tracks
    from palmette.apps.tracking.files import FORMATS, Format, read_lineage, read_movie, write_lineage
    from palmette.apps.tracking.geff_files import GeffMovie, read_geff_lineage, write_geff
    from palmette.apps.tracking.lineage_tables import (
        read_lineage_table,
        read_links,
        write_lineage_table,
        write_links,
    )
    from palmette.apps.tracking.masks import measured
    from palmette.apps.tracking.measures import TrackingReport, evaluate_lineage
    from palmette.apps.tracking.napari_tracks import NapariTracks, napari_layer, write_napari_tracks
    from palmette.apps.tracking.pins import Pins
    from palmette.apps.tracking.table_writer import write_table
    from palmette.apps.tracking.tables import TableMovie
    from palmette.apps.tracking.tracker import Tracked, Tracker

_NAMES_OF = {
    "ctc": "CTCMovie FrameFiles read_ctc_lineage",
    "ctc_results": "write_ctc",
    "ctc_tracks": "TrackRow read_ctc_tracks write_ctc_tracks",
    "files": "FORMATS Format read_lineage read_movie write_lineage",
    "geff_files": "GeffMovie read_geff_lineage write_geff",
    "lineage_tables": "read_lineage_table read_links write_lineage_table write_links",
    "masks": "measured",
    "measures": "TrackingReport evaluate_lineage",
    "napari_tracks": "NapariTracks napari_layer write_napari_tracks",
    "pins": "Pins",
    "table_writer": "write_table",
    "tables": "TableMovie",
    "tracker": "Tracked Tracker",
}
_HOME = {name: module for module, names in _NAMES_OF.items() for name in names.split()}

__all__ = [
    "FORMATS",
    "CTCMovie",
    "Format",
    "FrameFiles",
    "GeffMovie",
    "NapariTracks",
    "Pins",
    "TableMovie",
    "TrackRow",
    "Tracked",
    "Tracker",
    "TrackingReport",
    "evaluate_lineage",
    "measured",
    "napari_layer",
    "read_ctc_lineage",
    "read_ctc_tracks",
    "read_geff_lineage",
    "read_lineage",
    "read_lineage_table",
    "read_links",
    "read_movie",
    "write_ctc",
    "write_ctc_tracks",
    "write_geff",
    "write_lineage",
    "write_lineage_table",
    "write_links",
    "write_napari_tracks",
    "write_table",
]


def __getattr__(name: str) -> Any:
    # Imported when first used: the command line reads the options of this task without its readers.
    if name in _HOME:
        return getattr(importlib.import_module(f"palmette.apps.tracking.{_HOME[name]}"), name)
    raise AttributeError(f"module 'palmette.apps.tracking' has no attribute {name!r}")
