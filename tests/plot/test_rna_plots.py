"""Displays of folded sequences: where positions lie, what is drawn, what is refused."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.plot import ArcDisplay, DotPlotDisplay, FoldDisplay
from palmette.plot.rna_layout import PAIR, circle_layout, planar_layout
from palmette.plot.rna_style import FALSE, TRUE, certainty
from palmette.structures.folding.brackets import nested

SEQUENCE, STRUCTURE = "GGGAAACCCUGGAAAACCUA", "(((...))).((....)).."


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure().subplots()


@pytest.fixture
def table():
    """Probabilities of pairs."""
    p = np.zeros((len(SEQUENCE), len(SEQUENCE)))
    for (i, j), value in {
        (0, 8): 0.9,
        (1, 7): 0.8,
        (2, 6): 0.7,
        (10, 17): 0.5,
        (11, 16): 0.6,
        (1, 12): 0.1,
    }.items():
        p[i, j] = p[j, i] = value
    return p


@st.composite
def structures(draw):
    """Nested pairs of some sequence, hairpins of at least one position."""
    n = draw(st.integers(1, 60))
    order = draw(st.permutations(range(n)))
    pairs = [tuple(sorted(order[2 * k : 2 * k + 2])) for k in range(draw(st.integers(0, n // 2)))]
    return n, nested([(i, j) for i, j in pairs if j - i > 1])[0]


@given(structures())
def test_layout_keeps_pairs_and_neighbours_together(structure):
    n, pairs = structure
    xy = planar_layout(pairs, n)
    assert xy.shape == (n, 2) and np.all(np.isfinite(xy))
    for i, j in pairs:
        np.testing.assert_allclose(np.hypot(*(xy[i] - xy[j])), PAIR, atol=1e-6)
    steps = np.hypot(*np.diff(xy, axis=0).T)
    assert np.all(steps > 0.5) and np.all(steps < 20)
    partner = dict(pairs)
    for i, j in pairs:
        if partner.get(i + 1) == j - 1:  # stems are ladders
            np.testing.assert_allclose(xy[i] - xy[j], xy[i + 1] - xy[j - 1], atol=1e-6)


def test_loops_grow_until_branches_do_not_collide():
    from scipy.spatial import cKDTree

    arm = "((((((((((....))))))))))"
    text = "((" + arm * 6 + "))"
    stack, pairs = [], []
    for t, letter in enumerate(text):
        if letter == "(":
            stack.append(t)
        elif letter == ")":
            pairs.append((stack.pop(), t))
    assert len(cKDTree(planar_layout(sorted(pairs), len(text))).query_pairs(0.8)) == 0


def test_positions_on_a_circle():
    xy = circle_layout(7)
    np.testing.assert_allclose(np.hypot(*xy.T), 1.0)
    gaps = np.hypot(*np.diff(xy, axis=0).T)
    np.testing.assert_allclose(gaps, gaps[0])
    assert np.hypot(*(xy[0] - xy[-1])) > gaps[0]


def test_arcs_and_reference(ax):
    display = ArcDisplay.from_structure(
        SEQUENCE, STRUCTURE, reference="(((...)))...........", ax=ax, title="one"
    )
    assert len(display.arcs_.get_segments()) == 5 and len(display.below_.get_segments()) == 3
    from matplotlib.colors import to_hex

    assert [to_hex(c) for c in display.arcs_.get_colors()] == [TRUE] * 3 + [FALSE] * 2
    assert ax.get_title(loc="left") == "one" and display.figure_ is ax.figure
    assert {text.get_text() for text in ax.texts} >= {"predicted", "reference", "5′", "3′"}


def test_arcs_by_probability(ax, table):
    display = ArcDisplay(SEQUENCE, STRUCTURE, probabilities=np.triu(table)).plot(ax, letters=True)
    np.testing.assert_allclose(display.arcs_.get_array(), [0.9, 0.8, 0.7, 0.5, 0.6])
    assert display.below_ is None
    assert "".join(text.get_text() for text in ax.texts)[: len(SEQUENCE)] == SEQUENCE


@pytest.mark.parametrize("layout", ["planar", "circle"])
def test_folds(layout, ax, table):
    display = FoldDisplay(SEQUENCE, STRUCTURE, probabilities=table).plot(ax, layout=layout)
    assert display.xy_.shape == (len(SEQUENCE), 2) and len(display.pairs_.get_segments()) == 5
    np.testing.assert_allclose(display.circles_.get_array()[[0, 8, 12]], [0.9, 0.9, 0.9])
    plain = FoldDisplay.from_structure(SEQUENCE, STRUCTURE, layout=layout)
    assert plain.circles_.get_array() is None
    folded = SimpleNamespace(sequence=SEQUENCE, structure=STRUCTURE, probabilities=table)
    for display in (FoldDisplay, ArcDisplay, DotPlotDisplay):
        assert display.from_folded(folded).ax_ is not None


def test_pairs_that_cross_are_drawn_apart(ax):
    display = FoldDisplay.from_structure("GGGGAAAACCCCUUUU", "((((..[[))))..]]", ax=ax)
    assert len(display.pairs_.get_segments()) == 4 and len(ax.collections) == 3


@pytest.mark.parametrize("text", ["A", "AC", "A" * 40])
def test_short_and_unpaired_sequences(text, ax):
    assert np.all(np.isfinite(FoldDisplay.from_structure(text, "." * len(text), ax=ax).xy_))
    ArcDisplay.from_structure(text, "." * len(text))


def test_certainty(table):
    sure = certainty([(0, 8)], table)
    assert sure[0] == 0.9 and sure[3] == 1.0 and sure[12] == pytest.approx(0.9)


def test_dots(ax, table):
    display = DotPlotDisplay(SEQUENCE, table, STRUCTURE).plot(ax)
    assert len(display.dots_.get_paths()) == 6 and len(display.structure_.get_paths()) == 5
    sides = [np.ptp(path.vertices[:, 0]) for path in display.dots_.get_paths()]
    np.testing.assert_allclose(np.square(sides), display.dots_.get_array())
    assert DotPlotDisplay(SEQUENCE, table).plot().structure_ is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ArcDisplay("GGAACC", "((..)"), "structure has 5 characters, the sequence 6 letters"),
        (lambda: ArcDisplay("GGAACC", "((..))", reference="."), "reference has 1 characters, the sequence 6"),
        (lambda: FoldDisplay("GGAACC", "((...)"), r"position 0: '\(' is never closed"),
        (lambda: FoldDisplay("", ""), "the sequence is empty"),
        (
            lambda: FoldDisplay("GA", "..").plot(layout="tree"),
            "layout must be one of 'planar', 'circle', got 'tree'",
        ),
        (lambda: FoldDisplay("GA", [(0, 2)]), r"pair \(0, 2\) is outside of 0 to 1"),
        (
            lambda: DotPlotDisplay("GA", np.zeros((3, 3))),
            r"probabilities have shape \(3, 3\), expected \(2, 2\)",
        ),
        (lambda: DotPlotDisplay("GA", np.full((2, 2), 2.0)), "probabilities must be from 0 to 1"),
        (lambda: DotPlotDisplay("GA", None), "a dot plot shows probabilities of pairs"),
    ],
)
def test_what_cannot_be_drawn(make, message):
    with pytest.raises(ValueError, match=message):
        make()
