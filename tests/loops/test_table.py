"""The table of compiled loops: what is found, what is refused, and that the core imports no structure's loops."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from problems import make_problem

import palmette
from palmette.loops import ANY, compiled_as, find, register, table
from palmette.loops.hinge_blocks import GenericBlocks
from palmette.solvers.frank_wolfe import FrankWolfe
from palmette.solvers.smo import SMO
from palmette.structures import Chain, Multiclass


@pytest.fixture(autouse=True)
def own_table(monkeypatch):
    monkeypatch.setattr(table, "_TABLE", dict(table._TABLE))


class MyChain(Chain):
    """A user's structure with loops of its own."""

    compiled_as = "mine"


class Visits(GenericBlocks):
    """A user's loop; it counts its objects."""

    compiled = True
    most = 100
    made = 0

    @staticmethod
    def accepts(problem):
        return problem.n_samples <= Visits.most

    def __init__(self, problem):
        super().__init__(problem)
        Visits.made += 1


def test_a_registered_loop_is_found_and_used(rng):
    register("frank_wolfe", "mine", f"{__name__}:Visits")
    with make_problem(rng, "dense", MyChain(), "hinge") as problem:
        assert find("frank_wolfe", problem) is Visits
        before = Visits.made
        result = FrankWolfe(tol=1e-4).solve(problem)
        assert Visits.made == before + 1 and result.converged


def test_a_loop_that_does_not_accept_is_not_used(rng, monkeypatch):
    register("frank_wolfe", "mine", f"{__name__}:Visits")
    monkeypatch.setattr(Visits, "most", 0)
    with make_problem(rng, "dense", MyChain(), "hinge") as problem:
        assert find("frank_wolfe", problem) is None
        assert type(FrankWolfe().blocks_of(problem)) is GenericBlocks


def test_a_loop_for_any_structure_is_asked_last(rng):
    register("frank_wolfe", ANY, f"{__name__}:Visits")
    with make_problem(rng, "dense", MyChain(), "hinge") as problem:
        assert find("frank_wolfe", problem) is Visits
    with make_problem(rng, "dense", Chain(), "hinge") as problem:
        assert find("frank_wolfe", problem) is not Visits


def test_a_place_has_one_loop():
    register("frank_wolfe", "mine", f"{__name__}:Visits")
    register("frank_wolfe", "mine", f"{__name__}:Visits")
    with pytest.raises(
        ValueError, match=r"'frank_wolfe' has the loop .*:Visits for 'mine' already: a:b needs"
    ):
        register("frank_wolfe", "mine", "a:b")


def test_a_subclass_inherits_no_compiled_loop(rng):
    class Other(Chain):
        pass

    assert (compiled_as(Chain()), compiled_as(Multiclass()), compiled_as(Other())) == (
        "chain",
        "multiclass",
        None,
    )
    with make_problem(rng, "dense", Other(), "hinge") as problem:
        assert type(FrankWolfe().blocks_of(problem)) is GenericBlocks
        assert not SMO().blocks_of(problem).compiled
    with make_problem(rng, "dense", Chain(), "hinge") as problem:
        assert FrankWolfe().blocks_of(problem).compiled and SMO().blocks_of(problem).compiled


def test_every_entry_can_be_loaded():
    import palmette.structures.chain
    import palmette.structures.graph  # noqa: F401

    assert table._TABLE
    for target in table._TABLE.values():
        loop = table._loaded(target)
        assert callable(loop.accepts) and isinstance(loop.compiled, bool), target


def test_structures_are_light():
    code = (
        "import sys, palmette.structures.chain, palmette.structures.graph, palmette.solvers.frank_wolfe\n"
        "bad = [m for m in sys.modules if m == 'numba' or m.startswith('palmette.structures.chain.loops')]\n"
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


CORE = ("solvers", "objectives", "surrogates", "loops")


def imports_of(path):
    """Modules that a file imports, also inside functions; what is for type checkers only is left out."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


@pytest.mark.parametrize("package", CORE)
def test_the_core_imports_no_structure(package):
    root = Path(palmette.__file__).parent
    found = [
        f"{path.relative_to(root)}: {module}"
        for path in sorted((root / package).rglob("*.py"))
        for module in imports_of(path)
        if module.startswith("palmette.structures")
    ]
    assert not found
