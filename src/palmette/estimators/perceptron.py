"""The structured perceptron."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from palmette.contracts.problem import SampledProblem
from palmette.contracts.solver import Solver
from palmette.contracts.training import Encoded
from palmette.data.sequences import listed
from palmette.errors import MissingCapability
from palmette.estimators.base import label_map
from palmette.estimators.class_weight import class_weighted
from palmette.estimators.kernel_learner import LabelEstimator
from palmette.estimators.progress import progress
from palmette.estimators.regularizers import regularizers, settle_size, structure_of_pieces
from palmette.estimators.settings import settings_of
from palmette.estimators.training import (
    bound_structure,
    check_outputs,
    completed,
    encode_samples,
    encode_training,
    given_labels,
    layout_weights,
    positions,
    refuse_linked,
    seed_of,
)
from palmette.executors.choose import executor_for
from palmette.features.base import check_lengths
from palmette.features.encoded import EncodedInputs
from palmette.loops.stochastic_pass import PassState
from palmette.objectives.risk import Risk
from palmette.registry import register
from palmette.regularizers import Decomposition
from palmette.regularizers.elastic import ElasticNet
from palmette.solvers.driver import outcome
from palmette.solvers.online import PassRun
from palmette.solvers.perceptron import AveragedPerceptron
from palmette.surrogates.partial import PartialPerceptronLoss
from palmette.surrogates.perceptron import PerceptronLoss
from palmette.surrogates.ties import TiedPerceptronLoss


@register("learner")
@dataclass(eq=False, repr=False, kw_only=True)
class Perceptron(LabelEstimator):
    """Averaged structured perceptron: fast, without a penalty, supports learning in batches.

    For every sample in random order: ``w += phi(x, y) - phi(x, argmax_y' f(x, y'))``. The weights returned are the
    average over all steps. Where ``y`` has parts that are UNKNOWN or OneOf several labels, the truth is the best output
    that agrees with it at the present weights.

    Parameters
    ----------
    structure : structure object
        The type of outputs: ``Chain()``, ``Multiclass()``, ``SemiMarkov(max_length)``.
    solver : {"perceptron", "passive_aggressive", "arow"} or solver object
        Another rule for the size of a step, by name or with its settings: :class:`palmette.solvers.PassiveAggressive`,
        :class:`palmette.solvers.AROW` (for both ``tol`` is the mean loss of an epoch below which to stop).
    regularizer : Decomposition, optional
        :class:`~palmette.regularizers.Decomposition` trains on random pieces of the samples.
    kernel : kernel of ``palmette.kernels``, name, function of two tables, or None
        Features of a kernel of the rows take the place of the rows: those of an exact factor of the Gram matrix, for up
        to a few thousand distinct rows, or of ``Nystroem(...)``.
    max_iter : int, default=10
        Epochs.
    tol : float, default=0.0
        Stop when the loss of an epoch changes by less than this, relative to the one before; None is 0.
    kernel_options, encoding, edge_features, fit_intercept, classes, class_weight, n_jobs, random_state, verbose, \
    callbacks, warm_start
        As for :class:`CRF`.

    Attributes
    ----------
    classes_, coef_, result_, fit_seconds_
        As for :class:`CRF`; ``result_.gap`` is NaN, since there is no optimum to certify.

    Examples
    --------
    >>> from palmette import Chain, Perceptron
    >>> X, Y = [[["w=the"], ["w=dog"]], [["w=a"], ["w=dog"]]], [["D", "N"], ["D", "N"]]
    >>> Perceptron(Chain()).fit(X, Y).predict(X) == Y
    True
    """

    _loss_name = "perceptron"
    usual_tol = 0.0

    solver: Solver | str = "perceptron"
    regularizer: Decomposition | None = None
    max_iter: int | None = 10
    tol: float | None = 0.0

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Perceptron:
        """One epoch over a batch, going on from what was learnt before.

        New feature names get new weights; ``classes`` names all labels and is needed at the first call unless it is
        a constructor argument. As there, those of ``Multiclass`` are sorted, and others keep their order.
        """
        self._check_structure()
        if self.solver != "perceptron":
            raise MissingCapability(f"partial_fit needs solver='perceptron', got {self.solver!r}: use fit")
        if self.kernel is not None:
            raise MissingCapability(
                f"partial_fit sees one batch at a time, and kernel={self.kernel!r} compares with all training rows: "
                "use fit, or map the rows first (palmette.kernels.Nystroem(kernel).fit(rows).transform) and leave "
                "kernel out"
            )
        encoding = settings_of(self, "encoding")
        if encoding.min_count != 1:
            raise ValueError(
                f"partial_fit cannot count features over all batches: min_count={encoding.min_count!r} is for fit"
            )
        decomposition, _ = regularizers(self)
        if decomposition is not None and decomposition.is_auto:
            raise ValueError(
                "partial_fit sees one batch at a time and cannot choose a size: give Decomposition a number"
            )
        if self.class_weight == "balanced":
            raise ValueError(
                "partial_fit sees one batch at a time and cannot balance the labels of all: give class_weight a dict"
            )
        X, sample_weight = listed(X), class_weighted(self, y, sample_weight)
        classes = self.classes if classes is None else classes
        if not hasattr(self, "coef_") and classes is None and self.structure.labelled:
            raise ValueError(
                "the first call of partial_fit needs classes=..., the labels of all batches to come"
            )
        if not hasattr(self, "coef_"):
            data = encode_training(X, y, self.structure, classes, sample_weight, n_hash=encoding.n_hash)
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
        data = completed(data, scorer)
        surrogate = self._surrogate_for(data)
        decomposition = settle_size(self, decomposition, data)
        structure = data.structure if decomposition is None else structure_of_pieces(data.structure)
        penalty = self._regularizer(scorer, data)
        with (
            executor_for(1) as executor,
            structure.telling(),
            closing(
                Risk(structure, scorer, surrogate, data.samples, penalty, executor, decomposition)
            ) as problem,
        ):
            if state is None:
                state = PassState.new(problem, None, adaptive=False)
            history = self.result_.history if hasattr(self, "result_") else ()
            with progress(self, lambda w: self._snapshot(data, scorer, w)) as callbacks:
                solver = AveragedPerceptron(
                    1, random_state=seed_of(self.random_state), callbacks=tuple(callbacks)
                )
                result, stop = outcome(solver.solve, problem, None, PassRun.of(state, history))
        self._pass_state = state if result.state is None else result.state.state
        self._keep(data, scorer, replace(result, state=None))
        if stop is not None:
            raise stop
        return self

    def _encode_more(self, X: Any, y: Any, sample_weight: Any) -> Encoded:
        layout = self.structure.layout
        y = listed(y)
        refuse_linked(y, self.structure)
        y = given_labels(y, layout)
        if isinstance(X, EncodedInputs):
            encoder, batch = self.encoder_, X.of(self.encoder_)
            check_lengths(batch.lengths, allow_empty=False)
        else:
            encoder = self.encoder_.extended(X)
            batch = encoder.transform(X, allow_empty=False)
        check_outputs(batch if layout == "items" else positions(batch), y, self.structure)
        if not len(batch):
            raise ValueError("X is empty: there is no sample to learn from")
        self._note_features(X, reset=False)
        samples = encode_samples(self.structure, self.codec_, batch, y, sample_weight)
        return Encoded(encoder, self.codec_, samples, bound_structure(self.structure, self.codec_, samples))

    def _last_state(self) -> PassState:
        """Where the last step left off; a loaded model goes on from its averaged weights."""
        if hasattr(self, "_pass_state"):
            return self._pass_state
        zeros = np.zeros_like(self.coef_)
        return PassState(self.coef_.copy(), zeros, zeros.copy(), rate=1.0, decay=0.0, adaptive=False)

    def _carried(self, state: PassState, scorer: Any) -> PassState:
        labels = label_map(self.codec_, self.codec_)
        w, drift = (scorer.carry_over(self.scorer_, part, labels) for part in (state.w, state.drift))
        return replace(state, w=w, drift=drift, squares=np.zeros_like(w))

    def _regularizer(self, scorer: Any, data: Encoded) -> ElasticNet:
        return ElasticNet(np.zeros(scorer.n_params), np.zeros(scorer.n_params))

    def _partial_surrogate(self, classes: tuple[Any, ...]) -> PerceptronLoss:
        return PartialPerceptronLoss()

    def _surrogate(self, classes: tuple[Any, ...]) -> PerceptronLoss:
        return TiedPerceptronLoss() if self.structure.ties == "best" else PerceptronLoss()

    def _solver_name(self, problem: SampledProblem) -> Any:
        return self.solver

    def _keep(self, data: Encoded, scorer: Any, result: Any) -> None:
        super()._keep(data, scorer, result)
        if isinstance(result.state, PassRun) and isinstance(result.state.state, PassState):
            self._pass_state = result.state.state
