"""Recipes of sequence labelling: each declares its data, features, learners and targets, and `run_task` does the rest.

=====================  ================================================================================
`System`               a way to label: column makers, template, span encoding, learner, settings to try
`TaggingTask`          a data set, its scores, a baseline, candidates, and what should be reached
`run_task`             chooses on development data, trains with several seeds, reads the test data once
`scores`               token accuracy, F1 of chunks, F1 of words, each with what goes with it
`parts_of_speech`      the task of tagging with parts of speech, the same for every corpus
`word_segmentation`    the task of finding words in text without spaces, the same for every text
=====================  ================================================================================
"""

from palmette.recipes.tagging.bio_columns import BioColumns
from palmette.recipes.tagging.neighbours import Neighbours
from palmette.recipes.tagging.part_of_speech import parts_of_speech
from palmette.recipes.tagging.run import run_task
from palmette.recipes.tagging.scores import score_accuracy, score_chunks, score_tags, score_words
from palmette.recipes.tagging.system import System, Trained, train
from palmette.recipes.tagging.tag_column import TagColumn
from palmette.recipes.tagging.task import TaggingTask
from palmette.recipes.tagging.word_segmentation import word_segmentation

__all__ = [
    "BioColumns",
    "Neighbours",
    "System",
    "TagColumn",
    "TaggingTask",
    "Trained",
    "parts_of_speech",
    "run_task",
    "score_accuracy",
    "score_chunks",
    "score_tags",
    "score_words",
    "train",
    "word_segmentation",
]
