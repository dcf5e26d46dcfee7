"""Kernels as plain Python (``NUMBA_DISABLE_JIT=1``), with every access to an array checked.

Compiled code checks nothing: an index past the end reads whatever stands there. Plain Python hides such mistakes too,
since slices shorten in silence and negative indices count from the end. So in this mode a kernel sees ``Guarded``
arrays, which refuse both, and memory from ``np.empty`` is filled with numbers that no result survives. What a kernel
returns to the library is a plain array again.
"""

from __future__ import annotations

import functools
import threading
import types

import numpy as np

CALLS: dict[str, int] = {}  # how often each kernel ran
_running = threading.local()  # .inside: whether a kernel is on the stack of this thread


class Guarded(np.ndarray):
    """An array whose indices must lie in ``0:len`` and whose slices must lie in it as a whole."""

    # The usual indices, one number or a tuple of numbers, are looked at in place: kernels spend their time here.
    def __getitem__(self, index):
        if type(index) is tuple:
            for part in index:
                if type(part) not in NUMBERS or part < 0:
                    check(self, index)
                    break
        elif type(index) not in NUMBERS or index < 0:
            check(self, index)
        return _get(self, index)

    def __setitem__(self, index, value):
        if type(index) is tuple:
            for part in index:
                if type(part) not in NUMBERS or part < 0:
                    check(self, index)
                    break
        elif type(index) not in NUMBERS or index < 0:
            check(self, index)
        _set(self, index, value)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return array.view(Guarded) if array.ndim else array[()]  # a sum is a number

    def __repr__(self):
        return repr(self.view(np.ndarray))  # NumPy writes arrays by indices below 0

    __str__ = __repr__


NUMBERS = frozenset({int, *(np.dtype(code).type for code in np.typecodes["AllInteger"])})
_get, _set = np.ndarray.__getitem__, np.ndarray.__setitem__


def check(array, index):
    """Raise IndexError where ``index`` counts from the end or a slice does not fit; NumPy sees to the rest."""
    axis = 0
    for part in index if type(index) is tuple else (index,):
        if type(part) in NUMBERS:
            if part < 0:
                raise IndexError(f"index {part} of axis {axis} of an array of shape {array.shape}")
        elif type(part) is slice:
            size = array.shape[axis]
            if not (part.start is None or 0 <= part.start <= size) or not (
                part.stop is None or 0 <= part.stop <= size
            ):
                raise IndexError(f"{part} of axis {axis} of an array of shape {array.shape}")
        elif isinstance(part, np.ndarray) and part.dtype.kind == "i" and part.min(initial=0) < 0:
            raise IndexError(f"index {part.min()} of axis {axis} of an array of shape {array.shape}")
        axis += 1


def guard(function):
    """The kernel with guarded arrays, its own and those it is given."""
    name = f"{function.__module__}.{function.__name__}"
    CALLS[name] = 0

    @functools.wraps(function)
    def guarded(*arguments):
        CALLS[name] += 1
        names = {**function.__globals__, "np": NUMPY}  # as they are now: tests replace some
        body = types.FunctionType(function.__code__, names, closure=function.__closure__)
        given = [_convert(argument, Guarded) for argument in arguments]
        if getattr(_running, "inside", False):
            return body(*given)
        _running.inside = True
        try:
            with np.errstate(all="ignore"):  # as compiled code, which follows the rules of IEEE arithmetic
                return _convert(body(*given), np.ndarray)
        finally:
            _running.inside = False

    return guarded


def _convert(value, kind):
    """Arrays as views of a kind, inside tuples too."""
    if isinstance(value, np.ndarray):
        return value if type(value) is kind else value.view(kind)
    if isinstance(value, tuple):
        parts = [_convert(part, kind) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


class _GuardedNumPy:
    """NumPy for kernels: what it makes is guarded, and ``empty`` arrays hold poison."""

    def __getattr__(self, name):
        found = getattr(np, name)
        if callable(found) and not isinstance(found, type | np.ufunc):
            found = _guarding(found)
        setattr(self, name, found)  # the next time it is there
        return found

    @staticmethod
    def empty(shape, dtype=np.float64):
        out = np.empty(shape, dtype)
        out.fill(_poison(out.dtype))
        return out.view(Guarded)


def _poison(dtype):
    """NaN, an integer that is wild as an index, or True."""
    if dtype.kind == "f":
        return np.nan
    return {"i": lambda: np.iinfo(dtype).min, "u": lambda: np.iinfo(dtype).max}.get(
        dtype.kind, lambda: True
    )()


def _guarding(function):
    return lambda *arguments, **options: _convert(function(*arguments, **options), Guarded)


NUMPY = _GuardedNumPy()
