"""This commit against another one: the same benchmark file on two states of the library, in turn.

The other commit is checked out as a worktree in a temporary folder, and its sources go before ours on the path of
its processes. Both sides run the benchmark file of this commit. If that does not run on the other library, because
parameters have other names there, the other commit's own file stands in for it.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from experiments.harness.measure import Measurement
from experiments.harness.report import COLD_PHASE
from experiments.harness.runner import ROOT, BenchmarkFailed, Log, child_environment, run_side
from experiments.harness.spec import load_declared
from experiments.harness.study import Study

SLACK = 1.05  # ratio up to which this commit counts as being as fast


class Line(NamedTuple):
    """CPU seconds of one phase: of this commit and of the other, all runs."""

    name: str
    new: list[float]
    old: list[float]

    @property
    def ratio(self) -> float:
        """Best run of this commit divided by the best of the other."""
        return min(self.new) / min(self.old) if min(self.old) > 0 else math.nan

    @property
    def spread(self) -> float:
        """The other commit against itself: best of its even runs and best of its odd runs, the larger by the smaller.

        >>> Line("fit", [1.0], [2.0, 1.0, 1.6]).spread
        1.6
        """
        halves = [min(part) for part in (self.old[::2], self.old[1::2]) if part]
        return max(halves) / min(halves) if len(halves) == 2 and min(halves) > 0 else math.nan

    @property
    def within(self) -> bool:
        """Whether this commit is slower by at most 5 %, or by at most what the other differs from itself."""
        return not self.ratio > max(SLACK, self.spread if self.spread == self.spread else 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Keys ``line``, ``new``, ``old`` (best CPU seconds), ``ratio``, ``spread``, ``within``."""
        best = {"new": min(self.new), "old": min(self.old)}
        found = {"ratio": self.ratio, "spread": self.spread}
        shown = {name: None if math.isnan(value) else value for name, value in found.items()}
        return {"line": self.name, **best, **shown, "within": self.within}


@dataclass(frozen=True)
class AgainstReport:
    """Timed lines of this commit and of another one."""

    name: str
    title: str
    revision: str
    repeat: int
    lines: list[Line]

    @property
    def ok(self) -> bool:
        """Whether no line became slower."""
        return all(line.within for line in self.lines)

    def to_dict(self) -> dict[str, Any]:
        """One object for JSON.

        ============= ==========================================================================
        key           value
        ============= ==========================================================================
        ``benchmark`` name
        ``title``     first line of its description
        ``ok``        whether no line became slower
        ``against``   the other commit
        ``repeat``    runs of each commit
        ``lines``     list of ``line``, ``new``, ``old``, ``ratio``, ``spread``, ``within``
        ``versions``  package to version
        ``machine``   ``cpu``, ``cores``, ``platform``
        ============= ==========================================================================
        """
        from palmette.recipes.machine import machine, versions

        return {
            "benchmark": self.name,
            "title": self.title,
            "ok": self.ok,
            "against": self.revision,
            "repeat": self.repeat,
            "lines": [line.to_dict() for line in self.lines],
            "versions": versions(),
            "machine": machine(),
        }

    def format(self) -> str:
        """Plain text: a table of the lines, and the conditions."""
        from palmette.recipes.tables import aligned_table

        rows = [
            [line.name, f"{min(line.new):.3f}", f"{min(line.old):.3f}", f"{line.ratio:.3f}",
             "" if math.isnan(line.spread) else f"{line.spread:.3f}", "" if line.within else "SLOWER"]
            for line in self.lines
        ]  # fmt: skip
        table = aligned_table(["CPU s", "this", self.revision, "this / that", "that / itself", ""], rows)
        notes = [
            f"best of {self.repeat} by CPU time, in turn, each run a fresh process",
            f"SLOWER: by more than 5 % and more than {self.revision} differs from itself (odd runs against even ones)",
        ]
        return "\n".join([f"{self.name}: {self.title}", "", table, "", *notes])


