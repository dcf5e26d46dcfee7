"""``palmette inspect``: what a model file holds, and why its labels win."""

from __future__ import annotations

from inspect import signature
from typing import Annotated, Any

import typer

from palmette.cli.files import check_readable
from palmette.cli.output import Json, aligned, print_result
from palmette.cli.tasks import task_of
from palmette.cli.why import explain_sentences

# What names a weight of each kind.
_NAMED_BY = {
    "weights": ("feature", "label"),
    "transitions": ("from", "to"),
    "edge_features": ("feature", "from", "to"),
}


def inspect(
    model: Annotated[str, typer.Argument(help="A model file.")],
    why: Annotated[
        str | None,
        typer.Option(
            metavar="FILE[:SENTENCE[:TOKEN]]",
            help="Explain the labels that the model gives to a column file, to one of its sentences or tokens "
            "(counted from 1); - is standard input.",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="LABEL", help="With --why: compare with this label, not the runner-up."),
    ] = None,
    against_truth: Annotated[
        bool, typer.Option("--against-truth", help="With --why: compare wrong labels with the true ones.")
    ] = False,
    top: Annotated[
        int | None,
        typer.Option(
            help="Strongest weights to print, of each sign (10), or with --why terms per token (5)."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Print the facts of a model and its strongest weights, or with --why what made its labels win."""
    if top is not None and top < 0:
        raise ValueError(f"--top must be at least 0, got {top}")
    if why is None and (against is not None or against_truth):
        raise ValueError("--against and --against-truth say what --why compares with; give --why FILE too")
    if against is not None and against_truth:
        raise ValueError("--against and --against-truth exclude each other; give one of them")
    if why is not None:
        top = 5 if top is None else top
        print_result(
            json, *explain_sentences(model, why, against=against, against_truth=against_truth, top=top)
        )
        return
    check_readable([model])

    from palmette.estimators import load

    loaded = load(model)
    record = {**_facts(loaded), **_task_facts(loaded, model)}
    names = _feature_names(record) if record["task"] == "ranking" else None
    record.update(_weights(loaded, 10 if top is None else top, names))
    print_result(json, record, _text(record))


def _facts(model: Any) -> dict[str, Any]:
    result, coef = model.result_, model.coef_
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
        "objective": result.primal,
        "gap": result.gap,
        "iterations": result.step.n_iter,
        "converged": bool(result.converged),
        "reason": result.reason,
    }


def _settings(model: Any) -> dict[str, str]:
    """The parameters that are not at their defaults, as Python would write them."""
    default = {name: parameter.default for name, parameter in signature(type(model)).parameters.items()}
    return {
        name: repr(value)
        for name, value in model.get_params(deep=False).items()
        if repr(value) != repr(default[name])
    }


def _task_facts(model: Any, path: str) -> dict[str, Any]:
    """How a tagger or a ranker reads its files; None for other models."""
    facts: dict[str, Any] = dict.fromkeys(
        ["task", "n_columns", "label_column", "separator", "template", "scale", "reading"]
    )
    task = task_of(model)
    if task == "tagging":
        from palmette.apps.tagging.tagger import Tagger

        tagger = Tagger.from_model(model, path)
        facts |= {
            "task": task,
            "n_columns": tagger.n_columns,
            "label_column": tagger.label_column,
            "separator": tagger.separator,
            "template": tagger.template.text,
        }
    elif task == "ranking":
        from palmette.apps.ranking import Ranker

        ranker = Ranker.from_model(model, path)
        facts |= {"task": task, "scale": ranker.scale, "reading": ranker.reading}
    return facts


def _feature_names(record: dict[str, Any]) -> list[str]:
    """Features of a ranker, by their numbers in the files."""
    first = 0 if record["reading"].get("zero_based") else 1
    return [f"feature {first + column}" for column in range(record["n_features"])]


def _weights(model: Any, top: int, names: list[str] | None) -> dict[str, Any]:
    """The strongest weights of each kind; nothing where weights have no names of their own."""
    from palmette.inspection import NamedWeights, is_nameable

    if not is_nameable(model):
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
    names = {"feature": weight.feature, "label": last, "from": " > ".join(before), "to": last}
    return {key: names[key] for key in _NAMED_BY[kind]} | {"weight": weight.value}


def _few(labels: list[str]) -> str:
    return f"{len(labels)}: {' '.join(labels[:30])}{' ...' if len(labels) > 30 else ''}"


def _text(record: dict[str, Any]) -> str:
    labels = record["labels"]
    gap = "" if record["gap"] != record["gap"] else f" (gap {record['gap']:.3g})"
    rows = [
        [
            "model",
            f"{record['class']}({', '.join(f'{name}={value}' for name, value in record['settings'].items())})",
        ],
        *([] if record["task"] == "ranking" else [["labels", _few(labels)]]),
        ["features", f"{record['n_features']:,} ({record['feature_kind']})"],
        ["weights", f"{record['n_weights']:,}, {record['n_nonzero_weights']:,} of them not 0"],
        ["objective", f"{record['objective']:.8g}{gap} after {record['iterations']} iterations"],
        ["stopped by", record["reason"] if record["converged"] else f"{record['reason']}, NOT CONVERGED"],
    ]
    if record["cut_size"] is not None:
        rows.insert(1, ["cut size", f"{record['cut_size']:g}"])
    if record["task"] == "tagging":
        between = "tabs" if record["separator"] == "\t" else "blanks"
        n_columns, label = record["n_columns"], record["label_column"]
        rows.append(["input", f"{n_columns} columns separated by {between}, the label in column {label}"])
    if record["task"] == "ranking":
        scale = "scaled to [0, 1] within each query" if record["scale"] == "query" else "as they are"
        options = ", ".join(f"{name}={value!r}" for name, value in record["reading"].items())
        rows.append(
            ["input", f"GRADE qid:QUERY 1:VALUE ..., features {scale}" + f" ({options})" * bool(options)]
        )
    parts = [aligned(rows)]
    for what, keys in _NAMED_BY.items():
        for sign, found in record[what].items():
            if found:
                lines = [[f"{w['weight']:+.4f}", *(w[key] for key in keys)] for w in found]
                title = f"strongest {sign} {what.replace('_', ' ')}"
                parts.append(f"{title}\n{aligned(lines, indent='  ')}")
    if record["template"] is not None:
        lines = [line for line in record["template"].splitlines() if line and not line.startswith("# ")]
        parts.append("template\n" + "\n".join(f"  {line}" for line in lines))
    return "\n\n".join(parts)
