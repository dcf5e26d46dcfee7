"""One label per sample: a chain of length one without edges."""

from __future__ import annotations

from palmette.registry import register
from palmette.structures.chain.chain import Chain


@register("structure")
class Multiclass(Chain):
    """One label from a finite set; the special case that links palmette to ordinary classifiers.

    A sample is a chain of length one, so all answers are those of :class:`Chain`; there are no edges.
    ``CRF(Multiclass())`` is multinomial logistic regression, ``SSVM(Multiclass())`` the multiclass SVM of Crammer
    and Singer, and with ``loss="ramp"`` its robust version, which wrong labels disturb less.

    Every label k has a score ``f_k(x)`` of its own, from weights of its own, and the highest one wins ("winner takes
    all"): ``y*(x) = argmax_k f_k(x)``, ties going to the label that comes first in ``classes_``. All labels are trained
    together, so that scores can be compared; there are no votes of pairs and no one-against-the-rest problems. What a
    confusion costs is a table: ``SSVM(Multiclass(), task_loss=costs)``, ``costs[i, j]`` for the answer j where i is
    true.

    Examples
    --------
    >>> import numpy as np
    >>> from palmette.structures.positions.tables import ChainTables
    >>> theta = ChainTables(np.array([[0., 2.], [1., 0.]]), np.empty((0, 2, 2)), np.arange(3))
    >>> Multiclass().best(theta).codes
    array([1, 0], dtype=int32)
    """

    layout = "items"
    has_edges = False
    compiled_as = "multiclass"

    def __init__(self) -> None:
        super().__init__()
