"""A drop-in replacement for ``sklearn_crfsuite.CRF``."""

from __future__ import annotations

import time
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from palmette.compat.crfsuite_file import is_crfsuite_file, read_crfsuite_model
from palmette.compat.parameters import CHECKS, resolve
from palmette.compat.tagger import ModelInfo, Tagger, model_size
from palmette.compat.training import sequences, train
from palmette.compat.training_log import TrainingLog
from palmette.estimators.persistence import load
from palmette.metrics.accuracy import token_accuracy


class ModelFile(NamedTuple):
    """The name of a model file; None if the model is in memory only."""

    name: str | None


class CRF(BaseEstimator):
    """Linear-chain CRF with the interface of ``sklearn_crfsuite.CRF``, trained and stored by palmette.

    The same data and settings give the same features and objective,
    ``sum_i [log Z(x_i) - f(x_i, y_i)] + c2 |w|^2 + c1 |w|_1``, and with ``algorithm="lbfgs"`` the same iterates, hence
    the same weights, however early training stops. The other algorithms take the same steps, on the samples in another
    random order. Parameters left at None have CRFsuite's defaults; one that the algorithm does not have is an error.

    Parameters
    ----------
    algorithm : {"lbfgs", "l2sgd", "ap", "pa", "arow"}, default="lbfgs"
        L-BFGS (OWL-QN if ``c1 > 0``), stochastic gradient, averaged perceptron, passive-aggressive, AROW.
    min_freq : float, default=0
        Drop weights of attribute and label, and of two labels, whose occurrences have values that sum to less.
    all_possible_states, all_possible_transitions : bool, default=False
        Give weights also to combinations that do not occur in the training data.
    c1 : float, default=0 (lbfgs)
    c2 : float, default=1 (lbfgs, l2sgd)
        Strengths of the L1 and L2 penalties; ``c2`` is half of the ``l2`` of :class:`palmette.CRF`.
    max_iterations : int
        Default: no limit (lbfgs), 1000 (l2sgd), 100 (ap, pa, arow).
    num_memories : int, default=6 (lbfgs)
        Curvature pairs.
    epsilon : float, default=1e-5 (lbfgs) or 0 (ap, pa, arow)
        lbfgs stops when ``|gradient| <= epsilon max(1, |w|)``, the others when the mean loss of an epoch is below it.
    period, delta : int and float, default=10 and 1e-5 (lbfgs), 1e-6 (l2sgd)
        Stop when the objective fell by less than the share ``delta`` over ``period`` iterations.
    linesearch : {"MoreThuente", "Backtracking", "StrongBacktracking"} (lbfgs)
    max_linesearch : int, default=20 (lbfgs)
    calibration_eta, calibration_rate, calibration_samples, calibration_candidates, calibration_max_trials (l2sgd)
        How the step size is found before training: see :class:`palmette.compat.l2sgd.CRFsuiteSGD`.
    pa_type : {0, 1, 2}, default=1 (pa)
    c : float, default=1 (pa)
    error_sensitive, averaging : bool, default=True (pa)
        See :class:`palmette.solvers.PassiveAggressive`.
    variance, gamma : float, default=1 (arow)
        See :class:`palmette.solvers.AROW`.
    verbose : bool, default=False
        Print a line for each iteration.
    model_filename : str, optional
        ``fit`` stores the model there, as a palmette model file (one zip of JSON and arrays; nothing in it is ever
        executed). If the file exists, it can be used without ``fit``. ``palmette.load`` reads it, too. A model file of
        CRFsuite is read as well.
    keep_tempfiles : bool, default=False
        Without effect: there are no temporary files.
    trainer_cls : None
        Classes of CRFsuite trainers are refused.

    Attributes
    ----------
    model_ : palmette.CRF or palmette.Perceptron
        The trained model, with all that palmette's models can do (n best outputs, ``save``, ...).
    training_log_ : TrainingLog

    Examples
    --------
    >>> X = [[{"w": "the"}, {"w": "dog"}], [{"w": "a"}, {"w": "dog"}, {"w": "barks"}]]
    >>> y = [["D", "N"], ["D", "N", "V"]]
    >>> crf = CRF(c2=0.1, max_iterations=50).fit(X, y)
    >>> crf.predict_single([{"w": "the"}, {"w": "dog"}, {"w": "barks"}])
    ['D', 'N', 'V']
    >>> max(crf.transition_features_, key=crf.transition_features_.get)
    ('D', 'N')
    """

    def __init__(
        self,
        algorithm: Any = None,
        min_freq: Any = None,
        all_possible_states: Any = None,
        all_possible_transitions: Any = None,
        c1: Any = None,
        c2: Any = None,
        max_iterations: Any = None,
        num_memories: Any = None,
        epsilon: Any = None,
        period: Any = None,
        delta: Any = None,
        linesearch: Any = None,
        max_linesearch: Any = None,
        calibration_eta: Any = None,
        calibration_rate: Any = None,
        calibration_samples: Any = None,
        calibration_candidates: Any = None,
        calibration_max_trials: Any = None,
        pa_type: Any = None,
        c: Any = None,
        error_sensitive: Any = None,
        averaging: Any = None,
        variance: Any = None,
        gamma: Any = None,
        verbose: bool = False,
        model_filename: Any = None,
        keep_tempfiles: bool = False,
        trainer_cls: Any = None,
    ) -> None:
        self.algorithm = algorithm
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.num_memories = num_memories
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.linesearch = linesearch
        self.max_linesearch = max_linesearch
        self.calibration_eta = calibration_eta
        self.calibration_rate = calibration_rate
        self.calibration_samples = calibration_samples
        self.calibration_candidates = calibration_candidates
        self.calibration_max_trials = calibration_max_trials
        self.pa_type = pa_type
        self.c = c
        self.error_sensitive = error_sensitive
        self.averaging = averaging
        self.variance = variance
        self.gamma = gamma
        self.verbose = verbose
        self.model_filename = model_filename
        self.keep_tempfiles = keep_tempfiles
        self.trainer_cls = trainer_cls

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> CRF:
        """Learn from sequences ``X`` and their labels ``y``.

        Parameters
        ----------
        X : list of list of dict
            Features of every position: values are strings, numbers, booleans, dicts, lists or sets of strings. Lists of
            strings and 2-D arrays take the place of the inner lists of dicts.
        y : list of list of labels
            Strings, or anything hashable.
        X_dev, y_dev : optional
            Held-out data, evaluated after every iteration; see ``training_log_``.
        """
        if (X_dev is None) != (y_dev is None):
            missing = "X_dev" if X_dev is None else "y_dev"
            raise ValueError(f"held-out data needs both X_dev and y_dev, but {missing} is None")
        if self.trainer_cls is not None:
            raise TypeError(
                f"trainer_cls={self.trainer_cls!r}: CRFsuite does not train here; verbose=True prints the iterations, "
                "and training_log_ holds them"
            )
        algorithm, params = resolve(self.algorithm, {name: getattr(self, name) for name in CHECKS})
        if self.model_filename is not None and not Path(self.model_filename).absolute().parent.is_dir():
            raise FileNotFoundError(f"model_filename={str(self.model_filename)!r}: there is no such folder")
        model, log, stop = train(algorithm, params, X, y, X_dev, y_dev, bool(self.verbose))
        # Before the file is written: a full disk must not lose them.
        self._model, self._log, self._tagger = model, log, Tagger(model)
        if self.model_filename is not None:
            started = time.perf_counter()
            model.save(self.model_filename)
            log.storing_seconds = time.perf_counter() - started
        if stop is not None:
            raise stop
        return self

    # -- prediction ---------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """Best labels of every sequence.

        Returns
        -------
        ndarray of object
            ``np.array(lists of labels, dtype=object)``: shape (n_sequences,), a list each, or (n_sequences, length)
            where all sequences have the same length.
        """
        return _in_array(self._best(X))

    def predict_single(self, xseq: Any) -> list[Any]:
        """Best labels of one sequence."""
        return self._best([xseq])[0]

    def predict_marginals(self, X: Any) -> np.ndarray:
        """Probabilities ``{label: probability}`` at every position: an array of such dicts, shaped as by `predict`."""
        return _in_array(self._marginals(X))

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, Any]]:
        """Probabilities of all labels at every position of one sequence, a dict each."""
        return self._marginals([xseq])[0]

    def _best(self, X: Any) -> list[list[Any]]:
        return [list(labels) for labels in self.model_.predict(sequences(X))]

    def _marginals(self, X: Any) -> list[list[dict[str, Any]]]:
        classes = self.model_.codec_.classes_
        tables = self.model_.predict_marginals(sequences(X))
        return [[dict(zip(classes, row)) for row in table.tolist()] for table in tables]

    def score(self, X: Any, y: Any) -> float:
        """Share of positions with the right label."""
        return token_accuracy(y, self._best(X))

    # -- the model ----------------------------------------------------------------------------------------------

    @property
    def model_(self) -> Any:
        """The trained model, read from ``model_filename`` if there was no ``fit``."""
        model = self._found()
        if model is None:
            raise NotFittedError(
                "this CRF is not fitted yet: call fit, or give the model_filename of an existing model"
            )
        return model

    def _found(self) -> Any:
        path = self.model_filename
        if "_model" not in vars(self) and path is not None and Path(path).exists():
            self._model = read_crfsuite_model(path) if is_crfsuite_file(path) else load(path)
        return vars(self).get("_model")

    def __sklearn_is_fitted__(self) -> bool:
        return self._found() is not None

    @property
    def modelfile(self) -> ModelFile:
        """Where the model is stored: ``modelfile.name`` is ``model_filename``, for there are no temporary files."""
        return ModelFile(self.model_filename)

    @property
    def training_log_(self) -> TrainingLog | None:
        """The course of the last ``fit``; None before it."""
        return vars(self).get("_log")

    @property
    def tagger_(self) -> Tagger | None:
        """The model as python-crfsuite's Tagger shows it; None before ``fit``."""
        if self._found() is None:
            return None
        if "_tagger" not in vars(self):
            self._tagger = Tagger(self.model_)
        return self._tagger

    @property
    def _info(self) -> ModelInfo | None:
        return None if self.tagger_ is None else self.tagger_.info()

    @property
    def classes_(self) -> list[Any] | None:
        """The labels, in order of their first appearance in the training data."""
        return None if self.tagger_ is None else self.tagger_.labels()

    @property
    def size_(self) -> int | None:
        """Bytes of a file of this model."""
        return None if self._found() is None else model_size(self.model_)

    @property
    def num_attributes_(self) -> int | None:
        """Number of attributes that have a weight other than 0."""
        return None if self._info is None else len(self._info.attributes)

    @property
    def attributes_(self) -> list[str] | None:
        """Attributes that have a weight other than 0."""
        return None if self._info is None else list(self._info.attributes)

    @property
    def state_features_(self) -> dict[tuple[str, Any], float] | None:
        """Weights ``{(attribute, label): weight}`` other than 0."""
        return None if self._info is None else self._info.state_features

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float] | None:
        """Weights ``{(label, next label): weight}`` other than 0."""
        return None if self._info is None else self._info.transitions

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "_tagger"}


def _in_array(items: list[list[Any]]) -> np.ndarray:
    """As ``np.array(items, dtype=object)``, but labels that are tuples stay whole."""
    if len({len(item) for item in items}) != 1:
        return np.fromiter(items, object, len(items))
    shape = len(items), len(items[0])
    return np.fromiter(chain.from_iterable(items), object, shape[0] * shape[1]).reshape(shape)
