"""Small cases for a run with ``NUMBA_DISABLE_JIT=1``, where kernels are plain Python."""

from __future__ import annotations

import os

import pytest

from palmette.structures import Chain, Multiclass
from palmette.testing import ChainReference, check_structure, sum_checks

pytestmark = pytest.mark.nojit
plain_python = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") != "1", reason="compiled: test_structures, with more cases"
)


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    """Draws take long as plain Python."""
    monkeypatch.setattr(sum_checks, "MANY_DRAWS", 100)


@plain_python
@pytest.mark.parametrize("structure", [Chain(), Multiclass()], ids=["chain", "multiclass"])
def test_answers_agree_with_enumeration(structure):
    check_structure(structure, n_instances=3)


@plain_python
@pytest.mark.parametrize("lengths", [(1,), (2, 1), (1, 3, 2)], ids=str)
def test_chains_of_other_shapes(lengths):
    check_structure(Chain(), ChainReference(2, lengths), n_instances=1, random_state=1)


def test_kernels_are_plain_python_when_asked():
    from palmette.structures.chain.kernels.max import best_path

    assert hasattr(best_path, "py_func") == (os.environ.get("NUMBA_DISABLE_JIT") != "1")
