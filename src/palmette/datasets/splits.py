"""Parts of data sets: what is published, and a development part where none is.

==========  ===========================================================================================
subset      samples
==========  ===========================================================================================
``train``   the training part as published
``dev``     the development part; where none is published, the last tenth of ``train``
``fit``     what to train on while choosing on ``dev``: ``train`` without ``dev``
``test``    the test part
``all``     everything
==========  ===========================================================================================

``train`` and ``dev`` overlap where no development part is published: choose on ``dev`` with models trained on
``fit``, then train the chosen one on ``train``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils import Bunch

from palmette.datasets.registry import get_dataset

Loaded: TypeAlias = Bunch | tuple[list[Any], list[Any]]
"""What loaders return: everything, or inputs and outputs."""

SUBSETS = ("train", "fit", "dev", "test", "all")


@dataclass(frozen=True)
class Part:
    """Samples of one published part.

    Attributes
    ----------
    data, target : list
    details : dict of str to list
        More fields of the bunch, with an entry for each sample.
    unit : str or None
        The field of `details` that says what no split may cut, such as a document or a person; samples of a unit
        are neighbours.
    """

    data: list[Any]
    target: list[Any]
    details: dict[str, list[Any]]
    unit: str | None = None

    def cut(self, kept: slice) -> Part:
        """Some of the samples."""
        details = {key: values[kept] for key, values in self.details.items()}
        return Part(self.data[kept], self.target[kept], details, self.unit)


def needed(subset: str, published: Sequence[str]) -> tuple[str, ...]:
    """The published parts that a subset is taken from.

    >>> needed("dev", ("train", "test")), needed("dev", ("train", "dev", "test"))
    (('train',), ('dev',))
    """
    if not isinstance(subset, str) or subset not in SUBSETS:
        raise ValueError(f"subset must be one of {', '.join(map(repr, SUBSETS))}, got {subset!r}")
    if subset == "all":
        return tuple(published)
    return (subset if subset in published else "train",)


def chosen(subset: Any, known: Sequence[Any], noun: str, shown: str) -> list[Any]:
    """Schools or folds that a subset names: all, one, or several.

    >>> chosen("texas", ("cornell", "texas"), "school", "cornell, texas"), chosen("all", range(2), "fold", "0 to 1")
    (['texas'], [0, 1])
    """
    if isinstance(subset, str) and subset == "all":
        return list(known)
    given = list(subset) if isinstance(subset, Iterable) and not isinstance(subset, str) else [subset]
    for each in given:
        if isinstance(each, bool) or not isinstance(each, str | Integral) or each not in known:
            raise ValueError(f"subset must be 'all' or {noun}s from {shown}, got {each!r}")
    if not given:
        raise ValueError(f"subset is empty; give at least one {noun}")
    return given


def make_bunch(
    name: str,
    subset: str,
    parts: Mapping[str, Part],
    published: Sequence[str],
    *,
    return_X_y: bool,
    **fields: Any,
) -> Loaded:
    """The bunch of a subset, from published parts (at least those that `needed` names)."""
    parts = {part: parts[part] for part in needed(subset, published)}
    if subset in ("fit", "dev") and "dev" not in published:
        whole = parts["train"]
        bound = first_of_last_tenth(whole.details[whole.unit] if whole.unit else range(len(whole.data)))
        parts = {"train": whole.cut(slice(bound) if subset == "fit" else slice(bound, None))}
    data = [sample for part in parts.values() for sample in part.data]
    target = [labels for part in parts.values() for labels in part.target]
    if return_X_y:
        return data, target
    keys = next(iter(parts.values())).details
    details = {key: [value for part in parts.values() for value in part.details[key]] for key in keys}
    groups = [group for group, part in parts.items() for _ in part.data]
    return Bunch(
        data=data,
        target=target,
        groups=np.array(groups),
        target_names=sorted({label for labels in target for label in labels}),
        DESCR=get_dataset(name).DESCR,
        **details,
        **fields,
    )


def first_of_last_tenth(units: Sequence[Hashable]) -> int:
    """Index of the first sample of the last tenth of the units, which are runs of equal values.

    >>> first_of_last_tenth(["a", "a", "b", "b", "b"]), first_of_last_tenth(range(20))
    (2, 18)
    """
    bounds = [0] + [i for i in range(1, len(units)) if units[i] != units[i - 1]]
    return bounds[-max(1, round(len(bounds) / 10))]
