"""Parts of speech of the Brown corpus: American English of 1961, base tags.

Words, affixes, shapes, neighbours and word clusters, three averaged perceptrons whose scores are added,
against one perceptron on palmette's default template. Clusters are learned from the words of the training text,
or from those of MASC and UD English EWT too; which is better is told by the development part. Everything is
trained with three seeds, and each labels the test part once. Of every ten files the last is test and the last
but one development. The quick run uses the first 1,000 sentences of each part.
"""

from experiments.harness.tagging import parts_of_speech, run_task
from palmette.datasets import load_brown


def run(context):
    task = parts_of_speech(load_brown, texts=["masc", "ud-ewt"], target=96.0, quick_target=84.0)
    run_task(context, task)
