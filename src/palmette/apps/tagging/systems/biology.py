"""Names of genes, proteins and cells: one feature set."""

from __future__ import annotations

from typing import Any

from palmette.apps.tagging.default_template import default_template
from palmette.apps.tagging.systems.bio_columns import BioColumns
from palmette.apps.tagging.systems.system import System
from palmette.apps.tagging.template_lines import affixes, cells, grams, template
from palmette.estimators import CRF, Perceptron
from palmette.features.clusters import WordClusters
from palmette.structures import Chain

# Column 0 is the word, 1 its stem, 2 and 3 the stems of its first and last parts, 4 its signs, 5 to 7 its clusters.
CLUSTERS = WordClusters((64, 256, 1000), n_components=60)
COLUMNS = (BioColumns(), CLUSTERS)
WORDS = [*grams(), *grams(0, (1, 2), macro="X"), *affixes("P", range(2, 6)), *affixes("S", range(2, 6))]
WORDS += [*affixes("S", (3, 4), -1), *affixes("S", (3, 4), 1)]
SHAPES = [*grams(0, (1, 2), reach=1, macro="h"), *grams(0, (1, 2, 3), macro="H")]
STEMS = [*grams(1, (1, 2, 3)), *grams(2, (1, 2), reach=1), *grams(3, (1, 2), reach=1)]
SIGNS = grams(4, (1, 2, 3), reach=1)
FEATURES = [*WORDS, *SHAPES, *STEMS, *SIGNS, *grams(5, (1, 2, 3)), *grams(6, (1, 2)), *grams(7)]
EDGES = [
    cells(0, column=1),
    cells(-1, column=1),
    cells(0, macro="H"),
    cells(0, column=6),
    cells(-1, column=6),
]

# Column 8 is the part of speech.
TAGS = [
    *grams(8, (1, 2, 3)),
    "%x[0,8]/%x[0,1]",
    "%x[0,8]/%x[1,8]/%x[1,1]",
    "%x[-1,1]/%x[0,8]",
    "%x[0,8]/%H[0,0]",
]
EDGES_OF_TAGS = [cells(0, column=8), cells(-1, column=8)]


def biology_systems(tags: Any) -> list[System]:
    """Systems that find names of genes, proteins and cells: a baseline, then those with the features here.

    The baseline is a CRF on the default template for words. The others have affixes, shapes, stems, parts at hyphens,
    signs such as Greek letters, and clusters of words: a CRF, and perceptrons that have some of these on label pairs
    too, without and with parts of speech.

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
    alone, tagged = template(FEATURES, EDGES), template(FEATURES + TAGS, EDGES + EDGES_OF_TAGS)
    name = "5 perceptrons, the same with parts of speech"
    return [
        System("CRF, default template", crf, default_template(2), grid=grid),
        System("CRF, GENIA-style features", crf, template(FEATURES), COLUMNS, grid=grid, seeds=seeds),
        System("5 perceptrons, features of edges", template=alone, columns=COLUMNS, **drawn),
        System(name, template=tagged, columns=(*COLUMNS, tags), **drawn),
    ]
