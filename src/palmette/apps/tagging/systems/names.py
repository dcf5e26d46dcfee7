"""Names of persons, places, organisations and other things."""

from __future__ import annotations

from palmette.apps.tagging.default_template import default_template
from palmette.apps.tagging.systems.system import System
from palmette.estimators import CRF, Perceptron
from palmette.features.sets import feature_set
from palmette.structures import Chain


def name_systems() -> list[System]:
    """Systems that find names: a baseline, then those with the feature set ``ner``.

    The baseline is a CRF on the default template for words. The others are a CRF, and perceptrons that have some
    features on label pairs too.

    Examples
    --------
    >>> [system.name for system in name_systems()]
    ['CRF, default template', 'CRF, ner', '5 perceptrons, ner, features of edges']
    """
    crf, grid, seeds = CRF(Chain(), tol=1e-2), {"l2": (0.3, 1.0, 3.0)}, (0, 1, 2)
    pairs = feature_set("ner", edges=True)
    name, perceptron = "5 perceptrons, ner, features of edges", Perceptron(Chain(), max_iter=8)
    return [
        System("CRF, default template", crf, default_template(2), grid=grid),
        System("CRF, ner", crf, features=feature_set("ner"), grid=grid, seeds=seeds),
        System(name, perceptron, features=pairs, seeds=seeds, draws=5),
    ]
