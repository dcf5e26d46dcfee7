"""How every kernel is compiled: cached on disk, without the GIL, surviving a read-only cache folder.

With ``NUMBA_DISABLE_JIT`` it is not compiled, and checks its arrays (``palmette._kernels.guarded``).
"""

from __future__ import annotations

import warnings

from numba import config
from numba.core import event
from numba.core.caching import FunctionCache

from palmette.compiling import CompileClock

event.Listener.register(CompileClock)
event.register("numba:compile", CompileClock())

# Reductions may be reordered so that they vectorise; infinities keep their meaning ("ninf" is never given).
SUMS = {"reassoc", "contract", "nsz", "arcp"}
MAXIMA = {"nnan", "nsz"}


def _can_cache() -> bool:
    """Whether Numba finds a writable folder: NUMBA_CACHE_DIR, beside this file, or the user's cache."""
    try:
        FunctionCache(_can_cache)
    except RuntimeError:
        return False
    return True


CACHED = _can_cache()
if not CACHED:
    warnings.warn(
        "compiled code cannot be kept: no cache folder is writable, so every process compiles anew, which is slower. "
        "Set NUMBA_CACHE_DIR to a writable folder.",
        RuntimeWarning,
        stacklevel=2,
    )


def kernel(fastmath=False, inline=False):
    """Decorate a kernel. ``fastmath`` is ``SUMS``, ``MAXIMA`` or False.

    With ``inline``, callers contain its machine code. That pays where a call is short: tuples of arrays are passed
    number by number, some hundred for packed samples.
    """
    if getattr(config, "DISABLE_JIT", False):
        from palmette._kernels.guarded import guard

        return guard
    from palmette._kernels.parts import KernelDispatcher

    options = {
        "nopython": True,
        "nogil": True,
        "fastmath": fastmath,
        "error_model": "numpy",
        "forceinline": inline,
    }
    return lambda function: KernelDispatcher(function, options, CACHED)
