"""An array with amortised append."""

from __future__ import annotations

import numpy as np


class Growing:
    """Parts appended to one array, which is enlarged in place where the system can.

    Joining a list of parts at the end would hold everything twice, and the parts, allocated between short-lived
    objects, keep the room of these from being used again.

    Parameters
    ----------
    dtype : dtype

    Examples
    --------
    >>> growing = Growing(np.int32)
    >>> growing.append(np.array([1, 2]))
    >>> growing.append(np.array([3]))
    >>> growing.finished()
    array([1, 2, 3], dtype=int32)
    """

    def __init__(self, dtype: np.typing.DTypeLike) -> None:
        self._array = np.empty(0, dtype)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, part: np.ndarray) -> None:
        """Put ``part`` behind what is there."""
        needed = self._count + len(part)
        if needed > len(self._array):  # the new room is filled with zeros, so there is little of it in excess
            self._array.resize(needed + needed // 8, refcheck=False)
        self._array[self._count : needed] = part
        self._count = needed

    def finished(self) -> np.ndarray:
        """The array; nothing may be appended afterwards."""
        self._array.resize(self._count, refcheck=False)
        return self._array
