"""The matrix of learners, structures, losses and solvers in the documentation is what is so."""

from __future__ import annotations

from pathlib import Path

import pytest
from matrix import cells, page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "matrix.md"


@pytest.fixture(scope="module")
def found():
    return list(cells())


def test_the_page_is_up_to_date(found):
    assert PAGE.read_text(encoding="utf-8") == page(found), (
        "write it anew: python tests/helpers/matrix.py > docs/matrix.md"
    )


def test_every_structure_has_a_learner_and_auto_is_the_widest(found):
    for cell in found:
        same = [c for c in found if c[:3] == cell[:3]]
        auto = next(c for c in same if c.solver == "auto")
        assert auto.refusal is None or all(c.refusal is not None for c in same), auto


def test_refusals_say_more_than_no(found):
    assert [cell for cell in found if cell.refusal is not None and len(cell.refusal) < 40] == []
