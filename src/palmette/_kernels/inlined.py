"""Parts of kernels that become code of their callers: they take so many arrays that a call would cost more."""

from __future__ import annotations

from numba import config, njit


def inlined(function):
    """Decorate a part of a kernel. It has the options of the kernel that it is compiled with."""
    if getattr(config, "DISABLE_JIT", False):
        from palmette._kernels.guarded import guard

        return guard(function)
    return njit(inline="always", nogil=True, error_model="numpy")(function)
