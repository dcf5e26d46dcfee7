"""What a web page says: words of its title, headings and text, and its links with their words.

Tags are found by a pattern rather than by a parser of correct documents: pages of 1997 leave out what they please.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

from palmette.apps.webgraph.urls import normal_url

_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)([^<>]*)>|<![^<>]*>")
_PIECE = re.compile(rf"<!--.*?-->|{_TAG.pattern}", re.S)
_ADDRESS = re.compile(r"(?:^|\s)(href|src)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>]+))", re.I)
_WORD = re.compile(r"[a-z]+|[0-9]+")
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_SILENT = frozenset({"script", "style"})
_LINKING = {"a": "href", "area": "href", "frame": "src"}


class Link(NamedTuple):
    """A link: the normal address of its target, the words of its anchor and of the heading before it."""

    url: str
    anchor: list[str]
    heading: list[str]


class Page(NamedTuple):
    """A page taken apart.

    Attributes
    ----------
    title, headings, text : list of str
        Words: of the title, of all headings, and of all that is shown, title, headings and anchors included.
    links : list of Link
        In the order of the page, links to itself and to unknown places included.
    """

    title: list[str]
    headings: list[str]
    text: list[str]
    links: list[Link]


def words_of(text: str) -> list[str]:
    """Words in lower case; numbers are told by their length only.

    >>> words_of("CS 415, Fall&nbsp;1996")
    ['cs', '000', 'fall', '0000']
    """
    found = _WORD.findall(unescape(text).lower())
    return ["0" * min(len(word), 5) if word.isdigit() else word for word in found]


def read_page(html: str, url: str) -> Page:
    """Take a page apart.

    Parameters
    ----------
    html : str
    url : str
        Its address, which relative links start from unless the page has a ``<base>``.

    Examples
    --------
    >>> page = read_page("<title>Ann</title><h2>My work</h2>See <a href=../x/>this</a>", "http://a.edu/ann/i.html")
    >>> page.title, page.headings, page.links
    (['ann'], ['my', 'work'], [Link(url='a.edu/x', anchor=['this'], heading=['my', 'work'])])
    """
    page = Page([], [], [], [])
    base, heading = url, []
    inside: dict[str, list[str]] = {}  # words of open titles and headings, by tag
    anchor: list[str] | None = None
    silent, end = "", 0

    def say(text: str) -> None:
        if silent or not text.strip():
            return
        words = words_of(text)
        page.text.extend(words)
        if anchor is not None:
            anchor.extend(words)
        for kept in inside.values():
            kept.extend(words)

    def close(tag: str) -> None:
        nonlocal heading
        words = inside.pop(tag, None)
        if words and tag == "title":
            page.title.extend(words)
        elif words:
            page.headings.extend(words)
            heading = words

    for piece in _pieces(html):
        say(html[end : piece.start()])
        end = piece.end()
        tag = (piece[2] or "").lower()
        if silent:
            silent = "" if piece[1] and tag == silent else silent
        elif piece[1]:
            if tag == "a":
                anchor = None
            close(tag)
        elif tag in _SILENT:
            silent = tag
        elif tag in _HEADINGS or tag == "title":
            for open_tag in list(inside):  # a heading that was never closed
                close(open_tag)
            inside[tag] = []
        elif tag == "base":
            base = _address(piece[3], "href") or base
        elif tag in _LINKING:
            if tag == "a":
                anchor = None
            address = _address(piece[3], _LINKING[tag])
            target = None if address is None else normal_url(address, base)
            if target is not None:
                words: list[str] = []
                # The heading that the link stands in is on its way: its list is filled until it closes.
                over = next((kept for name, kept in inside.items() if name in _HEADINGS), heading)
                page.links.append(Link(target, words, over))
                anchor = words if tag == "a" else anchor
        elif tag in ("body", "p", "ul", "ol", "table", "hr") and inside:
            for open_tag in list(inside):
                close(open_tag)
    say(html[end:])
    for open_tag in list(inside):
        close(open_tag)
    return page


def _pieces(html: str) -> Iterator[re.Match[str]]:
    """Tags and comments. No comment ends after the last ``-->``: to look on would cost the square of the page."""
    end = html.rfind("-->") + 3 if "-->" in html else 0
    yield from _PIECE.finditer(html, 0, end)
    yield from _TAG.finditer(html, end)


def _address(attributes: str, name: str) -> str | None:
    for key, *values in _ADDRESS.findall(attributes):
        if key.lower() == name:
            return unescape("".join(values))
    return None
