"""Mutants of functions, made from their syntax trees: the checks that a function serves must notice each.

A mutant is named by (module, function, operator, ordinal), never by source text, so that comments, names and the order
of functions may change. Kernels run as plain Python, and a mutant takes the place of a function's code, so that
everyone who has imported the function runs it.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

# ------------------------------------------------------------------------------------------- operators


def strict(node: ast.AST) -> ast.AST | None:
    """``a < b`` to ``a <= b`` and back."""
    turned = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
    if isinstance(node, ast.Compare) and type(node.ops[0]) in turned:
        return ast.Compare(node.left, [turned[type(node.ops[0])](), *node.ops[1:]], node.comparators)
    return None


def minus(node: ast.AST) -> ast.AST | None:
    """``a + b`` to ``a - b`` and back."""
    turned = {ast.Add: ast.Sub, ast.Sub: ast.Add}
    if isinstance(node, ast.BinOp) and type(node.op) in turned:
        return ast.BinOp(node.left, turned[type(node.op)](), node.right)
    return None


def factor(node: ast.AST) -> ast.AST | None:
    """``a * b`` to ``b``."""
    return node.right if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) else None


def first(node: ast.AST) -> ast.AST | None:
    """``max(a, b)`` to ``a``, ``where(c, a, b)`` to ``a``."""
    chosen = ("max", "min", "maximum", "minimum", "where")
    if isinstance(node, ast.Call) and _name(node.func) in chosen and len(node.args) > 1:
        return node.args[1 if _name(node.func) == "where" else 0]
    return None


def swap(node: ast.AST) -> ast.AST | None:
    """``a[i, j]`` to ``a[j, i]``, the last two indices that are names."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return None
    parts = list(node.slice.elts)
    at = [n for n, part in enumerate(parts) if isinstance(part, ast.Name)][-2:]
    if len(at) < 2 or ast.dump(parts[at[0]]) == ast.dump(parts[at[1]]):
        return None
    parts[at[0]], parts[at[1]] = parts[at[1]], parts[at[0]]
    return ast.Subscript(node.value, ast.Tuple(parts, ast.Load()), node.ctx)


def overwrite(node: ast.AST) -> ast.AST | None:
    """``a += b`` to ``a = b``."""
    return ast.Assign([node.target], node.value) if isinstance(node, ast.AugAssign) else None


def drop(node: ast.AST) -> ast.AST | None:
    """No ``a[i] = b``, no ``a += b``, no ``f(a)``; of names only assignments that are not their first."""
    written = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript)
    called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    return ast.Pass() if written or called or isinstance(node, ast.AugAssign) else None


