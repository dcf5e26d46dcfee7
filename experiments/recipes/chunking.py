"""Chunking of CoNLL-2000: noun, verb and other phrases, from words and part-of-speech tags.

Affixes, shapes, pairs of words and tags, and word clusters, with spans learned in IOBES, against a CRF on the
19 templates of CRFsuite's tutorial. Clusters are learned from the words of the training text alone. They are
random, and so is the order in which a perceptron sees the sentences: several models are drawn, and labels
chosen by the sum of their scores. The best of three such systems on the last tenth of the training sentences
is trained on all of them, with three seeds, and each labels the test sentences once. The quick run uses the
first 1,000 sentences of each part.
"""

from experiments.harness.tagging import TaggingTask, run_task, score_chunks
from palmette import CRF, Chain, Perceptron
from palmette.apps.tagging.default_template import crfsuite_chunking_template
from palmette.apps.tagging.systems import System
from palmette.datasets import load_conll2000
from palmette.features import WordClusters

# Chunk F1 (%) of others on the 19 templates of CRFsuite's tutorial; not tuned.
PUBLISHED = {"CRFsuite, L-BFGS": 93.61, "CRFsuite, averaged perceptron": 93.43, "Wapiti": 93.87}

# Column 0 is the word, 1 its part of speech, 2 and 3 its clusters.
TEMPLATE = """
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U04:%x[2,0]
U05:%x[-1,0]/%x[0,0]
U06:%x[0,0]/%x[1,0]
U07:%X[-1,0]
U08:%X[0,0]
U09:%X[1,0]

U10:%x[-3,1]
U11:%x[-2,1]
U12:%x[-1,1]
U13:%x[0,1]
U14:%x[1,1]
U15:%x[2,1]
U16:%x[3,1]
U20:%x[-2,1]/%x[-1,1]
U21:%x[-1,1]/%x[0,1]
U22:%x[0,1]/%x[1,1]
U23:%x[1,1]/%x[2,1]
U24:%x[-2,1]/%x[-1,1]/%x[0,1]
U25:%x[-1,1]/%x[0,1]/%x[1,1]
U26:%x[0,1]/%x[1,1]/%x[2,1]
U27:%x[-2,1]/%x[-1,1]/%x[0,1]/%x[1,1]
U28:%x[-1,1]/%x[0,1]/%x[1,1]/%x[2,1]

U30:%x[0,0]/%x[-1,1]
U31:%x[0,0]/%x[0,1]
U32:%x[0,0]/%x[1,1]
U33:%x[-1,0]/%x[0,1]
U34:%x[1,0]/%x[0,1]

U40:%P[0,0,2]
U41:%P[0,0,3]
U42:%S[0,0,1]
U43:%S[0,0,2]
U44:%S[0,0,3]
U45:%S[0,0,4]
U46:%S[-1,0,2]
U47:%S[-1,0,3]
U48:%S[1,0,2]
U49:%S[1,0,3]
U4a:%h[0,0]
U4b:%H[-1,0]
U4c:%H[0,0]
U4d:%H[1,0]
"""

CLUSTER_LINES = """
U5-C-0:%x[-1,C]
U5-C-1:%x[0,C]
U5-C-2:%x[1,C]
U5-C-3:%x[-1,C]/%x[0,C]
U5-C-4:%x[0,C]/%x[1,C]
U5-C-5:%x[-1,C]/%x[0,1]
U5-C-6:%x[0,C]/%x[-1,1]
U5-C-7:%x[0,C]/%x[0,1]
U5-C-8:%x[0,C]/%x[1,1]
U5-C-9:%x[1,C]/%x[0,1]
"""

RICH = TEMPLATE + CLUSTER_LINES.replace("C", "2") + CLUSTER_LINES.replace("C", "3") + "B\n"
EDGES = "B1:%x[0,1]\nB2:%x[-1,1]/%x[0,1]\n"
SPANS = {"columns": (WordClusters((64, 256)),), "encoding": "IOBES", "seeds": (0, 1, 2)}

TASK = TaggingTask(
    load=load_conll2000,
    scoring=score_chunks,
    baseline=System("CRF, 19 templates", CRF(Chain(), l2=2.0, tol=1e-3), crfsuite_chunking_template()),
    candidates=(
        System("3 CRFs", CRF(Chain(), l2=4.0, tol=1e-2), RICH, draws=3, **SPANS),
        System("5 perceptrons", Perceptron(Chain()), RICH, draws=5, **SPANS),
        System("5 perceptrons, features of edges", Perceptron(Chain()), RICH + EDGES, draws=5, **SPANS),
    ),
    target=94.2,
    quick_target=90.0,
    published=PUBLISHED,
)


def run(context):
    run_task(context, TASK)
