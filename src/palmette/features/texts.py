"""Distinct texts and their numbers, kept as bytes in one array: a vocabulary without Python strings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from palmette.data.checks import check_array, check_offsets, needed
from palmette.data.ragged import offsets_from_lengths
from palmette.errors import ModelFileError


class Spans(NamedTuple):
    """Some texts as runs of one UTF-8 buffer: text i is ``text[starts[i]:stops[i]]``, of hash ``hashes[i]``."""

    text: np.ndarray  # uint8
    starts: np.ndarray  # int64 (n,)
    stops: np.ndarray  # int64 (n,)
    hashes: np.ndarray  # uint64 (n,), see palmette._kernels.texts


def spans_of(texts: Sequence[str]) -> Spans:
    """The texts as bytes.

    >>> spans = spans_of(["a", "bé"])
    >>> spans.text.tobytes(), spans.starts, spans.stops
    (b'a\\nb\\xc3\\xa9', array([0, 2]), array([1, 5]))
    """
    spans = spans_of_lines(texts, len(texts))
    if spans is None:  # a text has a line feed
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        bounds = offsets_from_lengths([len(text) for text in encoded])
        return spans_in(_writable(b"".join(encoded)), bounds[:-1], bounds[1:])
    return spans


def spans_of_lines(blocks: Iterable[str], count: int) -> Spans | None:
    """The lines of some strings as texts, or None unless there are `count` of them.

    Joining strings and cutting bytes is several times faster than touching every string from Python; the count tells
    whether a string had a line feed of its own.

    >>> spans_of_lines(["a", "b\\nc"], 3).starts
    array([0, 2, 4])
    """
    from palmette._kernels.texts import cut_lines

    joined = "\n".join(blocks)
    if not count:
        return _NO_SPANS if not joined else None
    text = _writable(joined.encode("utf-8", "surrogatepass"))
    spans = Spans(text, np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.uint64))
    return spans if cut_lines(*spans) == count else None


def spans_in(text: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> Spans:
    """The texts that stand at some places of a buffer."""
    from palmette._kernels.texts import hash_texts

    spans = Spans(text, starts, stops, np.empty(len(starts), np.uint64))
    hash_texts(*spans)
    return spans


def _writable(data: bytes) -> np.ndarray:
    # kernels would be compiled once more for arrays that are read-only
    return np.frombuffer(bytearray(data), np.uint8)


_NO_SPANS = Spans(np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint64))


class TextIndex:
    """Distinct texts, numbered from 0 in order of their first appearance.

    Parameters
    ----------
    texts : list of str, optional
        The first texts; one that repeats keeps its first number.

    Examples
    --------
    >>> index = TextIndex(["the", "cat"])
    >>> index.add(["the", "dog"]), index.find(["cat", "cow"]), index.strings()
    (array([0, 2], dtype=int32), array([ 1, -1], dtype=int32), ['the', 'cat', 'dog'])
    """

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._arena = np.empty(0, np.uint8)
        self._bounds = np.zeros(1, np.int64)
        self._slots = np.empty(0, np.uint64)
        self._count = 0
        if texts:
            self.add(texts)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> str:
        start, stop = self._bounds[number], self._bounds[number + 1]
        return self._arena[start:stop].tobytes().decode("utf-8", "surrogatepass")

    def add(self, texts: Sequence[str] | Spans) -> np.ndarray:
        """Numbers (int32) of texts; the new ones are added."""
        spans = texts if isinstance(texts, Spans) else spans_of(texts)
        self._make_room(len(spans.starts), int((spans.stops - spans.starts).sum()))
        return self._look_up(spans, True)

    def find(self, texts: Sequence[str] | Spans) -> np.ndarray:
        """Numbers (int32) of texts, -1 for those that are not here."""
        spans = texts if isinstance(texts, Spans) else spans_of(texts)
        if not self._count:
            return np.full(len(spans.starts), -1, np.int32)
        if not len(self._slots):
            self._rebuild(self._count)
        return self._look_up(spans, False)

    def _look_up(self, spans: Spans, grow: bool) -> np.ndarray:
        from palmette._kernels.texts import look_up_texts

        out = np.empty(len(spans.starts), np.int32)
        count = look_up_texts(*spans, self._arena, self._bounds, self._slots, self._count, grow, out)
        if grow:  # threads may look up at the same time, and must not write
            self._count = count
        return out

    def _make_room(self, texts: int, n_bytes: int) -> None:
        used = int(self._bounds[self._count])
        self._arena = _enlarged(self._arena, used, used + n_bytes)
        self._bounds = _enlarged(self._bounds, self._count + 1, self._count + 1 + texts)
        if 2 * (self._count + texts) > len(self._slots):
            self._rebuild(self._count + texts)

    def _rebuild(self, texts: int) -> None:
        """Make the slots anew, with room for some texts."""
        from palmette._kernels.texts import EMPTY, fill_slots

        slots = np.full(1 << (max(2 * texts, 8) - 1).bit_length(), EMPTY)
        fill_slots(self.spans().hashes, slots)
        self._slots = slots  # complete, since other threads may be looking up

    def trimmed(self) -> TextIndex:
        """This index without spare room, itself, for one that will not grow soon; the next look-up makes the slots."""
        self._slots = np.empty(0, np.uint64)
        self._arena = self._arena[: self._bounds[self._count]].copy()
        self._bounds = self._bounds[: self._count + 1].copy()
        return self

    def spans(self) -> Spans:
        """All texts, by number."""
        return spans_in(self._arena, self._bounds[: self._count], self._bounds[1 : self._count + 1])

    def strings(self) -> list[str]:
        """All texts, by number."""
        whole, bounds = self._arena.tobytes(), self._bounds[: self._count + 1].tolist()
        return [whole[a:b].decode("utf-8", "surrogatepass") for a, b in zip(bounds, bounds[1:])]

    def kept(self, keep: np.ndarray) -> TextIndex:
        """A new index of those texts for which `keep` is true, in their order here."""
        lengths = np.diff(self._bounds[: self._count + 1])
        other = TextIndex()
        other._arena = self._arena[: lengths.sum()][np.repeat(keep, lengths)]
        other._bounds = offsets_from_lengths(lengths[keep])
        other._count = int(keep.sum())
        other._rebuild(other._count)
        return other

    def copy(self) -> TextIndex:
        """Another index of the same texts."""
        return self.kept(np.ones(self._count, bool))

    # -- files --------------------------------------------------------------------------------------------

    def state(self, name: str) -> dict[str, np.ndarray]:
        """Arrays for a model file: the UTF-8 text `name`, and the bounds of the texts in it."""
        bounds = self._bounds[: self._count + 1].copy()
        return {name: self._arena[: bounds[-1]].copy(), f"{name}_offsets": bounds}

    @classmethod
    def from_state(cls, arrays: Mapping[str, np.ndarray], name: str) -> TextIndex:
        """Index from what ``state(name)`` returned."""
        try:
            text, bounds = needed(arrays, name), needed(arrays, f"{name}_offsets")
            check_array(name, text, np.uint8)
            check_offsets(f"{name}_offsets", bounds, len(text))
        except ValueError as error:
            raise ModelFileError(f"damaged {name} in a model file: {error}") from None
        index = cls()
        index.add(spans_in(text.copy(), bounds[:-1].copy(), bounds[1:].copy()))
        if len(index) != len(bounds) - 1:
            raise ModelFileError(
                f"damaged {name} in a model file: {len(bounds) - 1} names, {len(index)} of them different"
            )
        try:
            text.tobytes().decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise ModelFileError(f"damaged {name} in a model file: {error}") from None
        if (np.append(text, 0)[bounds[:-1]] & 0xC0 == 0x80).any():
            raise ModelFileError(f"damaged {name} in a model file: a name begins inside of a character")
        return index.trimmed()


def _enlarged(array: np.ndarray, used: int, needed: int) -> np.ndarray:
    """The array, or one with its used part and at least twice the room."""
    if needed <= len(array):
        return array
    larger = np.empty(max(needed, 2 * len(array)), array.dtype)
    larger[:used] = array[:used]
    return larger
