"""Parts of speech of the Penn Treebank sample: the Wall Street Journal.

Words, affixes, shapes, neighbours and word clusters, three averaged perceptrons whose scores are added,
against one perceptron on palmette's default template. Clusters are learned from the words of the training text,
or from those of the Brown corpus, MASC and UD English EWT too; which is better is told by the development
part. Everything is trained with three seeds, and each labels the test part once. Files 0160 to 0199 are the
test part, the last tenth of the others is the development part. The quick run uses the first 1,000 sentences
of each part.
"""

from experiments.harness.tagging import parts_of_speech, run_task
from palmette.datasets import load_ptb_sample


def run(context):
    task = parts_of_speech(load_ptb_sample, texts=["brown", "masc", "ud-ewt"], target=95.0, quick_target=84.0)
    run_task(context, task)
