"""The fresh process of one side: ``python -m palmette.bench.child FILE SIDE`` prints its measurement as JSON.

Whatever the side itself prints goes to standard error, so that standard output holds the measurement alone.
"""

from __future__ import annotations

import importlib
import json
import os
import sys

from palmette.bench.measure import Measurement, Run, peak_memory_mb
from palmette.bench.spec import load_benchmark


def measure(path: str, side_name: str) -> Measurement:
    """Run one side in this process."""
    side = load_benchmark(path).sides[side_name]
    for name in side.imports:
        importlib.import_module(name)
    import_mb = peak_memory_mb()
    run = Run()
    side.run(run)
    return Measurement(run.phases, run.sizes, run.figures, peak_memory_mb(), import_mb)


def main() -> None:
    """Entry point; redirects file descriptor 1 because libraries in C write there, too."""
    path, side_name = sys.argv[1:]
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)
        json.dump(measure(path, side_name).to_dict(), out)


if __name__ == "__main__":
    main()
