"""Column files with predicted labels: a filter that reads, labels and writes in blocks."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from palmette.apps.tagging.columns import ColumnText, iter_columns
from palmette.features.column_table import ColumnTable
from palmette.stages import stage

if TYPE_CHECKING:
    from palmette.apps.tagging.tagger import Tagger

SENTENCES_PER_BLOCK = 1000
BYTES_PER_BATCH = 2**24
_DOCUMENTS_FIRST = re.compile(
    r"\A(?:.*\n)*\ufeff?-DOCSTART-(?=\s).*\n"
)  # up to the last line that begins one
_BLANK_LINES_FIRST = re.compile(r"\A(?:[ \t]*\r?\n)+")


def write_labelled(
    tagger: Tagger, data: str, out: IO[str], *, nbest: int | None = None, marginals: bool = False
) -> None:
    """Write a column file with its predicted labels, and perhaps their probabilities; or its n best labellings."""
    # A person who types wants an answer after every sentence.
    block = 1 if data == "-" and sys.stdin.isatty() else SENTENCES_PER_BLOCK
    if nbest is not None:
        for batch in _batches(iter_columns(data, sentences_per_block=1), block):
            with stage(f"line {batch[0].first_line:,}"):
                _write_nbest(out, tagger, batch, nbest)
        return
    for text in iter_columns(data, sentences_per_block=block):
        with stage(f"line {text.first_line:,}"):
            if marginals:
                labels, probabilities = tagger.predict_with_probability(text)
                text.write_with_column(out, labels, [[f"{p:.6f}" for p in ps] for ps in probabilities])
            else:
                text.write_with_column(out, tagger.predict(text))


def _batches(texts: Iterator[ColumnText], most: int) -> Iterator[list[ColumnText]]:
    """Runs of at most so many texts, and fewer of long ones, so that the memory does not grow with the file."""
    batch: list[ColumnText] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text.raw)
        if len(batch) == most or size > BYTES_PER_BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _write_nbest(out: IO[str], tagger: Tagger, batch: list[ColumnText], n: int) -> None:
    """Write n copies of each sentence, each with its labels and a comment that says rank and score.

    Lines that begin a document come once, before the first copy.
    """
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
            written = copy.getvalue()
            documents = _DOCUMENTS_FIRST.match(written)
            if documents:
                written = written[documents.end() :]
                if rank == 1:
                    out.write(f"{_without_blank_lines(documents[0])}\n\n")
            out.write(f"# nbest = {rank} score = {score:.6f}\n{_without_blank_lines(written)}\n\n")
    out.flush()


def _without_blank_lines(lines: str) -> str:
    """Some lines without the blank ones before and after them."""
    return _BLANK_LINES_FIRST.sub("", lines).rstrip()
