"""Model files of output-kernel regressions: settings, training inputs and outputs, and coefficients.

The kernel and the output space are made again from the training samples, which a kernel model needs anyway.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np
from scipy import sparse

from palmette.data.checks import (
    check_array,
    check_codes,
    check_csr,
    check_finite,
    check_offsets,
    entry,
    group,
    needed,
)
from palmette.estimators.persistence import ModelFileMixin, check_given
from palmette.estimators.regression_data import Inputs
from palmette.estimators.stored_params import revived, stored_params, stored_value
from palmette.kernels import Kernel, Nystroem, resolve_kernel
from palmette.kernels.rows import in_double
from palmette.outputs import output_space
from palmette.regression import RegressionResult

_OF_SEARCH = ("l2_", "l2s_", "R_", "multipliers_", "cv_scores_", "best_params_", "best_score_")


class RegressionFiles(ModelFileMixin):
    """``save`` and ``load`` of an output-kernel regression."""

    def file_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Header and arrays of the fitted model."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "dual_coef_")
        model: Any = self
        inputs: Inputs = model.inputs_
        given, arrays = stored_inputs(inputs.given)
        outputs, codes = stored_objects(model.outputs_, "y")
        result = asdict(model.result_)
        header = {
            "params": stored_params(model),
            "kernel": stored_value("kernel", inputs.kernel) if inputs.kernel.savable else None,
            "inputs": given,
            "outputs": outputs,
            "result": {k: v if np.isfinite(v) else None for k, v in result.items()},
            "search": {
                name: stored_value(name, getattr(model, name)) for name in _OF_SEARCH if hasattr(model, name)
            },
            "extra": getattr(model, "extra_", None),
        }
        arrays = {f"inputs.{k}": v for k, v in arrays.items()}
        arrays |= {
            "outputs": codes,
            "dual": model.dual_coef_,
            "intercept": model.intercept_,
            "weight": model.weight_,
        }
        arrays |= {f"extra.{k}": v for k, v in getattr(model, "extra_arrays_", {}).items()}
        if hasattr(model, "A_"):
            arrays["A"] = model.A_
        return header, arrays

    @classmethod
    def from_parts(
        cls, path: Any, header: dict[str, Any], arrays: dict[str, np.ndarray], functions: dict[str, Any]
    ) -> Any:
        """A model from what a file holds; for :func:`palmette.load`."""
        check_given(path, header.get("params"), functions)
        params = entry(header, "params", dict)
        model: Any = cls(**{k: revived(v, functions, k) for k, v in params.items()})
        model.check()
        for name, value in entry(header, "search", dict).items():
            if name in _OF_SEARCH:
                setattr(model, name, revived(value, functions))
        model.kernel_ = (
            model.best_params_["kernel"] if hasattr(model, "best_params_") else resolve_kernel(model.kernel)
        )
        own = (
            model.kernel_ if header.get("kernel") is None else revived(header["kernel"], functions, "kernel")
        )
        kernel = resolve_kernel(own.kernel if isinstance(own, Nystroem) else own)
        if not isinstance(kernel, Kernel):
            raise ValueError(f"the kernel is {kernel!r:.60}")
        given = kernel.admit(revived_inputs(entry(header, "inputs", dict), group(arrays, "inputs")))
        bound = kernel.bind(given)
        model.inputs_ = Inputs(bound, given, in_double(bound.prepare(given)))
        model.outputs_ = revived_objects(header.get("outputs"), needed(arrays, "outputs"))
        whole = len(model.outputs_) == model.inputs_.support.shape[0]
        model.space_ = output_space(model.output, model.task_loss).fit(
            model.outputs_, given if whole else None
        )
        shape = model.inputs_.support.shape[0], model.space_.ballots.shape[1]
        model.dual_coef_ = _numbers("dual", arrays, shape)
        model.intercept_ = _numbers("intercept", arrays, shape[1:])
        model.weight_ = _numbers("weight", arrays, (len(model.outputs_),))
        if "A" in arrays:
            model.A_ = _numbers("A", arrays, (shape[0], shape[0]))
        model.result_ = _result(entry(header, "result", dict))
        model.objective_ = model.result_.objective
        model.extra_, model.extra_arrays_ = header.get("extra"), group(arrays, "extra")
        if not bound.objects:
            model.n_features_in_ = given.shape[1]
        return model


def _numbers(name: str, arrays: Mapping[str, np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    found = check_array(name, needed(arrays, name), np.float64, len(shape))
    if found.shape != shape:
        raise ValueError(f"{name} has shape {found.shape}, expected {shape}")
    check_finite(name, found)
    return found


def _result(header: dict[str, Any]) -> RegressionResult:
    known = {f.name for f in fields(RegressionResult)}
    values: dict[str, Any] = {k: float("nan") if v is None else v for k, v in header.items() if k in known}
    return RegressionResult(**values)


# -- samples --------------------------------------------------------------------------------------------------------


def stored_inputs(given: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of inputs: a table, a sparse table, a list of tables, or a list of objects."""
    if isinstance(given, np.ndarray):
        return {"kind": "table"}, {"values": given}
    if sparse.issparse(given):
        csr = sparse.csr_array(given)
        parts = {
            "values": csr.data,
            "indices": csr.indices.astype(np.int64),
            "indptr": csr.indptr.astype(np.int64),
        }
        return {"kind": "sparse", "n_columns": csr.shape[1]}, parts
    tables = [np.asarray(x, float) for x in given if np.ndim(x) == 2 and not isinstance(x, str)]
    if len(tables) == len(given):
        sizes = np.array([len(table) for table in tables], np.int64)
        return {"kind": "tables"}, {
            "values": np.concatenate(tables),
            "offsets": np.append(0, np.cumsum(sizes)),
        }
    objects, codes = stored_objects(given, "X")
    return {"kind": "objects", "objects": objects}, {"codes": codes}