def run_against(
    path: Path | str, revision: str, *, repeat: int = 5, only: Iterable[str] = (), log: Log | None = None
) -> AgainstReport:
    """Measure our sides of a benchmark, or runs of a study, on this commit and on another.

    Parameters
    ----------
    path : path
        The benchmark file.
    revision : str
        Whatever git takes for a commit: a hash, a tag, a branch.
    repeat : int, default=5
        Runs of each commit, of which the best counts.
    only : iterable of str
        Of a study: values of points (see :meth:`Study.select`). Of a benchmark: our sides whose name has one of them.
    log : callable, optional
        Called with a line of text after every run.

    Raises
    ------
    ValueError
        An unknown revision, nothing that ``only`` selects, or ``repeat`` below 1.
    BenchmarkFailed
        A side crashed, or the commits have no timed line in common.
    """
    if repeat < 1:
        raise ValueError(f"repeat must be at least 1, got {repeat}")
    path = Path(path).resolve()
    declared = load_declared(path)
    sides = _sides(declared, list(only))
    commit = _git(
        "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", what=f"no commit {revision!r}"
    )
    found: dict[str, tuple[list[float], list[float]]] = {}
    with _worktree(commit) as tree, tempfile.TemporaryDirectory(prefix="palmette-kernels-") as kernels:
        here = _State([(path, (ROOT / "src", ROOT))], Path(kernels) / "new", log)
        there = _State(_candidates(path, tree), Path(kernels) / "old", log)
        for state, home in ((here, ROOT), (there, tree)):
            state.check(home)
        for turn in range(1, repeat + 1):
            for label, side in sides.items():
                order = (here, there) if turn % 2 else (there, here)  # neither is always the first
                taken = {state: state.run(side) for state in order}
                for name in _common(path.stem, taken[here], taken[there]):
                    new, old = found.setdefault(f"{label}: {name}" if label else name, ([], []))
                    new.append(taken[here].phases[name].cpu)
                    old.append(taken[there].phases[name].cpu)
                if log is not None:
                    log(f"{path.stem} {turn}/{repeat} {label}".rstrip())
    lines = [Line(name, *seconds) for name, seconds in found.items()]
    return AgainstReport(path.stem, declared.title, commit[:10], repeat, lines)


def _sides(declared: Any, only: Sequence[str]) -> dict[str, str]:
    """Arguments of the processes by what their lines are called; the name is empty where there is one alone."""
    if isinstance(declared, Study):
        points = [(declared.line(point), dict(point)) for point in declared.select(only)]
        return {"": json.dumps(points)}
    ours = [name for name, side in declared.sides.items() if side.package == "palmette"]
    names = [name for name in ours if not only or any(term in name for term in only)]
    if not names:
        raise ValueError(
            f"benchmark {declared.name!r} has no side of palmette called {' or '.join(only)}; there are: "
            f"{'; '.join(ours) or 'none'}"
        )
    return {name if len(names) > 1 else "": name for name in names}


def _common(name: str, new: Measurement, old: Measurement) -> list[str]:
    common = [phase for phase in new.phases if phase in old.phases and phase != COLD_PHASE]
    if not common:
        raise BenchmarkFailed(
            f"the commits have no timed line of benchmark {name!r} in common: {list(new.phases)} here, "
            f"{list(old.phases)} there"
        )
    return common


def _candidates(path: Path, tree: Path) -> list[tuple[Path, tuple[Path, ...]]]:
    """Files to run on the library of ``tree``, with the folders for the path: ours first, then its own."""
    own = tree / "experiments" / "benchmarks" / path.name
    before = tree / "benchmarks" / path.name  # commits whose harness was a part of the package
    found: list[tuple[Path, tuple[Path, ...]]] = [(path, (tree / "src", ROOT))]
    found += [(own, (tree / "src", tree))] if own.is_file() else []
    return found + ([(before, (tree / "src", ROOT))] if before.is_file() else [])


class _State:
    """A state of the library: the files that can be run on it, the first that does is kept."""

    def __init__(
        self, candidates: list[tuple[Path, tuple[Path, ...]]], kernels: Path, log: Log | None
    ) -> None:
        self.candidates, self.log = candidates, log
        self.environment = {"NUMBA_CACHE_DIR": str(kernels)}

    def check(self, home: Path) -> None:
        """Refuse to measure another palmette than that of ``home``."""
        command = [sys.executable, "-c", "import palmette; print(palmette.__file__)"]
        env = child_environment(self.environment, self.candidates[0][1])
        found = subprocess.run(command, env=env, cwd=home, capture_output=True, text=True)
        if not found.stdout.startswith(str(home / "src")):
            raise BenchmarkFailed(f"the sources of {home} cannot be imported: {found.stdout}{found.stderr}")

    def run(self, side: str) -> Measurement:
        """Run a side; go on to the next file while one does not run."""
        while True:
            path, sources = self.candidates[0]
            try:
                return run_side(path, side, self.environment, sources)
            except BenchmarkFailed as failure:
                if len(self.candidates) == 1:
                    raise
                self.candidates = self.candidates[1:]
                if self.log is not None:
                    last = str(failure).splitlines()[-1]
                    self.log(f"{path.name} does not run on the other commit ({last}): its own file is taken")


@contextmanager
def _worktree(commit: str) -> Iterator[Path]:
    """The files of a commit in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="palmette-against-") as folder:
        tree = Path(folder).resolve() / commit[:10]
        _git("worktree", "add", "--detach", "--quiet", str(tree), commit, what=f"cannot check out {commit}")
        try:
            yield tree
        finally:
            _git("worktree", "remove", "--force", str(tree), what=f"cannot remove {tree}")


def _git(*arguments: str, what: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        raise ValueError(f"{what}: git is not installed") from None
    if done.returncode != 0:
        raise ValueError(f"{what} in {ROOT}: {done.stderr.strip() or 'git does not know it'}")
    return done.stdout.strip()
