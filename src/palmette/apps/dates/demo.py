"""The demo: handwritten dates, read digit by digit and as a whole."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from os import PathLike
from pathlib import Path

from palmette.apps.dates.data import make_dates
from palmette.apps.dates.models import read_with_all
from palmette.apps.dates.report import DemoReport
from palmette.plot.axes import MISSING, has_matplotlib

SIZES = {"train": 700, "dev": 300, "test": 1000}
SHARES = (0.6, 0.15, 0.25)  # of the images


def log_to_stderr(line: str) -> None:
    """Print a line on standard error."""
    print(line, file=sys.stderr, flush=True)


def run_demo(
    output_dir: str | PathLike[str] = "demo-output", seed: int = 0, log: Callable[[str], None] = log_to_stderr
) -> DemoReport:
    """Read handwritten dates with and without structure, and draw what happened.

    Real handwritten digits (those of scikit-learn) are composed into dates, some with ink blots. A kernel SVM
    and logistic regression read digit by digit; a chain CRF and a chain SSVM read the whole date, so that a
    digit helps to read its neighbours. All know the place of a digit in the date.

    Parameters
    ----------
    output_dir : path, default="demo-output"
        Folder for ``dates.png``; made if it does not exist.
    seed : int, default=0
        Of the dates, the damage and the learners.
    log : callable
        Called with lines of progress; by default they go to standard error.

    Returns
    -------
    DemoReport
        ``print(report.format())`` shows the table. Without matplotlib there is no figure, and the report says
        what to install.

    Raises
    ------
    NotADirectoryError
        ``output_dir`` is a file.
    """
    started = time.perf_counter()
    folder = Path(output_dir)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"cannot write the figure to {folder}: it is a file; name a folder")
    folder.mkdir(parents=True, exist_ok=True)
    parts = make_dates(tuple(SIZES.values()), shares=SHARES, seed=seed)
    log("composed " + ", ".join(f"{n} {part} dates" for part, n in SIZES.items()))
    log("training")
    readings = read_with_all(parts, seed=seed, log=log)
    figure, note = None, f"no figure: {MISSING}"
    if has_matplotlib():
        from palmette.apps.dates.figure import draw

        figure, note = folder / "dates.png", ""
        log(f"drawing {figure}")
        draw(readings, parts[-1]).savefig(figure, dpi=150)
    return DemoReport(tuple(readings), SIZES, seed, time.perf_counter() - started, figure, note)
