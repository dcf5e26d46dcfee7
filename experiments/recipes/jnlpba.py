"""Names in biomedical abstracts (JNLPBA 2004): proteins, DNA, RNA, cell types and cell lines.

Words, affixes, shapes, stems (lower case, digits as 0, no plural s), first and last parts at hyphens, signs such
as Greek letters and Roman numbers, and clusters of words, some of these on pairs of labels too; and the same with
parts of speech, which come from a tagger trained on MASC, since the data have none. A CRF has the features of
positions alone. The others are averaged perceptrons with all features: clusters are random, and so is the order
in which a perceptron sees the sentences, so five are drawn, and labels chosen by the sum of their scores. The
baseline is a CRF on palmette's default template for words. Clusters are learned from the words of the training text
alone. Settings are chosen on the last tenth of the training abstracts; then models are trained on all of them with
three seeds, and the test sentences are labelled once with each. The quick run uses the first 1,000 sentences of
each part.
"""

from experiments.harness.tagging import TaggingTask, run_task, score_chunks
from palmette.apps.tagging.systems import TagColumn, biology_systems
from palmette.datasets import load_jnlpba, load_masc

# F1 (%) of others on the same test part; all of them had parts of speech.
PUBLISHED = {
    "lookahead learning (2011)": 72.28,
    "structure regularisation (2014)": 72.43,
    "reranking (2009)": 72.65,
}


def run(context):
    baseline, *candidates = biology_systems(TagColumn(load_masc))
    task = TaggingTask(load_jnlpba, score_chunks, baseline, candidates, 72.43, 50.0, PUBLISHED, test_all=True)
    run_task(context, task)
