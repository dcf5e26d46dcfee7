"""Systems of sequence labelling: makers of columns, templates and learners that belong together.

============================  ======================================================================================
`System`                      a way to label: makers of columns, template, span encoding, learner, settings to try
`train`                       trains a system once for each setting; the outcome, `Trained`, predicts
`chunking_systems`            for finding chunks of words with parts of speech
`biology_systems`             for finding names of genes, proteins and cells
`part_of_speech_systems`      for tagging words with parts of speech
`word_segmentation_systems`   for finding words in text without spaces
`BioColumns`                  columns that tell names of genes, proteins and cells
`CharacterColumns`            kinds of characters
`LexiconColumns`              lengths of known words around a character
`MoreTextClusters`            word clusters that are learned from more text than the training sentences
`Neighbours`                  real-valued features of the positions around
`TagColumn`                   tags from a tagger that another corpus taught
============================  ======================================================================================
"""

from palmette.apps.tagging.systems.bio_columns import BioColumns
from palmette.apps.tagging.systems.biology import biology_systems
from palmette.apps.tagging.systems.chunking import chunking_systems
from palmette.apps.tagging.systems.more_text import MoreTextClusters
from palmette.apps.tagging.systems.neighbours import Neighbours
from palmette.apps.tagging.systems.part_of_speech import part_of_speech_systems
from palmette.apps.tagging.systems.segmentation_columns import CharacterColumns, LexiconColumns
from palmette.apps.tagging.systems.system import System, Trained, train
from palmette.apps.tagging.systems.tag_column import TagColumn
from palmette.apps.tagging.systems.word_segmentation import word_segmentation_systems

__all__ = [
    "BioColumns",
    "CharacterColumns",
    "LexiconColumns",
    "MoreTextClusters",
    "Neighbours",
    "System",
    "TagColumn",
    "Trained",
    "biology_systems",
    "chunking_systems",
    "part_of_speech_systems",
    "train",
    "word_segmentation_systems",
]
