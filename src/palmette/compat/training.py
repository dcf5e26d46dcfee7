"""From CRFsuite's settings to a trained model of palmette's."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from palmette._kernels.constants import PERCEPTRON
from palmette.compat.features import lay_out, zero_rows
from palmette.compat.l2sgd import CRFsuiteSGD
from palmette.compat.lbfgs import CRFsuiteLBFGS
from palmette.compat.training_log import Keeper, TrainingLog, report
from palmette.contracts.training import Encoded
from palmette.data.samples import Samples
from palmette.data.sequences import check_same_length, listed, n_items
from palmette.estimators.crf import CRF
from palmette.estimators.emptiness import tell_empty
from palmette.estimators.perceptron import Perceptron
from palmette.estimators.settings import Encoding
from palmette.estimators.training import encode_outputs, encode_training
from palmette.executors.choose import executor_for
from palmette.objectives.risk import Risk
from palmette.regularizers.elastic import ElasticNet
from palmette.solvers.arow import AROW
from palmette.solvers.driver import outcome
from palmette.solvers.online import Online
from palmette.solvers.passive_aggressive import PassiveAggressive
from palmette.structures import Chain


@dataclass(frozen=True)
class CRFsuitePerceptron(Online):
    """CRFsuite's averaged perceptron: the first, zero weights count, and ``tol`` is a share of wrong labels."""

    name: ClassVar[str] = "ap"

    def _rule(self) -> tuple[int, float, bool]:
        return PERCEPTRON, 1.0, False


def sequences(X: Any) -> Any:
    """``X`` as a list of sequences: iterators read, python-crfsuite's ItemSequence objects unpacked."""
    X = listed(X)
    if isinstance(X, list | tuple):
        return [sequence(x) for x in X]
    return X


def sequence(x: Any) -> Any:
    """One sequence of positions."""
    return x.items() if hasattr(x, "items") and not isinstance(x, Mapping) else x


def train(
    algorithm: str, params: Mapping[str, Any], X: Any, y: Any, X_dev: Any, y_dev: Any, verbose: bool
) -> tuple[Any, TrainingLog, KeyboardInterrupt | None]:
    """Train a model.

    Returns
    -------
    model : palmette.CRF or palmette.Perceptron
        On ``Chain()``, with the weights that CRFsuite's model would have.
    log : TrainingLog
    stop : KeyboardInterrupt or None
        Ctrl-C during training; the model has the best weights so far.
    """
    started = time.perf_counter()
    model, solver = _learner(algorithm, params)
    X, y = _given(X, y, "")
    X_dev, y_dev = ([], []) if X_dev is None else _given(X_dev, y_dev, "_dev")
    data = encode_training(X, y, model.structure, _labels(y, y_dev), None)
    held_out = _encoded(data, X_dev, y_dev) if len(X_dev) else None
    features = {k: params[k] for k in ("min_freq", "all_possible_states", "all_possible_transitions")}
    classes = data.codec.classes_
    scorer = lay_out(
        data.samples.batch, zero_rows(X, data.encoder), data.samples.codes, len(classes), **features
    )
    log = TrainingLog(featgen_num_features=scorer.n_params, featgen_seconds=time.perf_counter() - started)
    if verbose:
        print(f"{scorer.n_params} features of {len(X)} sequences in {log.featgen_seconds:.2f} s")

    def predict(w: np.ndarray) -> np.ndarray:
        assert held_out is not None
        return data.structure.best(scorer.score(w, held_out.batch)).codes

    started = time.perf_counter()
    # CRFsuite's own, whatever the defaults of palmette's learners are
    l2, l1 = (np.full(scorer.n_params, s) for s in (2.0 * params.get("c2", 0.0), params.get("c1", 0.0)))
    penalty = ElasticNet(l2, l1)
    keeper = Keeper(log, predict, held_out, classes, verbose)
    with executor_for(-1) as executor, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the limit is the user's, the log tells
        surrogate = model._surrogate(classes)
        with closing(Risk(data.structure, scorer, surrogate, data.samples, penalty, executor)) as problem:
            result, stop = outcome(replace(solver, callbacks=(*solver.callbacks, keeper)).solve, problem)
    if isinstance(solver, CRFsuiteLBFGS | CRFsuiteSGD) and result.state is not None:
        for entry, detail in zip(log.iterations, result.state.details):
            entry |= zip(solver.details, detail)
    log.training_seconds, log.reason = time.perf_counter() - started, result.reason
    if verbose:
        print(f"stopped after {log.training_seconds:.2f} s: {result.reason}")
        if held_out is not None and log.last_iteration is not None:
            print(report(log.last_iteration))
    model._keep(data, scorer, replace(result, state=None))
    tell_empty(model, data, result, l1="c1", l2="c2")
    return model, log, stop


def _learner(algorithm: str, params: Mapping[str, Any]) -> tuple[Any, Any]:
    """The learner that describes the model, and the solver that trains it."""
    p = params
    states, transitions = (
        "all" if p[f"all_possible_{what}"] else "observed" for what in ("states", "transitions")
    )
    common = {
        "encoding": Encoding(states=states, transitions=transitions), "fit_intercept": False,
        "max_iter": p["max_iterations"],
    }  # fmt: skip
    if algorithm == "lbfgs":
        solver = CRFsuiteLBFGS(
            p["num_memories"], p["max_iterations"] or sys.maxsize, p["epsilon"], p["period"], p["delta"],
            p["linesearch"], p["max_linesearch"],
        )  # fmt: skip
        return CRF(Chain(), l2=2.0 * p["c2"], l1=p["c1"], solver="lbfgs", **common), solver
    if algorithm == "l2sgd":
        sgd = CRFsuiteSGD(
            p["max_iterations"], p["period"], p["delta"], p["calibration_eta"], p["calibration_rate"],
            p["calibration_samples"], p["calibration_candidates"], p["calibration_max_trials"],
        )  # fmt: skip
        return CRF(Chain(), l2=2.0 * p["c2"], solver="stochastic", **common), sgd
    run = {"max_iter": p["max_iterations"], "tol": p["epsilon"]}
    if algorithm == "ap":
        return Perceptron(Chain(), **common), CRFsuitePerceptron(**run)
    online: Online
    if algorithm == "pa":
        options = {"C": p["c"], "error_sensitive": p["error_sensitive"], "averaged": p["averaging"]}
        online = PassiveAggressive(**run, variant=p["pa_type"], **options)
    else:
        online = AROW(**run, variance=p["variance"], gamma=p["gamma"])
    return Perceptron(Chain(), solver=online, **common), online


def _given(X: Any, y: Any, suffix: str) -> tuple[Any, Any]:
    """Inputs and outputs of equal lengths, without the empty sequences, which teach nothing."""
    X, y = sequences(X), listed(y)
    try:
        check_same_length(X, y)
    except (TypeError, ValueError) as error:
        raise type(error)(f"X{suffix} and y{suffix}: {error}" if suffix else str(error)) from None
    keep = [i for i, x in enumerate(X) if n_items(x)]
    return [X[i] for i in keep], [y[i] for i in keep]


def _labels(*outputs: Any) -> list[Any] | None:
    """All labels in order of appearance, as CRFsuite numbers them; None leaves bad ones to the encoder's message."""
    try:
        return list(dict.fromkeys(chain.from_iterable(chain.from_iterable(outputs)))) or None
    except TypeError:
        return None


def _encoded(data: Encoded, X: Any, y: Any) -> Samples:
    batch = data.encoder.transform(X)
    return Samples(batch, encode_outputs(data.codec, y, batch.offsets, "sequences"), np.ones(len(batch)))
