"""Chunking of CoNLL-2000: noun, verb and other phrases, from words and part-of-speech tags.

Affixes, shapes, pairs of words and tags, and word clusters, with spans learned in IOBES, against a CRF on the
19 templates of CRFsuite's tutorial. Clusters are learned from the words of the training text alone. They are
random, and so is the order in which a perceptron sees the sentences: several models are drawn, and labels
chosen by the sum of their scores. The best of three such systems on the last tenth of the training sentences
is trained on all of them, with three seeds, and each labels the test sentences once. The quick run uses the
first 1,000 sentences of each part.
"""

from experiments.harness.tagging import TaggingTask, run_task, score_chunks
from palmette.apps.tagging.systems import chunking_systems
from palmette.datasets import load_conll2000

# Chunk F1 (%) of others on the 19 templates of CRFsuite's tutorial; not tuned.
PUBLISHED = {"CRFsuite, L-BFGS": 93.61, "CRFsuite, averaged perceptron": 93.43, "Wapiti": 93.87}


def run(context):
    baseline, *candidates = chunking_systems()
    run_task(context, TaggingTask(load_conll2000, score_chunks, baseline, candidates, 94.2, 90.0, PUBLISHED))
