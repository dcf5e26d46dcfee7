"""GEFF and tracks of napari: round trips, metadata, faults."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from small_movies import MERGE, lineage, movie, same

from palmette.apps.tracking import (
    GeffMovie,
    napari_layer,
    read_geff_lineage,
    write_geff,
    write_napari_tracks,
)
from palmette.apps.tracking import geff_files as module
from palmette.errors import DataFileError
from palmette.structures.tracking.detections import Detections
from palmette.structures.tracking.lineage import Lineage


@pytest.fixture
def geff():
    return pytest.importorskip("geff")


def assert_same_movie(found, expected):
    for own, other in zip(found, expected, strict=True):
        assert own.frame == other.frame and own.ids.tolist() == other.ids.tolist()
        np.testing.assert_array_equal(own.position, other.position)
        np.testing.assert_array_equal(own.boxes, other.boxes)
        assert set(own.features) == set(other.features)
        for name, values in own.features.items():
            np.testing.assert_array_equal(values, other.features[name])


@pytest.mark.parametrize("more", [(), (MERGE,)])
@pytest.mark.parametrize("at_once", [1, 4, 10**6])
def test_what_was_written_is_read_again(tmp_path, geff, monkeypatch, more, at_once):
    monkeypatch.setattr(module, "_AT_ONCE", at_once)
    path = tmp_path / "tracks.geff"
    write_geff(path, lineage(*more), iter(movie()))
    assert same(read_geff_lineage(path), lineage(*more))
    found = GeffMovie(path)
    assert len(found) == 5
    for _ in range(2):
        assert_same_movie(found, movie())
    assert [each.name for each in tmp_path.iterdir()] == ["tracks.geff"]


def test_metadata_for_viewers(tmp_path, geff):
    path = tmp_path / "tracks.geff"
    write_geff(path, lineage(), movie(), units={"t": "minute", "y": "micrometer"}, scale={"t": 5.0})
    geff.validate_structure(path)
    metadata = geff.GeffMetadata.read(path)
    axes = {axis.name: axis for axis in metadata.axes}
    assert list(axes) == ["t", "y", "x"] and [axis.type for axis in axes.values()] == [
        "time",
        "space",
        "space",
    ]
    assert (axes["t"].unit, axes["t"].scale, axes["t"].scaled_unit) == ("frame", 5.0, "minute")
    assert axes["y"].unit == "micrometer" and axes["x"].unit == "pixel"
    hints = metadata.display_hints
    assert (hints.display_horizontal, hints.display_vertical, hints.display_time) == ("x", "y", "t")
    assert hints.display_depth is None and metadata.directed
    assert metadata.track_node_props == {"tracklet": "track_id"}
    graph, _ = geff.read(path)
    assert len(graph) == len(lineage()) and graph.number_of_edges() == len(lineage().edges)
    from geff.core_io import read_to_memory
    from geff.validate.data import ValidationConfig

    read_to_memory(path, data_validation=ValidationConfig(graph=True, tracklet=True))


def test_volumes(tmp_path, geff):
    cells = [Detections([[1.0, 2.0, 3.0]], frame=frame) for frame in (0, 2)]
    tracks = Lineage.from_links([(0, 0), (2, 0)], [((0, 0), (2, 0))])
    write_geff(tmp_path / "tracks.zarr", tracks, cells)
    assert geff.GeffMetadata.read(tmp_path / "tracks.zarr").display_hints.display_depth == "z"
    assert [len(each) for each in GeffMovie(tmp_path / "tracks.zarr")] == [1, 0, 1]
    assert same(read_geff_lineage(tmp_path / "tracks.zarr"), tracks)


def test_nothing_is_a_lineage_too(tmp_path, geff):
    empty = Lineage.from_links([], [])
    write_geff(tmp_path / "tracks.geff", empty, movie())
    assert len(read_geff_lineage(tmp_path / "tracks.geff")) == 0
    assert list(GeffMovie(tmp_path / "tracks.geff")) == []


def foreign(path, times, **props):
    from geff.core_io import write_arrays
    from geff_spec import GeffMetadata

    n = len(times)
    columns = {"t": np.array(times), "y": np.arange(n) * 1.0, "x": np.zeros(n)} | props
    write_arrays(
        path,
        np.array([10 * k + 7 for k in range(n)], np.uint64),
        {name: each if isinstance(each, dict) else {"values": each, "missing": None} for name, each in columns.items()},
        np.array([[10 * k + 7, 10 * k + 17] for k in range(n - 1)], np.uint64).reshape(-1, 2),
        {},
        GeffMetadata(directed=True, node_props_metadata={}, edge_props_metadata={}),
    )  # fmt: skip
    return path


def test_graphs_of_others_are_known_by_their_nodes(tmp_path, geff):
    path = foreign(
        tmp_path / "a.geff", [2.0, 0.0, 1.0][::-1][1:] + [5.0], area=np.ones(3), box=np.ones((3, 4))
    )
    found = list(GeffMovie(path))
    assert [each.ids.tolist() for each in found] == [[7], [], [17], [], [], [27]]
    assert set(found[0].features) == {"area"}
    assert read_geff_lineage(path).links(0, 2) == [(7, 17)]


@pytest.mark.parametrize(
    ("times", "props", "message"),
    [
        ([0.0, 0.5], {}, "node 17: the property 't' is 0.5, expected a whole number"),
        ([0, 1], {"area": np.array([1.0, np.nan])}, "node 17 has no finite value of the property 'area'.*features="),
        ([0, 1], {"area": {"values": np.ones(2), "missing": np.array([True, False])}}, "node 7 has no finite value"),
        ([0, 10**9], {}, "frame 1000000000 follows frame 0, with no nodes between"),
    ],
)  # fmt: skip
def test_bad_graphs(tmp_path, geff, times, props, message):
    path = foreign(tmp_path / "a.geff", times, **props)
    with pytest.raises(DataFileError, match=message):
        list(GeffMovie(path))


def test_features_are_chosen_by_name(tmp_path, geff):
    path = foreign(tmp_path / "a.geff", [0, 1], area=np.array([1.0, np.nan]), mass=np.ones(2))
    assert [set(each.features) for each in GeffMovie(path, features=["mass"])] == [{"mass"}, {"mass"}]
    with pytest.raises(ValueError, match="no property 'size' with one number per node; it has area, mass"):
        GeffMovie(path, features=["size"])


def test_existing_paths_are_not_replaced_unless_told(tmp_path, geff):
    path = tmp_path / "tracks.geff"
    write_geff(path, lineage(), movie())
    with pytest.raises(FileExistsError, match="pass overwrite=True"):
        write_geff(path, lineage(), movie())
    write_geff(path, lineage(MERGE), movie(), overwrite=True)
    assert same(read_geff_lineage(path), lineage(MERGE))
    (tmp_path / "other").mkdir()
    with pytest.raises(FileExistsError, match="it is no GEFF; name another path"):
        write_geff(tmp_path / "other", lineage(), movie(), overwrite=True)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write_geff(tmp_path / "no" / "tracks.geff", lineage(), movie())
    with pytest.raises(DataFileError, match="no GEFF"):
        GeffMovie(tmp_path / "other")


def test_a_failure_leaves_nothing(tmp_path, geff):
    with pytest.raises(ValueError, match="detection 77 of frame 0, which is not in the movie"):
        write_geff(tmp_path / "a.geff", Lineage.from_links([(0, 77)], []), movie())
    taken = [Detections([[1.0, 2.0]], {"track_id": [1.0]})]
    with pytest.raises(ValueError, match="the feature 'track_id' has a name that GEFF files need"):
        write_geff(tmp_path / "a.geff", Lineage.from_links([(0, 0)], []), taken)
    assert list(tmp_path.iterdir()) == []


# -- napari ----------------------------------------------------------------------------------------------------------


def test_tracks_are_sorted_and_linked():
    layer = napari_layer(lineage(MERGE), movie())
    assert layer.data.shape == (len(lineage()), 4)
    assert (np.lexsort((layer.data[:, 1], layer.data[:, 0])) == np.arange(len(layer.data))).all()
    tracks = {track.label: track for track in lineage(MERGE).tracks()}
    assert set(layer.graph) == {label for label, track in tracks.items() if track.parent}
    assert max(map(len, layer.graph.values())) == 2, "the merge has both parents"
    for label, parents in layer.graph.items():
        assert all(tracks[parent].end < tracks[label].begin for parent in parents)
    cells = {(each.frame, own): at for each in movie() for own, at in zip(each.ids.tolist(), each.position)}
    for (_, frame, *position), own in zip(layer.data, layer.properties["id"]):
        np.testing.assert_array_equal(position, cells[frame, own])


def test_the_table_is_the_array(tmp_path):
    layer = write_napari_tracks(tmp_path / "tracks.csv", lineage(), movie())
    with open(tmp_path / "tracks.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["track_id", "t", "y", "x", "id", "parent_track_id"]
    found = np.array([[float(row[name]) for name in ("track_id", "t", "y", "x")] for row in rows])
    np.testing.assert_array_equal(found, layer.data)
    parents = {
        int(row["track_id"]): [int(row["parent_track_id"])] for row in rows if row["parent_track_id"] != "-1"
    }
    assert parents == layer.graph


def test_volumes_have_five_columns(tmp_path):
    cells = [Detections([[1.0, 2.0, 3.0]])]
    layer = write_napari_tracks(tmp_path / "tracks.csv", Lineage.from_links([(0, 0)], []), cells)
    assert layer.data.tolist() == [[1, 0, 1, 2, 3]]
    assert (tmp_path / "tracks.csv").read_text().startswith("track_id,t,z,y,x,id")


def test_frames_of_a_movie_must_agree():
    tracks = Lineage.from_links([(0, 0), (1, 0)], [])
    with pytest.raises(
        ValueError, match="frame 1 has 2 coordinates, no boxes and the features area, but frame 0"
    ):
        napari_layer(tracks, [Detections([[1.0, 2.0]]), Detections([[1.0, 2.0]], {"area": [1.0]}, frame=1)])
    with pytest.raises(ValueError, match="frame 0 occurs twice"):
        napari_layer(tracks, [Detections([[1.0, 2.0]]), Detections([[1.0, 2.0]])])
    with pytest.raises(ValueError, match="detection 0 of frame 1, which is not in the movie"):
        napari_layer(tracks, [Detections([[1.0, 2.0]])])
