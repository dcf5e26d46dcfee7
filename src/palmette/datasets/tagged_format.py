"""Tagged corpora as distributed in archives of many files, all decoded to one canonical text.

The canonical text names the file before each sentence, then has a word and its tag, separated by a tab, on each
line, then an empty line::

    # file = wsj_0001
    Mr.     NNP
    Vinken  NNP

It is UTF-8 with line feeds. Files are in the order of their names.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Iterator

from palmette.datasets.decode import LIMIT, unzip

Pair = tuple[str, str]

_LEAF = re.compile(r"\(([^\s()]+) ([^\s()]+)\)")


def parse(text: bytes) -> Iterator[tuple[str, list[str]]]:
    """The file and the lines of each sentence of the canonical text that has words; lines without a word are left out.

    >>> list(parse(b"# file = ca01 category = news\\nThe\\tat\\njury\\tnn\\n\\n"))
    [('ca01', ['The\\tat', 'jury\\tnn'])]
    """
    for block in text.decode("utf-8").split("# file = ")[1:]:
        head, *lines = block.rstrip("\n").split("\n")
        if words := [line for line in lines if line and line[0] != "\t"]:
            yield head.partition(" ")[0], words


def from_brown_zip(raw: bytes) -> bytes:
    """Convert the Brown corpus of NLTK, whose files have ``word/tag`` and a sentence a line."""
    files = _members(raw, r"brown/(c[a-r]\d\d)")
    category = dict(
        line.split() for line in unzip(raw, "brown/cats.txt").decode("utf-8").splitlines() if line.strip()
    )
    sentences = (
        (f"{name} category = {category[name]}", _split(line, "/"))
        for name, text in files
        for line in text.splitlines()
        if line.strip()
    )
    return _write(sentences)


def from_masc_zip(raw: bytes) -> bytes:
    """Convert the MASC corpus of NLTK, whose files have ``word_tag`` and a sentence a line.

    Words without a tag are left out.
    """
    files = _members(raw, r"masc_tagged/(\w+/.*\.txt)")
    return _write(
        (name, _split(line, "_")) for name, text in files for line in text.split("\n") if line.split()
    )


def from_treebank_zip(raw: bytes) -> bytes:
    """Convert the Penn Treebank sample of NLTK: the leaves of its trees, without traces."""
    files = _members(raw, r"treebank/combined/(wsj_\d+)\.mrg")
    sentences = (
        (name, [(word, tag) for tag, word in _LEAF.findall(tree) if tag != "-NONE-"])
        for name, text in files
        for tree in _trees(text)
    )
    return _write(sentences)


def _split(line: str, separator: str) -> list[Pair]:
    parts = (token.rpartition(separator) for token in line.split())
    return [(word, tag) for word, found, tag in parts if found]


def _trees(text: str) -> Iterator[str]:
    depth = start = 0
    for bracket in re.finditer(r"[()]", text):
        if depth == 0:
            start = bracket.start()
        depth += 1 if bracket[0] == "(" else -1
        if depth == 0:
            yield text[start : bracket.end()]


def _write(sentences: Iterable[tuple[str, list[Pair]]]) -> bytes:
    lines = (
        f"# file = {name}\n" + "".join(f"{word}\t{tag}\n" for word, tag in pairs) + "\n"
        for name, pairs in sentences
    )
    return "".join(lines).encode("utf-8")


def _members(raw: bytes, pattern: str) -> list[tuple[str, str]]:
    """Name (the group of the pattern) and text of the matching members, sorted by name."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        if sum(info.file_size for info in archive.infolist()) > LIMIT:
            raise ValueError(f"it unpacks to more than {LIMIT:,} bytes")
        found = [(match[1], name) for name in archive.namelist() if (match := re.fullmatch(pattern, name))]
        return [(short, archive.read(name).decode("utf-8")) for short, name in sorted(found)]
