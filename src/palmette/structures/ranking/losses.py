"""What a ranking loses against the best one for the grades of its documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from palmette.contracts.structure import Structure
from palmette.losses.base import no_way
from palmette.registry import register
from palmette.structures.ranking.augmented_maximum import (
    AVERAGE_PRECISION,
    DISCORDANT,
    GAIN,
    BoundRankingLoss,
)
from palmette.structures.ranking.position_weights import discounts
from palmette.structures.ranking.ranking import Ranking

_ALL = np.iinfo(np.int64).max  # a cut-off that cuts nothing


class _Normalised:
    """What losses share that are 0 for the best order and at most 1."""

    def scale(self, ideal: np.ndarray) -> np.ndarray:
        """What a unit is worth, of gain, relevant documents or pairs: one by what the best order has."""
        return np.divide(1.0, ideal, out=np.zeros_like(ideal), where=ideal > 0)


@register("loss")
@dataclass(frozen=True)
class NDCG(_Normalised):
    """``D = 1 - DCG@k / IDCG@k``, where ``DCG@k = sum over ranks r <= k of gain(grade) discount(r)``, IDCG the highest.

    A query without relevant documents has loss 0 whatever its order.

    Parameters
    ----------
    k : int or None, default=None
        Ranks that count; None for all.
    gain : {"exponential", "linear"} or sequence, default="exponential"
        ``2^g - 1``, or ``g``, or the gains of the grades 0, 1, 2, ..., which must not be negative and not fall.
    discount : {"letor", "standard"}, number, array or callable, default="letor"
        ``1 / max(1, log2 r)``, or ``1 / log2(1 + r)``, or as ``position_weights`` of :class:`~palmette.Ranking`.

    Notes
    -----
    The augmented maximum is exact, by the cheapest of three ways for each query: a **sort** by ``s_d - gain_d / IDCG``
    where the discount is that of the structure's position weights and nothing is cut off; a **merge** of the documents
    of each grade, which stay in score order (states: how many of each grade stand in the first k ranks); a linear
    **assignment** where a query has too many grades for that. A query of 1,000 documents takes 0.3 ms by a sort or with
    ``k=10``, and 300 ms by an assignment: for large queries choose a cut-off, or ``Ranking("letor")``.

    Examples
    --------
    >>> from palmette.structures import Ranking, RankingTables
    >>> from palmette.structures.ranking.codec import RankingCodec
    >>> loss, theta = NDCG(k=10).bind(Ranking(), ()), RankingTables(np.array([3.0, 2.0, 1.0]), np.array([0, 3]))
    >>> true = RankingCodec().encode_outputs([[0, 0, 1]], [3])
    >>> loss.value(Ranking(), theta, true, Ranking().best(theta).codes).round(3)  # 1 - 1 / log2(3)
    array([0.369])
    """

    called: ClassVar[str] = "ndcg"

    k: int | None = None
    gain: Any = "exponential"
    discount: Any = "letor"

    def bind(self, structure: Structure, classes: tuple[Any, ...]) -> BoundRankingLoss:
        """The loss on codes."""
        _check_structure(self, structure)
        cut = _cut(self.k, "NDCG")
        _gains(self.gain, 2)
        discounts(self.discount, 1, "NDCG: discount")
        return BoundRankingLoss(GAIN, self, cut)

    def gains(self, highest: int) -> np.ndarray:
        """Gains of the grades 0..highest."""
        return _gains(self.gain, highest + 1)

    def ranks(self, n: int) -> np.ndarray:
        """Discounts of the ranks 1..n."""
        return discounts(self.discount, n, "NDCG: discount")

    def levels(self, grades: np.ndarray) -> np.ndarray:
        """Grades that the loss tells apart: all."""
        return grades


class _Binary(_Normalised):
    """What losses share that know relevant and other documents only."""

    relevant: int

    def gains(self, highest: int) -> np.ndarray:
        """1 for relevant documents."""
        return np.array([0.0, 1.0])

    def ranks(self, n: int) -> np.ndarray:
        """1 at every rank."""
        return np.ones(n)

    def levels(self, grades: np.ndarray) -> np.ndarray:
        """1 if relevant, else 0."""
        return (grades >= self.relevant).astype(grades.dtype)

    def _check(self, structure: Structure) -> None:
        _check_structure(self, structure)
        lowest = self.relevant
        if not isinstance(lowest, Integral) or lowest < 1:
            raise ValueError(
                f"{type(self).__name__}: relevant must be a grade of at least 1 (0 means not relevant), got {lowest!r}"
            )


@register("loss")
@dataclass(frozen=True)
class MeanAveragePrecision(_Binary):
    """``D = 1 - AP``, ``AP = 1/R sum over relevant documents at rank r of (relevant ones up to r) / r``.

    R is the number of relevant documents; without any the loss is 0. The augmented maximum is an exact merge of the
    relevant and the other documents, both in score order.

    Parameters
    ----------
    relevant : int, default=1
        Lowest grade that counts as relevant.

    Examples
    --------
    >>> from palmette.structures import Ranking
    >>> MeanAveragePrecision().bind(Ranking(), ()).way
    'ranking'
    """

    called: ClassVar[str] = "map"

    relevant: int = 1

    def bind(self, structure: Structure, classes: tuple[Any, ...]) -> BoundRankingLoss:
        """The loss on codes."""
        self._check(structure)
        return BoundRankingLoss(AVERAGE_PRECISION, self, _ALL)


@register("loss")
@dataclass(frozen=True)
class PrecisionAt(_Binary):
    """``D = (min(k, R) - relevant documents among the first k) / k``: the precision at k that the best order has more.

    R is the number of relevant documents: where it is below k no order has precision 1, and the best loses nothing.

    Parameters
    ----------
    k : int, default=10
    relevant : int, default=1
        Lowest grade that counts as relevant.

    Examples
    --------
    >>> from palmette.structures import Ranking
    >>> PrecisionAt(5).bind(Ranking(), ()).cut
    5
    """

    called: ClassVar[str] = "precision"

    k: int = 10
    relevant: int = 1

    def bind(self, structure: Structure, classes: tuple[Any, ...]) -> BoundRankingLoss:
        """The loss on codes."""
        self._check(structure)
        if self.k is None:
            raise ValueError("PrecisionAt needs k, the number of documents that count")
        return BoundRankingLoss(GAIN, self, _cut(self.k, "PrecisionAt"))

    def scale(self, ideal: np.ndarray) -> np.ndarray:
        """One by k."""
        return np.full_like(ideal, 1.0 / self.k)


@register("loss")
@dataclass(frozen=True)
class Pairwise(_Normalised):
    """Share of discordant pairs: documents of different grade of which the less relevant one stands first.

    The augmented maximum is an exact merge of the documents of each grade; its states are all combinations of how many
    of each grade are placed, so that large queries need few grades.

    Parameters
    ----------
    levels_at : sequence of int, optional
        Grades at which a new level begins, to tell fewer apart: ``(1,)`` knows relevant and other documents only.

    Examples
    --------
    >>> from palmette.structures import Ranking, RankingTables
    >>> from palmette.structures.ranking.codec import RankingCodec
    >>> theta = RankingTables(np.array([3.0, 2.0, 1.0]), np.array([0, 3]))
    >>> true = RankingCodec().encode_outputs([[0, 2, 1]], [3])
    >>> Pairwise().bind(Ranking(), ()).value(Ranking(), theta, true, Ranking().best(theta).codes).round(3)
    array([0.667])
    """

    called: ClassVar[str] = "pairwise"

    levels_at: Sequence[int] | None = None

    def bind(self, structure: Structure, classes: tuple[Any, ...]) -> BoundRankingLoss:
        """The loss on codes."""
        _check_structure(self, structure)
        at = self.levels_at
        if at is not None and (
            not isinstance(at, Sequence | np.ndarray)
            or not len(at)
            or any(not isinstance(g, Integral) or g < 1 for g in at)
            or list(at) != sorted(set(at))
        ):
            raise ValueError(f"Pairwise: levels_at must be increasing grades of at least 1, got {at!r}")
        return BoundRankingLoss(DISCORDANT, self, _ALL)

    def gains(self, highest: int) -> np.ndarray:
        """Not used: pairs are counted."""
        return np.zeros(highest + 1)

    def ranks(self, n: int) -> np.ndarray:
        """Not used: pairs are counted."""
        return np.ones(n)

    def levels(self, grades: np.ndarray) -> np.ndarray:
        """Grades, or the levels that they belong to."""
        if self.levels_at is None:
            return grades
        return np.searchsorted(np.asarray(self.levels_at), grades, side="right").astype(grades.dtype)


def _check_structure(loss: Any, structure: Structure) -> None:
    if not isinstance(structure, Ranking):
        raise no_way(loss, structure)


def _cut(k: Any, name: str) -> int:
    if k is None:
        return _ALL
    if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
        raise ValueError(f"{name}: k must be a rank of at least 1 or None, got {k!r}")
    return int(k)


def _gains(spec: Any, n: int) -> np.ndarray:
    """Gains of n grades from 0 on; they must make the order by grades the best one."""
    if isinstance(spec, str):
        if spec not in ("exponential", "linear"):
            raise ValueError(
                f"NDCG: gain={spec!r} is unknown; choose 'exponential', 'linear' or a list of gains"
            )
        grade = np.arange(n, dtype=float)
        with np.errstate(over="ignore"):
            found = grade if spec == "linear" else np.exp2(grade) - 1.0
        if not np.all(np.isfinite(found)):
            raise ValueError(f"NDCG: the gain of grade {n - 1} is too large; use gain='linear'")
        return found
    try:
        found = np.array(spec, np.float64)
    except (TypeError, ValueError):
        found = np.empty((0, 0))
    if found.ndim != 1:
        raise TypeError(
            f"NDCG: gain must be 'exponential', 'linear' or a list of gains by grade, got {spec!r:.60}"
        )
    if len(found) < n:
        raise ValueError(
            f"NDCG: gain has {len(found)} numbers, but there is grade {n - 1}: give one for each grade"
        )
    if not np.all(np.isfinite(found)) or found.min() < 0 or np.any(np.diff(found) < 0):
        raise ValueError(
            f"NDCG: gains must be finite, at least 0 and not decrease with the grade, got {found.tolist()!r:.80}: "
            "otherwise the loss would be negative, or not 0 for the best order"
        )
    return found[:n]
