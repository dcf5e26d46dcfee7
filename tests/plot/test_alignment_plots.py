"""Displays of aligned pairs: columns, what is drawn, what is refused."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.apps.aligning.terminal import coloured_text, plain_text
from palmette.plot import AlignmentDisplay, MatchDisplay
from palmette.plot.alignment_columns import BASES, FILLS, Columns, fills_for

A, B, MATCHES = "MKVLAC", "MVLAWWC", [(0, 0), (2, 1), (3, 2), (4, 3), (5, 6)]
N_COLUMNS = 8


@st.composite
def alignments(draw):
    n, m = draw(st.integers(1, 15)), draw(st.integers(1, 15))
    k = draw(st.integers(0, min(n, m)))
    sides = [sorted(draw(st.permutations(range(length)))[:k]) for length in (n, m)]
    letters = st.sampled_from("ACDEFGHIKLMNPQRSTVWY")
    return (
        "".join(draw(letters) for _ in range(n)),
        "".join(draw(letters) for _ in range(m)),
        list(zip(*sides)),
    )


@given(alignments())
def test_columns_have_every_letter_once_and_the_matches_together(alignment):
    a, b, matches = alignment
    columns = Columns.of(a, b, matches)
    rows = columns.rows
    assert rows[0].replace("-", "") == a and rows[1].replace("-", "") == b
    assert [tuple(p) for p in columns.positions[columns.is_match].tolist()] == matches
    assert len(columns) == len(a) + len(b) - len(matches) == len(columns.marks)
    assert all((mark == " ") == ("-" in pair) for mark, *pair in zip(columns.marks, *rows))
    assert np.array_equal(columns.agreement(matches) == 1, columns.is_match)


@given(alignments(), st.randoms())
def test_confidence_is_of_what_the_column_says(alignment, random):
    a, b, matches = alignment
    rng = np.random.default_rng(random.randrange(1000))
    table, of_a, of_b = rng.random((len(a), len(b))), rng.random(len(a)), rng.random(len(b))
    columns = Columns.of(a, b, matches)
    for (i, j), sure in zip(columns.positions.tolist(), columns.confidence(table, of_a, of_b)):
        assert sure == (of_b[j] if i < 0 else of_a[i] if j < 0 else table[i, j])


def test_agreement_marks_contradictions_alone():
    columns = Columns.of("ACD", "ACD", [(0, 0), (1, 2)])
    assert columns.agreement([(0, 0), (1, 1)]).tolist() == [1, -1, -1, 0]


def test_blocks_are_drawn(ax):
    confidence = np.linspace(0, 1, N_COLUMNS)
    display = AlignmentDisplay(A, B, MATCHES, confidence=confidence, reference=MATCHES[:2]).plot(
        ax, width=5, title="t"
    )
    rows = display.columns.rows
    drawn = "".join(text.get_text() for text in display.letters_)
    assert drawn == rows[0][:5] + rows[1][:5] + rows[0][5:] + rows[1][5:]
    assert display.ax_ is ax and display.figure_ is ax.figure
    letters = sum(each != "-" for row in rows for each in row)
    assert len(ax.patches) == letters + N_COLUMNS


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure().subplots()


def test_rows_and_matches_are_one(ax):
    display = AlignmentDisplay.from_rows("MKVLA--C", "M-VLAWWC")
    assert display.columns.positions[display.columns.is_match].tolist() == [list(each) for each in MATCHES]
    with pytest.raises(ValueError, match="the rows have 2 and 3 columns"):
        AlignmentDisplay.from_rows("MK", "MKV")


def test_pages_are_escaped_and_complete():
    display = AlignmentDisplay(A, B, MATCHES, names=("<x>", "y"), confidence=np.full(N_COLUMNS, 0.5))
    text = display.to_html(title="a & b", width=5)
    assert "<script" not in text and "<x>" not in text and "&lt;x&gt; 1, confidence 0.50" in text
    assert text.count('<pre class="alignment">') == 2 and "<title>a &amp; b</title>" in text


def test_results_of_an_aligner(ax):
    table = np.zeros((6, 7))
    for i, j in MATCHES:
        table[i, j] = 0.75
    aligned = SimpleNamespace(
        a=A, b=B, matches=MATCHES, names=("x", "y"), confidence=np.full(N_COLUMNS, 0.75), posteriors=table
    )
    assert AlignmentDisplay.from_aligned(aligned, ax=ax).confidence[0] == 0.75
    display = MatchDisplay.from_aligned(aligned, reference=MATCHES[:3], ax=ax, colorbar=False)
    assert display.line_.get_xydata()[:, ::-1].tolist() == [list(map(float, each)) for each in MATCHES]
    assert len(display.dots_.get_xydata()) == 3 and display.image_.get_array()[5, 6] == 0.75
    aligned.posteriors = None
    with pytest.raises(ValueError, match="align with posteriors=True"):
        MatchDisplay.from_aligned(aligned)


def test_the_terminal_shows_the_same_with_and_without_colours():
    aligned = SimpleNamespace(
        a=A, b=B, matches=MATCHES, names=("x", "long"), confidence=np.linspace(0, 1, N_COLUMNS)
    )
    plain = plain_text(aligned, 5)
    assert plain.splitlines()[0] == "x    MKVLA 5" and plain.splitlines()[2] == "long M-VLA 4"
    coloured = coloured_text(aligned, 5)
    assert [line.rstrip() for line in coloured.plain.splitlines()] == plain.splitlines()
    assert any("on bright_blue" in str(span.style) for span in coloured.spans)
    aligned.confidence = None
    assert len(plain_text(aligned, 5).splitlines()) == len(plain.splitlines()) - 2


def test_colours_of_letters():
    assert fills_for("ACGT", "ACGU") is BASES and fills_for("ACGT", "MK") is FILLS
    assert set("ARNDCQEGHILKMFPSTWYV") == set(FILLS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"matches": [(0, 1), (1, 0)]}, "matches must ascend in both sequences of 6 and 7 letters"),
        ({"matches": [(0, 7)]}, "matches must ascend"),
        (
            {"confidence": [0.5]},
            r"confidence must be 8 values from 0 to 1, one for each column; it has shape \(1,\)",
        ),
        ({"names": "x"}, "names must be two"),
    ],
)
def test_bad_alignments(options, message):
    with pytest.raises(ValueError, match=message):
        AlignmentDisplay(A, B, **{"matches": MATCHES, **options})


def test_other_bad_input(ax):
    with pytest.raises(ValueError, match="width must be"):
        AlignmentDisplay(A, B, MATCHES).plot(ax, width=0)
    with pytest.raises(ValueError, match=r"expected \(6, 7\), \(6,\) and \(7,\)"):
        Columns.of(A, B, MATCHES).confidence(np.zeros((2, 2)), np.zeros(6), np.zeros(7))
    with pytest.raises(ValueError, match="must be a table of probabilities"):
        MatchDisplay([[2.0]])
