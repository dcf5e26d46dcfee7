"""The learners whose penalty is chosen by cross-validation."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

from palmette.errors import warn_caller
from palmette.estimators.base import StructuredEstimator
from palmette.estimators.crf import CRF
from palmette.estimators.folds import copy_for_folds, cut_folds, splits_of
from palmette.estimators.path import Path, penalties_given, penalty_path, refuse_gram
from palmette.estimators.ssvm import SSVM
from palmette.estimators.training import (
    check_outputs,
    checked_weights,
    encode_inputs,
    given_labels,
    positions,
)
from palmette.registry import register

_GIVEN_UP = ("l2", "C", "warm_start")  # parameters of the learner that the search sets
_OWN = {"l2s": None, "cv": 3, "scoring": None, "search_tol": None}


class Tuned(StructuredEstimator):
    """A learner that chooses its ``l2``; a subclass names the learner as its second base.

    Its parameters are those of the learner without ``l2``, ``C`` and ``warm_start``, and those of the search.
    """

    _learner: ClassVar[type]
    l2: float | str | None = None
    C: float | None = None
    warm_start = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._learner = learner = cls.__bases__[1]
        known = inspect.signature(learner.__init__).parameters.values()  # type: ignore[misc]
        keyword = inspect.Parameter.KEYWORD_ONLY
        own = [inspect.Parameter(name, keyword, default=value) for name, value in _OWN.items()]
        kept = [p for p in known if p.name not in _GIVEN_UP]
        first = [p for p in kept if p.kind is not keyword]
        signature = inspect.Signature([*first, *own, *(p for p in kept if p.kind is keyword)])

        def __init__(self: Any, *args: Any, **values: Any) -> None:
            bound = signature.bind(self, *args, **values)
            bound.apply_defaults()
            for name, value in list(bound.arguments.items())[1:]:
                setattr(self, name, value)

        __init__.__signature__ = signature  # type: ignore[attr-defined]  # where scikit-learn reads the parameters
        cls.__init__ = __init__  # type: ignore[method-assign]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Any:
        """Choose the penalty by cross-validation, then learn from all samples with it.

        Ctrl-C ends the search: the model is learnt with the best penalty so far, and then ``KeyboardInterrupt`` is
        raised again. Another Ctrl-C ends that, too, with the best weights so far.

        Parameters
        ----------
        X, y, sample_weight
            As for the plain learner. Weights count in training, and in the scores of held-out samples unless
            ``scoring`` is given.
        groups : array-like of shape (n_samples,), optional
            Samples of one group, such as the sentences of a document, are held out together.

        Returns
        -------
        self
        """
        self._check_structure()
        refuse_gram(self)
        shared = {k: v for k, v in self.get_params(deep=False).items() if k not in _OWN}
        plain, layout = copy_for_folds(self._learner(**shared)), self.structure.layout
        if self.l2s is not None:
            penalties_given(self.l2s)  # bad ones are refused before the inputs are encoded
        y, given = given_labels(y, layout), X
        X = encode_inputs(X, self.structure, **self._encoding())
        check_outputs(X.batch if layout == "items" else positions(X.batch), y, self.structure)
        weight = None if sample_weight is None else checked_weights(sample_weight, len(X))
        splits = splits_of(self.cv, y, groups, items=layout == "items", random_state=self.random_state)
        search = {"l2s": self.l2s, "scoring": self.scoring, "search_tol": self.search_tol}
        path, stop = self._search(plain, cut_folds(X, y, weight, splits), **search)
        try:
            plain.set_params(callbacks=self.callbacks, **path.setting()).fit(X, y, sample_weight)
        finally:
            if hasattr(plain, "coef_"):  # after Ctrl-C too
                path.note_on(plain)
                self._take_over(plain)
                self._note_features(given, reset=True)
        if stop is not None:
            raise stop
        return self

    def _search(self, plain: Any, folds: Any, **search: Any) -> tuple[Path, KeyboardInterrupt | None]:
        """The path of penalties; with the interrupt that ended it early, to be raised again once a model is learnt."""
        try:
            return penalty_path(plain, folds, **search), None
        except KeyboardInterrupt as stop:
            path = getattr(stop, "path", None)
            if path is None:  # before the first penalty
                raise
            warn_caller(
                f"{type(self).__name__}: the search was interrupted after {len(path.values)} penalties. The model is "
                f"learnt from all samples with the best of them, l2={path.setting()['l2']}; interrupt again to end "
                "that, too",
                UserWarning,
            )
            return path, stop

    def _take_over(self, plain: Any) -> None:
        """What the plain learner has learnt, in place of what was learnt before."""
        for name in filter(_is_learnt, list(self.__dict__)):
            delattr(self, name)
        for name in filter(_is_learnt, plain.__dict__):
            setattr(self, name, plain.__dict__[name])


def _is_learnt(name: str) -> bool:
    return name == "_structure" or (name.endswith("_") and not name.startswith("_"))


@register("learner")
class CRFCV(Tuned, CRF):
    """Conditional random field whose L2 penalty is chosen by cross-validation.

    The samples are encoded once and cut into folds. On every fold the penalties are tried, each fit starting where the
    last one ended; the best mean score wins, and the model is learnt from all samples with that penalty. That costs
    about 4 to 12 times as much as one fit, and 7 to 30 times for :class:`SSVMCV`, whose weak penalties are harder to
    solve. A fitted object is a :class:`CRF` in every respect.

    Parameters
    ----------
    structure : structure object
        A sample is one sequence, graph or row, and is never cut.
    l2s : array-like of float or str, optional
        Penalties to try, as ``l2`` of :class:`CRF`: numbers, or multiples of its usual penalty such as "3x". By default
        the multiples 10, 1 and 0.1, weaker or stronger powers of ten as long as the score gains, and one between the
        best two. If all scores are the same, the usual penalty is taken, with a warning.
    cv : int, splitter of scikit-learn, or iterable of pairs of indices, default=3
        Folds. An int stands for shuffled ones (``random_state``): of whole ``groups`` if ``fit`` is given any, else
        with an equal share of each class for ``Multiclass``, else of samples.
    scoring : callable or name, optional
        ``scoring(model, X, y)``, larger is better, or a name of :func:`palmette.metrics.get_scorer` such as
        ``"chunk_f1"``; ``score`` by default.
    search_tol : float, optional
        ``tol`` of the fits on folds; ``tol`` by default, but at least 0.03.
    others
        As for :class:`CRF`, which has ``l2``, ``C`` and ``warm_start`` beside them. ``l2_node``, ``l2_edge`` and
        ``l2_bias`` stay as they are given. Callbacks see the last fit only.

    Attributes
    ----------
    l2_ : float
        The penalty of the weights of features that was chosen.
    l2s_ : ndarray of shape (n_values,)
        Penalties that were tried, the strongest first.
    cv_scores_ : ndarray of shape (n_values, n_folds)
        Their scores on held-out samples.
    best_params_ : dict
        ``CRF(structure, **best_params_)`` is the model that was learnt in the end: ``{"l2": 3.0}``, or ``{"l2": "3x"}``
        where multiples were tried.
    best_score_ : float
        Mean of its scores.
    others
        As for :class:`CRF`.

    Notes
    -----
    Columns of features are those of all samples. That gives nothing away: a column that no training sample of a fold
    has gets no weight there or stays at 0. Only ``min_count`` counts in all samples.

    With a kernel every fit starts from scratch. The ramp loss is not convex: its fits start from those
    of stronger penalties.

    Examples
    --------
    >>> from palmette import CRFCV, Chain
    >>> from palmette.datasets import make_tagging
    >>> X, y = make_tagging(n_samples=60, random_state=0)
    >>> model = CRFCV(Chain(), l2s=[0.1, 1.0, 10.0], cv=3).fit(X, y, groups=[i // 5 for i in range(60)])
    >>> model.l2_, model.l2s_, model.cv_scores_.shape
    (0.1, array([10. ,  1. ,  0.1]), (3, 3))
    """


@register("learner")
class SSVMCV(Tuned, SSVM):
    """Structured support vector machine whose L2 penalty is chosen by cross-validation.

    As :class:`CRFCV`, with the parameters of :class:`SSVM` in place of those of :class:`CRF`. Where the solver works in
    the dual (Frank-Wolfe, the dual of the multiclass hinge), a fit goes on from the dual variables of the penalty
    before, which belong to the same samples.

    Examples
    --------
    >>> from palmette import Multiclass, SSVMCV
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SSVMCV(Multiclass(), cv=5).fit(X, y)
    >>> model.best_params_, bool(model.best_score_ > 0.94)
    ({'l2': '1x'}, True)
    """
