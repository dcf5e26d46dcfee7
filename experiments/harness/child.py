"""The fresh process of one side: ``python -m experiments.harness.child FILE SIDE`` prints its measurement as JSON.

Of a study ``SIDE`` is the list of lines and points to run, as JSON. Whatever the side itself prints goes to standard
error, so that standard output holds the measurement alone.

The process may have another commit's palmette, and a file that declares what it declares with another commit's classes.
So this module imports nothing of palmette, and looks at attributes instead of classes.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.harness.measure import Measurement, Run, peak_memory_mb
from experiments.harness.spec import declared_in


def measure(path: str, side_name: str) -> Measurement:
    """Run one side, or some points of a study, in this process."""
    declared, run = declared_in(Path(path)), Run()
    if hasattr(declared, "points"):
        import_mb = peak_memory_mb()
        for line, point in json.loads(side_name):
            start = time.process_time()
            outcome = declared.run(point)
            add_outcome(run, line, outcome, time.process_time() - start)
    else:
        side = declared.sides[side_name]
        for name in side.imports:
            importlib.import_module(name)
        import_mb = peak_memory_mb()
        side.run(run)
    return Measurement(run.phases, run.sizes, run.figures, peak_memory_mb(), import_mb)


def add_outcome(run: Run, line: str, outcome: Mapping[str, Any], seconds: float) -> None:
    """Record the CPU seconds that a run of a study reports, or all of them if it reports none.

    >>> run = Run()
    >>> add_outcome(run, "cubic", {"seconds": 2.0, "search_seconds": 3.0, "error": 0.1}, 9.0)
    >>> add_outcome(run, "linear", {"error": 0.2}, 1.0)
    >>> {name: phase.cpu for name, phase in run.phases.items()}
    {'cubic': 2.0, 'cubic, search': 3.0, 'linear': 1.0}
    """
    timed = {name: value for name, value in outcome.items() if name.endswith("seconds")}
    for name, value in (timed or {"seconds": seconds}).items():
        what = name.removesuffix("seconds").strip("_")
        run.add_phase(f"{line}, {what}" if what else line, value, value)


def main() -> None:
    """Entry point; redirects file descriptor 1 because libraries in C write there, too."""
    path, side_name = sys.argv[1:]
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)
        json.dump(measure(path, side_name).to_dict(), out)


if __name__ == "__main__":
    main()
