"""What compiles all kernels: every solver of every learner and every answer once, on tiny data."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from palmette import (
    CRF,
    SSVM,
    UNKNOWN,
    Alignment,
    Chain,
    Detections,
    Folding,
    Hierarchy,
    LossOptions,
    Multiclass,
    OneOf,
    Perceptron,
    PlackettLuce,
    Ranking,
    SemiMarkov,
    Tracking,
    compat,
)
from palmette._kernels import jit, ragged
from palmette.apps.tagging.columns import read_columns
from palmette.apps.tagging.learners import SOLVERS
from palmette.apps.tagging.tagger import Tagger
from palmette.apps.tagging.templates import Template
from palmette.apps.tracking.tracker import Tracker
from palmette.datasets import make_cells, make_chains, make_tagging
from palmette.errors import EmptyModelWarning, MissingCapability
from palmette.estimators.blocks import Scored
from palmette.features.text_lists import read_lists
from palmette.regularizers import Decomposition, GroupLasso
from palmette.solvers import LBFGS
from palmette.structures import EventTables, HierarchyTables, RankingCost, RankingTables
from palmette.structures.tracking.programs import Program, solve
from palmette.warmup.answers import ask_all
from palmette.warmup.graphs import run_graphs, run_grids

USUAL = ("tagging", "crf", "ssvm", "perceptron", "edges", "grids", "predictions")
"""Groups by name, or by what their names begin with, that serve the commands and learners met first."""


def groups() -> dict[str, Callable[[], None]]:
    """What to run, by the name of its group of kernels."""
    solvers = {
        f"{algorithm}.{solver}": partial(_solve, algorithm, solver)
        for algorithm, known in SOLVERS.items()
        for solver in known
        if solver != "auto"  # which is one of the others, by the size of the data
    }
    return {
        "tagging": _tag,
        **solvers,
        "compat": _drop_in,
        "regularizers": _regularize,
        "edges": _fit_edges,
        "triples": _fit_rich,
        "partial": _annotate_in_part,
        "kernels": _fit_kernels,
        "multiclass": _classify,
        "rescaling": _rescale,
        "grids": run_grids,
        "graphs": run_graphs,
        "hierarchies": _follow_paths,
        "rankings": _rank,
        "tracking": _track,
        "folding": _fold,
        "alignment": _align,
        "plackett_luce": _draw_orders,
        "predictions": _predict_all,
        "inference": _infer_all,
    }


def _annotate_in_part() -> None:
    """Partial annotation of chains."""
    X, Y = make_tagging(8, 3, 20, random_state=0)
    some = [[UNKNOWN, OneOf(*y[:2]), *y[2:]] for y in Y]
    CRF(Chain()).fit(X, some)
    for features in (None, "all"):
        Perceptron(Chain(), max_iter=1, edge_features=features).fit(X, some)


def _data() -> Iterator[tuple[Any, Any, Any]]:
    """Tiny training data of every kind: structure, X, Y."""
    X, Y = make_chains(8, 3, 4, random_state=0)
    tokens, tags = make_tagging(8, 3, 20, random_state=0)
    yield Chain(), X, Y
    yield Chain(), [sparse.csr_matrix(x) for x in X], Y
    yield Chain(), tokens, tags
    yield SemiMarkov(2), tokens, [[(t, t + 1, tag) for t, tag in enumerate(row)] for row in tags]
    items, labels = np.concatenate(X), np.concatenate(Y)
    yield Multiclass(), items, labels
    yield Multiclass(), sparse.csr_matrix(items), labels
    yield Multiclass(), list(chain(*tokens)), list(chain(*tags))


def _solve(algorithm: str, solver: str) -> None:
    """A solver by its name, on all data that it serves and in both precisions."""
    kind = {"crf": CRF, "ssvm": SSVM, "perceptron": Perceptron}[algorithm]
    solvers: list[Any] = [solver]
    if solver == "lbfgs":
        solvers.append(LBFGS(max_iter=1, precondition=1.0))  # as it is on large data
    for structure, X, Y in _data():
        for each in solvers:
            for tol in (1e-4, 1e-6):  # some compute in single precision where that is enough
                model = kind(structure, solver=each, tol=tol, max_iter=2, n_jobs=1, warm_start=True)
                with suppress(MissingCapability):  # not all serve all
                    _fitted(_fitted(model, X, Y), X, Y)


def _drop_in() -> None:
    """The loop of the drop-in for sklearn-crfsuite that no learner of palmette's has."""
    for _, X, Y in list(_data())[:3]:
        compat.CRF("l2sgd", max_iterations=1, calibration_max_trials=1).fit(X, Y)


