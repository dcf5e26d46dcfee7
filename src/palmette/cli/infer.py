"""``palmette infer``: the best assignment, marginals or partition function of a network."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from palmette.cli.completion import completion
from palmette.cli.output import Json, aligned, counted, log, print_result


def infer(
    model: Annotated[str, typer.Argument(help="A network in the UAI format, MARKOV or BAYES.")],
    task: Annotated[
        str,
        typer.Option(
            help="map (best assignment), mar (marginals) or pr (partition function).",
            autocompletion=completion(lambda: ("map", "mar", "pr")),
        ),
    ] = "map",
    evid: Annotated[
        str | None, typer.Option(help="Evidence; MODEL.evid by default, if there is one.", show_default=False)
    ] = None,
    evidence: Annotated[
        bool, typer.Option("--evidence/--no-evidence", help="Whether to use evidence.")
    ] = True,
    method: Annotated[str, typer.Option(help="auto, junction_tree, or another method by name.")] = "auto",
    memory: Annotated[
        float | None, typer.Option(help="Memory limit in GB; half of RAM by default.", show_default=False)
    ] = None,
    time_limit: Annotated[float, typer.Option(help="Seconds for the best assignment.")] = 60.0,
    json: Json = False,
) -> None:
    """Answer a question to a network: exactly where it fits into memory. Values are natural logarithms."""
    from palmette.cli.files import check_readable
    from palmette.inference.answers import TASKS, answer
    from palmette.inference.uai import read_evidence, read_network

    if task not in TASKS:
        raise ValueError(f"--task must be one of {', '.join(TASKS)}, got {task!r}")
    if memory is not None and not memory > 0:
        raise ValueError(f"--memory must be positive, got {memory}")
    if not time_limit > 0:
        raise ValueError(f"--time-limit must be positive, got {time_limit}")
    if evid is not None and not evidence:
        raise ValueError("--evid and --no-evidence exclude each other")
    if evidence and evid is None:
        evid = _beside(model)
    check_readable([model, evid])
    network = read_network(model)
    graph = network.graph
    cards = graph.topology.cards
    observed = {} if evid is None else read_evidence(evid, cards)
    limit = None if memory is None else memory * 2**30
    tables = counted(graph.topology.n_factors, "table")
    log(f"{model}: {counted(len(cards), 'variable')}, {tables} of more than one of them")
    found = answer(
        graph.conditioned(observed), task, method=method, memory_limit=limit, time_limit=time_limit
    )
    record: dict[str, Any] = {
        "model": model,
        "evidence": evid,
        "task": task,
        "value": found.value + network.constant,
        "bound": found.bound + network.constant,
        "exact": found.exact,
        "method": found.method,
        "seconds": found.seconds,
    }
    if found.codes is not None:
        record["assignment"] = found.codes.tolist()
    if found.marginals is not None:
        ptr = graph.topology.unary_ptr
        record["marginals"] = [found.marginals[ptr[i] : ptr[i + 1]].tolist() for i in range(len(cards))]
    if found.value == float("-inf"):
        log(
            "warning: nothing is possible: every assignment that agrees with the evidence has a zero in some table"
        )
    print_result(json, record, _text(record, len(observed)))


def _beside(model: str) -> str | None:
    """The file of evidence that lies beside a network."""
    for path in (f"{model}.evid", str(Path(model).with_suffix(".evid"))):
        if os.path.isfile(path):
            return path
    return None


def _text(record: dict[str, Any], n_observed: int) -> str:
    name = "log maximum" if record["task"] == "map" else "log partition"
    exact = "exact" if record["exact"] else f"not exact, at most {record['bound']:.12g}"
    rows = [
        [name, f"{record['value']:.12g} ({exact})"],
        ["method", f"{record['method']}, {record['seconds']:.3g} s"],
        ["evidence", f"{counted(n_observed, 'variable')} ({record['evidence']})" if n_observed else "none"],
    ]
    text = aligned(rows)
    if "assignment" in record:
        text += "\n" + " ".join(map(str, record["assignment"]))
    for i, row in enumerate(record.get("marginals", ())):
        text += f"\n{i}  " + " ".join(f"{p:.6g}" for p in row)
    return text
