"""``ramify evaluate``: compare predicted with true labels."""

from __future__ import annotations

from typing import Annotated

import typer

from ramify.cli.files import check_readable
from ramify.cli.output import Json, print_result


def evaluate(
    data: Annotated[str, typer.Argument(help="Column file (.gz, .xz too); - is standard input.")],
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Model to label DATA with; without it DATA has the predictions."),
    ] = None,
    label_column: Annotated[
        int | None,
        typer.Option(help="Column of the true label; the last but one by default. Not with --model."),
    ] = None,
    json: Json = False,
) -> None:
    """Print token accuracy and, for chunk labels, the table of CoNLL.

    With --model, DATA is labelled first. Otherwise its last two columns are the true and the predicted label.
    """
    if model is not None and label_column is not None:
        raise ValueError("--label-column and --model exclude each other: the model knows its label column")
    check_readable([data, model])

    from ramify.apps.tagging.columns import read_columns

    if model is None:
        from ramify.apps.tagging.evaluation import evaluate_labels

        text = read_columns(data)
        if text.n_columns < 2:
            raise ValueError(
                f"{text.location()}: only one column; expected the true and the predicted label as the last "
                f"two, or give --model"
            )
        evaluation = evaluate_labels(
            text.labels(-2 if label_column is None else label_column), text.labels(-1)
        )
    else:
        from ramify.apps.tagging.tagger import Tagger

        evaluation = Tagger.load(model).evaluate(read_columns(data))
    print_result(json, evaluation.to_dict(), evaluation.format())
