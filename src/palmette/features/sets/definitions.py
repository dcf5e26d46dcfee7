"""The feature sets that have names, by the columns that they read.

Lines are those of templates with names for columns. A set reads ``word`` and perhaps other columns of the data, and
what its makers add; a line is left out if one of its columns is not there. ``coarse``, ``medium`` and ``fine`` are the
word clusters, fewest first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from palmette.features.sets.bio_columns import BioColumns
from palmette.features.sets.entity_columns import EntityColumns
from palmette.features.sets.named_clusters import NamedClusters
from palmette.features.sets.segmentation_columns import CharacterColumns, LexiconColumns
from palmette.features.template_lines import affixes, cells, grams, named_template


@dataclass(frozen=True)
class Definition:
    """A feature set with a name.

    Parameters
    ----------
    name : str
    about : str
        What it is for and what it contains, in a line.
    features : sequence of str
        Lines of positions.
    edges : sequence of str
        Lines of pairs of neighbouring labels.
    makers : sequence of transformers
        Of further columns, by the word; not fitted.
    needs : sequence of str
        Columns that the data must have.
    takes : sequence of str
        Columns that it reads if they are there.
    encoding : str, optional
        Of spans, to learn in.
    """

    name: str
    about: str
    features: Sequence[str]
    edges: Sequence[str] = ()
    makers: Sequence[Any] = ()
    needs: Sequence[str] = ("word",)
    takes: Sequence[str] = field(default=())
    encoding: str | None = None

    @property
    def reads_labels(self) -> bool:
        """Whether some columns are learnt from the labels of the training data."""
        return any(getattr(maker, "reads_labels", False) for maker in self.makers)

    def template(self, columns: Sequence[str], *, edges: bool) -> str:
        """The template for data with these columns."""
        return named_template(self.features, self.edges if edges else (), columns)


def _word(*rows: int, macro: str = "x") -> str:
    return cells(*rows, column="word", macro=macro)


def _words(lengths: Sequence[int] = (1,), reach: int = 2, macro: str = "x") -> list[str]:
    return grams("word", lengths, reach, macro)


def _begins(sizes: Sequence[int], row: int = 0) -> list[str]:
    return affixes("P", sizes, row, "word")


def _ends(sizes: Sequence[int], *rows: int) -> list[str]:
    return [line for row in rows or (0,) for line in affixes("S", sizes, row, "word")]


def _beside(column: str, rows: Sequence[tuple[int, int]]) -> list[str]:
    """A cell of a column with a part of speech, by their rows."""
    return [f"{cells(row, column=column)}/{cells(tag, column='pos')}" for row, tag in rows]


# ------------------------------------------------------------------------------------------------------- names

_SHAPES = [*_words((1, 2), 1, "h"), *_words((1, 2, 3), macro="H")]
_NAME_CLUSTERS = [*grams("coarse", (1, 2, 3)), *grams("medium", (1, 2)), *grams("fine")]

BIO_NER = Definition(
    "bio-ner",
    "names of genes, proteins, cells: words, affixes, shapes, stems, parts at hyphens, signs, clusters",
    [
        *_words(), *_words((1, 2), macro="X"), *_begins(range(2, 6)), *_ends(range(2, 6)), *_ends((3, 4), -1, 1),
        *_SHAPES,
        *grams("stem", (1, 2, 3)), *grams("first", (1, 2), reach=1), *grams("last", (1, 2), reach=1),
        *grams("signs", (1, 2, 3), reach=1),
        *_NAME_CLUSTERS,
        *grams("pos", (1, 2, 3)),
        "%x[0,pos]/%x[0,stem]", "%x[0,pos]/%x[1,pos]/%x[1,stem]", "%x[-1,stem]/%x[0,pos]", "%x[0,pos]/%H[0,word]",
    ],
    [
        cells(0, column="stem"), cells(-1, column="stem"), _word(0, macro="H"), cells(0, column="medium"),
        cells(-1, column="medium"), cells(0, column="pos"), cells(-1, column="pos"),
    ],
    (BioColumns(), NamedClusters((64, 256, 1000), n_components=60)),
    takes=("pos",),
)  # fmt: skip

NER = Definition(
    "ner",
    "names of persons, places, organisations, ...: words, affixes, shapes, clusters, words seen in names, usual case",
    [
        *_words(), *_words((1, 2), macro="X"), *_begins(range(1, 6)), *_ends(range(1, 6)), *_ends((3,), -1, 1),
        *_SHAPES,
        *_NAME_CLUSTERS,
        *grams("known", (1, 2), reach=1),
        *grams("case", (1, 2), reach=1), "%x[0,case]/%H[0,word]", "%x[0,case]/%x[1,case]/%H[0,word]/%H[1,word]",
        *grams("pos", (1, 2, 3)), "%x[0,pos]/%X[0,word]", "%x[0,pos]/%H[0,word]",
    ],
    [
        _word(0, macro="X"), _word(-1, macro="X"), _word(0, macro="H"), cells(0, column="medium"),
        cells(-1, column="medium"), cells(0, column="known"), cells(0, column="pos"),
    ],
    (EntityColumns(), NamedClusters((64, 256, 1000), n_components=60)),
    takes=("pos",),
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------ chunks

_NEAR = ((-1, 0), (0, -1), (0, 0), (0, 1), (1, 0))

CHUNKING = Definition(
    "chunking",
    "phrases of words with parts of speech: pairs of both, affixes, shapes, clusters; spans in IOBES",
    [
        *_words(), _word(-1, 0), _word(0, 1), *_words(reach=1, macro="X"),
        *grams("pos", reach=3), *grams("pos", (2, 3, 4)),
        *_beside("word", ((0, -1), (0, 0), (0, 1))), *_beside("word", ((-1, 0), (1, 0))),
        *_begins((2, 3)), *_ends((1, 2, 3, 4)), *_ends((2, 3), -1, 1),
        _word(0, macro="h"), *_words(reach=1, macro="H"),
        *grams("coarse", (1, 2), reach=1), *_beside("coarse", _NEAR),
        *grams("medium", (1, 2), reach=1), *_beside("medium", _NEAR),
    ],
    [cells(0, column="pos"), cells(-1, 0, column="pos")],
    makers=(NamedClusters((64, 256)),),
    needs=("word", "pos"),
    encoding="IOBES",
)  # fmt: skip

# --------------------------------------------------------------------------------------------- parts of speech

POS = Definition(
    "pos",
    "parts of speech: words, affixes, shapes, clusters",
    [
        *_words(), _word(-1, 0), _word(0, 1), *_words(reach=1, macro="X"), _word(-1, 1, macro="X"),
        *_begins((1, 2, 3, 4)), *_ends((1, 2, 3, 4, 5)), *_ends((2, 3), -1, 1),
        _word(0, macro="h"), *_words((1, 2, 3), 1, "H"),
        *(f"{_word(0, macro='H')}/{ending}" for ending in _ends((2, 3))),
        *(f"{_word(0, macro='X')}/{_word(row, macro='H')}" for row in (-1, 1)),
        *grams("coarse", (1, 2), reach=1), cells(-1, 1, column="coarse"), *grams("medium", (1, 2), reach=1),
        *grams("fine", reach=1),
    ],
    makers=(NamedClusters((64, 256)),),
)  # fmt: skip

# ------------------------------------------------------------------------------------- words of running characters

_HERE, _END, _BEGIN = (
    "%x[0,begins]/%x[0,ends]/%x[0,around]",
    "%x[-1,ends]/%x[0,begins]",
    "%x[0,ends]/%x[1,begins]",
)
CHARACTERS = [*_words((1, 2)), *(_word(row, row + 2) for row in (-2, -1, 0))]

SEGMENTATION = Definition(
    "segmentation",
    "words of text without spaces, a character per line: characters, their kinds, a lexicon of the training words",
    [
        *CHARACTERS,
        *grams("kind"), *grams("kind", (2,), reach=1), *grams("kind", (3, 5)),
        *(cells(*rows, column="again") for rows in ((0,), (1,), (0, 1))),
        *(line for column in ("begins", "ends", "around") for line in grams(column, reach=1)),
        _HERE, _END, _BEGIN,
        "%x[-1,begins]/%x[-1,ends]/%x[0,begins]/%x[0,ends]", "%x[0,begins]/%x[0,ends]/%x[1,begins]/%x[1,ends]",
        *(f"{lengths}/%x[0,word]" for lengths in (_HERE, _END, _BEGIN)),
    ],
    makers=(CharacterColumns(), LexiconColumns()),
)  # fmt: skip

DEFINITIONS = {each.name: each for each in (NER, BIO_NER, CHUNKING, POS, SEGMENTATION)}
