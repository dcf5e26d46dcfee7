"""Labels by the sum of the scores of several models, each with features of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palmette.estimators import CombinedDecoder
from palmette.features.encoded import EncodedInputs


def predict_jointly(models: Sequence[Any], inputs: Sequence[EncodedInputs]) -> list[list[Any]]:
    """Labels of the samples, best under the sum of the scores of fitted models of the same labels.

    Parameters
    ----------
    models : list of fitted learners
    inputs : list of EncodedInputs
        The samples as each model encodes them.

    Examples
    --------
    >>> from palmette import CRF, Chain
    >>> X, y = [[["a", "x"], ["b", "x"]], [["b", "y"], ["a", "y"]]], [["A", "B"], ["B", "A"]]
    >>> models = [CRF(Chain(), l2=l2).fit(X, y) for l2 in (0.1, 1.0)]
    >>> predict_jointly(models, [model.encode(X) for model in models]) == y
    True
    """
    if len(models) == 1:
        return models[0].predict(inputs[0])
    return CombinedDecoder(list(models), combine="scores").predict(list(inputs))
