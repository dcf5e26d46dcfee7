"""The independent scorer of structures: cases by hand, and agreement with the scores of the structure."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.structures.folding.brackets import format_brackets, nested
from palmette.structures.folding.feature_names import feature_names
from palmette.structures.folding.folding import Folding
from palmette.testing.folding_scores import evaluate, features, longest_two_sided_loop


def up_to(section, first, last):
    return [f"{section}_at_least_{k}" for k in range(first, last + 1)]


@pytest.mark.parametrize(
    ("sequence", "structure", "expected"),
    [
        ("ACG", "...", ["external_unpaired"] * 3),
        (  # a hairpin with dangles on both sides
            "AGAAACU", ".(...).",
            ["external_unpaired"] * 2
            + ["external_paired", "helix_closing_CG", "dangle_left_CGU", "dangle_right_CGA"]
            + ["base_pair_CG", "helix_closing_GC", "terminal_mismatch_GCAA", *up_to("hairpin_length", 0, 3)],
        ),
        (  # stacked pairs, read from the other strand
            "UGAAACA", "((...))",
            ["external_paired", "helix_closing_AU", "base_pair_AU", "base_pair_CG", "helix_stacking_CGAU"]
            + ["helix_closing_GC", "terminal_mismatch_GCAA", *up_to("hairpin_length", 0, 3)],
        ),
        (  # a bulge of one A on the left
            "GAGAAACC", "(.(...))",
            ["external_paired", "helix_closing_CG", "base_pair_CG", "base_pair_CG"]
            + ["bulge_length_at_least_1", "bulge_0x1_nucleotides_A", "helix_closing_GC", "terminal_mismatch_GCAC"]
            + ["helix_closing_CG", "terminal_mismatch_CGCA"]
            + ["helix_closing_GC", "terminal_mismatch_GCAA", *up_to("hairpin_length", 0, 3)],
        ),
        (  # a 1x1 loop: U opposite A
            "GUGAAACAC", "(.(...).)",
            ["external_paired", "helix_closing_CG", "base_pair_CG", "base_pair_CG"]
            + ["internal_explicit_1_1", "internal_length_at_least_2", "internal_symmetric_length_at_least_1"]
            + ["internal_1x1_nucleotides_AU", "helix_closing_GC", "terminal_mismatch_GCUA"]
            + ["helix_closing_CG", "terminal_mismatch_CGAU"]
            + ["helix_closing_GC", "terminal_mismatch_GCAA", *up_to("hairpin_length", 0, 3)],
        ),
        (  # a multiloop of two branches, one unpaired position
            "GACGAUC", "(.()())",
            ["external_paired", "helix_closing_CG", *["base_pair_CG"] * 2, "base_pair_AU"]
            + ["multi_base", "multi_unpaired", *["multi_paired"] * 3]
            + ["helix_closing_GC", "dangle_left_GCA", "dangle_right_GCU"]
            + ["helix_closing_GC", "dangle_left_GCA", "dangle_right_GCA"]
            + ["helix_closing_UA", "dangle_left_UAC", "dangle_right_UAG"]
            + ["hairpin_length_at_least_0", "helix_closing_CG", "terminal_mismatch_CGGC"]
            + ["hairpin_length_at_least_0", "helix_closing_AU", "terminal_mismatch_AUUA"],
        ),
    ],
)  # fmt: skip
def test_cases_by_hand(sequence, structure, expected):
    assert features(sequence, structure) == Counter(expected)


def test_unknown_letters_count_nothing_of_their_own():
    found = features("NGNAACN", ".(...).")
    assert not [name for name in found if "dangle" in name or "mismatch" in name]
    assert found["external_unpaired"] == 2 and found["base_pair_CG"] == 1


@st.composite
def folded(draw):
    n = draw(st.integers(1, 40))
    order = draw(st.permutations(range(n)))
    pairs = [tuple(sorted(order[2 * k : 2 * k + 2])) for k in range(draw(st.integers(0, n // 2)))]
    letters = draw(st.text("ACGU", min_size=n, max_size=n))
    return letters, format_brackets(nested(pairs)[0], n)


@given(folded(), st.integers(0, 2**32 - 1))
def test_agrees_with_the_structure(case, seed):
    sequence, text = case
    weights = dict(zip(feature_names(), np.random.default_rng(seed).normal(size=len(feature_names()))))
    structure = Folding(min_hairpin=0, pairs="all")
    if longest_two_sided_loop(text) > 30:
        with pytest.raises(ValueError, match="the model has at most 30"):
            evaluate(sequence, text, weights)
        return
    score, counts = structure.evaluate(sequence, text, weights)
    assert evaluate(sequence, text, weights) == pytest.approx(score)
    assert features(sequence, text) == counts


def test_what_has_no_score():
    with pytest.raises(ValueError, match="cross; only nested structures have a score"):
        features("GGCC", "([)]")
    with pytest.raises(ValueError, match="3 characters of structure for 4 letters"):
        features("GGCC", "...")
