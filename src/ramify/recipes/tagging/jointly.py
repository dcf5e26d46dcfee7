"""Labels by the sum of the scores of several models, each with features of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ramify.data.batch import Batch
from ramify.estimators import CombinedDecoder
from ramify.features.base import Encoder
from ramify.features.encoded import EncodedInputs


@dataclass(frozen=True, eq=False)
class _JointInputs(EncodedInputs):
    """The same samples as several models see them."""

    others: Sequence[EncodedInputs] = ()

    def of(self, encoder: Encoder) -> Batch:
        """The batch that this encoder made."""
        mine = next((each for each in self.others if each.encoder is encoder), None)
        return super().of(encoder) if mine is None else mine.batch


def predict_jointly(models: Sequence[Any], inputs: Sequence[EncodedInputs]) -> list[list[Any]]:
    """Labels of the samples, best under the sum of the scores of fitted models of the same labels.

    Parameters
    ----------
    models : list of fitted learners
    inputs : list of EncodedInputs
        The samples as each model encodes them.

    Examples
    --------
    >>> from ramify import CRF, Chain
    >>> X, y = [[["a", "x"], ["b", "x"]], [["b", "y"], ["a", "y"]]], [["A", "B"], ["B", "A"]]
    >>> models = [CRF(Chain(), l2=l2).fit(X, y) for l2 in (0.1, 1.0)]
    >>> predict_jointly(models, [model.encode(X) for model in models]) == y
    True
    """
    if len(models) == 1:
        return models[0].predict(inputs[0])
    joint = _JointInputs(inputs[0].batch, inputs[0].encoder, tuple(inputs[1:]))
    return CombinedDecoder(list(models), combine="scores").predict(joint)
