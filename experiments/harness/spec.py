"""What a benchmark file declares, and where the files are found.

A file ``experiments/benchmarks/sums.py`` that compares two ways to add numbers::

    '''Adding numbers: a generator against the built-in sum of a range.'''

    from experiments.harness import Benchmark, Side, Target

    def add(run, numbers):
        with run.phase("add"):
            total = sum(numbers)
        run.sizes["numbers"] = 10**6
        run.figures["total"] = total

    BENCHMARK = Benchmark(
        name="sums",
        doc=__doc__,
        main_phase="add",
        sides={
            "range": Side(lambda run: add(run, range(10**6))),
            "generator": Side(lambda run: add(run, (i for i in range(10**6)))),
        },
        targets=[Target("add wall ratio", "<=", 1.0), Target("total relative difference", "<=", 0.0)],
    )

Nothing heavy belongs on the top level of the file: it is imported in every process, and what a side needs is
named in ``Side.imports`` so that the memory of the bare import can be told apart from that of the work.
"""

from __future__ import annotations

import importlib.util
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from experiments.harness.measure import Run
from experiments.harness.study import Study

if TYPE_CHECKING:
    from palmette.recipes.files import ExperimentFiles


@dataclass(frozen=True)
class Side:
    """One contestant.

    Parameters
    ----------
    run : callable
        ``run(record)`` does the work in a fresh process and fills in the :class:`~experiments.harness.Run` given.
    imports : tuple of str
        Modules that the side needs; they are imported before anything is timed.
    package : str or None
        The distribution whose version is reported.
    """

    run: Callable[[Run], None]
    imports: tuple[str, ...] = ()
    package: str | None = None

    def missing(self) -> list[str]:
        """Modules of ``imports`` whose package is not installed."""
        return [name for name in self.imports if importlib.util.find_spec(name.partition(".")[0]) is None]


@dataclass(frozen=True)
class Target:
    """A bound on one metric of our side, or of our side compared with a peer.

    Parameters
    ----------
    metric : str
        ``"<phase> wall ratio"``, ``"<phase> cpu ratio"``, ``"peak memory ratio"``, ``"<figure> ratio"``
        (ours divided by the peer's), ``"<figure> difference"`` (ours minus the peer's), ``"<figure> relative
        difference"`` (its size divided by that of the peer's), or the name of a figure of our side.
    op : {"<=", ">="}
    bound : float
    peer : str or None
        The side compared with; None stands for every peer.

    Examples
    --------
    >>> Target("train wall ratio", "<=", 0.5).met(0.4)
    True
    """

    metric: str
    op: str
    bound: float
    peer: str | None = None

    _operators: ClassVar = {"<=": operator.le, ">=": operator.ge}

    def __post_init__(self) -> None:
        if self.op not in self._operators:
            raise ValueError(f"target {self.metric!r}: op must be '<=' or '>=', got {self.op!r}")

    def met(self, value: float) -> bool:
        """Whether a value satisfies the bound; NaN never does."""
        return bool(self._operators[self.op](value, self.bound)) and not math.isnan(value)

    def to_dict(self) -> dict[str, str | float]:
        """Keys ``metric``, ``op`` and ``bound``."""
        return {"metric": self.metric, "op": self.op, "bound": self.bound}

    def __str__(self) -> str:
        return f"{self.metric} {self.op} {self.bound:g}" + (f" against {self.peer}" if self.peer else "")


@dataclass(frozen=True)
class Benchmark:
    """One claim: our side, its peers, and the targets.

    Parameters
    ----------
    name : str
        The name of the file without ``.py``.
    doc : str
        What is compared and under which conditions; the first line is the title.
    sides : mapping of str to Side
        Ours first, then one or more peers.
    main_phase : str
        The phase whose wall time decides which of several runs is the best.
    targets : sequence of Target
    """

    name: str
    doc: str
    sides: Mapping[str, Side]
    main_phase: str
    targets: Sequence[Target] = ()

    def __post_init__(self) -> None:
        if len(self.sides) < 2:
            raise ValueError(
                f"benchmark {self.name!r} needs our side and at least one peer, got {list(self.sides)}"
            )
        for target in self.targets:
            if target.peer is not None and target.peer not in self.peers:
                raise ValueError(
                    f"benchmark {self.name!r}: target {target.metric!r} names the peer {target.peer!r}; "
                    f"the peers are {self.peers}"
                )

    @property
    def ours(self) -> str:
        """Name of our side."""
        return next(iter(self.sides))

    @property
    def peers(self) -> list[str]:
        """Names of the other sides."""
        return list(self.sides)[1:]

    @property
    def title(self) -> str:
        """First line of the description."""
        return self.doc.strip().splitlines()[0] if self.doc.strip() else self.name


def benchmark_names() -> list[str]:
    """Names of the benchmarks that can be run from here."""
    return list(_files().paths())


def find_benchmark(name: str) -> Path:
    """File of a benchmark.

    Raises
    ------
    ValueError
        There is no such benchmark.
    """
    return _files().find(name)


def _files() -> ExperimentFiles:
    from palmette.recipes.files import ExperimentFiles  # not on top: sides may run another commit's palmette

    return ExperimentFiles("benchmarks", "benchmark")


def load_benchmark(path: Path | str) -> Benchmark:
    """Import a benchmark file and return its ``BENCHMARK``.

    Raises
    ------
    ValueError
        The file does not exist, declares no :class:`Benchmark`, or one of another name.
    """
    declared = load_declared(path)
    if not isinstance(declared, Benchmark):
        raise ValueError(f"{path} declares a study, which has no sides to compare: use run_study")
    return declared


def load_declared(path: Path | str) -> Benchmark | Study:
    """Import a benchmark file and return its ``BENCHMARK``, be it a comparison or a study.

    Raises
    ------
    ValueError
        The file does not exist, declares neither, or one of another name.
    """
    path = Path(path)
    declared = declared_in(path)
    if not isinstance(declared, Benchmark | Study):
        raise ValueError(f"{path} does not define BENCHMARK = experiments.harness.Benchmark(...) (or Study)")
    if declared.name != path.stem:
        raise ValueError(f"{path} declares the name {declared.name!r}; it must be that of the file")
    return declared


def declared_in(path: Path) -> Any:
    """What a file calls ``BENCHMARK``; None if there is nothing of this name."""
    if not path.is_file():
        raise ValueError(f"no benchmark file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, "BENCHMARK", None)
