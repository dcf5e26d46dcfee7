"""``palmette inspect``: content of a model file."""

from __future__ import annotations

from inspect import signature
from typing import Annotated, Any

import typer

from palmette.apps.task import Inspection, all_tasks
from palmette.cli.files import check_readable
from palmette.cli.output import Json, aligned, print_result
from palmette.cli.progress import progress_beside
from palmette.cli.summary import fit_facts
from palmette.cli.tasks import Given, TaskName, task_for, task_of
from palmette.stages import stage

# What names a weight of each kind.
_NAMED_BY = {
    "weights": ("feature", "label"),
    "transitions": ("from", "to"),
    "edge_features": ("feature", "from", "to"),
}


def inspect(
    context: typer.Context,
    given: Given,
    model: Annotated[str, typer.Argument(help="A model file.")],
    task: TaskName = None,
    top: Annotated[
        int | None,
        typer.Option(help="Strongest weights to print, of each sign (10); of an explanation, its terms."),
    ] = None,
    json: Json = False,
) -> None:
    """Print the facts of a model and its strongest weights, or what the options of its task ask for."""
    if top is not None and top < 0:
        raise ValueError(f"--top must be at least 0, got {top}")
    check_readable([model])

    from palmette.estimators import load

    loaded = load(model)
    own = Inspection({})
    if given or task_of(loaded) in all_tasks():
        kind = task_for(loaded, model, task)
        options = given.of(kind) | {"model": model}
        application = kind.open(loaded, model)
        with progress_beside(_data_of(options)), stage(f"inspecting {model}"):
            answer = kind.answer(application, options, top)
        if answer is not None:
            print_result(json, *answer)
            return
        own = kind.inspect(application)
    no_facts = dict.fromkeys(name for each in all_tasks().values() for name in each.fact_names)
    record = {**_facts(loaded), "task": task_of(loaded), **no_facts, **own.facts}
    record.update(_weights(loaded, 10 if top is None else top, own.feature_names))
    print_result(json, record, _text(record, own))


def _data_of(options: dict[str, Any]) -> str:
    """The file that is explained; empty if none is."""
    return str(options.get("why") or "").partition(":")[0]


def _facts(model: Any) -> dict[str, Any]:
    coef = model.coef_
    return {
        "class": type(model).__name__,
        "structure": type(model.structure).__name__,
        "settings": _settings(model),
        "cut_size": getattr(getattr(model, "decomposition_", None), "size", None),
        "labels": [str(label) for label in model.codec_.classes_],
        "feature_kind": model.encoder_.kind,
        "n_features": model.encoder_.n_columns,
        "n_weights": len(coef),
        "n_nonzero_weights": int((coef != 0).sum()),
        **fit_facts(model),
    }


def _settings(model: Any) -> dict[str, str]:
    """The parameters that are not at their defaults, as Python would write them."""
    default = {name: parameter.default for name, parameter in signature(type(model)).parameters.items()}
    return {
        name: repr(value)
        for name, value in model.get_params(deep=False).items()
        if repr(value) != repr(default[name])
    }


def _weights(model: Any, top: int, names: list[str] | None) -> dict[str, Any]:
    """The strongest weights of each kind; nothing where weights have no names of their own."""
    from palmette.contracts.structure import can
    from palmette.inspection import NamedWeights

    if not can(model.scorer_, "coordinates", "edge_coordinates"):
        return {kind: {"positive": [], "negative": []} for kind in _NAMED_BY}
    weights = NamedWeights(model, names)
    found = {
        "weights": weights.strongest_features(top),
        "transitions": weights.strongest_transitions(top),
        "edge_features": weights.strongest_edge_features(top),
    }
    return {
        kind: {
            sign: [_entry(weight, kind) for weight in side]
            for sign, side in zip(("positive", "negative"), sides)
        }
        for kind, sides in found.items()
    }


def _entry(weight: Any, kind: str) -> dict[str, Any]:
    """One weight for JSON, labels as text."""
    *before, last = map(str, weight.labels)
    source = " > ".join(before)
    if kind == "transitions" and weight.feature:  # a type of edges
        source = f"{weight.feature}: {source}"
    names = {"feature": weight.feature, "label": last, "from": source, "to": last}
    return {key: names[key] for key in _NAMED_BY[kind]} | {"weight": weight.value}


def _text(record: dict[str, Any], own: Inspection) -> str:
    labels = record["labels"]
    few = f"{len(labels)}: {' '.join(labels[:30])}{' ...' if len(labels) > 30 else ''}"
    settings = ", ".join(f"{name}={value}" for name, value in record["settings"].items())
    stop = record["reason"] if record["converged"] else f"{record['reason']}, NOT CONVERGED"
    if record["class"] == "Perceptron" and record["reason"] == "max_iter":  # which has no optimum to reach
        stop = "its limit of epochs"
    gap = "" if record["gap"] != record["gap"] else f" (gap {record['gap']:.3g})"
    objective, n = record["objective"], record["iterations"]
    known = objective == objective  # of several models as one it is not
    rows = [
        ["model", f"{record['class']}({settings})"],
        *([["labels", few]] if own.shows_labels else []),
        ["features", f"{record['n_features']:,} ({record['feature_kind']})"],
        ["weights", f"{record['n_weights']:,}, {record['n_nonzero_weights']:,} of them not 0"],
        ["objective", f"{objective:.8g}{gap} after {n} iterations"] if known else ["iterations", f"{n}"],
        ["stopped by", stop],
    ]
    if record["cut_size"] is not None:
        rows.insert(1, ["cut size", f"{record['cut_size']:g}"])
    parts = [aligned([*rows, *own.rows])]
    for what, keys in _NAMED_BY.items():
        for sign, found in record[what].items():
            if found:
                lines = [[f"{w['weight']:+.4f}", *(w[key] for key in keys)] for w in found]
                title = f"strongest {sign} {what.replace('_', ' ')}"
                parts.append(f"{title}\n{aligned(lines, indent='  ')}")
    return "\n\n".join([*parts, *own.sections])
