"""What ``predict`` returns for samples of unequal sizes: a list that NumPy joins sample by sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Outputs(list[Any]):
    """A list with one entry per sample, of any length each.

    It is a list in every respect but one: ``np.concatenate`` of several of them, along axis 0, is a one-dimensional
    array (dtype object) of their entries, whatever the lengths of these are. That is how scikit-learn's
    ``cross_val_predict`` puts folds together; of plain lists NumPy would try to make tables, and fail where the lengths
    differ.

    Examples
    --------
    >>> folds = [Outputs([["D", "N"], ["V"]]), Outputs([["D"]])]
    >>> folds[0] == [["D", "N"], ["V"]], folds[0]
    (True, [['D', 'N'], ['V']])
    >>> np.concatenate(folds).tolist()
    [['D', 'N'], ['V'], ['D']]
    """

    __slots__ = ()

    def entries(self) -> np.ndarray:
        """The entries in an array of one dimension, dtype object."""
        return np.fromiter(self, dtype=object, count=len(self))

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        # NumPy asks here when one of its functions meets such a list. All but one see a plain list.
        axis = args[1] if len(args) > 1 else kwargs.get("axis", 0)
        if func is not np.concatenate or axis != 0:
            return func(*_plain(args), **_plain(kwargs))
        parts = [part.entries() if isinstance(part, Outputs) else part for part in args[0]]
        return np.concatenate(parts, *args[1:], **kwargs)


def _plain(value: Any) -> Any:
    """The same arguments with plain lists in the place of `Outputs`, at any depth."""
    if isinstance(value, Outputs):
        return list(value)
    if type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    return {k: _plain(v) for k, v in value.items()} if type(value) is dict else value