def unit(node: ast.AST) -> ast.AST | None:
    """0 to 1, 1 to 0."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value in (0, 1):
        return ast.Constant(type(node.value)(1 - node.value))
    return None


def infinity(node: ast.AST) -> ast.AST | None:
    """``-np.inf`` to a number that is merely low."""
    if isinstance(node, ast.UnaryOp) and _name(node.operand) == "inf":
        return ast.Constant(-1e9)
    return None


def always(node: ast.AST) -> ast.AST | None:
    """``if a`` to ``if True``, ``b if a else c`` to ``b``."""
    if isinstance(node, ast.If):
        return ast.If(ast.Constant(True), node.body, node.orelse)
    return node.body if isinstance(node, ast.IfExp) else None


def keyword(node: ast.AST) -> ast.AST | None:
    """A call without its last ``name=value``."""
    if isinstance(node, ast.Call) and node.keywords:
        return ast.Call(node.func, node.args, node.keywords[:-1])
    return None


NUMBERS = (minus, unit)  # not inside indices and ranges, where nearly all of them run out of an array
OPERATORS = (strict, minus, factor, first, swap, overwrite, drop, unit, infinity, always, keyword)


def _name(node: ast.AST) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


# ------------------------------------------------------------------------------------------- mutants


class Mutant(NamedTuple):
    """The ``ordinal``-th place of a function where an operator applies, in the order of the source."""

    module: str
    function: str
    operator: str
    ordinal: int


class Site(NamedTuple):
    """A mutant, and what to put where in a tree."""

    mutant: Mutant
    old: ast.AST
    new: ast.AST
    put: Callable[[ast.AST], None]


def tree_of(module: str) -> ast.Module:
    """The syntax tree of a module of the package."""
    path = Path(importlib.import_module(f"palmette.{module}").__file__)
    return ast.parse(path.read_text(encoding="utf-8"))


def sites(tree: ast.Module, module: str, function: str) -> Iterator[Site]:
    """All mutants of a function, given by its qualified name; messages of errors are left alone."""
    home: Any = tree
    for name in function.split("."):
        own = [node for node in home.body if getattr(node, "name", None) == name]
        if not own:
            raise LookupError(f"palmette.{module} has no {function}; give the table its new name")
        home = own[0]
    bound = {argument.arg for argument in (*home.args.args, *home.args.kwonlyargs)}
    counts: Counter[str] = Counter()
    for node, is_index, put in _nodes(home, "body"):
        for operator in OPERATORS:
            if is_index and operator in NUMBERS:
                continue
            new = ast.Pass() if operator is drop and _rebinds(node, bound) else operator(node)
            if new is not None:
                mutant = Mutant(module, function, operator.__name__, counts[operator.__name__])
                counts[operator.__name__] += 1
                yield Site(mutant, node, ast.copy_location(new, node), put)
        bound |= _bound_by(node)


def _nodes(parent: Any, *names: str, is_index: bool = False) -> Iterator[tuple[Any, bool, Callable]]:
    """Every node below, whether it is part of an index, and what replaces it; a parent comes before its parts."""
    for name in names or parent._fields:
        value = getattr(parent, name)
        index = (
            is_index or name == "slice" or (isinstance(parent, ast.Call) and _name(parent.func) == "range")
        )
        for n, node in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(node, ast.AST) or isinstance(node, ast.Raise) or name == "annotation":
                continue

            def put(new: ast.AST, value=value, name=name, n=n) -> None:
                if isinstance(value, list):
                    value[n] = new
                else:
                    setattr(parent, name, new)

            yield node, index, put
            yield from _nodes(node, is_index=index)


def _bound_by(node: ast.AST) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {
        part.id for target in targets if target for part in ast.walk(target) if isinstance(part, ast.Name)
    }


def _rebinds(node: ast.AST, bound: set[str]) -> bool:
    if not isinstance(node, ast.Assign) or isinstance(node.targets[0], ast.Subscript):
        return False
    return _bound_by(node) <= bound


def code_of(mutant: Mutant) -> tuple[CodeType, str]:
    """The compiled mutant, and the change in words."""
    tree = tree_of(mutant.module)
    site = next(site for site in sites(tree, mutant.module, mutant.function) if site.mutant == mutant)
    change = " -> ".join(ast.unparse(node).splitlines()[0] for node in (site.old, site.new))
    site.put(site.new)
    return _find(compile(ast.fix_missing_locations(tree), mutant.module, "exec"), mutant.function), change


def _find(code: CodeType, function: str) -> CodeType:
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    own = [const for const in inner if const.co_qualname == function]
    return (
        own[0] if own else _find(next(c for c in inner if function.startswith(c.co_qualname + ".")), function)
    )


@contextmanager
def replaced(mutant: Mutant, code: CodeType) -> Iterator[None]:
    """The function with other code."""
    found: Any = importlib.import_module(f"palmette.{mutant.module}")
    for name in mutant.function.split("."):
        found = inspect.getattr_static(found, name)
    own: Any = inspect.unwrap(getattr(found, "__func__", found))
    original, own.__code__ = own.__code__, code
    try:
        yield
    finally:
        own.__code__ = original


# ------------------------------------------------------------------------------------------- tables


DRAWS = 400  # plain Python draws slowly, and what a mutant draws is far off


class Target(NamedTuple):
    """A function, the answers that it serves, and how many of its mutants are tried."""

    module: str
    function: str
    answers: str  # divided by blanks
    n: int
    fresh: bool = False  # its results are kept in the inputs, so every mutant needs inputs of its own


@dataclass(frozen=True)
class Table:
    """What to break of a structure, and what need not be noticed.

    ``equivalent`` maps "function operator ordinal" to the reason why nobody can notice that mutant.
    """

    structure: Callable[[], Any]
    instances: Sequence[int]  # which of those of the reference
    targets: Sequence[Target]
    equivalent: Mapping[str, str] = field(default_factory=dict)
    checks: Mapping[str, Callable[[], None]] = field(default_factory=dict)  # further answers

    @cached_property
    def sample(self) -> dict[Mutant, Target]:
        """The mutants to try: of each function as many as its target says, evenly spread, but for the equivalent."""
        return {
            mutant: t for t in self.targets for mutant in spread(t) if address(mutant) not in self.equivalent
        }

    def problems(self, n: int | None = None) -> list[list]:
        """The cases of ``check_structure``, one list per instance (the first n); their arrays cannot be written."""
        from palmette.testing import reference_for
        from palmette.testing.check_structure import _instances, _problems
        from palmette.testing.enumeration import arrays

        structure, rng = self.structure(), np.random.default_rng(0)
        reference = reference_for(structure)
        drawn = list(_instances(reference, rng, max(self.instances) + 1))
        found = [list(_problems(structure, reference, drawn[i], rng)) for i in self.instances[:n]]
        for array in arrays([(p.theta, p.keywords) for problems in found for p in problems]):
            array.flags.writeable = False
        return found

    def check(self, answers: Iterable[str], problems: list[list]) -> None:
        """Raise at the first answer that is wrong, instance by instance."""
        from palmette.testing import CHECKS
        from palmette.testing.queries import Case

        structure, rng = self.structure(), np.random.default_rng(0)
        answers = list(answers)
        for some in problems:
            for answer in answers:
                for i, problem in enumerate(some if answer in CHECKS else ()):
                    CHECKS[answer](Case(structure, problem, rng, thorough=i in (0, len(some) - 1)))
        for answer in answers:
            if answer not in CHECKS:
                self.checks[answer]()

    def survivors(self) -> list[str]:
        """Mutants that nobody notices, and answers that fail without any mutation."""
        from palmette.testing import sum_checks

        sum_checks.MANY_DRAWS = DRAWS
        problems, seconds = self.problems(), {}
        for answer in sorted({a for target in self.targets for a in target.answers.split()}):
            before = time.process_time()
            try:
                self.check([answer], problems[:1])  # of all instances: test_structures
            except AssertionError as error:
                return [f"without mutation: {error}"]
            seconds[answer] = time.process_time() - before
        found = []
        for mutant, target in self.sample.items():
            code, change = code_of(mutant)
            answers = target.answers.split()
            own = problems if not target.fresh else self.problems(1)
            with replaced(mutant, code), _limited(0.5 + 2.0 * len(own) * sum(seconds[a] for a in answers)):
                try:
                    self.check(answers, own)
                except Exception:
                    continue
            found.append(f"{mutant.module} {address(mutant)}: {change} passes {target.answers}")
        return found


def spread(target: Target) -> list[Mutant]:
    """``n`` mutants of a function, evenly spread over its source."""
    found = [site.mutant for site in sites(tree_of(target.module), target.module, target.function)]
    n = min(target.n, len(found))
    return [found[(2 * k + 1) * len(found) // (2 * n)] for k in range(n)]


def address(mutant: Mutant) -> str:
    """The key of a mutant in the table of its structure."""
    return f"{mutant.function} {mutant.operator} {mutant.ordinal}"


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """A mutant that does not come to an end is noticed, too."""

    def stop(*_: Any) -> None:
        raise TimeoutError("the mutant does not come to an end")

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)


def run_without_jit(file: str, table: str) -> list[str]:
    """The survivors of a table: its test module, run as a script, prints them."""
    here = Path(__file__).parent
    path = os.pathsep.join(
        [str(here), str(here.parent / "structures/ranking"), os.environ.get("PYTHONPATH", "")]
    )
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    result = subprocess.run([sys.executable, file, table], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)
