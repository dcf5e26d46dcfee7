"""Chinese word segmentation of a Universal Dependencies treebank in simplified characters.

The features and learners of the recipe `segmentation`, on the training, development and test parts as published. The
quick run uses the first 1,000 sentences of each part.
"""

from functools import partial

from experiments.harness.tagging import run_task, word_segmentation
from palmette.datasets import load_cws_udc


def run(context):
    load = partial(load_cws_udc, encoding="BMES6")
    run_task(context, word_segmentation(load, target=93.0, quick_target=88.0))
