"""What a measurement depends on besides the code: versions and the machine."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path

ALWAYS = ("palmette", "numpy", "scipy", "numba")


def versions(packages: Iterable[str | None] = ()) -> dict[str, str]:
    """Versions of Python, of our dependencies and of the packages named, where installed."""
    found = {"python": platform.python_version()}
    for package in [*ALWAYS, *packages]:
        if package is not None and package not in found:
            try:
                found[package] = importlib.metadata.version(package)
            except importlib.metadata.PackageNotFoundError:
                continue
    return found


def machine() -> dict[str, str | int]:
    """Processor model, number of cores this process may use, and the operating system."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {"cpu": _cpu_model(), "cores": cores, "platform": f"{platform.system()} {platform.machine()}"}


def conditions(versions: Mapping[str, str], machine: Mapping[str, str | int]) -> list[str]:
    """Both in words, for the end of a report."""
    return [
        "versions: " + ", ".join(f"{name} {value}" for name, value in versions.items()),
        "machine: {cpu}, {cores} cores, {platform}".format(**machine),
    ]


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or "unknown")
