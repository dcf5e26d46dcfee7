"""Parameters of learners as JSON values: numbers, labels, arrays, and objects of registered kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from palmette.data.checks import entry
from palmette.data.labels import LabelCodec
from palmette.registry import find, group_of, is_registered, kind_of

NOT_SAVED = ("callbacks",)  # code of the user's; a loaded model has none


def stored_params(owner: Any) -> dict[str, Any]:
    """The parameters of a learner, a structure or another registered object."""
    if hasattr(owner, "get_params"):
        options = owner.get_params(deep=False)
    else:
        options = {f.name: getattr(owner, f.name) for f in fields(owner)}
    functions = getattr(owner, "functions", ())
    return {k: _stored(k, v, k in functions) for k, v in options.items() if _is_saved(k, v)}


def stored_value(name: str, value: Any) -> Any:
    """A value as JSON; ``name`` is that of the parameter, for messages."""
    return _stored(name, value, False)


def _is_saved(name: str, value: Any) -> bool:
    """Whether a parameter goes into the file: folds and scorers only if they are numbers or names."""
    if name in ("cv", "scoring"):
        return value is None or isinstance(value, int | str)
    return name not in NOT_SAVED


def _stored(name: str, value: Any, may_be_code: bool) -> Any:
    if isinstance(value, float) and not np.isfinite(value):
        return {"number": repr(float(value))}
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if name == "classes":
        return {"labels": LabelCodec(value).state()}
    if may_be_code and _holds_code(value):
        return {"function": _called(value)}
    if is_registered(value):
        return {"object": kind_of(value), "group": group_of(value), "options": stored_params(value)}
    if isinstance(value, np.ndarray):
        return {"array": value.tolist()}
    if isinstance(value, dict):
        keys = LabelCodec(list(value)).state()
        return {"mapping": [keys, [stored_value(name, v) for v in value.values()]]}
    if isinstance(value, list | tuple):
        return {"list": [stored_value(name, v) for v in value]}
    if name == "random_state":
        return None
    other = "pickle the model" if callable(value) else "register its class (palmette.register)"
    raise TypeError(
        f"{name}={value!r} cannot be saved in a model file; set it to a plain value before saving, or {other}"
    )


def _holds_code(value: Any) -> bool:
    """Whether a value is a function of the user's, made of one, or a list with one (``savable`` says it)."""
    from palmette.kernels import Nystroem

    if isinstance(value, list | tuple):
        return any(map(_holds_code, value))
    inner = value.kernel if isinstance(value, Nystroem) else value
    return not inner.savable if hasattr(inner, "savable") else callable(inner)


def _called(value: Any) -> str:
    """What a function, or what is made of one, is called in messages."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(str(getattr(each, 'name', each)) for each in value)}]"
    return str(getattr(value, "__qualname__", type(value).__name__))


def missing_functions(params: Any) -> dict[str, str]:
    """Names of the functions that stored parameters stand for without holding them, by parameter."""
    found = {}
    for name, value in params.items() if isinstance(params, Mapping) else ():
        if isinstance(value, Mapping):
            if isinstance(value.get("function"), str):
                found[name] = value["function"]
            found |= missing_functions(value.get("options"))
    return found


def revived(value: Any, functions: Mapping[str, Any], name: str = "") -> Any:
    """Inverse of :func:`stored_value`; ``functions`` are those that files cannot hold, by parameter."""
    if not isinstance(value, dict):
        return value
    if "function" in value and name in functions:
        return functions[name]
    kinds = [k for k in value if k not in ("options", "group")]
    kind, where = kinds[0] if len(kinds) == 1 else None, f"the parameter {name}"
    if kind == "labels":
        return list(LabelCodec.from_state(value[kind]).classes_)
    if kind == "object":
        group = entry(value, "group", str, where)
        if group not in ("kernel", "loss", "output", "regularizer", "settings", "solver", "structure"):
            raise ValueError(f"{where} is of the group {group!r:.60}")
        made: Any = find(group, entry(value, "object", str, where))
        options = entry(value, "options", dict, where).items()
        return made(**{k: revived(v, functions, k) for k, v in options})
    if kind == "array":
        return np.array(entry(value, "array", list, where))
    if kind == "number":
        return float(entry(value, "number", str, where))
    if kind == "mapping":
        keys, values = entry(value, "mapping", list, where)
        return dict(
            zip(LabelCodec.from_state(keys).classes_, (revived(v, functions) for v in values), strict=True)
        )
    if kind == "list":
        return [revived(v, functions) for v in entry(value, "list", list, where)]
    raise ValueError(f"{where} is {value!r:.60}, which stands for nothing")
