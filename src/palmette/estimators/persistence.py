"""Saving and loading estimators: a JSON header and plain arrays, nothing that runs code."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.contracts.solver import Result, Step
from palmette.data.checks import check_array, check_finite, check_type, entry, group, needed
from palmette.errors import ModelFileError
from palmette.estimators.model_checks import check_model, check_settings
from palmette.estimators.stored_params import missing_functions, revived, stored_params, stored_value
from palmette.features.choose_encoder import encoder_from_state
from palmette.io.model_file import read_model, write_model
from palmette.registry import find, kind_of, revive, stored

_OF_PENALTY = ("l2_", "l2s_", "cv_scores_", "best_params_", "best_score_")  # how the penalty was chosen


class ModelFileMixin:
    """``save`` and ``load`` of whatever says by ``file_state()`` what a file holds of it."""

    def file_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Header and arrays of the fitted model."""
        raise NotImplementedError

    def save(
        self, path: Any, *, extra: dict[str, Any] | None = None, extra_arrays: dict[str, Any] | None = None
    ) -> None:
        """Write the fitted model to ``path`` (one zip of JSON and ``.npy`` files; see ``palmette.load``).

        ``extra`` is a JSON object kept beside the model, read back as ``extra_``, and ``extra_arrays`` are arrays by
        name, read back as ``extra_arrays_``. Callbacks are not saved, nor are ``cv`` and ``scoring`` of :class:`CRFCV`
        and its like if they are objects: a loaded model has the defaults of these. They matter for fitting again only.
        """
        header, arrays = self.file_state()
        if extra is not None:
            header["extra"] = extra
        if extra_arrays is not None:
            kept = {name: array for name, array in arrays.items() if not name.startswith("extra.")}
            arrays = kept | {f"extra.{name}": array for name, array in extra_arrays.items()}
        write_model(path, kind_of(self), header, arrays)

    @classmethod
    def load(cls, path: Any, **functions: Any) -> Any:
        """Read a model of this class; another class is refused. See :func:`palmette.load`."""
        model = load(path, **functions)
        if not isinstance(model, cls):
            raise ModelFileError(
                f"{path} holds a {type(model).__name__}, not a {cls.__name__}; use palmette.load(path)"
            )
        return model


