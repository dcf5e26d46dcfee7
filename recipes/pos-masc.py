"""Parts of speech of MASC: written and spoken American English, Penn tags.

A CRF on words, affixes, shapes, neighbours and word clusters against one on ramify's default template.
Clusters are learned from the words of the training text alone, anew for each of three seeds. Of every ten
files the last is test and the last but one development, on which the penalty is chosen. The test part is
labelled once with each model. The quick run uses the first 1,000 sentences of each part.
"""

from ramify.datasets import load_masc
from ramify.recipes.tagging import parts_of_speech, run_task


def run(context):
    run_task(context, parts_of_speech(load_masc, target=96.0, quick_target=84.0))
