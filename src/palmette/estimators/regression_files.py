"""Model files of output-kernel regressions: settings, kernel and support rows, output space, coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from palmette.data.checks import check_array, check_finite, check_whole, entry, group, needed
from palmette.estimators.persistence import ModelFileMixin, check_given
from palmette.estimators.regression_data import Inputs
from palmette.estimators.stored_params import revived, stored_params, stored_value
from palmette.kernels import resolve_kernel
from palmette.kernels.stored import kernel_from_state, kernel_state, rows_from_state, rows_state
from palmette.registry import revive, stored
from palmette.regression import RegressionResult

_OF_SEARCH = ("l2_", "l2s_", "R_", "multipliers_", "radii_", "cv_scores_", "best_params_", "best_score_")


class RegressionFiles(ModelFileMixin):
    """``save`` and ``load`` of an output-kernel regression."""

    def file_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Header and arrays of the fitted model."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "dual_coef_")
        model: Any = self
        states = {
            "kernel": kernel_state(model.inputs_.kernel),
            "support": rows_state(model.inputs_.support),
            "space": stored(model.space_),
            "rows": rows_state(model.space_.rows),
        }
        header = {name: own for name, (own, _) in states.items()}
        arrays = {f"{name}.{key}": array for name, (_, own) in states.items() for key, array in own.items()}
        header |= {
            "params": stored_params(model),
            "given_as": model.given_as_,
            "n_features": getattr(model, "n_features_in_", None),
            "result": {k: v if np.isfinite(v) else None for k, v in asdict(model.result_).items()},
            "search": {
                name: stored_value(name, getattr(model, name)) for name in _OF_SEARCH if hasattr(model, name)
            },
            "extra": getattr(model, "extra_", None),
        }
        arrays |= {"dual": model.dual_coef_, "intercept": model.intercept_, "weight": model.weight_}
        arrays |= {f"extra.{k}": v for k, v in getattr(model, "extra_arrays_", {}).items()}
        if hasattr(model, "A_"):
            arrays["A"] = model.A_
        return header, arrays

    @classmethod
    def from_parts(
        cls, path: Any, header: dict[str, Any], arrays: dict[str, np.ndarray], functions: dict[str, Any]
    ) -> Any:
        """A model from what a file holds; for :func:`palmette.load`."""
        params = entry(header, "params", dict)
        check_given(path, params, functions)
        model: Any = cls(**{k: revived(v, functions, k) for k, v in params.items()})
        model.check()
        for name, value in entry(header, "search", dict).items():
            if name in _OF_SEARCH:
                setattr(model, name, revived(value, functions))
        model.kernel_ = (
            model.best_params_["kernel"] if hasattr(model, "best_params_") else resolve_kernel(model.kernel)
        )
        kernel = kernel_from_state(
            header.get("kernel"), group(arrays, "kernel"), functions.get("kernel")
        ).in_double()
        support = rows_from_state(header.get("support"), group(arrays, "support"))
        if header.get("n_features") is not None:
            model.n_features_in_ = check_whole("n_features", header["n_features"])
        if kernel.precomputed and getattr(model, "n_features_in_", None) != support.shape[0]:
            raise ValueError(
                f"n_features is {header.get('n_features')!r}, but there are {support.shape[0]} samples"
            )
        if not kernel.precomputed:
            kernel.check_support("support", support, getattr(model, "n_features_in_", 0))
        model.inputs_ = Inputs(kernel, support)
        known = {"output": model.output, "task_loss": model.task_loss}
        model.space_ = revive("output", header.get("space"), group(arrays, "space"), known)
        model.space_.rows = rows_from_state(header.get("rows"), group(arrays, "rows"))
        model.space_.check_rows()
        model.weight_ = _numbers("weight", arrays, model.space_.rows.shape[:1])
        model.intercept_ = _numbers("intercept", arrays, needed(arrays, "intercept").shape[:1])
        shape = support.shape[0], len(model.intercept_)
        model.dual_coef_ = _numbers("dual", arrays, shape)
        if "A" in arrays:
            model.A_ = _numbers("A", arrays, (shape[0], shape[0]))
        model.result_ = _result(entry(header, "result", dict))
        model.objective_ = model.result_.objective
        model.given_as_ = entry(header, "given_as", str)
        model.extra_, model.extra_arrays_ = header.get("extra"), group(arrays, "extra")
        return model


def _numbers(name: str, arrays: Mapping[str, np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    found = check_array(name, needed(arrays, name), np.float64, len(shape))
    if found.shape != shape:
        raise ValueError(f"{name} has shape {found.shape}, expected {shape}")
    return check_finite(name, found)


def _result(header: dict[str, Any]) -> RegressionResult:
    known = {f.name for f in fields(RegressionResult)}
    values: dict[str, Any] = {k: float("nan") if v is None else v for k, v in header.items() if k in known}
    return RegressionResult(**values)
