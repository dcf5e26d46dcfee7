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
from palmette import CRF, Chain, Perceptron
from palmette.apps.tagging.default_template import default_template
from palmette.apps.tagging.systems import BioColumns, System, TagColumn
from palmette.datasets import load_jnlpba, load_masc
from palmette.features import WordClusters

# F1 (%) of others on the same test part; all of them had parts of speech.
PUBLISHED = {
    "lookahead learning (2011)": 72.28,
    "structure regularisation (2014)": 72.43,
    "reranking (2009)": 72.65,
}

# Column 0 is the word, 1 its stem, 2 and 3 the stems of its first and last parts, 4 its signs, 5 to 7 its clusters.
TEMPLATE = """
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U04:%x[2,0]

U10:%X[-2,0]
U11:%X[-1,0]
U12:%X[0,0]
U13:%X[1,0]
U14:%X[2,0]
U15:%X[-2,0]/%X[-1,0]
U16:%X[-1,0]/%X[0,0]
U17:%X[0,0]/%X[1,0]
U18:%X[1,0]/%X[2,0]

U20:%P[0,0,2]
U21:%P[0,0,3]
U22:%P[0,0,4]
U23:%P[0,0,5]
U24:%S[0,0,2]
U25:%S[0,0,3]
U26:%S[0,0,4]
U27:%S[0,0,5]
U28:%S[-1,0,3]
U29:%S[1,0,3]
U2a:%S[-1,0,4]
U2b:%S[1,0,4]

U30:%h[-1,0]
U31:%h[0,0]
U32:%h[1,0]
U33:%h[-1,0]/%h[0,0]
U34:%h[0,0]/%h[1,0]
U35:%H[-2,0]
U36:%H[-1,0]
U37:%H[0,0]
U38:%H[1,0]
U39:%H[2,0]
U3a:%H[-2,0]/%H[-1,0]
U3b:%H[-1,0]/%H[0,0]
U3c:%H[0,0]/%H[1,0]
U3d:%H[1,0]/%H[2,0]
U3e:%H[-2,0]/%H[-1,0]/%H[0,0]
U3f:%H[-1,0]/%H[0,0]/%H[1,0]
U3g:%H[0,0]/%H[1,0]/%H[2,0]

U40:%x[-2,1]
U41:%x[-1,1]
U42:%x[0,1]
U43:%x[1,1]
U44:%x[2,1]
U45:%x[-2,1]/%x[-1,1]
U46:%x[-1,1]/%x[0,1]
U47:%x[0,1]/%x[1,1]
U48:%x[1,1]/%x[2,1]
U49:%x[-2,1]/%x[-1,1]/%x[0,1]
U4a:%x[-1,1]/%x[0,1]/%x[1,1]
U4b:%x[0,1]/%x[1,1]/%x[2,1]

U50:%x[-1,2]
U51:%x[0,2]
U52:%x[1,2]
U53:%x[-1,2]/%x[0,2]
U54:%x[0,2]/%x[1,2]
U55:%x[-1,3]
U56:%x[0,3]
U57:%x[1,3]
U58:%x[-1,3]/%x[0,3]
U59:%x[0,3]/%x[1,3]

U60:%x[-1,4]
U61:%x[0,4]
U62:%x[1,4]
U63:%x[-1,4]/%x[0,4]
U64:%x[0,4]/%x[1,4]
U65:%x[-1,4]/%x[0,4]/%x[1,4]

U70:%x[-2,5]
U71:%x[-1,5]
U72:%x[0,5]
U73:%x[1,5]
U74:%x[2,5]
U75:%x[-2,5]/%x[-1,5]
U76:%x[-1,5]/%x[0,5]
U77:%x[0,5]/%x[1,5]
U78:%x[1,5]/%x[2,5]
U79:%x[-2,5]/%x[-1,5]/%x[0,5]
U7a:%x[-1,5]/%x[0,5]/%x[1,5]
U7b:%x[0,5]/%x[1,5]/%x[2,5]
U80:%x[-2,6]
U81:%x[-1,6]
U82:%x[0,6]
U83:%x[1,6]
U84:%x[2,6]
U85:%x[-2,6]/%x[-1,6]
U86:%x[-1,6]/%x[0,6]
U87:%x[0,6]/%x[1,6]
U88:%x[1,6]/%x[2,6]
U90:%x[-2,7]
U91:%x[-1,7]
U92:%x[0,7]
U93:%x[1,7]
U94:%x[2,7]

B
"""

# Column 8 is the part of speech.
PARTS_OF_SPEECH = """
Ua0:%x[-2,8]
Ua1:%x[-1,8]
Ua2:%x[0,8]
Ua3:%x[1,8]
Ua4:%x[2,8]
Ua5:%x[-2,8]/%x[-1,8]
Ua6:%x[-1,8]/%x[0,8]
Ua7:%x[0,8]/%x[1,8]
Ua8:%x[1,8]/%x[2,8]
Ua9:%x[-2,8]/%x[-1,8]/%x[0,8]
Uaa:%x[-1,8]/%x[0,8]/%x[1,8]
Uab:%x[0,8]/%x[1,8]/%x[2,8]
Ub0:%x[0,8]/%x[0,1]
Ub1:%x[0,8]/%x[1,8]/%x[1,1]
Ub2:%x[-1,1]/%x[0,8]
Ub3:%x[0,8]/%H[0,0]
"""

EDGES = "B1:%x[0,1]\nB2:%x[-1,1]\nB3:%H[0,0]\nB4:%x[0,6]\nB5:%x[-1,6]\n"
EDGES_OF_TAGS = "B6:%x[0,8]\nB7:%x[-1,8]\n"

CLUSTERS = WordClusters((64, 256, 1000), n_components=60)
COLUMNS = (BioColumns(), CLUSTERS)


def run(context):
    crf, grid, seeds = CRF(Chain(), tol=1e-2), {"l2": (1.0, 2.0)}, (0, 1, 2)
    perceptron = Perceptron(Chain(), max_iter=8)
    with_tags = (*COLUMNS, TagColumn(load_masc))
    task = TaggingTask(
        load=load_jnlpba,
        scoring=score_chunks,
        baseline=System("CRF, default template", crf, default_template(2), grid=grid),
        candidates=(
            System("CRF, GENIA-style features", crf, TEMPLATE, COLUMNS, grid=grid, seeds=seeds),
            System(
                "5 perceptrons, features of edges", perceptron, TEMPLATE + EDGES, COLUMNS, seeds=seeds, draws=5,
            ),
            System(
                "5 perceptrons, the same with parts of speech", perceptron,
                TEMPLATE + PARTS_OF_SPEECH + EDGES + EDGES_OF_TAGS, with_tags, seeds=seeds, draws=5,
            ),
        ),
        target=72.43,
        quick_target=50.0,
        published=PUBLISHED,
        test_all=True,
    )  # fmt: skip
    run_task(context, task)
