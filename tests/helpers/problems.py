"""Small training problems of every kind, for the tests of objectives and solvers."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
from scipy import sparse

from palmette.data.labels import LabelCodec
from palmette.executors.threads import ThreadExecutor
from palmette.features.choose_encoder import make_encoder
from palmette.losses import Hamming, resolve_loss
from palmette.objectives.risk import Risk, Samples
from palmette.regularizers.elastic import ElasticNet
from palmette.structures import Chain
from palmette.structures.positions.linear_scorer import LinearScorer
from palmette.surrogates import Hinge, LogLoss, PerceptronLoss

KINDS = ["dense", "sparse", "names"]
CLASSES = ("a", "b", "c")


def make_samples(rng, kind, structure, n=8):
    lengths = np.ones(n, int) if not structure.has_edges else rng.integers(1, 5, n)
    dense = [np.round(rng.normal(size=(m, 4)), 1) * (rng.random((m, 4)) < 0.7) for m in lengths]
    Y = [[CLASSES[k] for k in rng.integers(0, 3, m)] for m in lengths]
    if kind == "sparse":
        X = [sparse.csr_array(x) for x in dense]
    elif kind == "names":
        X = [[[f"w{k}" for k in rng.integers(0, 5, 3)] for _ in range(m)] for m in lengths]
    else:
        X = dense
    batch = make_encoder(X, "sequences").fit_transform(X)
    codes = LabelCodec(CLASSES).encode_sequences(Y).values
    return Samples(batch, codes, rng.choice([1.0, 2.0, 0.5], n))


@contextmanager
def make_problem(rng, kind="dense", structure=None, surrogate="log", l2=0.7, l1=0.0, loss=None, threads=1):
    structure = structure or Chain()
    samples = make_samples(rng, kind, structure)
    states = "observed" if kind == "names" else "all"
    scorer = LinearScorer.for_data(
        samples.batch, samples.codes, 3, states=states, transitions="observed" if kind == "names" else "all",
        intercept=kind != "names", has_edges=structure.has_edges,
    )  # fmt: skip
    made = {
        "log": LogLoss,
        "perceptron": PerceptronLoss,
        "hinge": lambda: Hinge(resolve_loss(loss or Hamming(), structure, CLASSES)),
    }[surrogate]()
    n = scorer.n_params
    strengths = np.full(n, l2)
    for block in scorer.blocks.values():  # one strength a block, as learners have it
        strengths[block] *= rng.choice([1.0, 2.0])
    penalty = ElasticNet(strengths, np.full(n, l1))
    with ThreadExecutor(threads) as executor:
        yield Risk(structure, scorer, made, samples, penalty, executor)