class PersistenceMixin(ModelFileMixin):
    """``save`` and ``load`` of a learner with weights of a structure."""

    get_params: Any  # what the estimator brings
    encoder_: Any
    scorer_: Any
    codec_: Any
    coef_: np.ndarray
    result_: Result
    objective_: float

    def file_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Header and arrays of the fitted model."""
        return state_of(self)


def state_of(model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of a fitted learner for a model file."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model, "coef_")
    encoder_header, encoder_arrays = stored(model.encoder_)
    scorer_header, scorer_arrays = stored(model.scorer_)
    result = model.result_
    header = {
        "params": stored_params(model),
        "codec": {"kind": kind_of(model.codec_), "state": model.codec_.state()},
        "encoder": encoder_header,
        "scorer": scorer_header,
        "result": {
            "converged": bool(result.converged),
            "reason": result.reason,
            "objective": model.objective_ if np.isfinite(model.objective_) else None,
        },
        "decomposition": stored_value("decomposition_", getattr(model, "decomposition_", None)),
        "penalty": {
            name: stored_value(name, getattr(model, name)) for name in _OF_PENALTY if hasattr(model, name)
        },
        "extra": getattr(model, "extra_", None),
    }
    arrays = {"coef": model.coef_, "history": np.array(result.history, float).reshape(-1, 5)}
    arrays |= {f"encoder.{k}": v for k, v in encoder_arrays.items()}
    arrays |= {f"scorer.{k}": v for k, v in scorer_arrays.items()}
    arrays |= {f"extra.{k}": v for k, v in getattr(model, "extra_arrays_", {}).items()}
    return header, arrays


def load(path: Any, **functions: Any) -> Any:
    """Read any model that palmette has saved. No code of the file is run, and none of its names is imported.

    Parameters
    ----------
    path : path or file
    **functions
        Functions that were parameters of the model, by name: model files hold no code, so they have to be given
        again. ``segment_features`` of a ``SemiMarkov`` model, ``kernel`` and ``edge_kernel`` of an ``SSVM`` whose
        kernels are functions (``Custom``, ``Transformed``), all ``events`` of a ``Tracking`` model with an
        ``EventKind`` of your own.

    A structure, learner, loss or kernel of your own must have been registered (:func:`palmette.register`) by importing
    its module before.

    Examples
    --------
    >>> import io, palmette
    >>> model = palmette.CRF(palmette.Multiclass()).fit([[0.0], [1.0]], [0, 1])
    >>> file = io.BytesIO(); model.save(file)
    >>> palmette.load(file).predict([[1.0]])
    array([1])
    """
    return restored(path, *read_model(path), functions)


def restored(
    path: Any, kind: Any, header: dict[str, Any], arrays: dict[str, np.ndarray], functions: dict[str, Any]
) -> Any:
    """The learner of a kind that header and arrays of a model file describe."""
    try:
        learner: Any = find("learner", kind)
    except ValueError as error:
        raise ModelFileError(f"{path}: {error}") from None
    composed = hasattr(learner, "from_parts")  # it knows its own parts
    if not composed:
        check_given(path, header.get("params"), functions)
    try:
        if composed:
            return learner.from_parts(path, header, arrays, functions)
        params = entry(header, "params", dict)
        model = learner(**{k: revived(v, functions, k) for k, v in params.items()})
        check_settings(model)
        codec = entry(header, "codec", dict)
        model.codec_ = find("codec", codec.get("kind")).from_state(codec.get("state"))  # type: ignore[attr-defined]
        model.encoder_ = encoder_from_state(header.get("encoder"), group(arrays, "encoder"))
        model.structure.restore_encoder(model.encoder_)
        model.scorer_ = revive("scorer", header.get("scorer"), group(arrays, "scorer"), functions)
        model.coef_ = needed(arrays, "coef")
        check_model(model)
        model.result_ = _result(entry(header, "result", dict), needed(arrays, "history"), model.coef_)
        objective = header["result"].get("objective")
        model.objective_ = np.nan if objective is None else float(objective)
        model.n_iter_ = model.result_.step.n_iter
        model.extra_, model.extra_arrays_ = header.get("extra"), group(arrays, "extra")
        for name, value in entry(header, "penalty", dict).items() if "penalty" in header else ():
            if name in _OF_PENALTY:
                setattr(model, name, revived(value, functions))
        if header.get("decomposition") is not None:
            model.decomposition_ = revived(header["decomposition"], functions)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ModelFileError(f"{path}: the model is damaged ({type(error).__name__}: {error})") from error
    if model.structure.layout == "items" and not model.encoder_.named:
        model.n_features_in_ = model.encoder_.n_columns
    return model


def check_given(path: Any, params: Any, functions: dict[str, Any]) -> None:
    """Functions that the model needs and that its file cannot hold must be given, and no others."""
    try:
        check_type("params", params, dict)
    except ValueError as error:
        raise ModelFileError(f"{path}: the model is damaged ({error})") from None
    missing = missing_functions(params)
    for name, called in missing.items():
        given = functions.get(name)
        alike = type(given).__name__ == called if called == "Nystroem" else callable(given)
        if called.startswith("["):
            alike = isinstance(given, list | tuple)
        if not alike:
            raise ModelFileError(
                f"{path}: the model uses {name}={called}, a function or made of one, and model files hold no code: "
                f"give it again, palmette.load(path, {name}={'Nystroem(...)' if called == 'Nystroem' else called})"
            )
    for name, given in functions.items():
        if given is not None and name not in missing:
            raise ValueError(f"{path}: the model was fitted without {name}; load it without, too")


def _result(header: dict[str, Any], history: np.ndarray, coef: np.ndarray) -> Result:
    """The outcome of the solver, as far as it is kept."""
    check_array("history", history, np.float64, 2)
    if not len(history) or history.shape[1] != len(Step._fields):
        raise ValueError(f"history has shape {history.shape}, expected (1 or more, {len(Step._fields)})")
    check_finite("history of iterations", history[:, 0])
    steps = tuple(Step(int(n), *rest) for n, *rest in history.tolist())
    reason, converged = (
        entry(header, "reason", str, "the result"),
        entry(header, "converged", bool, "the result"),
    )
    return Result(coef, steps[-1], steps, converged, reason)
