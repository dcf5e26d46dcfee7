"""CONTRAfold's parameter files, and scores with them."""

from __future__ import annotations

import io

import pytest

from palmette.apps.folding.parameter_files import read_parameters, write_parameters
from palmette.datasets import load_rna_parameters
from palmette.errors import DataFileError
from palmette.structures.folding.feature_names import feature_names

LINES = [f"{name} {k / 8}" for k, name in enumerate(feature_names())]


def read(lines):
    return read_parameters("-", stream=io.StringIO("\n".join(lines) + "\n"))


def test_round_trip(tmp_path):
    weights = read(LINES)
    assert list(weights) == list(feature_names()) and weights["base_pair_AC"] == 1 / 8
    assert read(LINES[::-1]) == weights
    write_parameters(tmp_path / "own.params", weights)
    assert read_parameters(tmp_path / "own.params") == weights
    write_parameters(tmp_path / "one.params", {"multi_base": 0.1 + 0.2})
    assert read_parameters(tmp_path / "one.params")["multi_base"] == 0.1 + 0.2


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([*LINES, "base_pair_AX 1"], "<stdin>:709: 'base_pair_AX' is no weight of the model"),
        ([*LINES, LINES[3]], "<stdin>:709: 'base_pair_AU' is there twice"),
        (LINES[:-1], "<stdin>:707: 1 of 708 weights are missing, the first is 'external_paired'"),
        ([LINES[0] + "x", *LINES[1:]], "<stdin>:1: the value '0.0x' of 'base_pair_AA' is not a number"),
        (
            ["base_pair_AA nan", *LINES[1:]],
            "<stdin>:1: the value of 'base_pair_AA' is nan; it must be finite",
        ),
        (["base_pair_AA", *LINES[1:]], "<stdin>:1: 1 columns; a line is 'name value'"),
        ([], "<stdin>:1: 708 of 708 weights are missing"),
    ],
)
def test_bad_parameter_files(lines, message):
    with pytest.raises(DataFileError, match=message):
        read(lines)


def test_names_that_the_files_do_not_have_are_refused(tmp_path):
    with pytest.raises(ValueError, match="'triple' is no weight of CONTRAfold's files"):
        write_parameters(tmp_path / "a.params", {"triple": 1.0})
    with pytest.raises(ValueError, match="the weight 'multi_base' is inf"):
        write_parameters(tmp_path / "a.params", {"multi_base": float("inf")})
    assert not list(tmp_path.iterdir())


@pytest.mark.data
def test_published_parameters_are_read_and_written(tmp_path):
    weights = load_rna_parameters("eternafold")
    write_parameters(tmp_path / "again", weights)
    assert read_parameters(tmp_path / "again") == weights
