"""Mutants: a line of a module is broken, and the check of the answer that it serves must notice."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def source_of(module: str) -> str:
    return Path(importlib.import_module(f"palmette.{module}").__file__).read_text(encoding="utf-8")


def mutate(source: str, line: str, broken: str) -> str:
    """Replace a line that stands in the source exactly once."""
    lines = source.splitlines()
    places = [n for n, text in enumerate(lines) if text.strip() == line]
    if len(places) != 1:
        raise LookupError(f"{len(places)} lines read {line!r}; mutations must name a line that is there once")
    lines[places[0]] = lines[places[0]].replace(line, broken)
    return "\n".join(lines)


@contextmanager
def replaced(module_name: str, source: str) -> Iterator[None]:
    """Define a module's functions and classes anew, for everyone who has imported them."""
    module = importlib.import_module(module_name)
    own = {
        name: value for name, value in vars(module).items() if getattr(value, "__module__", "") == module_name
    }
    fresh = dict(vars(module))
    exec(compile(source, module.__file__, "exec"), fresh)
    users = [m for name, m in list(sys.modules.items()) if name.split(".")[0] == "palmette"]
    places = [(m, name) for m in users for name in own if vars(m).get(name) is own[name]]
    try:
        for user, name in places:
            setattr(user, name, fresh[name])
        yield
    finally:
        for user, name in places:
            setattr(user, name, own[name])


def run_without_jit(file: str) -> list[str]:
    """What a test module prints as JSON when it is run as a script, with kernels as plain Python."""
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    result = subprocess.run([sys.executable, file], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)
