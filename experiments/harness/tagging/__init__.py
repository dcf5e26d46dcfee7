"""Recipes of sequence labelling: each declares its data, systems and targets, and `run_task` does the rest.

=====================  ================================================================================
`TaggingTask`          a data set, its scores, a baseline, candidates, and what should be reached
`run_task`             chooses on development data, trains with several seeds, reads the test data once
`scores`               token accuracy, F1 of chunks, F1 of words, each with what goes with it
`parts_of_speech`      the task of tagging with parts of speech, the same for every corpus
`word_segmentation`    the task of finding words in text without spaces, the same for every text
=====================  ================================================================================

What they compare, `System`, is in `palmette.apps.tagging.systems`.
"""

from experiments.harness.tagging.run import run_task
from experiments.harness.tagging.scores import score_accuracy, score_chunks, score_tags, score_words
from experiments.harness.tagging.task import TaggingTask, parts_of_speech, word_segmentation

__all__ = [
    "TaggingTask",
    "parts_of_speech",
    "run_task",
    "score_accuracy",
    "score_chunks",
    "score_tags",
    "score_words",
    "word_segmentation",
]
