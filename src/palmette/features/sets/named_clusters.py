"""Word clusters as columns whose names do not depend on how many clusters there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from palmette.features.clusters import WordClusters
from palmette.registry import register

Text = Sequence[Sequence[Any]]
NAMES = ("coarse", "medium", "fine")


@register("columns", "named_clusters")
class NamedClusters(BaseEstimator):
    """Up to three columns behind those of a word: its clusters, the fewest first; see `WordClusters`.

    Parameters
    ----------
    sizes : tuple of int
        The usual numbers of clusters, the smallest first.
    n_components : int, default=50
    clusters : "auto", None, int or tuple of int, default="auto"
        Numbers of clusters; "auto" those of ``sizes`` that the text has enough words for, perhaps none.
    text : list of list of str, or callable, optional
        More sentences to learn clusters from, or what returns them.
    random_state : int, default=0

    Examples
    --------
    >>> text = [f"{who} {did} the {what}".split() for who in ("he", "she") for did in ("saw", "heard")
    ...         for what in ("cat", "dog", "bird")]
    >>> maker = NamedClusters((3, 1000), n_components=3).fit(text)
    >>> maker.column_names_, [len(token) for token in maker.transform([[("the",), ("dog",)]])[0]]
    (('coarse',), [2, 2])
    """

    column_names = NAMES

    def __init__(
        self,
        sizes: tuple[int, ...] = (64, 256),
        *,
        n_components: int = 50,
        clusters: Any = "auto",
        text: Text | Callable[[], Text] | None = None,
        random_state: int = 0,
    ) -> None:
        self.sizes = sizes
        self.n_components = n_components
        self.clusters = clusters
        self.text = text
        self.random_state = random_state

    def fit(self, X: Text, y: Any = None) -> NamedClusters:
        """Learn clusters of the words of some sentences, and of ``text``."""
        given = checked_sizes(self.clusters)
        sizes = self.sizes if given == "auto" else given
        self._keep(None)
        if not sizes:
            return self
        more = self.text() if callable(self.text) else self.text
        text = [*X, *(more or [])]
        clusters = WordClusters(sizes, n_components=self.n_components, random_state=int(self.random_state))
        if given == "auto":
            known = clusters.n_known(text)
            sizes = tuple(size for size in sizes if max(size, self.n_components) <= known)
            if not sizes:
                return self
        try:
            self._keep(clusters.set_params(n_clusters=sizes).fit(text))
        except ValueError as error:
            reason = str(error).split("; ")[0]
            raise ValueError(
                f"cannot learn {sizes} word clusters: {reason}; give more text (--cluster-text), or leave "
                "clusters out, so that the feature set takes as many as the text allows"
            ) from error
        return self

    def transform(self, X: Text) -> Any:
        """Sentences with the clusters of the words, the last columns."""
        check_is_fitted(self)
        return X if self.clusters_ is None else self.clusters_.transform(X)

    def _keep(self, clusters: WordClusters | None) -> None:
        sizes = () if clusters is None else checked_sizes(clusters.n_clusters)
        self.clusters_ = clusters
        self.column_names_ = NAMES[: len(sizes)]
        self.notes_ = {name: f"{size} clusters" for name, size in zip(NAMES, sizes)}

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays, from which `from_state` makes the clusters again, but not the text."""
        found, arrays = (None, {}) if self.clusters_ is None else self.clusters_.state()
        return {"sizes": list(self.sizes), "n_components": self.n_components, "found": found}, arrays

    @classmethod
    def from_state(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> NamedClusters:
        """The maker from what `state` returned."""
        maker = cls(tuple(header["sizes"]), n_components=header["n_components"])
        found = header["found"]
        maker._keep(None if found is None else WordClusters.from_state(found, arrays))
        return maker


def checked_sizes(clusters: Any) -> Any:
    """Numbers of clusters as a tuple, "auto" as it is; ValueError if they make no sense.

    >>> checked_sizes(None), checked_sizes(64), checked_sizes([64, 256]), checked_sizes("auto")
    ((), (64,), (64, 256), 'auto')
    """
    if clusters is None:
        return ()
    if isinstance(clusters, str) and clusters == "auto":
        return clusters
    sizes: Sequence[Any] = list(clusters) if isinstance(clusters, list | tuple | np.ndarray) else [clusters]
    if not all(isinstance(size, Integral) and not isinstance(size, bool) and int(size) > 0 for size in sizes):
        raise ValueError(
            f"clusters must be 'auto', None, or numbers such as 64 or (64, 256), got {clusters!r:.60}"
        )
    if len(sizes) > len(NAMES) or sizes != sorted(set(sizes)):
        raise ValueError(f"clusters={clusters!r:.60}: give at most {len(NAMES)} numbers, the smallest first")
    return tuple(map(int, sizes))
