"""Scores of samples in domains: the scorer of a structure with a vector of weights for every node of a tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class DomainBatch:
    """Encoded inputs of samples that know their domain; everything else is that of the batch within.

    Parameters
    ----------
    inner : Batch
    domain : ndarray of int64, shape (n_samples,)
        Number of each sample's domain.
    """

    inner: Any
    domain: np.ndarray

    def __len__(self) -> int:
        return len(self.inner)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "inner":  # asked for while an object is being unpickled
            raise AttributeError(name)
        return getattr(self.inner, name)

    @cached_property
    def apart(self) -> np.ndarray:
        """Numbers of the samples that are of another domain than the one before."""
        return np.union1d(1 + np.flatnonzero(np.diff(self.domain)), self.inner.apart)

    def slice(self, start: int, stop: int) -> DomainBatch:
        """Samples ``start:stop``; arrays are views of the same memory."""
        return DomainBatch(self.inner.slice(start, stop), self.domain[start:stop])

    def take(self, samples: np.ndarray) -> DomainBatch:
        """Copies of the samples of these numbers, in their order."""
        return DomainBatch(self.inner.take(samples), self.domain[samples])

    def without(self, empty: np.ndarray) -> DomainBatch:
        """The samples for which ``empty`` is false."""
        return DomainBatch(self.inner.without(empty), self.domain[~empty])

    def in_pieces(self, decomposition: Any, seed: int, epoch: int) -> tuple[DomainBatch, np.ndarray]:
        """The inputs in pieces that a decomposition draws for this epoch, and the sample of each piece."""
        pieces, sample = self.inner.in_pieces(decomposition, seed, epoch)
        return DomainBatch(pieces, self.domain[sample]), sample

    def recut(self, offsets: np.ndarray, sample: np.ndarray) -> DomainBatch:
        """The same rows cut elsewhere; ``sample`` is the number of the sample that each new one is part of."""
        return DomainBatch(self.inner.recut(offsets, sample), self.domain[sample])


@dataclass(frozen=True, eq=False)
class TransferScorer:
    """``theta(x, d) = sum of scale_n theta_n(x)`` over the nodes n from the root to the domain d.

    ``theta_n`` are the potentials of the scorer of the structure with the weights of node n. The weight vector has
    those of all nodes one after the other, the root first. The scales are a change of coordinates: a node with weights
    ``u`` here has ``v = scale u`` in the model, and a penalty ``rho/2 |v|^2`` is ``rho scale^2/2 |u|^2``. With
    ``scale^2 = l2/rho`` all weights have the same penalty, whatever ``rho`` is, and a step along the gradient moves
    ``v`` by ``l2/rho`` times what it moves the weights of the root, as in the dual.

    Samples of one batch are of one domain; :attr:`DomainBatch.apart` says where batches are to be cut.

    Parameters
    ----------
    inner : Scorer
        Of the structure; P weights.
    paths : tuple of tuple of int
        The nodes of every domain, the root first.
    scale : ndarray of float64, shape (n_nodes,)
        Positive; that of the root is 1.
    """

    inner: Any
    paths: tuple[tuple[int, ...], ...]
    scale: np.ndarray

    @cached_property
    def n_own(self) -> int:
        """Number of weights of a node."""
        return int(self.inner.n_params)

    @property
    def n_params(self) -> int:
        """Number of weights of all nodes."""
        return len(self.scale) * self.n_own

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.inner.n_labels

    @property
    def has_edges(self) -> bool:
        """Whether there are weights for label pairs."""
        return self.inner.has_edges

    @cached_property
    def blocks(self) -> dict[str, slice]:
        """The blocks of the root, and ``"domains"``: the weights of all other nodes."""
        return {**self.inner.blocks, "domains": slice(self.n_own, self.n_params)}

    @property
    def rows_a_block(self) -> int:
        """Rows to score at once, where the scorer of the structure has a wish."""
        return self.inner.rows_a_block

    @property
    def weight_columns(self) -> Callable[[], np.ndarray]:
        """Column of every weight, where the scorer of the structure knows it."""
        own = self.inner.weight_columns
        return lambda: np.tile(own(), len(self.scale))

    @property
    def coordinates(self) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
        """Column and label of the weights of the root that belong to features."""
        return self.inner.coordinates

    def score(self, w: np.ndarray, batch: DomainBatch) -> Any:
        """Potentials of a batch of samples of one domain."""
        parts = self._parts(w)
        if not len(batch) or (
            not _is_one(batch.domain) and not np.any(w)
        ):  # asked for the shape of potentials
            return self.inner.score(parts[0], batch.inner)
        path = self._path(batch)
        if len(batch) > 1:  # adding vectors once is faster than scoring many rows again
            return self.inner.score(self.summed(parts, path), batch.inner)
        theta = self.inner.score(parts[0], batch.inner)
        for node in path[1:]:
            theta = _plus(theta, self.scale[node], self.inner.score(parts[node], batch.inner))
        return theta

    def pull_back(self, counts: Any, batch: DomainBatch, out: np.ndarray) -> None:
        """Add the adjoint of counts to ``out``: that of the structure's scorer, to every node of the domain."""
        if not len(batch):
            return
        parts, path = self._parts(out), self._path(batch)
        if len(batch) > 1:
            own = np.zeros(self.n_own)
            self.inner.pull_back(counts, batch.inner, own)
            for node in path:
                parts[node] += own if node == 0 else self.scale[node] * own
            return
        self.inner.pull_back(counts, batch.inner, parts[0])
        for node in path[1:]:
            self.inner.pull_back(_times(self.scale[node], counts), batch.inner, parts[node])

    def touched(self, batch: DomainBatch) -> np.ndarray:
        """Positions of the weights that the samples of ``batch`` can change."""
        own = self.inner.touched(batch.inner)
        nodes = sorted({node for domain in set(batch.domain.tolist()) for node in self.paths[domain]})
        return np.concatenate([own + node * self.n_own for node in nodes])

    def summed(self, parts: np.ndarray, path: tuple[int, ...]) -> np.ndarray:
        """The weights of a domain: those of its nodes, each times its scale."""
        total = parts[0].copy()
        for node in path[1:]:
            total += self.scale[node] * parts[node]
        return total

    def _parts(self, w: np.ndarray) -> np.ndarray:
        return w.reshape(len(self.scale), self.n_own)

    def _path(self, batch: DomainBatch) -> tuple[int, ...]:
        if not _is_one(batch.domain):
            raise ValueError(
                "samples of several domains have no common potentials: cut the batch where it says"
            )
        return self.paths[int(batch.domain[0])]


def _is_one(domain: np.ndarray) -> bool:
    return len(domain) == 1 or bool(np.all(domain == domain[0]))


def _plus(theta: Any, scale: float, other: Any) -> Any:
    """``theta + scale other`` of potentials: dataclasses whose arrays of floats are scores."""
    own = {f.name: (getattr(theta, f.name), getattr(other, f.name)) for f in fields(theta)}
    return replace(theta, **{name: _sum(a, scale, b) for name, (a, b) in own.items() if _is_scores(a)})


def _times(scale: float, counts: Any) -> Any:
    """``scale counts``."""
    own = {f.name: getattr(counts, f.name) for f in fields(counts)}
    return replace(counts, **{name: _product(scale, a) for name, a in own.items() if _is_scores(a)})


def _is_scores(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_is_scores, value))
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _sum(a: Any, scale: float, b: Any) -> Any:
    if isinstance(a, tuple):
        return tuple(_sum(x, scale, y) if _is_scores(x) else x for x, y in zip(a, b, strict=True))
    return a + scale * b


def _product(scale: float, a: Any) -> Any:
    if isinstance(a, tuple):
        return tuple(_product(scale, x) if _is_scores(x) else x for x in a)
    return scale * a
