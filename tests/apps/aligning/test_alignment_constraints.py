"""Constraints as users write them."""

import pytest

from palmette.apps.aligning.constraints import Constraint, read_constraints
from palmette.apps.aligning.records import PairRecord
from palmette.errors import DataFileError

PAIR = PairRecord.from_rows("MKVL", "MKVL", ("x", "y"))


def test_parts_count_from_one():
    found = Constraint.parse("1=2, 3=4 2!2,a2- b1+")
    assert found == Constraint(((0, 1), (2, 3)), ((1, 1),), ((1,), ()), ((), (0,)))
    within = found.restriction(4, 4)
    assert within.codes.tolist() == [2, 0, 4, -1, -1, 1, -1, 3]
    assert not within.matches.reshape(4, 4)[1, 1] and within.matches.sum() == 15


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1=2 3", "'3' is none of 12=15"),
        ("0=2", "'0=2' has a position 0; positions count from 1"),
        ("5=1", r"position 4 \(from 0\) is outside: the first sequence has 4 letters"),
        ("b9-", r"position 8 \(from 0\) is outside: the second sequence has 4 letters"),
        ("1=2 2=1", r"the matches 0=1 and 1=0 \(from 0\) cross"),
        ("1=2 1=3", r"the matches 0=1 and 0=2 \(from 0\) cross"),
        ("1=2 3=2", r"the matches 0=1 and 2=1 \(from 0\) cross"),
        ("1=2 a1-", "contradict each other at position 0"),
    ],
)
def test_bad_constraints(text, message):
    with pytest.raises(ValueError, match="constraint: .*" + message):
        Constraint.parse(text).restriction(4, 4)


def test_files_name_pairs(tmp_path):
    path = tmp_path / "c.txt"
    path.write_text(">x_y\n1=1\na2-\n")
    assert read_constraints(str(path), [PAIR])["x_y"] == Constraint.parse("1=1 a2-")
    assert read_constraints("1=1 a2-", [PAIR])["x_y"] == Constraint.parse("1=1 a2-")
    other = PairRecord(PAIR.a, PAIR.b, name="other")
    path.write_text(">z\n1=1\n")
    with pytest.raises(DataFileError, match=r"c\.txt:1: there is no pair 'z' to constrain"):
        read_constraints(str(path), [PAIR, other])
    path.write_text(">other\n1=1\n>other\n2=2\n")
    with pytest.raises(DataFileError, match=r"c\.txt:3: 'other' is constrained twice"):
        read_constraints(str(path), [PAIR, other])
    path.write_text(">other\n1-1\n")
    with pytest.raises(DataFileError, match=r"c\.txt:1: '1-1' is none of"):
        read_constraints(str(path), [PAIR, other])
    with pytest.raises(ValueError, match="constrains one pair, and there are 2"):
        read_constraints("1=1", [PAIR, other])
    with pytest.raises(FileNotFoundError, match="there is no such file, and it is no constraint"):
        read_constraints("nothing.txt", [PAIR])
