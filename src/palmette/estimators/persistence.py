"""Saving and loading estimators: a JSON header and plain arrays, nothing that runs code."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from palmette.contracts.solver import Result, Step
from palmette.data.checks import check_array, check_finite, check_type, entry, group, needed
from palmette.data.labels import LabelCodec
from palmette.errors import ModelFileError
from palmette.estimators.model_checks import check_model, check_settings
from palmette.features.choose_encoder import encoder_from_state
from palmette.io.model_file import read_model, write_model
from palmette.objectives.kernel_scorer import KernelScorer, MappedScorer, weights_scorer
from palmette.structures.ranking.codec import RankingCodec
from palmette.structures.segments.codec import SegmentCodec
from palmette.structures.segments.encoder import SegmentEncoder

_NOT_SAVED = ("callbacks",)  # code of the user's; a loaded model has none
_OF_PENALTY = ("l2_", "l2s_", "cv_scores_", "best_params_", "best_score_")  # how the penalty was chosen


class PersistenceMixin:
    """``save`` and ``load`` of an estimator."""

    get_params: Any  # what the estimator brings
    encoder_: Any
    scorer_: Any
    codec_: Any
    coef_: np.ndarray
    result_: Result
    objective_: float

    def save(self, path: Any, *, extra: dict | None = None, extra_arrays: dict | None = None) -> None:
        """Write the fitted model to ``path`` (one zip of JSON and ``.npy`` files; see ``palmette.load``).

        ``extra`` is a JSON object kept beside the model, read back as ``extra_``, and ``extra_arrays`` are arrays by
        name, read back as ``extra_arrays_``. Callbacks are not saved, nor are ``cv`` and ``scoring`` of :class:`CRFCV`
        and its like if they are objects: a loaded model has the defaults of these. They matter for fitting again only.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "coef_")
        if type(self) not in _estimators().values():
            raise TypeError(
                f"a model file cannot hold a {type(self).__name__}, a class of your own: pickle it, or use one of ours"
            )
        encoder_header, encoder_arrays = self.encoder_.state()
        scorer_header, scorer_arrays = self.scorer_.state()
        result = self.result_
        header = {
            "params": {k: _plain(k, v) for k, v in self.get_params(deep=False).items() if _is_saved(k, v)},
            "labels": self.codec_.state(),
            "encoder": encoder_header,
            "scorer": scorer_header,
            "result": {
                "converged": bool(result.converged),
                "reason": result.reason,
                "objective": self.objective_ if np.isfinite(self.objective_) else None,
            },
            "decomposition": _plain("decomposition_", getattr(self, "decomposition_", None)),
            "penalty": {
                name: _plain(name, getattr(self, name)) for name in _OF_PENALTY if hasattr(self, name)
            },
            "extra": extra if extra is not None else getattr(self, "extra_", None),
        }
        arrays = {"coef": self.coef_, "history": np.array(result.history, float).reshape(-1, 5)}
        arrays |= {f"encoder.{k}": v for k, v in encoder_arrays.items()}
        arrays |= {f"scorer.{k}": v for k, v in scorer_arrays.items()}
        extra_arrays = getattr(self, "extra_arrays_", {}) if extra_arrays is None else extra_arrays
        arrays |= {f"extra.{k}": v for k, v in extra_arrays.items()}
        write_model(path, type(self).__name__, header, arrays)

    @classmethod
    def load(
        cls, path: Any, *, segment_features: Any = None, kernel: Any = None, edge_kernel: Any = None
    ) -> Any:
        """Read a model of this class; another class is refused. See :func:`palmette.load`."""
        model = load(path, segment_features=segment_features, kernel=kernel, edge_kernel=edge_kernel)
        if not isinstance(model, cls):
            raise ModelFileError(
                f"{path} holds a {type(model).__name__}, not a {cls.__name__}; use palmette.load(path)"
            )
        return model


