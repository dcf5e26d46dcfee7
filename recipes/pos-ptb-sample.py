"""Parts of speech of the Penn Treebank sample: the Wall Street Journal.

A CRF on words, affixes, shapes, neighbours and word clusters against one on ramify's default template.
Clusters are learned from the words of the training text alone, anew for each of three seeds. Files 0160 to
0199 are the test part; the penalty is chosen on the last tenth of the others. The test part is labelled once
with each model. The quick run uses the first 1,000 sentences of each part.
"""

from ramify.datasets import load_ptb_sample
from ramify.recipes.tagging import parts_of_speech, run_task


def run(context):
    run_task(context, parts_of_speech(load_ptb_sample, target=95.0, quick_target=84.0))