def _regularize() -> None:
    """Random pieces, of graphs too, and groups of features."""
    for _, X, Y in list(_data())[:3]:
        for learner in (CRF, SSVM, Perceptron):
            _fitted(learner(Chain(), regularizer=Decomposition(1.5), max_iter=2, n_jobs=1), X, Y)
        _fitted(CRF(Chain(), regularizer=GroupLasso(0.1), max_iter=2, n_jobs=1), X, Y)
    Decomposition(2).keep_edges(3, np.array([[0, 1], [1, 2]]), seed=0, epoch=0)


def _fit_edges() -> None:
    """Learners with features on edges, and their predictions."""
    for _, X, Y in list(_data())[:3]:
        for learner in (CRF, SSVM, Perceptron):
            model = _fitted(learner(Chain(), edge_features="all", max_iter=2, n_jobs=1), X, Y)
            model.predict(X)
            if learner is CRF:
                model.predict_marginals(X)


def _fit_rich() -> None:
    """Label triples, and every answer with features on edges."""
    tokens, tags = list(_data())[2][1:]
    for tol in (1e-4, 1e-6):
        _fitted(CRF(Chain(order=2), solver="dual", tol=tol, max_iter=2, n_jobs=1), tokens, tags)
    for _, X, Y in list(_data())[:3]:
        for order in (1, 2):
            for learner in (CRF, Perceptron):
                model = learner(Chain(order=order), edge_features="all", max_iter=2, n_jobs=1)
                ask_all(_fitted(model, X, Y), X)


def _fit_kernels() -> None:
    """Chains whose nodes are scored by a kernel."""
    for structure, X, Y in list(_data())[:1]:
        _fitted(SSVM(structure, kernel="rbf", max_iter=2, n_jobs=1), X, Y).predict(X)


def _classify() -> None:
    """The dual of the multiclass hinge."""
    for structure, X, Y in list(_data())[4:6]:
        _fitted(SSVM(structure, solver="multiclass_dual", max_iter=12, n_jobs=1), X, Y)


def _rescale() -> None:
    """Maxima over the levels of a loss, of chains of both orders and of segments."""
    data = list(_data())
    for structure, X, Y in (data[0], (Chain(order=2), *data[0][1:]), data[3]):
        _fitted(SSVM(structure, loss_options=LossOptions(rescaling="slack"), max_iter=2, n_jobs=1), X, Y)


def _follow_paths() -> None:
    """Every answer about paths in a tree, within a restriction, and a learner."""
    structure = Hierarchy(["a.x", "a.y", "b"])
    theta = HierarchyTables.of([[0.0, 1.0, 0.5, 0.0]])
    within = structure.contradicting(theta, structure.best(theta).codes)
    structure.k_best(theta, 2, within=within), structure.max_marginals(theta, within=within)
    structure.log_partition(theta), structure.expectation(theta), structure.sample(theta, random_state=0)
    CRF(structure, max_iter=1, n_jobs=1).fit([[0.0], [1.0]], ["a.x", "b"])


def _rank() -> None:
    """Answers by sorting and by assignment, and losses by merging."""
    X, y = [np.eye(4)], [[2, 1, 1, 0]]
    SSVM(Ranking(), tol=0.1, l2=0.01, n_jobs=1).fit(X, y).predict(X)
    theta = RankingTables(np.arange(3.0), np.array([0, 3]))
    Ranking().k_best(theta, 2, cost=RankingCost(table=np.eye(3)))


def _track() -> None:
    """Covers of a batch, the second best, and those with each event or without; trackers of pairs and of windows."""
    pair = Detections([[0.0, 0.0], [1.0, 1.0]]), Detections([[0.0, 0.1], [1.0, 1.1]])
    tracking = Tracking(max_distance=5.0)
    candidates = tracking.candidates(pair)
    y = candidates.codes([("move", (0,), (0,)), ("move", (1,), (1,))])
    model = SSVM(tracking, tol=0.1, solver="n_slack", n_jobs=1).fit([candidates], [y])
    model.predict_nbest([candidates], 2)
    tracking.max_marginals(EventTables(np.zeros((len(candidates), 2)), *candidates.layout))
    ptr, cell = np.array([0, 2, 4, 6, 7, 8, 9]), np.array([0, 1, 1, 2, 0, 2, 0, 1, 2])
    solve(Program(np.repeat([1.0, 0.0], 3), ptr, cell, 3, 0))  # whose linear program is fractional
    movie = make_cells(n_cells=6, n_frames=5, random_state=0)
    for options in ({}, {"window": 3}, {"complete": False}):
        Tracker.train([(movie.frames, movie.lineage)], tol=0.1, n_jobs=1, **options).track(movie.frames)


