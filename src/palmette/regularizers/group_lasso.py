"""Group lasso: whole templates or whole attributes leave the model together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from palmette.registry import register
from palmette.regularizers.elastic import ElasticNet
from palmette.regularizers.grouped import GroupedElasticNet

_TEMPLATE = re.compile(r"[^:=]*")


@register("regularizer")
class GroupLasso(BaseEstimator):
    """Adds ``weight * sum_g sqrt(|g|) |w_g|_2`` to the objective, over groups ``g`` of weights.

    The norm of a group is not squared, so a group of little use is exactly zero as a whole. The factor
    ``sqrt(|g|)``, the root of the number of weights in the group, makes groups of all sizes equally easy to
    drop: a group lives if its gradient is more than ``weight`` per weight (root mean square). With groups of one
    weight this is the L1 penalty ``l1 = weight``. It goes with ``l2`` (the default of a learner is ``l2=1``;
    ``l2=0`` is the group lasso alone) and ``l1``.

    Parameters
    ----------
    weight : float
        Strength, a finite number >= 0.
    by : {"template", "attribute"} or sequence, default="template"
        What a group is: ``"attribute"``: all labels of one feature column; ``"template"``: all attributes whose name
        has the same beginning up to the first ``:`` or ``=`` (``w:the`` and ``w:dog``; a name without either is a
        template of its own, and so is each column of an array); or a sequence with one group name for each column.
        Transitions are one group, intercepts another, as is every other kind of weight; features on edges are grouped
        like those on positions, but apart from them.

    Examples
    --------
    >>> from palmette import CRF, Chain
    >>> X = [[["w:sunny", "day:1"], ["w:rainy", "day:2"]], [["w:rainy", "day:3"], ["w:sunny", "day:4"]]]
    >>> Y = [["out", "in"], ["in", "out"]]
    >>> model = CRF(Chain(), l2=0, regularizer=GroupLasso(0.25)).fit(X, Y)
    >>> [bool(model.coef_[group].any()) for group in GroupLasso(0.25).groups(model.scorer_, model.encoder_).values()]
    [True, False, False]
    """

    def __init__(self, weight: Any, by: Any = "template") -> None:
        self.weight = weight
        self.by = by
        self.check()

    def check(self) -> None:
        """Refuse a weight or a grouping that cannot be meant."""
        weight, by = self.weight, self.by
        if isinstance(weight, bool) or not isinstance(weight, Real) or not 0.0 <= float(weight) < np.inf:
            raise ValueError(f"GroupLasso: weight must be a finite number >= 0, got {weight!r}")
        if isinstance(by, str) and by not in ("template", "attribute"):
            raise ValueError(
                f"GroupLasso: by must be 'template', 'attribute' or one group name for each column, got {by!r}"
            )
        if not isinstance(by, str | Sequence | np.ndarray):
            raise TypeError(
                f"GroupLasso: by must be 'template', 'attribute' or one group name for each column, got {by!r}"
            )

    def groups(self, scorer: Any, encoder: Any) -> dict[Any, np.ndarray]:
        """Positions of the weights of every group, by its name; transitions are ``"(edge)"``, intercepts ``"(bias)"``.

        Parameters
        ----------
        scorer, encoder
            The layout of the weights and the feature columns: ``scorer_`` and ``encoder_`` of a fitted learner.
        """
        names, group = self._numbered(scorer, encoder)
        order = np.argsort(group, kind="stable")
        bounds = np.cumsum(np.bincount(group, minlength=len(names)))[:-1]
        return dict(zip(names, np.split(order, bounds)))

    def bind(self, penalty: ElasticNet, scorer: Any, encoder: Any) -> GroupedElasticNet:
        """This penalty and L2 and L1 for the weights of a scorer."""
        names, group = self._numbered(scorer, encoder)
        size = np.bincount(group, minlength=len(names))
        return GroupedElasticNet(penalty.l2, penalty.l1, group, self.weight * np.sqrt(size))

    def _numbered(self, scorer: Any, encoder: Any) -> tuple[list[Any], np.ndarray]:
        """Names of the groups that have weights, and the number of each weight's group."""
        self.check()
        own, number = _first_seen(self._column_groups(encoder))
        group = np.empty(scorer.n_params, np.int64)
        names: list[Any] = list(own)
        for block, place in scorer.blocks.items():
            if block == "node":
                group[place] = number[scorer.coordinates()[0]]
            elif block == "edge_features":
                group[place] = len(names) + number[scorer.edge_coordinates()[0]]
                names += [f"{name} (edge)" for name in own]
            elif place.stop > place.start:
                group[place] = len(names)
                names.append(f"({block})")
        used, group = np.unique(group, return_inverse=True)
        return [names[g] for g in used], group

    def _column_groups(self, encoder: Any) -> Iterable[Any]:
        """A group name for every column."""
        n = encoder.n_columns
        if not isinstance(self.by, str):
            if len(self.by) != n:
                raise ValueError(
                    f"GroupLasso: by names groups for {len(self.by)} columns, but the features have {n}"
                )
            return np.asarray(self.by).tolist() if isinstance(self.by, np.ndarray) else self.by
        names = encoder.feature_names
        if self.by == "attribute":
            return range(n) if names is None else names
        if names is not None:
            return (_TEMPLATE.match(name)[0] for name in names)  # type: ignore[index]
        if getattr(encoder, "named", False):
            raise ValueError(
                f"GroupLasso: {encoder.kind} features keep no names, so by='template' cannot group them; use "
                "by='attribute', or named features"
            )
        return range(n)


def _first_seen(names: Iterable[Any]) -> tuple[dict[Any, int], np.ndarray]:
    """Number the different names in order of appearance; the numbers, and the number of each."""
    place: dict[Any, int] = {}
    number = np.array([place.setdefault(name, len(place)) for name in names], np.int64)
    return place, number
