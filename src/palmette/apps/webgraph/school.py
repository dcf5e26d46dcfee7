"""The pages of one web site as a graph: which pages are kept, what links what, what stands next to each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from palmette.apps.webgraph.page import Page, read_page
from palmette.apps.webgraph.urls import normal_url

OTHER = "other"


class Mention(NamedTuple):
    """A link between kept pages: rows of its source and target, words of its anchor and of the heading before it."""

    source: int
    target: int
    anchor: list[str]
    heading: list[str]


@dataclass(frozen=True)
class School:
    """Pages that are kept, and all links between them.

    Attributes
    ----------
    name : str
    urls, labels : list of str
    pages : list of Page
    mentions : list of Mention
        By source, in the order of its page; links of a page to itself are left out.
    counts : dict of str to int
        What was met on the way: pages given, copies of an address, pages kept; links in them, links to themselves,
        links to other kept pages, and pairs of pages so linked.
    """

    name: str
    urls: list[str]
    labels: list[str]
    pages: list[Page]
    mentions: list[Mention]
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def links(self) -> np.ndarray:
        """Distinct links, shape (n_links, 2): rows of source and target."""
        pairs = sorted({(mention.source, mention.target) for mention in self.mentions})
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    @property
    def neighbours(self) -> np.ndarray:
        """Pages linked next to each other on some page, shape (n_pairs, 2), the lower row first.

        Next to each other are two links with no link to a third kept page between them.
        """
        pairs = set()
        for one, two in zip(self.mentions, self.mentions[1:]):
            if one.source == two.source and one.target != two.target:
                pairs.add((min(one.target, two.target), max(one.target, two.target)))
        return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)


def build_school(
    name: str, htmls: Sequence[str], urls: Sequence[str], labels: Sequence[str], *, min_links: int = 3
) -> School:
    """Select pages of a site and resolve the links between them.

    Of pages with the same normal address one is kept: the longest of those with a class, else the longest. A page of
    class ``"other"`` stays only while it links to at least `min_links` kept pages, and this is repeated until nothing
    changes; pages of other classes all stay. Rows are in the order of addresses.

    Parameters
    ----------
    name : str
    htmls, urls, labels : sequence of str
    min_links : int, default=3

    Examples
    --------
    >>> html = ["<a href=b.html>Bob</a> and <a href=c.html>Cid</a>", "hello", "<a href=a.html#x>Ann</a>"]
    >>> urls = [f"http://x.edu/{name}.html" for name in "abc"]
    >>> school = build_school("x", html, urls, ["other", "student", "student"], min_links=2)
    >>> school.links, school.neighbours, school.counts["pages kept"]
    (array([[0, 1],
           [0, 2],
           [2, 0]]), array([[1, 2]]), 3)
    """
    if not len(htmls) == len(urls) == len(labels):
        raise ValueError(
            f"{name}: one address and one label per page are needed, got {len(htmls)} pages, {len(urls)} addresses and "
            f"{len(labels)} labels"
        )
    order: dict[str, int] = {}
    for row, url in enumerate(urls):
        address = normal_url(url) or url
        rank = (labels[row] != OTHER, len(htmls[row]))
        best = order.get(address)
        if best is None or rank > (labels[best] != OTHER, len(htmls[best])):
            order[address] = row
    rows = sorted(order.values())
    address_of = {row: address for address, row in order.items()}
    pages = {row: read_page(htmls[row], urls[row]) for row in rows}
    targets = {
        row: {order[link.url] for link in pages[row].links if link.url in order} - {row} for row in rows
    }
    kept = set(rows)
    while True:
        dropped = {row for row in kept if labels[row] == OTHER and len(targets[row] & kept) < min_links}
        if not dropped:
            break
        kept -= dropped
    # Collections are sorted by class: rows in that order would tell the labels to whatever goes by row.
    chosen = sorted(kept, key=lambda row: address_of[row])
    number = {address_of[row]: i for i, row in enumerate(chosen)}
    mentions, n_self = [], 0
    for i, row in enumerate(chosen):
        for link in pages[row].links:
            target = number.get(link.url)
            if target == i:
                n_self += 1
            elif target is not None:
                mentions.append(Mention(i, target, link.anchor, link.heading))
    school = School(
        name,
        [urls[row] for row in chosen],
        [labels[row] for row in chosen],
        [pages[row] for row in chosen],
        mentions,
    )
    pairs = {frozenset(pair) for pair in school.links.tolist()}
    school.counts.update(
        {
            "pages given": len(urls),
            "copies of an address": len(urls) - len(rows),
            "pages kept": len(chosen),
            "links": sum(len(page.links) for page in school.pages),
            "links to itself": n_self,
            "links to kept pages": len(school.links),
            "linked pairs": len(pairs),
            "reciprocal pairs": len(school.links) - len(pairs),
            "neighbouring pairs": len(school.neighbours),
        }
    )
    return school
