"""Systems of sequence labelling: features, mostly those of `palmette.features.sets`, and learners.

============================  ======================================================================================
`System`                      a way to label: makers of columns, template, span encoding, learner, settings to try
`train`                       trains a system once for each setting; the outcome, `Trained`, predicts
`chunking_systems`            for finding chunks of words with parts of speech
`name_systems`                for finding names of persons, places, organisations, ...
`biology_systems`             for finding names of genes, proteins and cells
`part_of_speech_systems`      for tagging words with parts of speech
`word_segmentation_systems`   for finding words in text without spaces
`Neighbours`                  real-valued features of the positions around
`TagColumn`                   tags from a tagger that another corpus taught
============================  ======================================================================================
"""

from palmette.apps.tagging.systems.biology import biology_systems
from palmette.apps.tagging.systems.chunking import chunking_systems
from palmette.apps.tagging.systems.names import name_systems
from palmette.apps.tagging.systems.neighbours import Neighbours
from palmette.apps.tagging.systems.part_of_speech import part_of_speech_systems
from palmette.apps.tagging.systems.system import System, Trained, train
from palmette.apps.tagging.systems.tag_column import TagColumn
from palmette.apps.tagging.systems.word_segmentation import word_segmentation_systems

__all__ = [
    "Neighbours",
    "System",
    "TagColumn",
    "Trained",
    "biology_systems",
    "chunking_systems",
    "name_systems",
    "part_of_speech_systems",
    "train",
    "word_segmentation_systems",
]
