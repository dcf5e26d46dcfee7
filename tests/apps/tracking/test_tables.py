"""Tables of detections, lineages and links."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_movies import MERGE, lineage, movie, same

from palmette.apps.tracking import (
    TableMovie,
    read_lineage_table,
    read_links,
    write_lineage_table,
    write_links,
    write_table,
)
from palmette.errors import DataFileError
from palmette.structures.tracking.detections import Detections
from palmette.structures.tracking.lineage import Lineage

TABLE = """frame,id,y,x,area,name
0,1,5,6,30,a
0,2,7,8,31,b
2,1,5,7.5,29,c
"""


def table(folder, text=TABLE):
    path = folder / "cells.csv"
    path.write_text(text)
    return path


def content(movie):
    return [
        (each.frame, each.ids.tolist(), each.position.tolist(), {k: v.tolist() for k, v in each.features.items()},
         None if each.boxes is None else each.boxes.tolist())
        for each in movie
    ]  # fmt: skip


def test_what_was_written_is_read_again(tmp_path):
    path = tmp_path / "cells.csv"
    write_table(path, movie())
    found = TableMovie(path, shape=(40.0, 60.0))
    assert len(found) == 5
    for _ in range(2):
        assert content(found) == content(movie())
    assert next(iter(found)).shape == (40, 60)


def test_volumes(tmp_path):
    cells = Detections([[1.0, 2.0, 3.0]], {"mass": [4.0]}, [5], [[0, 1, 2, 3, 4, 5]], 6)
    write_table(tmp_path / "cells.csv", [cells])
    assert content(TableMovie(tmp_path / "cells.csv")) == content([cells])


def test_frames_without_detections_are_empty(tmp_path):
    found = list(TableMovie(table(tmp_path)))
    assert [len(each) for each in found] == [2, 0, 1]
    assert (
        found[1].frame == 1 and found[1].features["area"].shape == (0,) and found[1].position.shape == (0, 2)
    )


def test_columns_that_are_no_numbers_are_left_out(tmp_path):
    found = TableMovie(table(tmp_path))
    assert found.feature_names == ["area"] and found.left_out == ["name"]
    assert TableMovie(table(tmp_path), features=[]).left_out == ["area", "name"]
    with pytest.raises(ValueError, match=r"no column 'mass'; it has area, name"):
        TableMovie(table(tmp_path), features=["mass"])


@given(st.permutations(range(9)))
def test_any_order_of_lines(tmp_path_factory, order):
    rows = [f"{k // 3 * 2},{k},{k}.5,{k},{k * k}\r\n" for k in range(9)]
    folder = tmp_path_factory.mktemp("order")
    found = content(TableMovie(table(folder, "frame,id,y,x,e\u00e9\r\n" + "".join(rows[k] for k in order))))
    assert [frame for frame, *_ in found] == [0, 1, 2, 3, 4]
    for frame, ids, position, features, _ in found:
        assert sorted(ids) == ([] if frame % 2 else [k for k in range(9) if k // 3 * 2 == frame])
        assert [y for y, _ in position] == [k + 0.5 for k in ids]
        assert features == {"e\u00e9": [k * k for k in ids]}


def test_compressed_tables_are_sorted(tmp_path):
    path = tmp_path / "cells.csv.gz"
    path.write_bytes(gzip.compress(TABLE.encode()))
    assert [len(each) for each in TableMovie(path)] == [2, 0, 1]
    path.write_bytes(gzip.compress((TABLE + "1,1,1,1,1,d\n").encode()))
    with pytest.raises(
        DataFileError, match=r"csv\.gz:5: frame 1 comes behind frame 2; sort the lines by frame"
    ):
        TableMovie(path)


def test_blank_lines_and_a_byte_order_mark_do_not_matter(tmp_path):
    plain = content(TableMovie(table(tmp_path)))
    assert content(TableMovie(table(tmp_path, "\ufeff" + TABLE.replace("0,2", "\n0,2")))) == plain


def test_a_table_without_lines(tmp_path):
    found = TableMovie(table(tmp_path, "frame,id,y,x,area\n"))
    assert len(found) == 0 and list(found) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "2,4,5,7,nan,d",
            r"csv:5: frame 2, id 4: the column 'area' is 'nan', expected a finite number.*features=\[",
        ),
        ("2,4,5,7,,d", "csv:5: frame 2, id 4: the column 'area' is 'empty'"),
        ("2,4,5,7,large,d", "csv:5: frame 2, id 4: the column 'area' is 'large'"),
        ("2,4,inf,7,1,d", "csv:5: frame 2, id 4: the column 'y' is 'inf'"),
        ("2,4,5", "csv:5: frame 2, id 4: the column 'x' is 'empty'"),
        ("2,4.5,5,7,1,d", "csv:5: frame 2: the id is '4.5', expected a whole number"),
        ("2,1,5,7,1,d", "csv:5: frame 2 has the id 1 twice, first in line 4"),
    ],
)
def test_bad_values_are_named(tmp_path, line, message):
    with pytest.raises(DataFileError, match=message):
        list(TableMovie(table(tmp_path, TABLE + line + "\n")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "csv:1: no column 'frame'"),
        ("frame,id,y\n", "csv:1: no column 'x'"),
        ("frame,id,y,x,x\n", "csv:1: the column 'x' occurs twice"),
        (TABLE + "late,1,1,1,1,d\n", "csv:5: the frame is 'late', expected a whole number"),
        (TABLE + "1e9,1,1,1,1,d\n", "csv:5: frame 1000000000 follows frame 2 of line 4"),
    ],
)
def test_bad_tables_are_refused_when_they_are_opened(tmp_path, text, message):
    with pytest.raises(DataFileError, match=message):
        TableMovie(table(tmp_path, text))


def test_frames_must_have_the_same_columns(tmp_path):
    frames = [Detections([[1.0, 2.0]], {"area": [1.0]}), Detections([[1.0, 2.0]], frame=1)]
    with pytest.raises(ValueError, match="frame 1 has the columns frame, id, y, x, the frames before it"):
        write_table(tmp_path / "cells.csv", frames)
    assert not (tmp_path / "cells.csv").exists()


# -- lineages and links ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [(), (MERGE,)])
def test_lineages_are_read_again(tmp_path, more):
    write_lineage_table(tmp_path / "lineage.csv", lineage(*more))
    assert same(read_lineage_table(tmp_path / "lineage.csv"), lineage(*more))


@given(st.data())
def test_any_lineage_is_read_again(tmp_path_factory, data):
    nodes = [(frame, own) for frame in range(4) for own in range(3)]
    pairs = [(a, b) for a in nodes for b in nodes if a[0] < b[0]]
    links = data.draw(st.lists(st.sampled_from(pairs), max_size=14))
    folder = tmp_path_factory.mktemp("lineage")
    written = Lineage.from_links(nodes, links)
    write_lineage_table(folder / "lineage.csv", written)
    assert same(read_lineage_table(folder / "lineage.csv"), written)
    write_links(folder / "links.csv", written)
    assert same(Lineage.from_links(nodes, read_links(folder / "links.csv")), written)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("0,1,1\n", "csv:2: '0,1,1' has no whole number in each of the columns frame, id, track, parent"),
        ("0,1 2,1,0\n", "csv:2: .* no whole number in each"),
        ("0,1,1,0\n0,2,1,0\n", "csv:3: track 1 has the detections 1 and 2 in frame 0"),
        ("0,1,1,0\n1,1,2,1\n2,1,2,0\n", "csv:4: frame 2, id 1: track 2 has the parent 0 here and 1 above"),
        ("1,1,2,1\n", "track 2, which begins in frame 1, has the parent 1, which has no detection"),
        ("0,1,1,0\n3,1,1,0\n3,2,2,1\n", "track 2 begins in frame 3, but its parent 1 ends in frame 3"),
    ],
)
def test_bad_lineages(tmp_path, lines, message):
    path = tmp_path / "lineage.csv"
    path.write_text("frame,id,track,parent\n" + lines)
    with pytest.raises(DataFileError, match=message):
        read_lineage_table(path)


def test_bad_links(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text("frame_from,id_from,frame_to,id_to\n1,2,1,3\n")
    with pytest.raises(
        DataFileError, match=r"csv:2: the link from detection 2 of frame 1 .* forward in time"
    ):
        read_links(path)
    path.write_text("frame_from,id_from,frame_to\n")
    with pytest.raises(DataFileError, match="csv:1: no column 'id_to'"):
        read_links(path)


def test_links_may_have_other_columns(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text("seq,frame_from,id_from,frame_to,id_to,event\n01,0,2,1,3,move\n")
    assert read_links(path) == [((0, 2), (1, 3))]


def test_an_empty_frame_has_detections_with_features():
    empty = Detections(np.empty((0, 3)), {"area": []}, frame=4)
    assert len(empty) == 0 and len(empty.take(np.array([], int))) == 0
