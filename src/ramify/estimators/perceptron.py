"""The structured perceptron."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ramify.data.sequences import check_same_length, listed
from ramify.estimators.base import StructuredEstimator, label_map
from ramify.estimators.progress import progress
from ramify.estimators.training import (
    Encoded,
    checked_weights,
    encode_outputs,
    encode_training,
    given_labels,
    layout_weights,
    seed_of,
)
from ramify.executors.threads import ThreadExecutor
from ramify.objectives.risk import Risk, Samples
from ramify.regularizers.elastic import ElasticNet
from ramify.solvers.passes import PassState
from ramify.solvers.perceptron import AveragedPerceptron
from ramify.surrogates.perceptron import PerceptronLoss


class Perceptron(StructuredEstimator):
    """Averaged structured perceptron: fast, without a penalty, and able to learn batch by batch.

    For every sample in random order: ``w += phi(x, y) - phi(x, argmax_y' f(x, y'))``. The weights returned are the
    average over all steps.

    Parameters
    ----------
    structure : structure object
        What an output is: ``Chain()``, ``Multiclass()``.
    max_iter : int, default=10
        Epochs.
    tol : float, default=0.0
        Stop when the loss of an epoch changes by less than this, relative to the one before.
    states, transitions, fit_intercept, classes, n_jobs, random_state, verbose, callbacks, warm_start
        As for :class:`CRF`.

    Attributes
    ----------
    classes_, coef_, result_, fit_seconds_
        As for :class:`CRF`; ``result_.gap`` is NaN, since there is no minimum to certify.

    Examples
    --------
    >>> from ramify import Chain, Perceptron
    >>> X, Y = [[["w=the"], ["w=dog"]], [["w=a"], ["w=dog"]]], [["D", "N"], ["D", "N"]]
    >>> Perceptron(Chain()).fit(X, Y).predict(X) == Y
    True
    """

    _pass_state: PassState

    def __init__(
        self,
        structure,
        *,
        max_iter=10,
        tol=0.0,
        states="auto",
        transitions="auto",
        fit_intercept="auto",
        classes=None,
        n_jobs=-1,
        random_state=0,
        verbose=0,
        callbacks=None,
        warm_start=False,
    ):
        self.structure = structure
        self.max_iter = max_iter
        self.tol = tol
        self.states = states
        self.transitions = transitions
        self.fit_intercept = fit_intercept
        self.classes = classes
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks
        self.warm_start = warm_start

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Perceptron:
        """One epoch over a batch, going on from what was learnt before.

        New feature names get new weights; ``classes`` names all labels and is needed at the first call unless it is
        a constructor argument.
        """
        self._check_structure()
        X = listed(X)
        classes = self.classes if classes is None else classes
        if not hasattr(self, "coef_") and classes is None:
            raise ValueError(
                "the first call of partial_fit needs classes=..., the labels of all batches to come"
            )
        if not hasattr(self, "coef_"):
            data = encode_training(X, y, self.structure, classes, sample_weight)
            self._note_features(X, reset=True)
            state = None
        else:
            if classes is not None and set(classes) != set(self.codec_.classes_):
                known = list(self.codec_.classes_)
                raise ValueError(
                    f"classes={list(classes)!r} differs from the labels of the earlier calls, {known!r}"
                )
            data = self._encode_more(X, y, sample_weight)
            state = self._last_state()
        scorer = layout_weights(self, data)
        if state is not None:
            scorer = scorer.joined(self.scorer_)
            state = self._carried(state, scorer)
        with ThreadExecutor(1) as executor:
            problem = Risk(
                self.structure, scorer, PerceptronLoss(), data.samples, self._regularizer(scorer), executor
            )
            if state is None:
                state = PassState.new(problem, None, adaptive=False)
            history = self.result_.history if hasattr(self, "result_") else ()
            with progress(self, lambda w: self._snapshot(data, scorer, w)) as callbacks:
                solver = AveragedPerceptron(
                    1, random_state=seed_of(self.random_state), callbacks=tuple(callbacks)
                )
                result = solver.solve(problem, state={"pass": state, "history": history})
        self._pass_state = result.state["pass"]
        self._keep(data, scorer, replace(result, state=None))
        return self

    def _encode_more(self, X: Any, y: Any, sample_weight: Any) -> Encoded:
        layout = self.structure.layout
        y = given_labels(y, layout)
        encoder = self.encoder_.extended(X)
        batch = encoder.transform(X, allow_empty=False)
        check_same_length(batch if layout == "items" else X, y, layout)
        if not len(batch):
            raise ValueError("X is empty: there is no sample to learn from")
        self._note_features(X, reset=False)
        codes = encode_outputs(self.codec_, y, batch.offsets, layout)
        return Encoded(
            encoder, self.codec_, Samples(batch, codes, checked_weights(sample_weight, len(batch)))
        )

    def _last_state(self) -> PassState:
        """Where the last step left off; a loaded model goes on from its averaged weights."""
        if hasattr(self, "_pass_state"):
            return self._pass_state
        zeros = np.zeros_like(self.coef_)
        return PassState(self.coef_.copy(), zeros, zeros.copy(), zeros, rate=1.0, decay=0.0, adaptive=False)

    def _carried(self, state: PassState, scorer: Any) -> PassState:
        labels = label_map(self.codec_, self.codec_)
        w, drift = (scorer.carry_over(self.scorer_, part, labels) for part in (state.w, state.drift))
        ones = np.ones_like(w)  # only penalties are shared among samples, and there are none
        return replace(state, w=w, drift=drift, squares=np.zeros_like(w), touch_count=ones)

    def _regularizer(self, scorer: Any) -> ElasticNet:
        return ElasticNet(np.zeros(scorer.n_params), np.zeros(scorer.n_params))

    def _surrogate(self, classes: tuple) -> PerceptronLoss:
        return PerceptronLoss()

    def _solver_name(self, regularizer: Any) -> str:
        return "perceptron"

    def _keep(self, data: Encoded, scorer: Any, result: Any) -> None:
        super()._keep(data, scorer, result)
        if isinstance(result.state, dict):
            self._pass_state = result.state["pass"]
