"""Parts of speech of UD English EWT: Penn tags of weblogs, mail, reviews and news groups.

A CRF on words, affixes, shapes, neighbours and word clusters against one on ramify's default template.
Clusters are learned from the words of the training text alone, anew for each of three seeds. The penalty is
chosen on the published development part. The test part is labelled once with each model. The quick run uses
the first 1,000 sentences of each part.
"""

from ramify.datasets import load_ud_ewt
from ramify.recipes.tagging import parts_of_speech, run_task


def run(context):
    run_task(context, parts_of_speech(load_ud_ewt, target=94.7, quick_target=84.0))
