"""Distinct pairs of codes and their numbers."""

from __future__ import annotations

import numpy as np

from palmette.data.checks import check_array, check_codes


class PairIndex:
    """Distinct pairs of codes, numbered from 0 in order of their first appearance.

    A pair is one exact 64-bit key; longer tuples are chains, the number of a pair being the left part of the next.

    Parameters
    ----------
    keys : ndarray of int64, optional
        The first pairs, all different, as ``left << 32 | right``.

    Examples
    --------
    >>> index = PairIndex()
    >>> index.add(np.array([0, 0, 7, -1], np.int32), np.array([1, 2, 1, 1], np.int32))
    array([ 0,  1,  2, -1], dtype=int32)
    >>> index.find(np.array([7, 8], np.int32), np.array([1, 1], np.int32))
    array([ 2, -1], dtype=int32)
    >>> index.parts()
    (array([0, 0, 7]), array([1, 2, 1]))
    """

    def __init__(self, keys: np.ndarray | None = None) -> None:
        self._keys = np.empty(0, np.int64) if keys is None else keys
        self._count = len(self._keys)
        self._rebuild(self._count)

    @classmethod
    def checked(cls, keys: np.ndarray, left: int, right: int) -> PairIndex:
        """The index of some keys; ValueError unless all differ and their codes are below these limits."""
        check_array("keys of pairs", keys, np.int64)
        check_codes("left codes of pairs", keys >> 32, left)
        check_codes("right codes of pairs", keys & 0xFFFFFFFF, right)
        if len(np.unique(keys)) != len(keys):
            raise ValueError("keys of pairs that repeat")
        return cls(keys.copy())

    def __len__(self) -> int:
        return self._count

    @property
    def keys(self) -> np.ndarray:
        """The pairs as int64."""
        return self._keys[: self._count]

    def parts(self) -> tuple[np.ndarray, np.ndarray]:
        """Left and right codes of the pairs, by number."""
        return self.keys >> 32, self.keys & 0xFFFFFFFF

    def add(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Numbers (int32) of pairs, -1 where a code is negative; the new pairs are added."""
        room = self._count + len(left)
        if room > len(self._keys):
            larger = np.empty(max(room, 2 * len(self._keys)), np.int64)
            larger[: self._count] = self.keys
            self._keys = larger
        if 2 * room > len(self._slots):
            self._rebuild(room)
        return self._look_up(left, right, True)

    def find(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Numbers (int32) of pairs, -1 for those that are not here or have a negative code."""
        return self._look_up(left, right, False)

    def _look_up(self, left: np.ndarray, right: np.ndarray, grow: bool) -> np.ndarray:
        from palmette._kernels.templates import look_up_pairs

        out = np.empty(len(left), np.int32)
        count = look_up_pairs(left, right, self._keys, self._slots, self._count, grow, out)
        if grow:  # threads may look up at the same time, and must not write
            self._count = count
        return out

    def _rebuild(self, room: int) -> None:
        from palmette._kernels.templates import fill_pair_slots

        self._slots = np.full(1 << (max(2 * room, 8) - 1).bit_length(), -1, np.int32)
        fill_pair_slots(self.keys, self._slots)

    def trimmed(self) -> PairIndex:
        """Another index of the same pairs, without spare room."""
        return PairIndex(self.keys.copy())

    def kept(self, keep: np.ndarray) -> PairIndex:
        """Another index of those pairs for which `keep` is true, in their order here."""
        return PairIndex(self.keys[keep])
