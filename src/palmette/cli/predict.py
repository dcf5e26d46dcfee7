"""``palmette predict``: label column files, score documents; a filter from standard input to standard output."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from typing import IO, Annotated, Any

import typer

from palmette.cli.files import check_readable, check_writable, text_output
from palmette.cli.ranking import predict_ranking
from palmette.cli.tasks import refuse_graded_documents, refuse_options, task_of

SENTENCES_PER_BLOCK = 1000
BYTES_A_BATCH = 2**24
_BLANK_LINES_FIRST = re.compile(r"\A(?:[ \t]*\r?\n)+")


def predict(
    context: typer.Context,
    model: Annotated[str, typer.Option("--model", "-m", help="Model written by 'palmette train'.")],
    data: Annotated[
        str, typer.Argument(help="Column file or LETOR file (.gz, .xz too); - is standard input.")
    ] = "-",
    nbest: Annotated[
        int | None, typer.Option(help="Write the n best labellings of each sentence, with their scores.")
    ] = None,
    marginals: Annotated[
        bool, typer.Option("--marginals", help="Add a column with the probability of the predicted label.")
    ] = False,
    orders: Annotated[
        bool, typer.Option("--orders", help="Rankings: write the documents of each query, best first.")
    ] = False,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="File to write; standard output by default.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Threads; all cores by default.")] = None,
) -> None:
    """Write the input with the predicted label as a further column; comments and blank lines stay.

    With a model of rankings: one score per line of the input; with --orders QUERY, RANK, LINE, SCORE and the comment.
    """
    if nbest is not None and nbest < 1:
        raise ValueError(f"--nbest must be at least 1, got {nbest}")
    if nbest is not None and marginals:
        raise ValueError("--nbest and --marginals exclude each other; give one of them")
    check_readable([data, model])
    if output is not None:
        check_writable(output, "the predictions")

    from palmette.estimators import load

    loaded = load(model)
    if jobs is not None:
        loaded.set_params(n_jobs=jobs)
    if task_of(loaded) == "ranking":
        refuse_options(context, ("nbest", "marginals"), "a model of rankings")
        predict_ranking(loaded, model, data, orders, output)
        return
    refuse_options(context, ("orders",), "a tagger")
    refuse_graded_documents([data], "give the --model that ranks them")

    from palmette.apps.tagging.columns import iter_columns
    from palmette.apps.tagging.tagger import Tagger

    tagger = Tagger.from_model(loaded, model)
    # A person who types wants an answer after every sentence.
    block = 1 if data == "-" and sys.stdin.isatty() else SENTENCES_PER_BLOCK
    with text_output(output) as out:
        if nbest is not None:
            sentences = iter_columns(data, sentences_per_block=1)
            for batch in _batches(sentences, block):
                _write_nbest(out, tagger, batch, nbest)
            return
        for text in iter_columns(data, sentences_per_block=block):
            if marginals:
                labels, probabilities = tagger.predict_with_probability(text)
                text.write_with_column(out, labels, [[f"{p:.6f}" for p in ps] for ps in probabilities])
            else:
                text.write_with_column(out, tagger.predict(text))


def _batches(texts: Iterator[Any], most: int) -> Iterator[list[Any]]:
    """Runs of at most so many texts, and fewer of long ones, so that the memory does not grow with the file."""
    batch, size = [], 0
    for text in texts:
        batch.append(text)
        size += len(text.raw)
        if len(batch) == most or size > BYTES_A_BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _write_nbest(out: IO[str], tagger: Any, batch: list[Any], n: int) -> None:
    """Write n copies of each sentence, each with its labels and a comment that says rank and score."""
    from palmette.features.column_table import ColumnTable

    texts = [text for text in batch if len(text.table)]
    if not texts:
        return
    aligned = ColumnTable.concatenated(
        [text.aligned(tagger.n_columns, tagger.label_column) for text in texts]
    )
    for text, outputs in zip(texts, tagger.predict_nbest(aligned, n)):
        for rank, (labels, score) in enumerate(outputs, 1):
            copy = io.StringIO(newline="")
            text.write_with_column(copy, [labels])
            body = _BLANK_LINES_FIRST.sub("", copy.getvalue()).rstrip()
            out.write(f"# nbest = {rank} score = {score:.6f}\n{body}\n\n")
    out.flush()
