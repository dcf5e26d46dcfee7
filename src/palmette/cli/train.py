"""``palmette train``: learn a tagger from column files, or a ranker from LETOR files."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated, Any

import typer

from palmette.cli.files import attempt, check_readable, check_writable, saved
from palmette.cli.output import Json, aligned, print_result
from palmette.cli.progress import progress, timed
from palmette.cli.ranking import reading_options, train_ranking
from palmette.cli.summary import count_of_weights, outcome_rows
from palmette.cli.tasks import refuse_graded_documents, refuse_options


class Task(StrEnum):
    """What can be trained."""

    tagging = "tagging"
    ranking = "ranking"


class Algorithm(StrEnum):
    """The learners."""

    crf = "crf"
    ssvm = "ssvm"
    perceptron = "perceptron"
    ramp = "ramp"
    plackett_luce = "plackett-luce"


class Encoding(StrEnum):
    """How labels encode spans."""

    iob1 = "iob1"
    iob2 = "iob2"
    iobes = "iobes"
    bilou = "bilou"
    bmes = "bmes"
    bmes6 = "bmes6"


class GroupBy(StrEnum):
    """What a group of features is."""

    template = "template"
    attribute = "attribute"


class Invalid(StrEnum):
    """What to do with labels that are no valid spans."""

    repair = "repair"
    error = "raise"


class Scale(StrEnum):
    """What features of documents are scaled to."""

    query = "query"
    none = "none"


class SplitQueries(StrEnum):
    """What to do with queries whose lines do not stand together."""

    refuse = "refuse"
    merge = "merge"


TAGGING_ONLY = (
    "template", "cut_size", "group_lasso", "group_by", "order", "constrained", "label_column", "encoding", "invalid",
    "clusters", "min_count", "n_hash", "prune",
)  # fmt: skip
RANKING_ONLY = ("radius", "top", "scale", "missing", "split_queries", "zero_based")


def train(
    context: typer.Context,
    data: Annotated[
        list[str], typer.Argument(help="Column files or LETOR files (.gz, .xz too); - is standard input.")
    ],
    model: Annotated[str, typer.Option("--model", "-m", help="Where to write the model.")],
    task: Annotated[Task, typer.Option(help="What to learn.")] = Task.tagging,
    dev: Annotated[str | None, typer.Option(help="Held-out file to score the model on.")] = None,
    template: Annotated[
        str | None, typer.Option(help="Feature template (CRF++, Wapiti); a good one by default.")
    ] = None,
    algorithm: Annotated[
        Algorithm | None,
        typer.Option(
            help="The learner: crf (default), ssvm, perceptron; of rankings plackett-luce (default), ramp, ssvm."
        ),
    ] = None,
    l2: Annotated[
        float | None,
        typer.Option(
            help="L2 penalty; 1 by default, 10 of plackett-luce, of other rankings by the scale of the features."
        ),
    ] = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="Choose the L2 penalty by the score on --dev, or on folds.")
    ] = False,
    folds: Annotated[
        int | None, typer.Option(help="With --tune: folds of the training data; 3 by default without --dev.")
    ] = None,
    l1: Annotated[float | None, typer.Option(help="L1 penalty, for sparse models; 0 by default.")] = None,
    cut_size: Annotated[
        str | None,
        typer.Option(
            metavar="N|auto", help="Train on random pieces of so many tokens on average, such as 5.5."
        ),
    ] = None,
    group_lasso: Annotated[
        float | None, typer.Option(metavar="WEIGHT", help="Penalty that drops whole groups of features.")
    ] = None,
    group_by: Annotated[
        GroupBy | None, typer.Option(help="With --group-lasso: what a group is; template by default.")
    ] = None,
    order: Annotated[int, typer.Option(help="Weights for label pairs (1), or for triples too (2).")] = 1,
    constrained: Annotated[
        bool, typer.Option("--constrained", help="Only labels that are valid spans may follow each other.")
    ] = False,
    label_column: Annotated[
        int, typer.Option(help="Column of the label, from 0; negative counts from the end.")
    ] = -1,
    encoding: Annotated[
        Encoding | None,
        typer.Option(help="Learn spans in this encoding; predictions are in that of the data."),
    ] = None,
    invalid: Annotated[
        Invalid | None, typer.Option(help="What to do with labels that are no valid spans.")
    ] = None,
    clusters: Annotated[
        str | None,
        typer.Option(metavar="N,N", help="Learn so many word clusters as further columns, such as 64,256."),
    ] = None,
    min_count: Annotated[int | None, typer.Option(help="Drop features that occur less often.")] = None,
    n_hash: Annotated[
        int | None, typer.Option("--hash", metavar="N", help="Hash features to N columns, to save memory.")
    ] = None,
    prune: Annotated[bool, typer.Option("--prune", help="Drop features whose weights are all 0.")] = False,
    radius: Annotated[
        float | None, typer.Option(help="Rankings by ramp: the length of the weights; 4 by default.")
    ] = None,
    top: Annotated[
        int | None, typer.Option(help="Rankings: ranks whose NDCG counts; 10 by default (ssvm: all).")
    ] = None,
    scale: Annotated[
        Scale, typer.Option(help="Rankings: scale features to [0, 1] within each query, or not.")
    ] = Scale.query,
    missing: Annotated[
        str, typer.Option(help="Rankings: what NULL stands for: a number, minimum (of the query), or error.")
    ] = "error",
    split_queries: Annotated[
        SplitQueries, typer.Option(help="Rankings: what to do if the lines of a query are not together.")
    ] = SplitQueries.refuse,
    zero_based: Annotated[
        bool, typer.Option("--zero-based", help="Rankings: features are numbered from 0.")
    ] = False,
    solver: Annotated[str | None, typer.Option(help="Solver; chosen by the learner by default.")] = None,
    tol: Annotated[float | None, typer.Option(help="Relative suboptimality to stop at.")] = None,
    max_iter: Annotated[int | None, typer.Option(help="Iterations (epochs) at most.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Threads; all cores by default.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    json: Json = False,
) -> None:
    """Learn a tagger from column files: one token a line, blank lines between sentences; or a ranker.

    With --task ranking the files have a document a line: GRADE qid:QUERY 1:VALUE 2:VALUE ... # comment
    """
    refuse_options(context, RANKING_ONLY if task is Task.tagging else TAGGING_ONLY, f"--task {task.value}")
    way = _way(tune, folds, dev, l2)
    check_readable([*data, dev, template])
    check_writable(model, "the model")
    if [*data, dev].count("-") > 1:
        raise ValueError("standard input (-) can be read only once")
    if task is Task.ranking:
        train_ranking(
            data, model, dev, (algorithm or Algorithm.plackett_luce).value,
            reading_options(missing, split_queries.value, zero_based), scale.value, json,
            tune=way, l2=l2, l1=l1, radius=radius, top=top, solver=solver, tol=tol, max_iter=max_iter, n_jobs=jobs,
            random_state=seed,
        )  # fmt: skip
        return
    refuse_graded_documents([*data, dev], "use --task ranking")
    learner = (algorithm or Algorithm.crf).value
    sizes = _sizes(clusters)
    options: dict[str, Any] = {
        "l2": l2, "l1": l1, "solver": solver, "tol": tol, "max_iter": max_iter, "n_jobs": jobs,
        "random_state": seed, "min_count": min_count, "n_hash": n_hash,
    }  # fmt: skip
    seconds: dict[str, float] = {}
    with progress() as shown, timed(seconds, "total"):
        with timed(seconds, "import"):
            from palmette.apps.tagging.columns import read_columns
            from palmette.apps.tagging.learners import check_together, make_learner
            from palmette.apps.tagging.tagger import Tagger
            from palmette.apps.tagging.templates import Template
            from palmette.apps.tagging.training_files import common_columns
            from palmette.apps.tuning import check_folds, check_tuning
            from palmette.structures import Chain

            options |= {
                "structure": Chain(order),
                "regularizer": _regularizer(cut_size, group_lasso, group_by),
            }
            features = None if template is None else Template.load(template)
            # bad options are refused before the data is read
            unfitted = make_learner(learner, **options)
            check_together(unfitted, features, constrained)
            check_tuning(unfitted, way, dev is not None)
        with timed(seconds, "read"):
            shown.stage(f"reading {', '.join(data)}")
            texts = [read_columns(path) for path in data]
            check_folds(way, sum(len(text.table) for text in texts), "sentences", "--folds")
            held_out = None if dev is None else read_columns(dev)
            common_columns(texts if held_out is None else [*texts, held_out])
        shown.stage(f"learning from {sum(len(text.table) for text in texts):,} sentences")
        tagger = Tagger.train(
            texts, template=features, label_column=label_column, algorithm=learner,
            dev=held_out, watch=shown.held_out, callbacks=[shown], clusters=sizes, prune=prune,
            encoding=encoding, invalid=invalid, constrained=constrained, tune=way, **options,
        )  # fmt: skip
        seconds |= tagger.seconds
        evaluation = None
        if held_out is not None:
            shown.stage(f"scoring {dev}")
            with timed(seconds, "evaluate"):
                evaluation = tagger.evaluate(held_out)
        with timed(seconds, "save"):
            trouble = attempt(tagger.save, model)
    model, code = saved(tagger.save, model, trouble)
    record = {
        "task": task.value,
        "algorithm": learner,
        "model": model,
        "model_bytes": os.path.getsize(model),
        **_facts(tagger, texts),
        "seconds": seconds,
        "dev": None if evaluation is None else evaluation.to_dict(),
    }
    print_result(json, record, _summary(record, "" if evaluation is None else evaluation.headline()))
    if code:
        raise typer.Exit(code)


def _way(tune: bool, folds: int | None, dev: str | None, l2: float | None) -> str | int | None:
    """What the penalty is chosen by: the held-out file, so many folds, or nothing."""
    if not tune:
        if folds is not None:
            raise ValueError("--folds says on how many folds --tune chooses the penalty; give --tune too")
        return None
    if l2 is not None:
        raise ValueError(f"--l2 {l2:g} and --tune exclude each other: leave one out")
    if folds is not None and folds < 2:
        raise ValueError(f"--folds must be at least 2, got {folds}")
    return folds or ("dev" if dev is not None else 3)


def _sizes(clusters: str | None) -> tuple[int, ...] | None:
    """Numbers of clusters, from their text."""
    if clusters is None:
        return None
    sizes = clusters.split(",")
    if not all(size.strip().isdecimal() and int(size) > 0 for size in sizes):
        raise ValueError(f"--clusters takes numbers such as 64,256, got {clusters!r}")
    return tuple(map(int, sizes))


def _regularizer(
    cut_size: str | None, group_lasso: float | None, group_by: GroupBy | None
) -> list[Any] | None:
    """What cuts sentences and drops groups of features."""
    from palmette.regularizers import Decomposition, GroupLasso

    if group_by is not None and group_lasso is None:
        raise ValueError(
            "--group-by says what the groups of --group-lasso are; give --group-lasso WEIGHT too"
        )
    parts: list[Any] = []
    if cut_size is not None:
        try:
            parts.append(Decomposition(cut_size if cut_size == "auto" else float(cut_size)))
        except ValueError:
            raise ValueError(f"--cut-size takes a number of at least 1, or auto, got {cut_size!r}") from None
    if group_lasso is not None:
        parts.append(GroupLasso(group_lasso, (group_by or GroupBy.template).value))
    return parts or None


def _facts(tagger: Any, texts: list[Any]) -> dict[str, Any]:
    from palmette.apps.tuning import tuning_record

    model, result = tagger.model, tagger.model.result_
    return {
        "sentences": sum(len(text.table) for text in texts),
        "tokens": sum(text.table.n_tokens for text in texts),
        "labels": len(model.codec_.classes_),
        "features": model.encoder_.n_columns,
        "weights": len(model.coef_),
        "nonzero_weights": int((model.coef_ != 0).sum()),
        "cut_size": getattr(getattr(model, "decomposition_", None), "size", None),
        "iterations": result.step.n_iter,
        "objective": result.primal,
        "gap": result.gap,
        "converged": bool(result.converged),
        "reason": result.reason,
        "l2": getattr(model, "l2_", None),
        "tuning": tuning_record(model),
    }


def _summary(record: dict[str, Any], held_out: str) -> str:
    from palmette.apps.tuning import tuning_rows

    rows = [
        [
            "data",
            f"{record['sentences']:,} sentences, {record['tokens']:,} tokens, {record['labels']} labels",
        ],
        ["model", f"{record['algorithm']}, {record['features']:,} features, {count_of_weights(record)}"],
        *outcome_rows(record),
        *tuning_rows(record["tuning"]),
    ]
    if record["cut_size"] is not None:
        rows.insert(2, ["cut size", f"{record['cut_size']:g}"])
    if held_out:
        rows.append(["held out", held_out])
    rows.append(["written", f"{record['model']} ({record['model_bytes'] / 2**20:.1f} MB)"])
    return aligned(rows)
