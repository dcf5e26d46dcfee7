"""What one run of one side measures: phases, sizes, figures, memory."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple


class Phase(NamedTuple):
    """Seconds of one phase: on the clock, and of all threads of the process together."""

    wall: float
    cpu: float

    def __sub__(self, start: Phase) -> Phase:
        """From one time to another."""
        return Phase(self.wall - start.wall, self.cpu - start.cpu)


def now() -> Phase:
    """Seconds on the clock, and of all threads of this process: ``now() - start`` is a phase."""
    return Phase(time.perf_counter(), time.process_time())


class Run:
    """What a side fills in while it runs.

    Attributes
    ----------
    phases : dict of str to Phase
        Filled by :meth:`phase` and :meth:`add_phase`.
    sizes : dict of str to int
        The amount of work; all sides of a benchmark must report the same.
    figures : dict of str to float or str
        Quality of the outcome (objective, accuracy, iterations).

    Examples
    --------
    >>> run = Run()
    >>> with run.phase("train"):
    ...     total = sum(range(1000))
    >>> run.figures["total"] = total
    >>> sorted(run.phases), run.phases["train"].wall >= 0
    (['train'], True)
    """

    def __init__(self) -> None:
        self.phases: dict[str, Phase] = {}
        self.sizes: dict[str, int] = {}
        self.figures: dict[str, float | str] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time the body of a ``with`` statement."""
        start = now()
        yield
        self.add_phase(name, *(now() - start))

    def add_phase(self, name: str, wall: float, cpu: float) -> None:
        """Record seconds measured elsewhere; those of a phase that ran before are added up."""
        before = self.phases.get(name, Phase(0.0, 0.0))
        self.phases[name] = Phase(before.wall + wall, before.cpu + cpu)


class Measurement(NamedTuple):
    """A finished run: what the side recorded, and its memory in megabytes (2^20 bytes).

    ``import_mb`` is the peak after the side's packages were imported and before any work.
    """

    phases: dict[str, Phase]
    sizes: dict[str, int]
    figures: dict[str, float | str]
    peak_mb: float
    import_mb: float

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, ready for JSON."""
        phases = {name: {"wall": float(p.wall), "cpu": float(p.cpu)} for name, p in self.phases.items()}
        sizes = {name: int(value) for name, value in self.sizes.items()}
        return {
            "phases": phases,
            "sizes": sizes,
            "figures": {name: _plain(name, value) for name, value in self.figures.items()},
            "peak_mb": self.peak_mb,
            "import_mb": self.import_mb,
        }

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Measurement:
        """Inverse of :meth:`to_dict`."""
        return cls(**{**record, "phases": {name: Phase(**p) for name, p in record["phases"].items()}})


def _plain(name: str, value: Any) -> float | int | str:
    if isinstance(value, str | int):
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"figure {name!r} must be a number or a string, got {value!r}") from None


def peak_memory_mb() -> float:
    """Highest resident memory of this process so far, in megabytes.

    On Linux the kernel's ``VmHWM`` is taken, because ``ru_maxrss`` of a started process begins at the memory
    of the process that started it, which would hide a small side behind a large parent.
    """
    try:
        status = Path("/proc/self/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) / 2**10
    except (OSError, StopIteration):
        import resource  # not on every platform

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (2**20 if sys.platform == "darwin" else 2**10)
