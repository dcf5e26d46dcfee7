"""What is refused names a remedy, and the remedy works: every row tries both."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

from palmette import (
    CRF,
    SSVM,
    Chain,
    CombinedDecoder,
    Decomposition,
    Encoding,
    Graph,
    GroupLasso,
    KernelOptions,
    LossOptions,
    Multiclass,
    Perceptron,
    PlackettLuce,
    Ranking,
    SemiMarkov,
)  # fmt: skip
from palmette.errors import MissingCapability
from palmette.kernels import RBF, Nystroem
from palmette.losses import Hamming
from palmette.solvers import CCCP, LBFGS, FrankWolfe, Stochastic
from palmette.solvers.registry import HOME
from palmette.structures import chain_graph


@cache
def data(kind):
    """A few small samples with overlapping classes."""
    rng = np.random.default_rng(0)
    if kind == "Multiclass":
        y = rng.integers(0, 3, 24)
        return np.eye(3)[y] + rng.normal(size=(24, 3)), np.array(["a", "b", "c"])[y]
    if kind == "Ranking":
        X = [rng.normal(size=(4, 2)) for _ in range(6)]
        return X, [rng.permutation([0, 1, 0, 2]).tolist() for _ in X]
    Y = [rng.integers(0, 3, 3) for _ in range(8)]
    X = [np.eye(3)[y] + rng.normal(size=(3, 3)) for y in Y]
    labels = [["abc"[k] for k in y] for y in Y]
    if kind == "names":
        return [[[f"w{k}", f"n{rng.integers(4)}"] for k in y] for y in Y], labels
    if kind == "Graph":
        return [chain_graph(x) for x in X], labels
    if kind == "SemiMarkov":
        return X, [[(0, 2, y[0]), (2, 3, y[2])] for y in labels]
    return X, labels


def fit(model, kind=None):
    kind = type(model.structure).__name__ if kind is None else kind
    return model.fit(*data(kind))


def hinge(structure, **options):
    return SSVM(structure, tol=0.1, **options)


def slack(**options):
    return {"loss_options": LossOptions(rescaling="slack", **options)}


def again(model, **options):
    """A second fit that goes on from the first."""
    return fit(fit(model.set_params(warm_start=True)).set_params(**options))


def chain_and_single(**options):
    return CombinedDecoder([fit(CRF(Chain())), fit(CRF(Multiclass()))], **options)


CASES = {
    # a learner and a structure
    "sums over rankings": (
        lambda: fit(CRF(Ranking())), "PlackettLuce", lambda: fit(PlackettLuce(), "Ranking"),
    ),
    "soft hinge on rankings": (
        lambda: fit(SSVM(Ranking(), loss="soft_hinge")), r"PlackettLuce, .* or SSVM\(loss='hinge'\) or Perceptron",
        lambda: [fit(hinge(Ranking())), fit(Perceptron(Ranking()))],
    ),
    "soft hinge and slack rescaling on rankings": (
        lambda: fit(SSVM(Ranking(), loss="soft_hinge", **slack())), r"SSVM\(loss='hinge'\) or Perceptron",
        lambda: fit(hinge(Ranking(), **slack())),
    ),
    "probabilities of rankings": (
        lambda: fit(hinge(Ranking())).predict_marginals(data("Ranking")[0]), "",
        lambda: fit(hinge(Ranking())).predict(data("Ranking")[0]),
    ),
    # task losses
    "Hamming on rankings": (
        lambda: fit(hinge(Ranking(), task_loss="hamming")), "task_loss='ndcg', 'map', 'precision' or",
        lambda: [fit(hinge(Ranking(), task_loss=name)) for name in ("ndcg", "map", "precision", "pairwise")],
    ),
    "soft hinge and slack rescaling": (
        lambda: fit(hinge(Chain(), loss="soft_hinge", **slack())), "rescaling='margin', or loss='hinge'",
        lambda: [fit(hinge(Chain(), loss="soft_hinge")), fit(hinge(Chain(), **slack()))],
    ),
    "ties and slack rescaling": (
        lambda: fit(hinge(Ranking(ties="best"), **slack())), r"rescaling='margin', or Ranking\(ties='given'\)",
        lambda: fit(hinge(Ranking(ties="best"))),
    ),
    # solvers
    "a smooth solver of the hinge": (
        lambda: fit(hinge(Chain(), solver="lbfgs")), "", lambda: fit(hinge(Chain(), solver="bundle")),
    ),
    "smo on segments": (
        lambda: fit(hinge(SemiMarkov(2), solver="smo")), "solver='frank_wolfe'",
        lambda: fit(hinge(SemiMarkov(2), solver="frank_wolfe")),
    ),
    "smo on chains of second order": (
        lambda: fit(hinge(Chain(order=2), solver="smo")), "solver='frank_wolfe'",
        lambda: fit(hinge(Chain(order=2), solver="frank_wolfe")),
    ),
    "smo and a loss of whole outputs": (
        lambda: fit(hinge(Chain(), solver="smo", task_loss="zero_one")), "solver='bundle', or task_loss='hamming'",
        lambda: [
            fit(hinge(Chain(), solver="bundle", task_loss="zero_one")),
            fit(hinge(Chain(), solver="smo", task_loss="hamming")),
        ],
    ),
    "preconditioned dense features": (
        lambda: fit(CRF(Chain(), solver=LBFGS(precondition=0.1))), "precondition='auto' or None",
        lambda: [fit(CRF(Chain(), solver=LBFGS(precondition=value))) for value in ("auto", None)],
    ),
    "steps in parallel on segments": (
        lambda: fit(CRF(SemiMarkov(2), solver=Stochastic(parallel="lock_free"))), "parallel=None",
        lambda: fit(CRF(SemiMarkov(2), solver=Stochastic(parallel=None), tol=0.1)),
    ),
    "first weights of a structure": (
        lambda: fit(hinge(Chain(), loss="ramp", solver=CCCP(start="structure"))), "start='convex'",
        lambda: fit(hinge(Chain(), loss="ramp", solver=CCCP(start="convex"))),
    ),
    "inner dual of chains": (
        lambda: fit(hinge(Chain(), loss="ramp", solver=CCCP(inner="dual"))), "inner='bundle'",
        lambda: fit(hinge(Chain(), loss="ramp", solver=CCCP(inner="bundle"))),
    ),
    "a dual solver that starts from weights": (
        lambda: again(hinge(Chain(), solver="bundle"), solver=FrankWolfe()), "solver='bundle'",
        lambda: again(hinge(Chain(), solver="bundle")),
    ),
    # regularisers
    "groups with the hinge": (
        lambda: fit(hinge(Chain(), regularizer=GroupLasso(0.1))), r"CRF, or SSVM\(loss='soft_hinge'\)",
        lambda: [
            fit(CRF(Chain(), regularizer=GroupLasso(0.1), tol=0.1)),
            fit(hinge(Chain(), loss="soft_hinge", regularizer=GroupLasso(0.1))),
        ],
    ),
    "pieces and a batch solver": (
        lambda: fit(CRF(Chain(), solver="lbfgs", regularizer=Decomposition(2))), "solver='stochastic' or 'proximal'",
        lambda: [
            fit(CRF(Chain(), solver=name, regularizer=Decomposition(2), tol=0.1)) for name in ("stochastic", "proximal")
        ],
    ),
    "pieces of rankings": (
        lambda: fit(hinge(Ranking(), regularizer=Decomposition(2))), r"Leave regularizer=Decomposition\(...\) out",
        lambda: fit(hinge(Ranking())),
    ),
    "pieces of single labels": (
        lambda: fit(hinge(Multiclass(), regularizer=Decomposition(2))), r"Leave regularizer=Decomposition\(...\) out",
        lambda: fit(hinge(Multiclass())),
    ),
    # features
    "edge features of single labels": (
        lambda: fit(CRF(Multiclass(), edge_features="all")), "edges of a Chain",
        lambda: fit(CRF(Chain(), edge_features="all", tol=0.1)),
    ),
    "edge features of graphs": (
        lambda: fit(CRF(Graph(), edge_features="all")), r"GraphInput\(nodes, edges, edge_features\)",
        lambda: CRF(Graph(), tol=0.1).fit(
            [(graph.nodes, graph.edges, np.ones((2, 1))) for graph in data("Graph")[0]], data("Graph")[1]
        ),
    ),
    "observed pairs of arrays": (
        lambda: fit(CRF(Chain(), encoding=Encoding(states="observed"))), "states='all'",
        lambda: fit(CRF(Chain(), encoding=Encoding(states="all"), tol=0.1)),
    ),
    "class weights of chains": (
        lambda: fit(hinge(Chain(), class_weight="balanced")), r"task_loss=Hamming\(\{label: cost\}\)",
        lambda: [
            fit(hinge(Chain(), task_loss=Hamming({"a": 2.0, "b": 1.0, "c": 1.0}))),
            hinge(Chain()).fit(*data("Chain"), sample_weight=np.arange(1.0, 9.0)),
        ],
    ),
    # kernels
    "L1 of a kernel": (
        lambda: fit(CRF(Chain(), kernel=RBF(), l1=0.1)), r"leave l1 out, or use kernel=Nystroem\(...\) or kernel=None",
        lambda: [
            fit(CRF(Chain(), kernel=RBF(), tol=0.1)), fit(CRF(Chain(), kernel=Nystroem(RBF()), l1=0.1, tol=0.1)),
            fit(CRF(Chain(), l1=0.1, tol=0.1)),
        ],
    ),
    "edge features of a kernel": (
        lambda: fit(CRF(Chain(), kernel=RBF(), edge_features="all")), "leave edge_features out, or use kernel=None$",
        lambda: fit(CRF(Chain(), edge_features="all", tol=0.1)),
    ),
    "edge features of a Nystroem map": (
        lambda: fit(CRF(Chain(), kernel=Nystroem(RBF()), edge_features="all")), "leave edge_features out",
        lambda: fit(CRF(Chain(), kernel=Nystroem(RBF()), tol=0.1)),
    ),
    "memory of a kernel": (
        lambda: fit(CRF(Chain(), kernel=RBF(), kernel_options=KernelOptions(cache_size=1e-4))),
        r"raise cache_size, or use kernel=Nystroem\(...\)",
        lambda: fit(CRF(Chain(), kernel=Nystroem(RBF(), n_components=4), tol=0.1)),
    ),
    "batches and a kernel": (
        lambda: Perceptron(Chain(), kernel=RBF()).partial_fit(*data("Chain"), classes=["a", "b", "c"]),
        "use fit, or map the rows first",
        lambda: [
            fit(Perceptron(Chain(), kernel=RBF())),
            Perceptron(Chain()).partial_fit(
                [Nystroem(RBF()).fit(np.concatenate(data("Chain")[0])).transform(x) for x in data("Chain")[0]],
                data("Chain")[1], classes=["a", "b", "c"],
            ),
        ],
    ),
    # decoders
    "scores of different structures": (
        lambda: chain_and_single(combine="scores").predict(data("Chain")[0]), "combine='marginals'",
        lambda: chain_and_single().predict(data("Chain")[0]),
    ),
    "marginals of rankings": (
        lambda: CombinedDecoder([fit(hinge(Ranking()))] * 2).predict(data("Ranking")[0]), "combine='scores'",
        lambda: CombinedDecoder([fit(hinge(Ranking()))] * 2, combine="scores").predict(data("Ranking")[0]),
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_the_remedy_works(case):
    refused, remedy, works = CASES[case]
    with pytest.raises((MissingCapability, ValueError), match=remedy) as found:
        refused()
    assert len(str(found.value)) > 40, "a reason and a remedy"
    works()


LOSSES = {
    "log": (CRF, {}), "hinge": (SSVM, {}), "slack": (SSVM, slack()), "soft hinge": (SSVM, {"loss": "soft_hinge"}),
    "ramp": (SSVM, {"loss": "ramp"}), "mistakes": (Perceptron, {}),
}  # fmt: skip
PENALTIES = {"l2": {}, "both": {"l1": 0.05}, "l1": {"l1": 0.05, "l2": 0.0}}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_solvers_that_refusals_name_are_not_refused(loss, penalty):
    learner, options = LOSSES[loss]
    if learner is Perceptron and penalty != "l2":
        pytest.skip("the perceptron has no penalty")

    def refusal(solver):
        try:
            fit(learner(Chain(), solver=solver, max_iter=1, **options, **PENALTIES[penalty]))
        except MissingCapability as error:
            return str(error)
        return ""

    refusals = {solver: refusal(solver) for solver in HOME}
    for solver, message in refusals.items():
        named = re.search(r"solver=((?:'[a-z_]+'(?:, or |, | or )?)+)", message)
        others = re.findall(r"'([a-z_]+)'", named[1]) if named else []
        assert not message or others or solver == "cccp", f"{solver}: no remedy in {message}"
        for other in others:
            assert not refusals[other], f"{message}\nBUT {refusals[other]}"
