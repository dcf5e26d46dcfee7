"""Structured support vector machines: max-margin learning on any structure that can maximise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from palmette.errors import MissingCapability
from palmette.estimators.kernel_fit import check_kernel_settings, fit_kernel
from palmette.estimators.kernel_learner import KernelEstimator
from palmette.estimators.strengths import wanted_tol
from palmette.kernels import Nystroem
from palmette.loops import find
from palmette.losses.base import resolve_loss
from palmette.losses.rescaling import resolve_rescaling
from palmette.objectives.problem import is_l1_alone
from palmette.registry import register
from palmette.solvers.multiclass_dual import FEW_WEIGHTS, suits
from palmette.surrogates.difference import Difference
from palmette.surrogates.hinge import Hinge
from palmette.surrogates.ramp import ramp_loss
from palmette.surrogates.rescaled import RescaledHinge
from palmette.surrogates.soft_hinge import SoftHinge
from palmette.surrogates.ties import TieLoss

# With few weights the bundle method ends sooner below this tol; with few samples beside it, its results depend on
# neither their order nor their repetition, and both take no time.
DUAL_FROM, FEW_SAMPLES = 1e-4, 100
LOSSES = ("hinge", "soft_hinge", "ramp")
# Relative gap of the objective beyond which held-out scores do not move (experiments/benchmarks/defaults.py). The ramp
# loss has no gap: its procedure ends by the decrease of a round, and ends too soon at 1e-2.
USUAL_TOL = {"hinge": 1e-2, "soft_hinge": 1e-3, "ramp": 1e-3}


@register("learner")
class SSVM(KernelEstimator):
    r"""Structured support vector machine (max-margin Markov network on chains).

    Minimises ``sum_i max_y [f(x_i, y) + D(y_i, y)] - f(x_i, y_i) + (l2/2)|w|^2 + l1|w|_1`` where ``D`` is the task
    loss. On ``Multiclass()`` this is the multiclass SVM of Crammer and Singer. ``loss="ramp"`` has ``max_y f(x_i, y)``
    in place of ``f(x_i, y_i)``, which bounds the task loss more tightly and does not grow with the scores.

    Parameters
    ----------
    structure : structure object
        What an output is: ``Chain()``, ``Multiclass()``, ``SemiMarkov(max_length)``, ``Graph()``, ``Ranking()``.
    l2, C : float, optional
        Strength of the L2 penalty, as itself or as ``l2 = 1 / C``; both is an error. Neither means the usual one: 1
        for named features, label pairs and intercepts, and for columns of arrays half of the number of columns times
        the geometric mean of their variances (with a kernel half the variance of the rows in its space; of a
        ``Ranking`` the whole, variances being those within queries). ``l2="10x"`` is ten times as much of each.
        :class:`SSVMCV` chooses it.
    l1 : float, default=0.0
        Strength of the L1 penalty, which makes weights exactly 0. Beside ``l2`` it is the bundle method that solves the
        hinge with a proven gap; alone (``l2=0``) it is a linear program, for up to 3,000 weights and samples together.
    loss : {"hinge", "ramp", "soft_hinge"}, default="hinge"
        The surrogate: the hinge; the ramp loss (:class:`~palmette.surrogates.Difference`), which is not convex, and to
        which a sample that is wrong by far no longer matters, for noisy labels and for rankings; or the hinge with its
        maximum rounded off by entropy (:class:`~palmette.surrogates.SoftHinge`): smooth, so that L-BFGS serves it. That
        suits few samples that are large graphs with cycles, where sums cost less than the linear programs of the
        relaxed hinge.
    rescaling : {"margin", "slack"} or function of the task loss, default="margin"
        ``G`` in ``max_y G(D) (f(x_i, y) - f(x_i, y_i)) + D``, the general form of the hinge, and in the same way of the
        ramp loss: 1, the task loss itself, or any non-decreasing function of it (an array or a number). Other maxima
        than those of margin rescaling are searched (:mod:`palmette.losses.rescaling` tells how, and when exactly).
    temperature : float, default=0.2
        Of the soft hinge, which is above the hinge by at most ``temperature`` times the entropy of the outputs.
    task_loss : {"auto", "hamming", "zero_one", "ndcg", "map", "precision", "pairwise"} or object of ``palmette.losses``
        What a mistake costs. "auto" (the default) is NDCG for ``Ranking`` and Hamming loss for the others. A table of
        costs, ``[true, predicted]`` in the order of ``classes_``, or a mapping stands for ``Hamming(costs)``.
    l2_node, l2_edge, l2_bias : float, optional
        L2 of feature, transition and intercept weights; ``l2`` by default.
    regularizer : Decomposition, optional
        :class:`~palmette.regularizers.Decomposition` trains on random pieces of the samples (solver "stochastic").
    kernel : kernel of ``palmette.kernels``, name, function of two tables, or None
        Scores labels at positions by a kernel of their rows instead of weights of features; transitions keep their
        weights. The dual of the hinge is solved (:class:`~palmette.solvers.KernelFrankWolfe`); other losses and
        rescalings learn weights of an exact factor of the Gram matrix, as long as that fits into ``cache_size``.
        ``l1``, ``regularizer``, ``edge_features`` and ``warm_start``, which speak of weights, are refused.
        ``Nystroem(...)`` maps the rows to features and leads to the linear solvers.
    edge_kernel : kernel, name or function, optional
        Beside ``kernel``: scores label pairs at edges by a kernel of edges, instead of one table for all of them. It
        compares the features of edges (``Graph``), or the rows of both ends side by side. There is no compiled loop
        for it.
    edge_weight : float, default=1.0
        Weight of the kernel of transitions (1 for equal label pairs) relative to that of nodes: the transitions are
        penalised by ``l2 / edge_weight``. It means the same without ``kernel``.
    cache_size : float, default=2000
        Megabytes for the Gram matrix. If it does not fit, inner products of small integers (binary pixels) take a
        byte each; otherwise some rows stay and the others are computed when they are needed. Up to 1,024 rows at a time
        are computed beside it.
    solver : str or solver object, default="auto"
        Duals with a variable for each sample: "multiclass_dual" (``Multiclass``), "frank_wolfe", "smo" (the method of
        the paper on max-margin Markov networks), "n_slack" (cutting planes of the samples). Cutting planes of the whole
        loss: "bundle", "one_slack", which take ``l1`` too, and "linear_program" for ``l1`` alone. Steps against
        subgradients: "subgradient", "pegasos", "stochastic". For ``loss="ramp"``: "cccp", the concave-convex procedure
        (:class:`~palmette.solvers.CCCP`), or those steps.

        "auto" is "multiclass_dual" for ``Multiclass`` with more than 500 weights, or more than 100 samples unless
        ``C |x|^2`` is above 1,000 in the mean, "frank_wolfe" where that has a compiled loop (chains of order 1 without
        edge features), and "bundle" for up to 500 weights, with ``l1``, for a ``warm_start`` and for everything else;
        "linear_program" for ``l1`` alone; "stochastic" where only some blocks have ``l2``; "cccp" for ``loss="ramp"``.
        Frank-Wolfe took a quarter of the CPU time of the bundle method to a gap of 1e-3 on OCR letters (4,004 weights)
        for C = 0.01 and 0.1 and less than a third for C = 1, and a quarter on 1,000 sentences of CoNLL-2000 (93,535
        weights) for C = 0.1.
    tol : float, optional
        Relative suboptimality to reach; ``result_.reason`` says what was reached. By default 1e-2 for the hinge, where
        smaller ones take many times as long and change no score, and 1e-3 for the other losses.
    max_iter, states, transitions, edge_features, fit_intercept, min_count, n_hash, classes, class_weight, n_jobs, \
    random_state, verbose, callbacks, warm_start
        As for :class:`CRF`.

    Attributes
    ----------
    classes_, coef_, result_, objective_, l2_, fit_seconds_
        As for :class:`CRF`.
    support_, n_support_, dual_coef_
        With a kernel: the training rows that have a coefficient, their number, and the coefficients, shape
        (n_support_, n_classes).

    Examples
    --------
    >>> import numpy as np
    >>> from palmette import SSVM, Chain
    >>> X = [np.eye(2)[[0, 0, 1]], np.eye(2)[[1, 0]]]
    >>> Y = [["a", "a", "b"], ["b", "a"]]
    >>> model = SSVM(Chain(), C=10.0).fit(X, Y)
    >>> model.predict(X) == Y, model.result_.reason
    (True, 'gap')

    The last two labels are wrong, and move the hinge more than the ramp loss:

    >>> from palmette import Multiclass
    >>> x = np.array([-2.0, -1.5, -1.0, -0.4, 0.5, 1.0, 1.5, 2.0, -3.0, -3.0])[:, None]
    >>> for loss in ("hinge", "ramp"):
    ...     print("".join(SSVM(Multiclass(), C=10.0, loss=loss).fit(x, list("llllrrrrrr")).predict(x)))
    lllrrrrrll
    llllrrrrll

    A max-margin Markov network with a cubic kernel on nodes:

    >>> from palmette.kernels import Polynomial
    >>> model = SSVM(Chain(), C=10.0, kernel=Polynomial(3, normalize=True), edge_weight=3.0).fit(X, Y)
    >>> model.predict(X) == Y, model.n_support_
    (True, 2)
    """

    _same_samples = False  # whether a warm start is known to see the samples of the last fit
    usual_share = 0.5  # a margin needs a stronger penalty than a likelihood where weights are many

    def __init__(
        self,
        structure,
        *,
        l2=None,
        C=None,
        l1=0.0,
        loss="hinge",
        rescaling="margin",
        temperature=0.2,
        task_loss="auto",
        l2_node=None,
        l2_edge=None,
        l2_bias=None,
        regularizer=None,
        kernel=None,
        edge_kernel=None,
        edge_weight=1.0,
        cache_size=2000,
        solver="auto",
        tol=None,
        max_iter=None,
        states="auto",
        transitions="auto",
        edge_features=None,
        fit_intercept="auto",
        min_count=1,
        n_hash=None,
        classes=None,
        class_weight=None,
        n_jobs=-1,
        random_state=0,
        verbose=0,
        callbacks=None,
        warm_start=False,
    ):
        self.structure = structure
        self.l2 = l2
        self.C = C
        self.l1 = l1
        self.loss = loss
        self.rescaling = rescaling
        self.temperature = temperature
        self.task_loss = task_loss
        self.l2_node = l2_node
        self.l2_edge = l2_edge
        self.l2_bias = l2_bias
        self.regularizer = regularizer
        self.kernel = kernel
        self.edge_kernel = edge_kernel
        self.edge_weight = edge_weight
        self.cache_size = cache_size
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.states = states
        self.transitions = transitions
        self.edge_features = edge_features
        self.fit_intercept = fit_intercept
        self.min_count = min_count
        self.n_hash = n_hash
        self.classes = classes
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks
        self.warm_start = warm_start

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from inputs ``X`` and outputs ``y``, given as for :meth:`CRF.fit <palmette.CRF.fit>`.

        Returns
        -------
        self
        """
        check_kernel_settings(self)
        if self.kernel is None and self.edge_kernel is not None:
            raise ValueError("edge_kernel needs a kernel of nodes too: give kernel=Linear(), for example")
        if self.kernel is None:
            return super().fit(X, y, sample_weight)
        return fit_kernel(self, X, y, sample_weight)

    def _regularizer(self, scorer: Any, data: Any) -> Any:
        found = super()._regularizer(scorer, data)
        if self.edge_weight == 1.0:
            return found
        l2 = found.l2.copy()
        for block in ("edge", "edge_features", "edge2", "factors"):
            if block in scorer.blocks:
                l2[scorer.blocks[block]] /= self.edge_weight
        return replace(found, l2=l2)

    @property
    def usual_tol(self) -> float:
        """The relative suboptimality to reach where ``tol`` is None."""
        return USUAL_TOL.get(self.loss, 1e-3)

    def _check_loss(self) -> None:
        if self.loss not in LOSSES:
            raise ValueError(f"loss={self.loss!r} is unknown; the surrogates of SSVM are {', '.join(LOSSES)}")

    @property
    def _loss_name(self) -> str:  # type: ignore[override]
        self._check_loss()
        ties = getattr(self.structure, "ties", None) == "best"
        margin = resolve_rescaling(self.rescaling).is_margin
        if (
            self.loss == "hinge"
            and margin
            and self.kernel is not None
            and not isinstance(self.kernel, Nystroem)
        ):
            return "kernel"
        if self.loss != "hinge" or ties:
            return "ramp" if ties else self.loss
        return "hinge" if margin else "rescaled hinge"

    @property
    def _takes_groups(self) -> bool:  # type: ignore[override]
        return self.loss == "soft_hinge"

    def _surrogate(self, classes: tuple) -> Any:
        self._check_loss()
        task_loss = resolve_loss(self.task_loss, self.structure, classes)
        rescaling = resolve_rescaling(self.rescaling)
        ties = getattr(self.structure, "ties", None) == "best"
        if not rescaling.is_margin:
            self._check_rescaling(ties)
        if (
            self.loss == "ramp"
        ):  # with margin rescaling the truth cancels out of it, so that ties do not matter
            return ramp_loss(task_loss, rescaling)
        if not rescaling.is_margin:
            return RescaledHinge(task_loss, rescaling)
        if self.loss == "soft_hinge":
            return SoftHinge(task_loss, self.temperature)
        return Difference(Hinge(task_loss), TieLoss()) if ties else Hinge(task_loss)

    def _check_rescaling(self, ties: bool) -> None:
        if self.loss == "soft_hinge":
            raise MissingCapability(
                f"loss='soft_hinge' sums over outputs, which rescaling={self.rescaling!r} cannot be added to: use "
                "rescaling='margin', or loss='hinge'"
            )
        if ties:
            raise MissingCapability(
                f"rescaling={self.rescaling!r} compares with one true output: use rescaling='margin', or "
                f"{type(self.structure).__name__}(ties='given')"
            )

    def _solver_name(self, problem: Any) -> Any:
        if not (isinstance(self.solver, str) and self.solver == "auto"):
            return self.solver
        if problem.smooth:
            return "lbfgs"
        regularizer = problem.regularizer
        if not regularizer.strongly_convex:
            return "linear_program" if problem.convex and is_l1_alone(problem) else "stochastic"
        if not problem.convex:
            return "cccp"
        if regularizer.has_l1:
            return "bundle"
        if self._suits_the_dual(problem):
            return "multiclass_dual"
        # Without a compiled loop a visit costs more than its share of a pass, so whole passes win. Dual variables
        # belong to samples, so that a warm start on others needs a method whose variables are weights.
        others = self.warm_start and not self._same_samples
        loop = find("frank_wolfe", problem)
        if len(regularizer.l2) <= FEW_WEIGHTS or others or not (loop and loop.compiled):
            return "bundle"
        return "frank_wolfe"

    def _suits_the_dual(self, problem: Any) -> bool:
        """Whether the dual of the multiclass hinge ends before the bundle method does."""
        many = wanted_tol(self) >= DUAL_FROM and problem.n_samples > FEW_SAMPLES
        return (many or len(problem.regularizer.l2) > FEW_WEIGHTS) and suits(problem)

    def _solve(self, solver: Any, problem: Any, start: np.ndarray | None) -> Any:
        if start is not None and hasattr(
            solver, "usable"
        ):  # from weights, and from dual variables if there are any
            return solver.solve(problem, w0=start, state=solver.usable(problem, self.result_.state))
        # The dual solver goes on from its own variables, which belong to these very outputs.
        if start is not None and hasattr(solver, "restart"):
            if not solver.can_restart(self.result_.state):
                if self._same_samples:  # along a path "auto" may take another solver than before
                    return solver.solve(problem)
                raise MissingCapability(
                    f"{type(solver).__name__} continues from its dual variables, and this model does not have them (it "
                    "was loaded, or fitted by another solver or with warm_start=False): use solver='bundle', or fit "
                    "from scratch"
                )
            return solver.solve(problem, state=solver.restart(problem, self.result_.state))
        return solver.solve(problem, w0=start)
