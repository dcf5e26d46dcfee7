"""``ramify inspect``: what a model file holds."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ramify.cli.files import check_readable
from ramify.cli.output import Json, aligned, print_result


def inspect(
    model: Annotated[str, typer.Argument(help="A model file.")],
    top: Annotated[int, typer.Option(help="How many of the strongest weights to print, of each sign.")] = 10,
    json: Json = False,
) -> None:
    """Print the facts of a model, its strongest weights and its strongest transitions."""
    if top < 0:
        raise ValueError(f"--top must be at least 0, got {top}")
    check_readable([model])

    from ramify.estimators import load

    loaded = load(model)
    record = {**_facts(loaded), **_tagging_facts(loaded, model)}
    record["weights"] = _strongest(*_weights(loaded), ("feature", "label"), top)
    record["transitions"] = _strongest(*_transitions(loaded), ("from", "to"), top)
    print_result(json, record, _text(record))


def _facts(model: Any) -> dict[str, Any]:
    result, coef = model.result_, model.coef_
    return {
        "class": type(model).__name__,
        "structure": type(model.structure).__name__,
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


def _tagging_facts(model: Any, path: str) -> dict[str, Any]:
    """Columns and template of a tagger; None for other models."""
    if not (isinstance(model.extra_, dict) and model.extra_.get("task") == "tagging"):
        return dict.fromkeys(["task", "n_columns", "label_column", "separator", "template"])
    from ramify.apps.tagging.tagger import Tagger

    tagger = Tagger.from_model(model, path)
    return {
        "task": "tagging",
        "n_columns": tagger.n_columns,
        "label_column": tagger.label_column,
        "separator": tagger.separator,
        "template": tagger.template.text,
    }


def _weights(model: Any) -> tuple[Any, Any]:
    """Weights of features and intercepts, and the function from a place among them to feature and label."""
    scorer, labels = model.scorer_, model.codec_.classes_
    blocks = scorer.blocks
    n_node = scorer.n_node
    column, label = scorer.coordinates()
    names = model.encoder_.feature_names

    def name(place: int) -> tuple[str, str]:
        if place >= n_node:
            return "(intercept)", str(labels[place - n_node])
        at = int(column[place])
        return f"column {at}" if names is None else names[at], str(labels[label[place]])

    return model.coef_[blocks["node"].start : blocks["bias"].stop], name


def _transitions(model: Any) -> tuple[Any, Any]:
    labels = model.codec_.classes_
    table = model.scorer_.edge_table(model.coef_).ravel()
    return table, lambda place: tuple(str(labels[k]) for k in divmod(place, len(labels)))


def _strongest(weights: Any, name: Any, keys: tuple[str, str], top: int) -> dict[str, list[dict[str, Any]]]:
    """The largest weights and the smallest, strongest first; zeros are not listed."""
    import numpy as np

    order = np.argsort(weights, kind="stable")
    positive = [int(i) for i in order[::-1][:top] if weights[i] > 0]
    negative = [int(i) for i in order[:top] if weights[i] < 0]
    return {
        sign: [{**dict(zip(keys, name(i))), "weight": float(weights[i])} for i in places]
        for sign, places in (("positive", positive), ("negative", negative))
    }


def _text(record: dict[str, Any]) -> str:
    labels = record["labels"]
    gap = "" if record["gap"] != record["gap"] else f" (gap {record['gap']:.3g})"
    rows = [
        ["model", f"{record['class']} on {record['structure']}"],
        ["labels", f"{len(labels)}: {' '.join(labels[:30])}{' ...' if len(labels) > 30 else ''}"],
        ["features", f"{record['n_features']:,} ({record['feature_kind']})"],
        ["weights", f"{record['n_weights']:,}, {record['n_nonzero_weights']:,} of them not 0"],
        ["objective", f"{record['objective']:.8g}{gap} after {record['iterations']} iterations"],
        ["stopped by", record["reason"] if record["converged"] else f"{record['reason']}, NOT CONVERGED"],
    ]
    if record["task"] == "tagging":
        between = "tabs" if record["separator"] == "\t" else "blanks"
        n_columns, label = record["n_columns"], record["label_column"]
        rows.append(["input", f"{n_columns} columns separated by {between}, the label in column {label}"])
    parts = [aligned(rows)]
    for what, keys in (("weights", ("feature", "label")), ("transitions", ("from", "to"))):
        for sign, found in record[what].items():
            if found:
                lines = [[f"{w['weight']:+.4f}", w[keys[0]], w[keys[1]]] for w in found]
                parts.append(f"strongest {sign} {what}\n{aligned(lines, indent='  ')}")
    if record["template"] is not None:
        lines = [line for line in record["template"].splitlines() if line and not line.startswith("# ")]
        parts.append("template\n" + "\n".join(f"  {line}" for line in lines))
    return "\n\n".join(parts)
