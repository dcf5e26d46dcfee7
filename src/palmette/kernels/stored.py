"""Bound kernels and the rows that they compare, in model files: plain values and arrays, never code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from palmette.data.checks import check_array, check_csr, check_type, check_whole, entry, group, needed
from palmette.data.plain_objects import from_json, to_json
from palmette.kernels.base import Kernel
from palmette.kernels.images import ImageMap
from palmette.kernels.rows import PairedRows, Rows
from palmette.registry import find, kind_of

State = tuple[dict[str, Any], dict[str, np.ndarray]]


def kernel_state(kernel: Kernel) -> State:
    """Header and arrays of a bound kernel; functions of the user's are left out, and given again on loading."""
    header: dict[str, Any] = {"name": kind_of(kernel), "options": {}}
    learned, found = kernel.learned()
    arrays = {f"learned.{name}": array for name, array in found.items()}
    if learned:
        header["learned"] = learned
    for name, value in kernel.get_params(deep=False).items():
        if isinstance(value, Kernel):
            own, found = kernel_state(value)
            header.setdefault("kernels", {})[name] = own
            arrays |= {f"{name}.{key}": array for key, array in found.items()}
        elif isinstance(value, ImageMap):
            function = {"name": kind_of(value), "options": value.get_params()}
            header.setdefault("functions", {})[name] = function
        elif callable(value):
            header.setdefault("functions", {})[name] = None
        else:
            header["options"][name] = _plain(value)
    return header, arrays


def _plain(value: Any) -> Any:
    """A setting as a JSON value; sequences are lists."""
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def kernel_from_state(header: Any, arrays: Mapping[str, np.ndarray], given: Any = None) -> Kernel:
    """Inverse of :func:`kernel_state`, ``given`` being the kernel (or function) that the model was made with."""
    where = "the kernel"
    made = _kind(Kernel, header, where)
    options = dict(entry(header, "options", dict, where))
    for name, function in header.get("functions", {}).items():
        if function is None:
            options[name] = (
                given if callable(given) and not isinstance(given, Kernel) else getattr(given, name)
            )
        else:
            own = _kind(ImageMap, function, f"the {name} of the kernel")
            options[name] = own(**entry(function, "options", dict, f"the {name} of the kernel"))
    for name, inner in header.get("kernels", {}).items():
        options[name] = kernel_from_state(inner, group(arrays, name), getattr(given, name, None))
    kernel: Kernel = made(**options)
    if isinstance(getattr(kernel, "gamma", 1.0), str):
        raise ValueError(f"gamma of the kernel must be a number, found {kernel.gamma!r}")
    kernel.check()
    kernel.relearn(header.get("learned", {}), group(arrays, "learned"))
    return kernel


def _kind(base: type, header: Any, where: str) -> Any:
    """The registered subclass of ``base`` that a header names."""
    made = find("kernel", entry(header, "name", str, where))
    if not issubclass(made, base):
        raise ValueError(f"{where} is a {made.__name__}, expected a {base.__name__}")
    return made


def rows_state(rows: Rows) -> tuple[Any, dict[str, np.ndarray]]:
    """Shape and arrays of prepared rows; objects are kept as they are."""
    if isinstance(rows, PairedRows):
        sides = {name: rows_state(getattr(rows, name)) for name in ("left", "right")}
        arrays = {f"{name}.{key}": array for name, (_, own) in sides.items() for key, array in own.items()}
        return {name: shape for name, (shape, _) in sides.items()}, arrays
    if sparse.issparse(rows):
        return list(map(int, rows.shape)), {"indptr": rows.indptr, "indices": rows.indices, "data": rows.data}
    if rows.dtype == object:
        return {"objects": [to_json(each) for each in rows]}, {}
    return list(map(int, rows.shape)), {"rows": rows}


def rows_from_state(shape: Any, arrays: Mapping[str, np.ndarray]) -> Rows:
    """Inverse of :func:`rows_state`."""
    if isinstance(shape, dict) and "objects" in shape:
        found = check_type("the objects", shape["objects"], list)
        held = np.empty(len(found), object)
        held[:] = list(map(from_json, found))
        return held
    if isinstance(shape, dict):
        return PairedRows(
            *(rows_from_state(shape.get(name), group(arrays, name)) for name in ("left", "right"))
        )
    n_rows, n_columns = (
        check_whole("the shape of the support", n) for n in check_type("the shape", shape, list)
    )
    if "rows" in arrays:
        rows = arrays["rows"]
        if rows.shape != (n_rows, n_columns):
            raise ValueError(f"support rows have shape {rows.shape}, expected {(n_rows, n_columns)}")
        return rows
    indptr, indices, data = (needed(arrays, name) for name in ("indptr", "indices", "data"))
    check_csr("support", indptr, indices, n_rows, n_columns)
    check_array("support.data", data, (np.float32, np.float64), 1, len(indices))
    return sparse.csr_array((data, indices, indptr), shape=(n_rows, n_columns))
