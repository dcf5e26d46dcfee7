"""First use: nothing heavy on import, and a cache folder that cannot be written costs one warning."""

from __future__ import annotations

import subprocess
import sys

UNCACHED = """
import warnings
from numba.core import caching
caching.FunctionCache._impl_class._locator_classes = []  # as if no folder were writable
import numpy as np
from palmette import Chain
from palmette.structures import ChainTables
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    theta = ChainTables(np.eye(2), np.zeros((1, 2, 2)), np.array([0, 2]))
    print(Chain().best(theta).codes.tolist(), Chain().best(theta).values.tolist())
print([str(w.message) for w in caught if "compiled code cannot be kept" in str(w.message)])
"""


def test_a_read_only_cache_folder_costs_one_warning():
    done = subprocess.run([sys.executable, "-c", UNCACHED], capture_output=True, text=True, check=True)
    answer, warned = done.stdout.splitlines()
    assert answer == "[0, 1] [2.0]"
    assert warned.count("NUMBA_CACHE_DIR") == 1
