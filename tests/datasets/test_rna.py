"""Sequences of RNA with their structures."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.datasets import load_rna, load_rna_parameters, store
from palmette.datasets.two_folds import two_folds
from palmette.structures.folding.brackets import crossing, parse_brackets
from palmette.structures.folding.feature_names import feature_names

TABLE = (
    b"family\tss_evidence\tclan\tname\tbest_in_family\tsequence\tstructure\n"
    b"RF1\tpublished\tCL1\ta\t1\tGAAAC\t(...)\n"
    b"RF2\tpredicted\tCL1\tb\t0\tGAAAU\t(...)\n"
    b"RF3\tpublished\t-\tc\t1\tAAAAA\t.....\n"
)


def test_columns_of_a_small_table(monkeypatch):
    monkeypatch.setattr(store, "read", lambda name, sources: {source: TABLE for source in sources})
    rna = load_rna("rfam14.2")
    assert rna.data == ["GAAAC", "GAAAU", "AAAAA"] and rna.target == ["(...)", "(...)", "....."]
    assert rna.clans.tolist() == ["CL1", "CL1", ""] and rna.groups.tolist() == ["CL1", "CL1", "RF3"]
    assert rna.folds.tolist() == [0, 0, 1] and rna.published.tolist() == [True, False, True]
    assert rna.best.tolist() == [True, False, True] and "Rfam" in rna.DESCR
    assert load_rna("rfam14.2", return_X_y=True) == (rna.data, rna.target)


def test_parameters_by_name(monkeypatch):
    monkeypatch.setattr(
        store, "read", lambda name, sources: {"eternafold": b"multi_base -1.5\nmulti_paired 2\n"}
    )
    assert load_rna_parameters("eternafold") == {"multi_base": -1.5, "multi_paired": 2.0}


def test_unknown_names():
    with pytest.raises(ValueError, match="name must be one of 'bench1359', 'contrafold151'"):
        load_rna("rfam")
    with pytest.raises(ValueError, match="name must be one of 'contrafold', "):
        load_rna_parameters("turner")


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=30), st.randoms())
def test_folds_are_of_whole_groups_and_balanced(groups, random):
    folds = two_folds(groups)
    assert len({(group, fold) for group, fold in zip(groups, folds)}) == len(set(groups))
    largest = max(Counter(groups).values())
    assert abs(np.sum(folds == 0) - np.sum(folds == 1)) <= largest
    order = list(range(len(groups)))
    random.shuffle(order)
    assert two_folds([groups[k] for k in order]).tolist() == folds[order].tolist()


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "n", "families", "pairs"),
    [
        ("bench1359", 1359, 628, 36_552),
        ("contrafold151", 151, 151, 4_928),
        ("rfam5", 5124, 176, 169_130),
        ("s-processed", 974, 13, 52_222),
    ],
)
def test_published_sets(name, n, families, pairs):
    rna = load_rna(name)
    assert len(rna.data) == len(rna.target) == n and len(set(rna.families)) == families
    assert sum(structure.count("(") for structure in rna.target) == pairs
    assert all(len(a) == len(b) for a, b in zip(rna.data, rna.target))
    assert all(crossing(parse_brackets(structure)) is None for structure in rna.target[:200])
    assert not set(rna.groups[rna.folds == 0]) & set(rna.groups[rna.folds == 1])


@pytest.mark.data
def test_the_whole_seed_of_rfam():
    rna = load_rna("rfam14.2")
    assert len(rna.data) == 60_633 and np.sum(rna.published) == 38_794
    bench = load_rna("bench1359")
    clan_of = dict(zip(rna.families, rna.clans))
    assert all(clan_of[family] == clan for family, clan in zip(bench.families, bench.clans))


@pytest.mark.data
@pytest.mark.parametrize("name", ["contrafold", "contrafold-noncomplementary", "eternafold"])
def test_published_parameters_have_our_names(name):
    assert list(load_rna_parameters(name)) == list(feature_names())
