"""A process that compiles for longer than a moment tells it, once."""

import json
import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from palmette import compiling

START, END = SimpleNamespace(is_start=True), SimpleNamespace(is_start=False)


def test_tells_once_while_a_kernel_is_compiled():
    told = []
    compiling.when_compiling(lambda: told.append(1))
    clock = compiling.CompileClock(patience=0.02)
    for _ in range(2):
        for event in (START, START, END):
            clock.notify(event)
        deadline = time.monotonic() + 10.0
        while not told and time.monotonic() < deadline:
            time.sleep(0.01)
        clock.notify(END)
    assert told == [1]


def test_a_short_compilation_is_not_told():
    told = []
    compiling.when_compiling(lambda: told.append(1))
    clock = compiling.CompileClock(patience=1000.0)
    clock.notify(START), clock.notify(END)
    assert not told and clock.timer.finished.is_set() and clock.left < 1000.0
    compiling.when_compiling(None)
    clock.notify(START), clock.notify(END)
    assert not told


COMPILES = """
import json, sys, time
from types import SimpleNamespace
import palmette._kernels.ragged as ragged
from palmette import compiling
clock = compiling.CompileClock(patience=0.0)
for _ in range(2):
    clock.notify(SimpleNamespace(is_start=True))
    time.sleep(0.3)
    clock.notify(SimpleNamespace(is_start=False))
print(json.dumps({"result": 1}))
"""


@pytest.mark.parametrize(("quiet", "lines"), [("", 1), ("0", 1), ("1", 0)])
def test_python_says_once_that_it_compiles(quiet, lines):
    done = subprocess.run(
        [sys.executable, "-c", COMPILES],
        capture_output=True,
        text=True,
        env=os.environ | {"PALMETTE_QUIET": quiet},
    )
    assert done.stdout == '{"result": 1}\n'
    assert done.stderr.count("palmette: compiling") == lines == len(done.stderr.splitlines())


def test_listening_imports_no_numba():
    code = "import sys, palmette.compiling; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


OTHER_NUMBA = """
import json, warnings
import numba
numba.version_info = numba.version_info._replace(short=(0, 999))
import numpy as np
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    from palmette._kernels import jit
jit.CACHED = False  # what is given by -c has no file to be cached for
@jit.kernel()
def double(x):
    return 2.0 * x
@jit.kernel(inline=True)
def doubled(x, out):
    for i in range(len(x)):
        out[i] = double(x[i])
out = np.zeros(3)
doubled(np.arange(3.0), out)
print(json.dumps({"out": out.tolist(), "told": [str(each.message) for each in told], "type": type(double).__name__}))
"""


def test_a_version_of_numba_that_parts_were_not_tested_with_compiles_as_numba_does():
    done = subprocess.run([sys.executable, "-c", OTHER_NUMBA], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["out"] == [0.0, 2.0, 4.0] and found["type"] == "CPUDispatcher"
    assert found["told"] == [
        "compiling takes longer with Numba 0.999: 0.60 to 0.68 are the versions that palmette was tuned for"
    ]
