"""``ramify warmup``: compile all kernels now, so that later commands find them in the cache."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

from ramify.cli.output import Json, aligned, log, print_result


def warmup(json: Json = False) -> None:
    """Fill the cache of compiled kernels: train every learner and ask for every answer once, on tiny data."""
    started = time.perf_counter()
    log("compiling; this takes a minute or two where nothing is cached yet")
    groups = {}
    for name, work in _groups().items():
        with _measured() as record:
            work()
        groups[name] = record
    folder, kept = _cache()
    total = {"seconds": time.perf_counter() - started, "cache": folder, "kept": kept}
    rows = [[name, f"{r['seconds']:6.2f} s", f"{r['compiled']:3} compiled"] for name, r in groups.items()]
    where = f"kept in {folder}" if kept else "NOT KEPT: set NUMBA_CACHE_DIR to a writable folder"
    text = f"{aligned(rows)}\n{total['seconds']:.1f} s in all; compiled kernels are {where}"
    print_result(json, {"groups": groups, **total}, text)


def _groups() -> dict[str, Callable[[], None]]:
    """What to run, by the name of its group of kernels."""
    from ramify import CRF, SSVM, Perceptron

    def fits(learner: type, **options: Any) -> Callable[[], None]:
        return lambda: _fit_all(learner, options)

    return {
        "CRF, L-BFGS": fits(CRF),
        "CRF, stochastic": fits(CRF, solver="stochastic"),
        "SSVM, Frank-Wolfe": fits(SSVM),
        "SSVM, bundle": fits(SSVM, solver="bundle"),
        "SSVM, stochastic": fits(SSVM, solver="stochastic"),
        "Perceptron": fits(Perceptron),
        "Perceptron, AROW": fits(Perceptron, solver="arow"),
        "edge features, second order": _fit_rich,
        "taggers": _tag,
        "predictions": _predict_all,
        "inference": _infer_all,
    }


def _data() -> Iterator[tuple[Any, Any, Any]]:
    """Tiny training data of every kind: structure, X, Y."""
    import numpy as np
    from scipy import sparse

    from ramify import Chain, Multiclass, SemiMarkov
    from ramify.datasets import make_chains, make_tagging

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


def _fit_all(learner: type, options: dict[str, Any]) -> None:
    for structure, X, Y in _data():
        _fitted(learner(structure, max_iter=2, n_jobs=1, **options), X, Y)


def _fit_rich() -> None:
    """Features on edges, label triples and what only they compile."""
    from ramify import CRF, Chain, Perceptron

    for _, X, Y in list(_data())[:3]:
        for order in (1, 2):
            for learner in (CRF, Perceptron):
                model = learner(Chain(order=order), edge_features="all", max_iter=2, n_jobs=1)
                _infer(_fitted(model, X, Y), X)


def _tag() -> None:
    """Column files, templates, and features that are hashed."""
    import io

    from ramify.apps.tagging.columns import read_columns
    from ramify.apps.tagging.tagger import Tagger
    from ramify.apps.tagging.templates import Template

    text = read_columns("-", stream=io.StringIO("a X D\nb Y N\nc X D\n\nb Y N\n"))
    for boundary in ("pad", "skip"):
        template = Template.parse(f"#! boundary = {boundary}\nU0:%X[0,0]/%x[1,0]/%x[2,0]\nB")
        hashed: dict[str, Any] = {"min_count": 1, "n_hash": 10}
        for options in ({}, hashed):
            tagger = Tagger.train(text, template=template, tol=0.1, **options)
            tagger.predict(text)
            tagger.template.apply(text.table)


def _fitted(model: Any, X: Any, Y: Any) -> Any:
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # two iterations are meant to be too few
        return model.fit(X, Y)


def _models() -> Iterator[tuple[Any, Any, Any]]:
    from ramify import CRF

    for structure, X, Y in _data():
        yield _fitted(CRF(structure, max_iter=1, n_jobs=1), X, Y), X, Y


def _predict_all() -> None:
    for model, X, Y in _models():
        model.predict(X)
        model.predict_marginals(X)
        model.predict_nbest(X, 2)
        model.log_proba(X, Y)


def _infer_all() -> None:
    for model, X, _ in _models():
        _infer(model, X)


def _infer(model: Any, X: Any) -> None:
    """Every answer of a structure, plain and with a contradiction, which doubles the labels."""
    import numpy as np

    from ramify.structures.tables import Restriction

    structure = model.structure
    theta = model.scorer_.score(model.coef_, model.encoder_.transform(X))
    codes = structure.best(theta).codes
    for within in (None, Restriction(contradicts=np.asarray(codes))):
        structure.worst(theta, within=within)
        structure.k_best(theta, 2, within=within)
        structure.max_marginals(theta, within=within)
        structure.entropy(theta, within=within)
        structure.sample(theta, random_state=0, within=within)
        structure.min_risk(theta, within=within)
        structure.log_proba(theta, codes, within=within)
    structure.count(theta, codes)


@contextmanager
def _measured() -> Iterator[dict[str, float]]:
    """Seconds of the body and the number of kernels that it compiled rather than found in the cache."""
    from numba.core import event

    record: dict[str, float] = {}
    started = time.perf_counter()
    with event.install_recorder("numba:compile") as recorder:
        yield record
    compiled = sum(happening.is_end for _, happening in recorder.buffer)
    record |= {"seconds": time.perf_counter() - started, "compiled": compiled}


def _cache() -> tuple[str, bool]:
    """Folder of the compiled kernels, and whether they stay there."""
    from ramify._kernels import chain_max, jit

    return chain_max.best_paths.stats.cache_path or "", jit.CACHED
