"""Chinese word segmentation: the People's Daily of January 1998 for training, the PKU gold of SIGHAN 2005 as test.

Every character gets one of six labels (first, second, third, middle, last, single). Features are characters
and pairs of them in a window of five, kinds of characters, repetition, and the lengths of the longest words of
the training text that begin, end or lie around the place. The words come from other lines than the one that is
learned from, so that the learner meets unknown words as often as it will later. Full-width digits and letters
are normalised. Learners are a CRF and an averaged perceptron, the latter with and without structure
regularisation (`palmette.regularizers.Decomposition`); the baseline is the perceptron on characters alone.
Settings are chosen on the last tenth of the training lines; then models are trained on all of them, with three
seeds, and the test lines are labelled once with each. The quick run uses the first 1,000 lines of each part.
"""

from functools import partial

from experiments.harness.tagging import run_task, word_segmentation
from palmette.datasets import load_cws_pd199801

# Word F1 (%) on the same test part, trained on the PKU text of SIGHAN 2005 instead.
PUBLISHED = {"best of the closed track, SIGHAN 2005": 95.0}


def run(context):
    load = partial(load_cws_pd199801, encoding="BMES6")
    task = word_segmentation(load, target=95.2, quick_target=89.0, l2=(2.0, 4.0), published=PUBLISHED)
    run_task(context, task)
