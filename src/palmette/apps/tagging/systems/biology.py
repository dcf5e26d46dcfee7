"""Names of genes, proteins and cells."""

from __future__ import annotations

from typing import Any

from palmette.apps.tagging.default_template import default_template
from palmette.apps.tagging.systems.system import System
from palmette.estimators import CRF, Perceptron
from palmette.features.sets import feature_set
from palmette.structures import Chain


def biology_systems(tags: Any) -> list[System]:
    """Systems that find names of genes, proteins and cells: a baseline, then those with the feature set ``bio-ner``.

    The baseline is a CRF on the default template for words. The others are a CRF, and perceptrons that have some
    features on label pairs too, without and with parts of speech.

    Parameters
    ----------
    tags : transformer
        Makes the column of the parts of speech, such as `TagColumn`.

    Examples
    --------
    >>> from palmette.apps.tagging.systems import TagColumn
    >>> from palmette.datasets import load_masc
    >>> [system.name for system in biology_systems(TagColumn(load_masc))][:2]
    ['CRF, default template', 'CRF, GENIA-style features']
    """
    crf, grid, seeds = CRF(Chain(), tol=1e-2), {"l2": (1.0, 2.0)}, (0, 1, 2)
    drawn: Any = {"learner": Perceptron(Chain(), max_iter=8), "seeds": seeds, "draws": 5}
    alone, tagged = (feature_set("bio-ner", columns, edges=True) for columns in (("word",), ("word", "pos")))
    name = "5 perceptrons, the same with parts of speech"
    return [
        System("CRF, default template", crf, default_template(2), grid=grid),
        System("CRF, GENIA-style features", crf, features=feature_set("bio-ner"), grid=grid, seeds=seeds),
        System("5 perceptrons, features of edges", features=alone, **drawn),
        System(name, features=tagged, columns=(tags,), **drawn),
    ]
