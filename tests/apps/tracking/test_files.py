"""Formats are known by what a path is."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from small_movies import lineage, masks, movie, same

import palmette.apps.tracking as tracking
from palmette.apps.tracking import FORMATS, read_lineage, read_movie, write_lineage, write_table
from palmette.apps.tracking.extras import extra
from palmette.errors import DataFileError


def test_every_public_name_can_be_imported():
    for name in tracking.__all__:
        assert getattr(tracking, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tracking.nothing  # noqa: B018


def test_the_extras_are_not_imported_before_they_are_needed():
    code = (
        "import sys, palmette.apps.tracking as t; [getattr(t, n) for n in t.__all__]\n"
        "print([m for m in ('tifffile', 'geff', 'zarr') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_what_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tifffile", None)
    with pytest.raises(
        ModuleNotFoundError, match=r'masks need tifffile, .*: pip install "palmette\[track\]"'
    ):
        extra("tifffile", "masks")


def test_tables_need_no_extra(tmp_path):
    write_table(tmp_path / "cells.csv", movie())
    assert [len(each) for each in read_movie(tmp_path / "cells.csv")] == [len(each) for each in movie()]
    write_lineage(tmp_path / "lineage.csv", "csv", lineage())
    assert same(read_lineage(tmp_path / "lineage.csv"), lineage())
    write_lineage(tmp_path / "links.csv", "links", lineage())
    write_lineage(tmp_path / "tracks.csv", "napari", lineage(), movie=movie())
    assert len((tmp_path / "tracks.csv").read_text().splitlines()) == len(lineage()) + 1


def test_a_folder_of_masks_is_tracked_into_another(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    (tmp_path / "found").mkdir()
    for frame, image in enumerate(masks()):
        tifffile.imwrite(tmp_path / "found" / f"mask00{frame}.tif", image)
    cells = read_movie(tmp_path / "found", spacing=0.5)
    assert next(iter(cells)).shape == (20, 30)
    write_lineage(tmp_path / "results", "ctc", lineage(), movie=cells)
    assert len(read_lineage(tmp_path / "results")) == len(lineage())


def test_geff(tmp_path):
    pytest.importorskip("geff")
    write_lineage(tmp_path / "tracks.zarr", "geff", lineage(), movie=movie())
    assert same(read_lineage(tmp_path / "tracks.zarr"), lineage())
    assert [len(each) for each in read_movie(tmp_path / "tracks.zarr")] == [len(each) for each in movie()]


def test_unknown_things_are_refused_with_what_is_understood(tmp_path):
    (tmp_path / "movie.avi").write_bytes(np.zeros(9, np.uint8).tobytes())
    for path in (tmp_path, tmp_path / "movie.avi"):
        with pytest.raises(DataFileError, match=r"no movie that is understood.*mask000.tif.*\.csv.*GEFF"):
            read_movie(path)
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        read_movie(tmp_path / "nothing.csv")
    with pytest.raises(ValueError, match="format must be one of 'ctc', 'csv', 'geff', got 'napari'"):
        read_movie(tmp_path, "napari")
    with pytest.raises(
        ValueError, match="format must be one of 'ctc', 'csv', 'geff', 'links', 'napari', got 'xml'"
    ):
        write_lineage(tmp_path / "a", "xml", lineage())


@pytest.mark.parametrize(("format", "needs"), [("ctc", "masks"), ("geff", "movie"), ("napari", "movie")])
def test_what_a_format_needs_is_asked_for(tmp_path, format, needs):
    assert FORMATS[format].needs == needs
    with pytest.raises(ValueError, match=f"the format '{format}' needs the .*: pass {needs}="):
        write_lineage(tmp_path / "a", format, lineage())
