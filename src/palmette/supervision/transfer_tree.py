"""The tree of domains: which vectors of weights a domain adds up."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class DomainTree:
    """Nodes with weights of their own, the root first, and the nearest of them for every domain.

    Parameters
    ----------
    nodes : tuple
        Names of the nodes that have weights; that of a root without a name is None.
    paths : dict
        For every name in the tree the nodes from the root to its nearest node that has weights, as numbers.

    Examples
    --------
    >>> tree = DomainTree.of({"mail": "web", "blog": "web", "news": "all", "web": "all"}, ["news", "mail"])
    >>> tree.nodes, tree.path("mail"), tree.path("blog"), tree.path("speech")
    (('all', 'news', 'web', 'mail'), (0, 2, 3), (0, 2), (0,))
    """

    nodes: tuple[Any, ...]
    paths: dict[Any, tuple[int, ...]]

    @classmethod
    def of(cls, tree: Mapping[Any, Any] | None, seen: Sequence[Any]) -> DomainTree:
        """The tree of the domains ``seen`` in training, in this order; see :class:`palmette.Transfer`."""
        parents = dict.fromkeys(seen) if tree is None else _checked(tree, seen)
        tops = [name for name, parent in parents.items() if parent is None]
        root = tops[0] if tree is not None and len(tops) == 1 else None
        if root is None:
            parents = {None: None, **parents}
        lines = {name: _line(name, parents, root) for name in parents}
        used = dict.fromkeys(name for domain in seen for name in lines[domain])
        place = {name: number for number, name in enumerate(used)}
        paths = {name: tuple(place[node] for node in line if node in place) for name, line in lines.items()}
        return cls(tuple(used), paths)

    def path(self, domain: Any) -> tuple[int, ...]:
        """The nodes whose weights a domain adds up; those of its nearest known ancestor, or the root alone."""
        return self.paths.get(domain, (0,)) if isinstance(domain, Hashable) else (0,)


def _checked(tree: Any, seen: Sequence[Any]) -> dict[Any, Any]:
    """The parent of every node; None for those that have none."""
    if not isinstance(tree, Mapping):
        raise TypeError(
            f"tree must map every domain to its parent, such as {{'mail': 'web', 'blog': 'web'}}, got {tree!r:.60}"
        )
    parents = {name: parent for name, parent in tree.items()}
    if None in parents:
        raise ValueError("tree has a node None: None stands for no parent; give the node another name")
    for parent in tree.values():
        if parent is not None:
            parents.setdefault(parent, None)
    missing = [domain for domain in seen if domain not in parents]
    if missing:
        raise ValueError(
            f"tree does not contain the domain {missing[0]!r} of the samples: add it with its parent "
            f"({{{missing[0]!r}: ...}}), or None for a parent if it stands at the top"
        )
    for name in parents:
        line, node = [name], parents[name]
        while node is not None:
            if node in line:
                cycle = " -> ".join(repr(each) for each in [*line[line.index(node) :], node])
                raise ValueError(
                    f"tree has a cycle, {cycle}: every node needs a way up to one without a parent"
                )
            line.append(node)
            node = parents[node]
    return parents


def _line(name: Any, parents: Mapping[Any, Any], root: Any) -> list[Any]:
    """The nodes from the root down to ``name``."""
    line = [name]
    while line[-1] != root:
        line.append(parents[line[-1]])
    return line[::-1]


def domain_list(domains: Any, n_samples: int | None, *, needed: str) -> list[Any]:
    """One domain per sample, as plain values; a single text stands for that of all samples."""
    if domains is None:
        raise ValueError(needed)
    if isinstance(domains, str):
        if n_samples is None:
            raise TypeError(
                "domains must be a list with one entry per sample, got one text, and X has no length"
            )
        return [domains] * n_samples
    if not hasattr(domains, "__iter__") or isinstance(domains, bytes | Mapping | set | frozenset):
        raise TypeError(f"domains must be a list with one entry per sample, got {domains!r:.60}")
    found = np.asarray(domains).tolist() if isinstance(domains, np.ndarray) else list(domains)
    found = [domain.item() if isinstance(domain, np.generic) else domain for domain in found]
    check_count(found, n_samples)
    for place, domain in enumerate(found):
        if not isinstance(domain, Hashable):
            raise TypeError(f"domains[{place}] is {domain!r:.60}; a domain is a name or a number")
        if domain != domain:  # NaN, which no other domain equals
            raise ValueError(
                f"domains[{place}] is {domain!r}: a domain is a name or a number, and not missing"
            )
    return found


def check_count(domains: Sized, n_samples: int | None) -> None:
    """Refuse a list of domains that does not fit the samples."""
    if n_samples is not None and len(domains) != n_samples:
        raise ValueError(
            f"domains has {len(domains)} entries, but there are {n_samples} samples: give one per sample"
        )
