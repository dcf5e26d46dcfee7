"""Words of pages as binary features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from palmette.apps.webgraph.school import School

KINDS = ("text", "incoming", "title", "headings", "outgoing", "heading before")
"""Where words stand: anywhere on the page; in anchors of links to it; in its title; in its headings; in anchors of its
links to kept pages; in the heading before a link to it."""


def page_words(school: School, kinds: Sequence[str] = KINDS) -> list[set[str]]:
    """The words of each page, named ``kind:word``.

    Parameters
    ----------
    school : School
    kinds : sequence of str
        A choice from `KINDS`.

    Examples
    --------
    >>> from palmette.apps.webgraph import build_school
    >>> html = ["<h1>Staff</h1><a href=b.html>Bob</a>", "Hello"]
    >>> school = build_school("x", html, ["http://x/a.html", "http://x/b.html"], ["course", "student"])
    >>> sorted(page_words(school, ["text", "incoming", "heading before"])[1])
    ['heading before:staff', 'incoming:bob', 'text:hello']
    """
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise ValueError(f"kinds of words must be from {', '.join(map(repr, KINDS))}, got {unknown[0]!r}")
    found: list[set[str]] = [set() for _ in school.pages]
    for words, page in zip(found, school.pages):
        for kind in ("text", "title", "headings"):
            if kind in kinds:
                words.update(f"{kind}:{word}" for word in getattr(page, kind))
    for source, target, anchor, heading in school.mentions:
        for row, kind, said in (
            (target, "incoming", anchor),
            (source, "outgoing", anchor),
            (target, "heading before", heading),
        ):
            if kind in kinds:
                found[row].update(f"{kind}:{word}" for word in said)
    return found


class Vocabulary:
    """Columns of words that occur on enough pages.

    Parameters
    ----------
    pages : sequence of sets of str
        Pages of the training graphs.
    min_count : int, default=2
        Pages that a word must be on.

    Examples
    --------
    >>> vocabulary = Vocabulary([{"a", "b"}, {"a"}], min_count=2)
    >>> vocabulary.names, vocabulary.matrix([{"a", "c"}, {"b"}]).toarray()
    (['a'], array([[1.],
           [0.]]))
    """

    def __init__(self, pages: Sequence[set[str]], min_count: int = 2) -> None:
        counts = Counter(word for words in pages for word in words)
        self.names = sorted(word for word, count in counts.items() if count >= min_count)
        self._column = {word: column for column, word in enumerate(self.names)}

    def matrix(self, pages: Sequence[set[str]]) -> sparse.csr_matrix:
        """Rows of pages, 1.0 where a page has a word; unknown words are left out."""
        rows = [sorted(self._column[word] for word in words if word in self._column) for words in pages]
        ends = np.cumsum([0, *map(len, rows)])
        columns = np.array([column for row in rows for column in row], dtype=np.int32)
        return sparse.csr_matrix((np.ones(len(columns)), columns, ends), shape=(len(rows), len(self.names)))
