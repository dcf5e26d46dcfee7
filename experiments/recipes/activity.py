"""Activities from the signals of a phone (HAPT): walking, standing, sitting down and others, 12 in all.

Windows of 2.56 s, 1.28 s apart, have 312 real-valued features (moments, correlations, spectra) of body
acceleration, gravity and angular velocity; a sequence is a run of labelled windows of one experiment. Each window
has the features of the three before and after it too. Learners are a CRF and an averaged perceptron, both with
and without structure regularisation (`palmette.regularizers.Decomposition`); the baseline is a CRF on the features of
the window alone. Settings are chosen on the last two of the 21 training people; then models are trained on all of
them, with three seeds where chance plays a part, and the 9 test people are labelled once with each. The quick run
uses the first 150 sequences of each part.
"""

from experiments.harness.tagging import TaggingTask, run_task, score_accuracy
from palmette import CRF, Chain, Perceptron
from palmette.apps.tagging.systems import Neighbours, System
from palmette.datasets import load_hapt
from palmette.regularizers import Decomposition
from palmette.solvers import Stochastic

REACH = 3


def run(context):
    beside, seeds = (Neighbours(REACH),), (0, 1, 2)
    pieces = {"regularizer": tuple(Decomposition(size) for size in (2.5, 5.5, 10.5))}
    crf, perceptron = CRF(Chain(), tol=1e-2), Perceptron(Chain(), max_iter=20)
    stochastic = CRF(Chain(), l2=30.0, solver=Stochastic(max_iter=30, tol=1e-3))
    l2 = {"l2": (10.0, 30.0, 100.0)}
    task = TaggingTask(
        load=load_hapt,
        scoring=score_accuracy,
        baseline=System("CRF, window alone", crf, grid={"l2": (1.0, 3.0, 10.0)}),
        candidates=(
            System("perceptron", perceptron, columns=beside, seeds=seeds),
            System("perceptron, in pieces", perceptron, columns=beside, grid=pieces, seeds=seeds),
            System("CRF, in pieces", stochastic, columns=beside, grid=pieces, seeds=seeds),
            System("CRF", crf, columns=beside, grid=l2),
        ),
        target=94.0,
        quick_target=80.0,
        test_all=True,
        quick_size=150,
    )
    run_task(context, task)
