"""The task of tagging on the command line: column files, a tagger, the table of CoNLL."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any

from palmette.apps.tagging.options import OPTIONS
from palmette.apps.task import Inspection, Options, Result, Task, Training, register_task
from palmette.errors import DataFileError

if TYPE_CHECKING:
    from palmette.apps.tagging.column_text import ColumnText
    from palmette.apps.tagging.evaluation import Evaluation
    from palmette.apps.tagging.partial_labels import Marks
    from palmette.apps.tagging.report import EvaluationReport
    from palmette.apps.tagging.tagger import Tagger


_ABOUT = {
    "predict": "The input comes out with the predicted label as a further column; comments and blank lines stay.",
    "evaluate": "Token accuracy and, for chunk labels, the table of CoNLL; with --report also a page about it. "
    "Without --model the last two columns are the true and the predicted label, in CoNLL-U column 3 and the last.",
    "inspect": "With --why: what made the labels of sentences win.",
}


class _Tagging(Task):
    """Label the tokens of sentences."""

    name = "tagging"
    summary = "label every token of a sentence"
    files = "columns of tokens, one token per line, blank lines between sentences"
    fact_names = ("n_columns", "label_column", "separator", "template", "features")
    about = _ABOUT
    is_default = True
    options = OPTIONS

    def prepare(self, options: Options, tune: str | int | None, has_dev: bool) -> Training:
        from palmette.apps.tagging.training import TaggingTraining

        return TaggingTraining(options, tune, has_dev)

    def open(self, model: Any, source: str) -> Tagger:
        from palmette.apps.tagging.tagger import Tagger

        return Tagger.from_model(model, source)

    def predict(self, application: Tagger, data: str, out: IO[str], options: Options) -> None:
        """Write the input with the predicted label as a further column; comments and blank lines stay."""
        from palmette.apps.tagging.labelling import write_labelled

        if options["nbest"] is not None and options["marginals"]:
            raise ValueError("--nbest and --marginals exclude each other; give one of them")
        write_labelled(application, data, out, nbest=options["nbest"], marginals=options["marginals"])

    def samples(self, application: Tagger, data: str, options: Options) -> tuple[Any, Any]:
        """Sentences and their labels in the encoding of the model."""
        from palmette.apps.tagging.columns import read_columns

        text = read_columns(data)
        return application.columns(text), application.labels_for_model(text)

    def evaluate(
        self, application: Tagger | None, data: str, options: Options, log: Callable[[str], None]
    ) -> Result:
        """Token accuracy and, for chunk labels, the table of CoNLL; with ``report`` also a page about it."""
        from palmette.apps.tagging.columns import read_columns
        from palmette.apps.tagging.evaluation import evaluate_labels
        from palmette.apps.tagging.partial_labels import Marks
        from palmette.apps.tagging.unknown_labels import warn_of_unknown_labels

        marks = Marks(options["unknown"], options["one_of"])
        if application is not None and marks:
            own = application.marks
            marks = Marks(marks.unknown or own.unknown, marks.one_of or own.one_of)
            application = replace(application, marks=marks)
        report, column = options["report"], options["label_column"]
        if application is not None and column is not None:
            raise ValueError(
                "--label-column and --model exclude each other: the model knows its label column"
            )
        text = read_columns(data)
        if application is None:
            log(_told_columns(text, column))
        else:
            warn_of_unknown_labels(application, text)
        evaluation: Evaluation
        if report is not None:
            page = _page(text, application, options["model"], column, marks)
            page.write(report)
            log(f"report: {report}")
            evaluation = page.evaluation
        elif application is None:
            evaluation = evaluate_labels(*_two_columns(text, column, marks))
        else:
            evaluation = application.evaluate(text)
        return {**evaluation.to_dict(), "report": report}, evaluation.format()

    def inspect(self, application: Tagger) -> Inspection:
        between = "tabs" if application.separator == "\t" else "blanks"
        n_columns, label = application.n_columns, application.label_column
        lines = [
            line for line in application.template.text.splitlines() if line and not line.startswith("# ")
        ]
        facts = {"n_columns": n_columns, "label_column": label, "separator": application.separator}
        rows = [["input", f"{n_columns} columns separated by {between}, the label in column {label}"]]
        spans, features = application.spans, application.features
        if spans is not None and spans.own != spans.inner:
            rows.append(["spans", spans.in_words()])
        if features is not None:
            rows.append(["feature set", features.summary()])
        named = features and {"name": features.name, "columns": features.column_names_}
        return Inspection(
            {**facts, "template": application.template.text, "features": named},
            rows,
            ["template\n" + "\n".join(f"  {line}" for line in lines)],
        )

    def answer(self, application: Tagger, options: Options, top: int | None) -> Result | None:
        """With ``why``: which features made labels win."""
        why, against, against_truth = (options[name] for name in ("why", "against", "against_truth"))
        if why is None:
            if against is not None or against_truth:
                raise ValueError(
                    "--against and --against-truth say what --why compares with; give --why FILE too"
                )
            return None
        if against is not None and against_truth:
            raise ValueError("--against and --against-truth exclude each other; give one of them")
        from palmette.apps.tagging.why import explain_sentences

        top = 5 if top is None else top
        found, text = explain_sentences(
            application, why, against=against, against_truth=against_truth, top=top
        )
        return {"model": options["model"], "sentences": found}, text


def _page(
    text: ColumnText, tagger: Tagger | None, model: str, label_column: int | None, marks: Marks
) -> EvaluationReport:
    from palmette.apps.tagging.report import report_on_labels, report_on_tagger, words_of

    name = os.path.basename(text.source)
    if tagger is not None:
        return report_on_tagger(tagger, text, title=f"{os.path.basename(model)} on {name}")
    true, predicted = _two_columns(text, label_column, marks)
    return report_on_labels(
        true, predicted, words=words_of(text), title=name, source=text.source, place=text.location
    )


def _two_columns(
    text: ColumnText, label_column: int | None, marks: Marks
) -> tuple[list[list[Any]], list[list[str]]]:
    """True and predicted labels of a file that has both."""
    column, predicted = _true_column(text, label_column), text.labels(-1)
    guessed = {label for y in predicted for label in y}
    if marks:
        return marks.read([text], column, guessed), predicted
    true = text.labels(column)
    if label_column is None and guessed.isdisjoint(label for y in true for label in y):
        raise DataFileError(
            f"{text.location()}: columns {column} and {text.n_columns - 1}, here {true[0][0]!r} and "
            f"{predicted[0][0]!r}, have no label in common, so that they are hardly the true and the predicted one; "
            f"give --model FILE to predict with, or --label-column {column} if they are"
        )
    return true, predicted


def _looks_like_conllu(text: ColumnText) -> bool:
    """Whether a file that is not read as CoNLL-U has its ten columns, and perhaps what ``predict`` adds."""
    if text.conllu or text.separator != "\t" or not 10 <= text.n_columns <= 12:
        return False
    return text.table.column(0)[0][0].isdecimal()


def _true_column(text: ColumnText, label_column: int | None) -> int:
    """The column of the true label in a file that has predicted ones in its last column."""
    from palmette.apps.tagging.training_files import UPOS

    if text.n_columns < 2:
        raise DataFileError(
            f"{text.location()}: only one column; expected the true and the predicted label as the last "
            f"two, or give --model{text.hint_at_separator()}"
        )
    if label_column is not None:
        return text.label_index(label_column)
    if _looks_like_conllu(text):
        name = "standard input" if text.source == "<stdin>" else text.source
        raise DataFileError(
            f"{text.location()}: these look like columns of CoNLL-U, and {name} is not read as CoNLL-U: give a file "
            f"named .conllu, to 'palmette predict' too; or --label-column {text.n_columns - 2} for columns as they are"
        )
    if not text.conllu:
        return text.n_columns - 2
    if text.n_columns < 11:
        raise DataFileError(
            f"{text.location()}: the {text.n_columns} columns of CoNLL-U have no predicted label, which 'palmette "
            "predict' adds as a further column; or give --model FILE to predict with"
        )
    return UPOS


def _told_columns(text: ColumnText, label_column: int | None) -> str:
    """What is compared, before it is."""
    true = _true_column(text, label_column)
    return f"without --model: the true label is column {true}, the predicted one column {text.n_columns - 1}"


register_task(_Tagging())
