"""Two folds of samples that belong together in groups, for cross-validation as in papers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np


def two_folds(groups: Sequence[str] | np.ndarray) -> np.ndarray:
    """Two folds of whole groups: the largest group first, each to the fold that is smaller so far.

    Groups of one size are taken in alphabetical order, so the folds do not depend on the order of the samples.

    >>> two_folds(["a", "b", "a", "c"])
    array([0, 1, 0, 1])
    """
    sizes, fold = [0, 0], {}
    for group, size in sorted(Counter(map(str, groups)).items(), key=lambda item: (-item[1], item[0])):
        fold[group] = int(sizes[1] < sizes[0])
        sizes[fold[group]] += size
    return np.array([fold[str(group)] for group in groups], np.int64)


def connected(edges: Sequence[tuple[str, str]]) -> np.ndarray:
    """Groups of pairs: those that share a name, directly or by others; each is called by its smallest name.

    >>> connected([("a", "b"), ("c", "d"), ("b", "e")]).tolist()
    ['a', 'c', 'a']
    """
    leader: dict[str, str] = {}

    def root(name: str) -> str:
        while leader.setdefault(name, name) != name:
            leader[name] = name = leader[leader[name]]
        return name

    for one, two in edges:
        first, second = sorted((root(one), root(two)))
        leader[second] = first
    return np.array([root(one) for one, _ in edges])
