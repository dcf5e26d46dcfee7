"""``palmette fold``: the structures of RNA sequences."""

from __future__ import annotations

from typing import Annotated

import typer

from palmette.cli.output import Json, log, print_result
from palmette.cli.progress import progress


def fold(
    data: Annotated[
        str,
        typer.Argument(
            help="Sequences: FASTA, dot-bracket, CT, BPSEQ or Stockholm (.gz, .xz too); - is stdin."
        ),
    ],
    model: Annotated[
        str | None,
        typer.Option(
            "--model", "-m", help="A folder of 'palmette train --task folding'; else the one of the package."
        ),
    ] = None,
    params: Annotated[
        str | None, typer.Option(help="Parameter file of CONTRAfold or EternaFold instead of a model.")
    ] = None,
    decode: Annotated[
        str | None, typer.Option(help="viterbi, mea or centroid; what the model says by default.")
    ] = None,
    gamma: Annotated[
        float | None, typer.Option(help="For mea and centroid: the larger, the more pairs; 4 by default.")
    ] = None,
    constraint: Annotated[
        str | None,
        typer.Option(
            help="File with '>name' above constraints of . x ( ) | < >, or one for a single sequence."
        ),
    ] = None,
    suboptimal: Annotated[
        float | None, typer.Option(help="Also all structures whose score is at most so much below the best.")
    ] = None,
    most: Annotated[int | None, typer.Option(help="So many of these at most; 1000 by default.")] = None,
    beam: Annotated[
        int | None,
        typer.Option(help="For long sequences: an approximate search that keeps so many spans a position."),
    ] = None,
    evidence: Annotated[
        str | None, typer.Option(help="File of 'position value' lines from 1, such as SHAPE reactivities.")
    ] = None,
    evidence_kind: Annotated[
        str, typer.Option(help="shape: reactivities; score: added where a position is unpaired.")
    ] = "shape",
    slope: Annotated[
        float | None,
        typer.Option(help="Of shape: score of unpaired = slope log(1 + value) + intercept; 1.8."),
    ] = None,
    intercept: Annotated[float | None, typer.Option(help="Of shape; -0.6 by default.")] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Also the base-pair probabilities (positions from 0).")
    ] = False,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="File for the structures; stdout by default.")
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(help="Of the output: dot-bracket, ct, bpseq, stockholm, fasta; by its name by default."),
    ] = None,
    plot: Annotated[
        str | None, typer.Option(help="Draw it (.svg, .png, .pdf); several sequences to STEM.NAME.svg.")
    ] = None,
    plot_kind: Annotated[str, typer.Option(help="planar, circle, arc or dots.")] = "planar",
    jobs: Annotated[int | None, typer.Option(help="Threads; all cores by default.")] = None,
    json: Json = False,
) -> None:
    """Fold RNA sequences: structures in dot-bracket with their scores."""
    from palmette.apps.options import picture_name, writable
    from palmette.cli.files import check_readable

    check_readable([data, model, params, evidence])
    if output is not None:
        writable(output, "the structures")
    if plot is not None:
        picture_name(plot)
    if jobs is not None and jobs < 1:
        raise ValueError(f"--jobs must be at least 1, got {jobs}")
    from palmette.apps.folding.command import Job, text

    own = {
        "decode": decode, "gamma": gamma, "constraint": constraint, "suboptimal": suboptimal, "most": most,
        "evidence": evidence, "evidence_kind": evidence_kind, "slope": slope, "intercept": intercept,
        "probabilities": probabilities or (json and beam is None), "output": output, "format": format, "plot": plot,
        "plot_kind": plot_kind, "jobs": jobs, "beam": beam,
    }  # fmt: skip
    job = Job(data, model, params, own)
    folded = []
    with progress() as shown:
        shown.stage(f"folding {len(job.records):,} sequences of {data}")
        for each in job.run(lambda n: shown.stage(f"{n:,} sequences") if n % 100 == 0 else None):
            if output is None and not json:
                print(text(each))
            folded.append(each)
        job.write(folded)
        if plot is not None:
            log(f"drawn: {', '.join(job.draw(folded, plot))}")
    if json:
        print_result(True, job.facts(folded), "")
    elif output is not None:
        print(f"{len(folded):,} sequences, written: {output}")
