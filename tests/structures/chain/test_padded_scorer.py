"""Many rows are scored from padded rows of weights: the same sums, to the last bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from palmette import CRF, Chain
from palmette.data.batch import Batch, SparseRows
from palmette.datasets import make_tagging
from palmette.structures.positions import padded_scorer
from palmette.structures.positions.linear_scorer import LinearScorer
from palmette.structures.positions.padded_scorer import PaddedScorer


def drawn(rng, n_labels, intercept, valued):
    """A scorer of 9 columns with some weights each, its weights, and rows; one column and one row have none."""
    seen = rng.random((9, n_labels)) < 0.5
    seen[4] = False
    label = np.nonzero(seen)[1].astype(np.int32)
    ptr = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
    scorer = LinearScorer(9, n_labels, ptr, label, np.arange(n_labels**2), intercept, True)
    indptr = np.array([2, 2, 6, 7, 15, 20])  # as of a slice
    values = rng.normal(size=20) if valued else np.empty(0)
    rows = SparseRows(indptr, rng.integers(0, 9, 20).astype(np.int32), values, 9)
    return scorer, rng.normal(size=scorer.n_params), Batch(rows, np.array([0, 2, 5]))


@pytest.mark.parametrize("n_labels", [1, 2, 7, 8, 9, 22])
@pytest.mark.parametrize("intercept", [False, True])
def test_scores_are_the_same(n_labels, intercept, rng):
    scorer, w, batch = drawn(rng, n_labels, intercept, valued=False)
    fast = scorer.for_many_rows(w, batch.n_rows)
    assert isinstance(fast, PaddedScorer)
    found, expected = fast.score(w, batch), scorer.score(w, batch)
    np.testing.assert_array_equal(found.node, expected.node)
    np.testing.assert_array_equal(found.edge, expected.edge)
    np.testing.assert_array_equal(found.offsets, expected.offsets)
    scorer, w, batch = drawn(rng, n_labels, intercept, valued=True)  # products may be fused with sums
    np.testing.assert_allclose(
        PaddedScorer.of(scorer, w).score(w, batch).node, scorer.score(w, batch).node, rtol=1e-12, atol=1e-14
    )


def test_it_is_made_where_it_pays(rng, monkeypatch):
    scorer, w, _ = drawn(rng, 3, False, False)
    assert scorer.for_many_rows(w, 2) is scorer
    everywhere = replace(scorer, ptr=np.empty(0, np.int64), label=np.empty(0, np.int32))
    assert everywhere.for_many_rows(np.zeros(everywhere.n_params), 100) is everywhere
    monkeypatch.setattr(padded_scorer, "_WIDEST", 2)
    assert scorer.for_many_rows(w, 100) is scorer
    monkeypatch.setattr(padded_scorer, "_WIDEST", 64)
    monkeypatch.setattr(padded_scorer, "_MOST_WEIGHTS", 71)
    assert scorer.for_many_rows(w, 100) is scorer


def test_many_samples_have_the_labels_of_each(monkeypatch):
    X, Y = make_tagging(60, 8, 40, random_state=0)
    model = CRF(Chain(), l2=0.1, n_jobs=2).fit(X, Y)
    one_by_one = [model.predict([x])[0] for x in X]
    made = []
    before = PaddedScorer.of
    monkeypatch.setattr(PaddedScorer, "of", lambda *arguments: made.append(1) or before(*arguments))
    monkeypatch.setattr("palmette.estimators.prediction.ROWS_A_BLOCK", 20)
    monkeypatch.setattr("palmette.objectives.risk.ROWS_A_BLOCK", 20)
    assert model.predict(X) == one_by_one
    assert model.predict(model.encode(X)) == one_by_one
    assert len(made) == 2