def revived_inputs(header: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    """Inverse of :func:`stored_inputs`."""
    kind = entry(header, "kind", str, "the inputs")
    if kind == "objects":
        return revived_objects(header.get("objects"), needed(arrays, "codes"))
    if kind == "sparse":
        n_columns = entry(header, "n_columns", int, "the inputs")
        values = check_array("inputs", needed(arrays, "values"), np.float64)
        indices, indptr = needed(arrays, "indices"), needed(arrays, "indptr")
        check_csr("inputs", indptr, indices, len(indptr) - 1, n_columns)
        check_finite("inputs", values)
        if len(values) != len(indices):
            raise ValueError(f"the inputs have {len(values)} values in {len(indices)} columns")
        return sparse.csr_array((values, indices, indptr), shape=(len(indptr) - 1, n_columns))
    values = check_array("inputs", needed(arrays, "values"), np.float64, 2)
    check_finite("inputs", values)
    if kind == "table":
        return values
    if kind != "tables":
        raise ValueError(f"the inputs are of the kind {kind!r:.60}")
    offsets = check_offsets("offsets of inputs", needed(arrays, "offsets"), len(values))
    return [values[a:b] for a, b in zip(offsets[:-1], offsets[1:])]


def stored_objects(values: list[Any], where: str) -> tuple[list[Any], np.ndarray]:
    """Distinct objects as JSON values, and the number of each object among them."""
    texts: dict[str, int] = {}
    codes = [
        texts.setdefault(json.dumps(_to_json(value, f"{where}[{i}]")), len(texts))
        for i, value in enumerate(values)
    ]
    return [json.loads(text) for text in texts], np.array(codes, np.int64)


def revived_objects(objects: Any, codes: np.ndarray) -> list[Any]:
    """Inverse of :func:`stored_objects`."""
    if not isinstance(objects, list):
        raise ValueError(f"the objects must be a list, found {type(objects).__name__}")
    made = [_from_json(value) for value in objects]
    codes = check_codes("numbers of objects", check_array("numbers of objects", codes, np.int64), len(made))
    return [made[code] for code in codes.tolist()]


def _to_json(value: Any, where: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (str, int, float, bool):
        return value
    if type(value) in (tuple, list):
        parts = [_to_json(part, where) for part in value]
        return parts if type(value) is list else {"tuple": parts}
    if isinstance(value, np.ndarray):
        return {"array": value.tolist()}
    raise TypeError(
        f"{where} is a {type(value).__name__}: a model file keeps texts, numbers, None, and lists, tuples and arrays "
        "of these; pickle the model instead"
    )


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_json(part) for part in value]
    if isinstance(value, dict):
        if list(value) == ["tuple"]:
            return tuple(_from_json(value["tuple"]))
        if list(value) == ["array"]:
            return np.array(value["array"])
        raise ValueError(f"{value!r:.60} stands for no object")
    return value