def load(path: Any, *, segment_features: Any = None, kernel: Any = None, edge_kernel: Any = None) -> Any:
    """Read any model that palmette has saved. No code of the file is run.

    Parameters
    ----------
    path : path or file
    segment_features : callable, optional
        The function of a ``SemiMarkov`` model that had one: model files hold no code, so it has to be given again.
    kernel, edge_kernel : callable or kernel, optional
        Likewise the kernels of an ``SSVM`` that had functions (``Custom``, ``Transformed``).

    Examples
    --------
    >>> import io, palmette
    >>> model = palmette.CRF(palmette.Multiclass()).fit([[0.0], [1.0]], [0, 1])
    >>> file = io.BytesIO(); model.save(file)
    >>> palmette.load(file).predict([[1.0]])
    array([1])
    """
    kind, header, arrays = read_model(path)
    known = _estimators()
    if kind not in known:
        raise ModelFileError(f"{path} holds a {kind!r}, which this palmette does not know: upgrade palmette")
    given_again = {"segment_features": segment_features, "kernel": kernel, "edge_kernel": edge_kernel}
    _check_given(path, header.get("params"), given_again)
    try:
        params = entry(header, "params", dict)
        model = known[kind](**{k: _revived(v, given_again, k) for k, v in params.items()})
        check_settings(model)
        codec: Any = RankingCodec if hasattr(model.structure, "measure") else SegmentCodec
        model.codec_ = codec.from_state(header.get("labels"))
        model.encoder_ = encoder_from_state(header.get("encoder"), group(arrays, "encoder"))
        if isinstance(model.encoder_, SegmentEncoder):
            model.encoder_.function = getattr(model.structure, "segment_features", None)
        own = entry(header, "scorer", dict)
        if own.get("kind") in ("kernel", "mapped"):
            made: Any = KernelScorer if own["kind"] == "kernel" else MappedScorer
            model.scorer_ = made.from_state(own, group(arrays, "scorer"), kernel, edge_kernel)
        else:
            model.scorer_ = weights_scorer(own).from_state(own, group(arrays, "scorer"))
        model.coef_ = needed(arrays, "coef")
        check_model(model)
        model.result_ = _result(entry(header, "result", dict), needed(arrays, "history"), model.coef_)
        objective = header["result"].get("objective")
        model.objective_ = np.nan if objective is None else float(objective)
        model.n_iter_ = model.result_.step.n_iter
        model.extra_, model.extra_arrays_ = header.get("extra"), group(arrays, "extra")
        for name, value in entry(header, "penalty", dict).items() if "penalty" in header else ():
            if name in _OF_PENALTY:
                setattr(model, name, _revived(value, given_again))
        if header.get("decomposition") is not None:
            model.decomposition_ = _revived(header["decomposition"], given_again)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ModelFileError(f"{path}: the model is damaged ({type(error).__name__}: {error})") from error
    if model.structure.layout == "items" and not model.encoder_.named:
        model.n_features_in_ = model.encoder_.n_columns
    return model


def _estimators() -> dict[str, type]:
    from palmette.estimators.crf import CRF
    from palmette.estimators.perceptron import Perceptron
    from palmette.estimators.ssvm import SSVM
    from palmette.estimators.tuned import CRFCV, SSVMCV
    from palmette.structures.ranking.plackett_luce import PlackettLuce, PlackettLuceCV

    return {c.__name__: c for c in (CRF, SSVM, Perceptron, PlackettLuce, CRFCV, SSVMCV, PlackettLuceCV)}


def _is_saved(name: str, value: Any) -> bool:
    """Whether a parameter goes into the file: folds and scorers only if they are numbers or names."""
    if name in ("cv", "scoring"):
        return value is None or isinstance(value, int | str)
    return name not in _NOT_SAVED


def _components() -> dict[str, type]:
    """Objects that may stand in parameters, by name."""
    from palmette.kernels import (
        RBF,
        Blurred,
        Directions,
        Linear,
        Nystroem,
        Polynomial,
        Precomputed,
        Transformed,
    )  # fmt: skip
    from palmette.losses import NDCG, Hamming, MeanAveragePrecision, Pairwise, PrecisionAt, ZeroOne
    from palmette.regularizers import Decomposition, GroupLasso
    from palmette.solvers.registry import HOME, solver_class
    from palmette.structures import Chain, Graph, Multiclass, Ranking, SemiMarkov

    kinds = (
        Chain,
        Graph,
        Multiclass,
        Ranking,
        SemiMarkov,
        Hamming,
        ZeroOne,
        NDCG,
        MeanAveragePrecision,
        PrecisionAt,
        Pairwise,
        Decomposition,
        GroupLasso,
        Linear,
        Polynomial,
        RBF,
        Precomputed,
        Nystroem,
        Transformed,
        Blurred,
        Directions,
        *map(solver_class, HOME),
    )
    return {c.__name__: c for c in kinds}


