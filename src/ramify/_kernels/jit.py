"""How every kernel is compiled: cached on disk, without the GIL, surviving a read-only cache folder."""

from __future__ import annotations

import os
import tempfile
import warnings

from numba import config, njit

# Reductions may be reordered so that they vectorise; infinities keep their meaning ("ninf" is never given).
SUMS = {"reassoc", "contract", "nsz", "arcp"}
MAXIMA = {"nnan", "nsz"}


def _cache_is_writable() -> bool:
    folder = config.CACHE_DIR or os.path.join(os.path.dirname(__file__), "__pycache__")
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        pass
    # Numba itself falls back to a per-user folder when the package's own folder is read-only.
    fallback = os.path.join(os.path.expanduser("~"), ".cache", "numba")
    try:
        os.makedirs(fallback, exist_ok=True)
        with tempfile.TemporaryFile(dir=fallback):
            return not config.CACHE_DIR
    except OSError:
        return False


CACHED = _cache_is_writable()
if not CACHED:
    warnings.warn(
        "compiled code cannot be kept: the Numba cache folder is not writable, so every process compiles anew. "
        "Set NUMBA_CACHE_DIR to a writable folder.",
        RuntimeWarning,
        stacklevel=2,
    )


def kernel(fastmath=False, inline="never"):
    """Decorate a kernel. ``fastmath`` is ``SUMS``, ``MAXIMA`` or False."""
    return njit(cache=CACHED, nogil=True, fastmath=fastmath, error_model="numpy", inline=inline)
