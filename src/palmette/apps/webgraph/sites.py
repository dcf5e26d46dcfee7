"""Collections of sites as graphs of pages, ready for learners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from palmette.apps.webgraph.edges import merge_edges
from palmette.apps.webgraph.school import School
from palmette.apps.webgraph.words import Vocabulary, page_words

PAPER_WORDS = ("text", "incoming")
RICH_WORDS = ("text", "incoming", "title", "headings", "outgoing", "heading before")


@dataclass(frozen=True)
class Site:
    """The pages of one school for a learner.

    Attributes
    ----------
    name : str
    words : list of set of str
        Of each page.
    labels : list of str
    pairs, features : ndarray
        Edges and their features (:class:`~palmette.apps.webgraph.Edges`).
    """

    name: str
    words: list[set[str]]
    labels: list[str]
    pairs: np.ndarray
    features: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Collection:
    """Schools with the same kinds of words and edges."""

    sites: tuple[Site, ...]
    min_count: int = 2

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the schools."""
        return tuple(site.name for site in self.sites)

    @property
    def classes(self) -> list[str]:
        """All labels."""
        return sorted({label for site in self.sites for label in site.labels})

    def __getitem__(self, name: str) -> Site:
        if name not in self.names:
            raise ValueError(f"no school is called {name!r}; there are {', '.join(self.names)}")
        return self.sites[self.names.index(name)]

    def matrices(self, train: Sequence[str]) -> dict[str, sparse.csr_matrix]:
        """Words of all schools in the columns of the words of those named `train`.

        Examples
        --------
        >>> none = np.empty((0, 2), int)
        >>> sites = [Site(name, [{name, "a"}], ["course"], none, none) for name in ("x", "y", "z")]
        >>> found = Collection(tuple(sites), min_count=1).matrices(["x", "y"])
        >>> found["z"].toarray()
        array([[1., 0., 0.]])
        """
        vocabulary = Vocabulary([words for name in train for words in self[name].words], self.min_count)
        return {site.name: vocabulary.matrix(site.words) for site in self.sites}


def page_collection(schools: Sequence[School], kinds: Sequence[str], neighbours: bool) -> Collection:
    """Graphs with words of some `kinds` and, if wanted, edges between neighbouring links."""
    sites = []
    for school in schools:
        edges = merge_edges(len(school.pages), school.links, school.neighbours if neighbours else None)
        sites.append(Site(school.name, page_words(school, kinds), school.labels, edges.pairs, edges.features))
    return Collection(tuple(sites))
