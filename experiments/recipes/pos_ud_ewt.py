"""Parts of speech of UD English EWT: Penn tags of weblogs, mail, reviews and news groups.

Words, affixes, shapes, neighbours and word clusters, three averaged perceptrons whose scores are added,
against one perceptron on palmette's default template. Clusters are learned from the words of the training text,
or from those of the Brown corpus and MASC too; which is better is told by the development part. Everything is
trained with three seeds, and each labels the test part once. The development part is the published one. The
quick run uses the first 1,000 sentences of each part.
"""

from experiments.harness.tagging import parts_of_speech, run_task
from palmette.datasets import load_ud_ewt


def run(context):
    task = parts_of_speech(load_ud_ewt, texts=["brown", "masc"], target=94.7, quick_target=84.0)
    run_task(context, task)
