"""Word segmentation as labelling: words become a label for each character, and labels become words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from palmette.data.flat_labels import flatten_labels
from palmette.data.ragged import offsets_from_lengths
from palmette.data.span_encodings import PLACE, split_label
from palmette.data.spans import FlatSpans, find_spans, write_spans
from palmette.errors import SpanError


def tag_words(sentences: Sequence[Sequence[str]], encoding: str = "BMES") -> list[list[str]]:
    """A label for each character of segmented sentences.

    Parameters
    ----------
    sentences : list of list of str
        Words, none of them empty.
    encoding : {"BMES", "BMES6", "IOB2", ...}, default="BMES"
        Four tags or six, or two (IOB2); see :mod:`palmette.data.span_encodings`.

    Examples
    --------
    >>> tag_words([["word", "by", "a"]])
    [['B', 'M', 'M', 'E', 'B', 'E', 'S']]
    >>> tag_words([["segment"]], "BMES6")
    [['B', 'B2', 'B3', 'M', 'M', 'M', 'E']]
    """
    lengths, per_sentence = word_lengths(sentences, "sentences[{}][{}] is an empty word; remove it")
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    owner = np.repeat(np.arange(len(sentences)), np.diff(per_sentence))
    spans = FlatSpans(bounds[:-1], bounds[1:], np.zeros(len(lengths), np.int64), owner, [""])
    return write_spans(spans, bounds[per_sentence], encoding)


def word_lengths(sentences: Sequence[Sequence[str]], complaint: str) -> tuple[np.ndarray, np.ndarray]:
    """Characters of all words, and where each sentence begins among them; empty words are refused."""
    per_sentence = offsets_from_lengths([len(words) for words in sentences])
    lengths = np.fromiter(map(len, chain.from_iterable(sentences)), np.int64, int(per_sentence[-1]))
    if (lengths == 0).any():
        word = int(np.argmax(lengths == 0))
        sentence = int(np.searchsorted(per_sentence, word, side="right")) - 1
        raise ValueError(complaint.format(sentence, word - per_sentence[sentence]))
    return lengths, per_sentence


def join_words(characters: Sequence[Sequence[str]], labels: Sequence[Sequence[str]]) -> list[list[str]]:
    """Words of sentences of characters with labels in any encoding; the inverse of `tag_words`.

    Labels need not be valid: a character that continues nothing begins a word, as in `find_spans`.

    Parameters
    ----------
    characters : list of str, or list of list of str
    labels : list of list of str
        One for each character.

    Examples
    --------
    >>> join_words(["abcd"], [["B", "E", "M", "S"]])
    [['ab', 'c', 'd']]
    """
    return [["".join(word) for word in words] for words in cut_words(characters, labels)]


def cut_words(
    characters: Sequence[Sequence[str]], labels: Sequence[Sequence[str]]
) -> list[list[tuple[str, ...]]]:
    """The same words as tuples of their characters, which may be longer texts.

    >>> cut_words([["IBM", "X", "a"]], [["B", "E", "S"]])
    [[('IBM', 'X'), ('a',)]]
    """
    if len(characters) != len(labels):
        raise ValueError(f"there are {len(characters)} sentences but labels of {len(labels)}")
    flat = flatten_labels(labels)
    for i, (text, n_labels) in enumerate(zip(characters, np.diff(flat.offsets))):
        if len(text) != n_labels:
            raise ValueError(f"sentence {i} has {len(text)} characters but {n_labels} labels")
    outside = [code for code, label in enumerate(flat.labels) if split_label(label)[0] not in PLACE]
    if outside:
        t = int(np.argmax(np.isin(flat.codes, outside)))
        i, position = flat.place(t)
        raise SpanError(
            f"sentence {i}, position {position}: the label {flat.labels[flat.codes[t]]!r} is outside of words; "
            "word segmentation needs labels such as B, M, E and S",
            i,
            position,
        )
    spans = find_spans(flat)
    text = list(chain.from_iterable(characters))
    words: list[list[tuple[str, ...]]] = [[] for _ in labels]
    for start, stop, i in zip(spans.starts.tolist(), spans.stops.tolist(), spans.sequences.tolist()):
        words[i].append(tuple(text[start:stop]))
    return words
