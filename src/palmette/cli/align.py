"""``palmette align``: alignments of pairs of sequences."""

from __future__ import annotations

from typing import Annotated

import typer

from palmette.cli.output import Json, log, print_result
from palmette.cli.progress import progress


def align(
    data: Annotated[
        list[str],
        typer.Argument(
            help="Two FASTA files, whose sequences are aligned one by one (or one with all of the other file), or one "
            "file, whose sequences are aligned two by two (.gz, .xz too; - is stdin).",
        ),
    ],
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="An aligner of 'palmette train --task alignment'.")
    ] = None,
    params: Annotated[
        str | None, typer.Option(help="Parameter file of CONTRAlign instead of a model.")
    ] = None,
    matrix: Annotated[
        str | None, typer.Option(help="Substitution matrix in NCBI's format; BLOSUM62 by default.")
    ] = None,
    open: Annotated[
        float | None, typer.Option(help="With a matrix: score of the first letter of a gap; -11 by default.")
    ] = None,
    extend: Annotated[
        float | None, typer.Option(help="With a matrix: score of each further letter; -1 by default.")
    ] = None,
    free_ends: Annotated[
        bool | None,
        typer.Option(
            "--free-ends/--no-free-ends", help="With a matrix: gaps at the ends cost nothing; they do not."
        ),
    ] = None,
    decode: Annotated[
        str | None, typer.Option(help="viterbi or mea; what the model says by default, viterbi for a matrix.")
    ] = None,
    gamma: Annotated[
        float | None,
        typer.Option(help="For mea: weight of gaps; the larger, the fewer matches. 0 by default."),
    ] = None,
    constraint: Annotated[
        str | None,
        typer.Option(
            help="12=15 12!15 a12- a12+ b7- (positions from 1), or a file with '>pair' above such lines."
        ),
    ] = None,
    posterior: Annotated[bool, typer.Option("--posterior", help="Also how probable each column is.")] = False,
    best: Annotated[int | None, typer.Option(help="So many best alignments; 1 by default.")] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="File for the alignments; stdout by default.")
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(help="Of the output: aligned-fasta, paf, or fasta; by its name by default."),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(help="Draw it (.svg, .png, .pdf, .html); several pairs to STEM.NAME.svg."),
    ] = None,
    plot_kind: Annotated[
        str, typer.Option(help="blocks, or matrix: the posteriors of all matches.")
    ] = "blocks",
    width: Annotated[int, typer.Option(help="Columns of a block.")] = 60,
    jobs: Annotated[int | None, typer.Option(help="Threads; all cores by default.")] = None,
    json: Json = False,
) -> None:
    """Align pairs of sequences globally: coloured blocks with scores, and with how sure each column is."""
    from palmette.apps.options import picture_name, writable
    from palmette.cli.files import check_readable

    if len(data) > 2:
        raise ValueError(f"{len(data)} files; give two, or one with the sequences two by two")
    named = None if matrix == "BLOSUM62" else matrix
    check_readable([*data, model, params, named])
    if output is not None:
        writable(output, "the alignments")
    if plot is not None:
        picture_name(plot, ".html")
    for value, flag in ((jobs, "--jobs"), (best, "--best"), (width, "--width")):
        if value is not None and value < 1:
            raise ValueError(f"{flag} must be at least 1, got {value}")
    from palmette.apps.aligning.command import Job, show

    own = {
        "matrix": matrix, "open": open, "extend": extend, "free_ends": free_ends, "decode": decode, "gamma": gamma,
        "constraint": constraint, "posterior": posterior or json, "best": best, "output": output, "format": format,
        "plot": plot, "plot_kind": plot_kind, "width": width, "jobs": jobs,
    }  # fmt: skip
    job = Job(data, model, params, own)
    aligned = []
    with progress() as shown:
        shown.stage(f"aligning {len(job.pairs):,} pairs of {', '.join(data)}")
        for each in job.run(lambda n: shown.stage(f"{n:,} pairs") if n % 100 == 0 else None):
            if output is None and not json:
                show(each, width)
            aligned.append(each)
        job.write(aligned)
        if plot is not None:
            log(f"drawn: {', '.join(job.draw(aligned, plot))}")
    if json:
        print_result(True, job.facts(aligned), "")
    elif output is not None:
        print(f"{len(aligned):,} pairs, written: {output}")
