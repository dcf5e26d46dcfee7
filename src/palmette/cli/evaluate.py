"""``palmette evaluate``: compare predicted with true labels, or scores of documents with their grades."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palmette.cli.files import check_readable, check_writable
from palmette.cli.output import Json, log, print_result
from palmette.cli.ranking import evaluate_ranking
from palmette.cli.tasks import refuse_graded_documents, refuse_options, task_of

if TYPE_CHECKING:
    from palmette.apps.tagging.columns import ColumnText
    from palmette.apps.tagging.evaluation import Evaluation
    from palmette.apps.tagging.report import EvaluationReport


def evaluate(
    context: typer.Context,
    data: Annotated[
        str, typer.Argument(help="Column file or LETOR file (.gz, .xz too); - is standard input.")
    ],
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Model to label DATA with; without it DATA has the predictions."),
    ] = None,
    label_column: Annotated[
        int | None,
        typer.Option(help="Column of the true label; the last but one by default. Not with --model."),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(help="HTML file to write: scores, confusions, worst sentences, strongest features."),
    ] = None,
    json: Json = False,
) -> None:
    """Print token accuracy and, for chunk labels, the table of CoNLL; with --report also write a page about it.

    With --model, DATA is labelled first. Otherwise its last two columns are the true and the predicted label. With a
    model of rankings: NDCG and precision at ranks 1 to 10, mean average precision, mean reciprocal rank.
    """
    if model is not None and label_column is not None:
        raise ValueError("--label-column and --model exclude each other: the model knows its label column")
    check_readable([data, model])
    if report is not None:
        if not report.lower().endswith((".html", ".htm")):
            raise ValueError(f"--report writes a page; name a file that ends in .html, got {report}")
        check_writable(report, "the report")

    loaded = None
    if model is not None:
        from palmette.estimators import load

        loaded = load(model)
        if task_of(loaded) == "ranking":
            refuse_options(context, ("report",), "a model of rankings")
            evaluate_ranking(loaded, model, data, json)
            return
    refuse_graded_documents([data], "give the --model that ranks them")
    tagger = None if loaded is None else _tagger(loaded, str(model))

    from palmette.apps.tagging.columns import read_columns

    text = read_columns(data)
    if report is None:
        evaluation = _evaluation(text, tagger, label_column)
    else:
        page = _page(text, tagger, model, label_column)
        page.write(report)
        log(f"report: {report}")
        evaluation = page.evaluation
    print_result(json, {**evaluation.to_dict(), "report": report}, evaluation.format())


def _tagger(loaded: Any, source: str) -> Any:
    from palmette.apps.tagging.tagger import Tagger

    return Tagger.from_model(loaded, source)


def _evaluation(text: ColumnText, tagger: Any, label_column: int | None) -> Evaluation:
    if tagger is None:
        from palmette.apps.tagging.evaluation import evaluate_labels

        return evaluate_labels(*_two_columns(text, label_column))
    return tagger.evaluate(text)


def _page(text: ColumnText, tagger: Any, model: str | None, label_column: int | None) -> EvaluationReport:
    from palmette.apps.tagging.report import report_on_labels, report_on_tagger, words_of

    name = os.path.basename(text.source)
    if model is None:
        true, predicted = _two_columns(text, label_column)
        return report_on_labels(
            true, predicted, words=words_of(text), title=name, source=text.source, place=text.location
        )
    return report_on_tagger(tagger, text, title=f"{os.path.basename(model)} on {name}")


def _two_columns(text: ColumnText, label_column: int | None) -> tuple[list[list[str]], list[list[str]]]:
    """True and predicted labels of a file that has both."""
    if text.n_columns < 2:
        raise ValueError(
            f"{text.location()}: only one column; expected the true and the predicted label as the last "
            f"two, or give --model"
        )
    return text.labels(-2 if label_column is None else label_column), text.labels(-1)
