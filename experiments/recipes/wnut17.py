"""Names in social media (WNUT 2017): persons, places, companies, products, works and groups, most of them new.

The feature set `ner`: words, affixes, shapes, word clusters, and for each word the names that it was part of in other
training sentences and how it is usually written. A CRF has the features of positions; five averaged perceptrons, whose
scores are added, have some on pairs of labels too. The baseline is a CRF on palmette's default template for words.

All is learned from the training part alone; or else there are parts of speech from a tagger that UD English EWT (texts
of the web) taught, and clusters of the words of the Brown corpus, MASC and UD English EWT too. Which is better is told
by the development part. That is the published one, of another site than the training part; settings are chosen there.
Models of the training part with three seeds label the test part once each. The quick run uses the first 1,000
sentences of each part.
"""

from experiments.harness.tagging import TaggingTask, run_task, score_chunks
from palmette.apps.tagging.systems import TagColumn, name_systems
from palmette.datasets import load_ud_ewt, load_wnut17

# F1 (%) of the systems of the task on the same test part; all of them had other text, embeddings or lists of names.
PUBLISHED = {"lowest of the task (2017)": 26.30, "highest of the task (2017)": 41.86}


def run(context):
    baseline, *candidates = name_systems(TagColumn(load_ud_ewt), ["brown", "masc", "ud-ewt"])
    task = TaggingTask(load_wnut17, score_chunks, baseline, candidates, 26.3, 5.0, PUBLISHED, test_all=True)
    run_task(context, task)
