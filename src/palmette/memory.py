"""How much memory may be taken: an estimate first, then a refusal that names the limit and the remedy.

``PALMETTE_MEMORY`` sets the limit (bytes, or with a unit: ``500MB``, ``8GB``); without, it is half of what the machine,
its container and the limits of the process allow.
"""

from __future__ import annotations

import contextlib
import os
import re
from functools import cache

from palmette.errors import TooLarge

VARIABLE = "PALMETTE_MEMORY"
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def memory_limit() -> int:
    """Bytes that one thing may take.

    >>> memory_limit() > 0
    True
    """
    given = os.environ.get(VARIABLE, "").strip()
    if not given:
        return _machine_memory() // 2
    found = re.fullmatch(r"(\d+(?:\.\d*)?(?:[eE]\+?\d+)?)\s*([KMGT]?)(?:i?B)?", given, re.IGNORECASE)
    if found is None or not 1.0 <= float(found.group(1)) < 2.0**62:
        raise ValueError(f"{VARIABLE} must be a number of bytes, such as 4e9 or 8GB, got {given!r}")
    return int(float(found.group(1)) * _UNITS[found.group(2).upper()])


def check_size(what: str, n_bytes: float, remedy: str) -> None:
    """Refuse what would take more memory than the limit, before any is taken.

    Parameters
    ----------
    what : str
        What takes the memory, with the numbers that make it large.
    n_bytes : float
        How much at least. An estimate from below, so that nothing is refused that fits.
    remedy : str
        What to change.

    Raises
    ------
    TooLarge

    Examples
    --------
    >>> check_size("3 labels", 72, "use fewer")
    >>> check_size("10,000,000 labels", 8e14, "use fewer")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    palmette.errors.TooLarge: 10,000,000 labels: this takes at least 745,058.1 GB, and the limit is ...: use fewer
    """
    limit = memory_limit()
    if n_bytes > limit:
        own = (
            VARIABLE
            if os.environ.get(VARIABLE, "").strip()
            else f"half of the memory here; {VARIABLE} sets it"
        )
        raise TooLarge(
            f"{what}: this takes at least {in_words(n_bytes)}, and the limit is {in_words(limit)} ({own}): {remedy}",
            n_bytes,
        )


def in_words(n_bytes: float) -> str:
    """A number of bytes as people read it.

    >>> in_words(800), in_words(3 * 2**29)
    ('800 bytes', '1.5 GB')
    """
    unit, name = next(((u, name) for u, name in ((2**30, "GB"), (2**20, "MB")) if n_bytes >= u), (1, "bytes"))
    return f"{n_bytes / unit:,.{0 if unit == 1 else 1}f} {name}"


@cache
def _machine_memory() -> int:
    """Bytes of the machine, its container and the limits of the process, whichever is least; 8 GB if none says."""
    known = []
    with contextlib.suppress(AttributeError, ValueError, OSError):
        known.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError), open(path) as file:
            known.append(int(file.read()))  # "max" is not a number
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        known.append(resource.getrlimit(resource.RLIMIT_AS)[0])  # infinity is below 0
    return min((n for n in known if n > 0), default=8 * 2**30)
