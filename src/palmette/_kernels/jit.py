"""How every kernel is compiled: cached on disk, without the GIL, surviving a read-only cache folder.

With ``NUMBA_DISABLE_JIT`` it is not compiled, and checks its arrays (``palmette._kernels.guarded``). Kernels that
others call are compiled as parts of them (``palmette._kernels.parts``), which needs what Numba promises to nobody:
versions that it was not tested with compile every kernel by itself, as Numba does, which takes about twice as long.
"""

from __future__ import annotations

import warnings

from numba import config, njit, version_info
from numba.core import event
from numba.core.caching import FunctionCache

from palmette.compiling import CompileClock

event.Listener.register(CompileClock)
event.register("numba:compile", CompileClock())

# Reductions may be reordered so that they vectorise; infinities keep their meaning ("ninf" is never given).
SUMS = {"reassoc", "contract", "nsz", "arcp"}
MAXIMA = {"nnan", "nsz"}


WITH_PARTS = ((0, 60), (0, 68))  # the first and the last version of Numba that parts were tested with


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

HAS_PARTS = WITH_PARTS[0] <= tuple(version_info.short) <= WITH_PARTS[1]
if not HAS_PARTS:
    warnings.warn(
        "compiling takes longer with Numba {}.{}: {}.{} to {}.{} are the versions that palmette was tuned for".format(
            *version_info.short, *WITH_PARTS[0], *WITH_PARTS[1]
        ),
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
    options = {"nogil": True, "fastmath": fastmath, "error_model": "numpy", "forceinline": inline}
    if not HAS_PARTS:
        return njit(cache=CACHED, **options)
    from palmette._kernels.parts import KernelDispatcher

    options["nopython"] = True
    return lambda function: KernelDispatcher(function, options, CACHED)