def _fold() -> None:
    """Every answer about a short and a longer sequence, and learners of both precisions."""
    X, y = ["GGAAAACC", "GGCGAAAGCCAAAGGCGAAAGCCAAA"], ["((....))", "(((....)))...(((....)))..."]
    folding = Folding()
    for precision in ("double", "single"):
        CRF(Folding(precision=precision), max_iter=1, n_jobs=1).fit(X, y)
        _fitted(SSVM(Folding(precision=precision), max_iter=1, n_jobs=1), X, y)
    model = _fitted(Perceptron(folding, max_iter=1), X, y)
    theta = model.scorer_.score(model.coef_, model.encoder_.transform(X))
    codes = folding.best(theta).codes
    Folding(beam=5).best(theta)
    folding.worst(theta), folding.k_best(theta, 2), folding.max_marginals(theta), folding.entropy(theta)
    folding.sample(theta, random_state=0), folding.min_risk(theta), folding.log_proba(theta, codes)


def _align() -> None:
    """Every answer about a pair, with one and with two kinds of gaps, and learners of references known in part."""
    X = [("ARNDCQEG", "ARDCQEGH"), ("HILKMFPST", "HILMFPST")]
    y = [[(0, 0), (1, 1), (3, 2)], [(0, 0), (1, 1), (2, 2)]]
    core = [("ARNDcqeg-", "AR-Dcqegh"), ("HILKmfpst", "HIL-mfpst")]
    for long_gaps in (False, True):
        aligner = Alignment(long_gaps=long_gaps)
        CRF(aligner, max_iter=1, n_jobs=1).fit(X, core)
        _fitted(SSVM(aligner, loss="ramp", max_iter=1, n_jobs=1), X, core)
        model = _fitted(Perceptron(aligner, max_iter=1), X, y)
        theta = model.scorer_.score(model.coef_, model.encoder_.transform(X))
        codes = aligner.best(theta).codes
        aligner.worst(theta), aligner.k_best(theta, 2), aligner.max_marginals(theta), aligner.entropy(theta)
        aligner.sample(theta, random_state=0), aligner.min_risk(theta), aligner.log_proba(theta, codes)
        aligner.best_contradicting(theta, codes)


def _draw_orders() -> None:
    """The likelihood of rankings and its probabilities."""
    X, y = [np.eye(4)], [[2, 1, 1, 0]]
    for ties in ("exact", "breslow"):
        _fitted(PlackettLuce(ties=ties, max_iter=2, n_jobs=1), X, y).predict_top(X, 2)


def _tag() -> None:
    """What the commands for column files run by default, on data of usual size too; and features that are hashed."""
    read_lists([[["a"]]])  # of many strings
    text, new = (
        read_columns("-", stream=io.StringIO(lines)) for lines in ("a X D\nb Y N\n\nb Y N\n", "c Z D\n")
    )
    for boundary in ("pad", "skip"):
        template = Template.parse(f"#! boundary = {boundary}\nU0:%X[0,0]/%x[1,0]/%x[2,0]\nB")
        hashed: dict[str, Any] = {"min_count": 1, "n_hash": 10}
        # by default dual ascent is for more weights than these
        for options in ({}, {"solver": "dual"}, hashed):
            tagger = Tagger.train(text, template=template, tol=0.1, **options)
            for read in (text, new):
                tagger.predict(read)
                tagger.predict_with_probability(read)
                tagger.predict_nbest(read, 2)
            tagger.template.apply(text.table)


def _fitted(model: Any, X: Any, Y: Any) -> Any:
    with warnings.catch_warnings():
        for kind in (ConvergenceWarning, EmptyModelWarning):  # two iterations are meant to be too few
            warnings.simplefilter("ignore", kind)
        return model.fit(X, Y)


def _models() -> Iterator[tuple[Any, Any, Any]]:
    for structure, X, Y in _data():
        yield _fitted(CRF(structure, max_iter=1, n_jobs=1), X, Y), X, Y


def _predict_all() -> None:
    for model, X, Y in _models():
        if model.encoder_.kind == "names" and model.structure.layout == "sequences":
            model.predict([[["unknown"]]])
            many, coef = Scored(model.scorer_, model.coef_).for_many_rows(10_000)
            many.score(coef, model.encoder_.transform(X))
        model.predict(X)
        model.predict_marginals(X)
        model.predict_nbest(X, 2)
        model.log_proba(X, Y)


def _infer_all() -> None:
    for model, X, _ in _models():
        ask_all(model, X)


def cache() -> tuple[str, bool]:
    """Folder of the compiled kernels, and whether they stay there."""
    return ragged.longest_sample.stats.cache_path or "", jit.CACHED