def _plain(name: str, value: Any) -> Any:
    """A constructor parameter as JSON."""
    if isinstance(value, float) and not np.isfinite(value):
        return {"number": repr(float(value))}
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if name == "classes":
        return {"labels": LabelCodec(value).state()}
    if name == "segment_features" and callable(value):
        return {"function": getattr(value, "__qualname__", type(value).__name__)}
    if name in ("kernel", "edge_kernel") and _holds_code(value):
        return {"function": getattr(value, "__qualname__", type(value).__name__)}
    if type(value) in _components().values():
        if hasattr(value, "get_params"):
            options = value.get_params(deep=False)
        else:
            options = {f.name: getattr(value, f.name) for f in fields(value) if f.name not in _NOT_SAVED}
        return {"object": type(value).__name__, "options": {k: _plain(k, v) for k, v in options.items()}}
    if isinstance(value, np.ndarray):
        return {"array": value.tolist()}
    if isinstance(value, dict):
        keys = LabelCodec(list(value)).state()
        return {"mapping": [keys, [_plain(name, v) for v in value.values()]]}
    if isinstance(value, list | tuple):
        return {"list": [_plain(name, v) for v in value]}
    if name == "random_state":
        return None
    raise TypeError(
        f"{name}={value!r} cannot be saved in a model file; set it to a plain value before saving"
    )


def _holds_code(kernel: Any) -> bool:
    """Whether a kernel is or has a function of the user's."""
    from palmette.kernels import Kernel, Nystroem

    inner = kernel.kernel if isinstance(kernel, Nystroem) else kernel
    return not inner.savable if isinstance(inner, Kernel) else callable(inner)


def _check_given(path: Any, params: Any, given: dict[str, Any]) -> None:
    """Functions that the model needs and that its file cannot hold must be given, and no others."""
    try:
        check_type("params", params, dict)
        structure = (
            entry(params, "structure", dict, "the parameters") if "structure" in params else {"options": {}}
        )
        options = entry(structure, "options", dict, "the structure")
    except ValueError as error:
        raise ModelFileError(f"{path}: the model is damaged ({error})") from None
    for name, function in given.items():
        saved = (options if name == "segment_features" else params).get(name)
        called = saved.get("function") if isinstance(saved, dict) else None
        alike = type(function).__name__ == called if called == "Nystroem" else callable(function)
        if called is not None and not alike:
            raise ModelFileError(
                f"{path}: the model uses {name}={called}, a function or made of one, and model files hold no code: "
                f"give it again, palmette.load(path, {name}={called})"
            )
        if function is not None and called is None:
            raise ValueError(f"{path}: the model was fitted without {name}; load it without, too")


def _revived(value: Any, given: dict[str, Any], name: str = "") -> Any:
    if not isinstance(value, dict):
        return value
    if "function" in value and name in given:
        return given[name]
    kinds = [k for k in value if k != "options"]
    kind = kinds[0] if len(kinds) == 1 else None
    if kind == "labels":
        return list(LabelCodec.from_state(value[kind]).classes_)
    if kind == "object":
        made = _components().get(entry(value, "object", str, f"the parameter {name}"))
        if made is None:
            raise ValueError(
                f"the parameter {name} is a {value[kind]!r:.60}, which this palmette does not know"
            )
        options = entry(value, "options", dict, f"the parameter {name}").items()
        return made(**{k: _revived(v, given, k) for k, v in options})
    if kind == "array":
        return np.array(entry(value, "array", list, f"the parameter {name}"))
    if kind == "number":
        return float(entry(value, "number", str, f"the parameter {name}"))
    if kind == "mapping":
        keys, values = entry(value, "mapping", list, f"the parameter {name}")
        return dict(
            zip(LabelCodec.from_state(keys).classes_, (_revived(v, given) for v in values), strict=True)
        )
    if kind == "list":
        return [_revived(v, given) for v in entry(value, "list", list, f"the parameter {name}")]
    raise ValueError(f"the parameter {name} is {value!r:.60}, which stands for nothing")


def _result(header: dict, history: np.ndarray, coef: np.ndarray) -> Result:
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
