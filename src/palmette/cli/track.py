"""``palmette track``: link the detections of a movie."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from palmette.cli.output import Json, log, print_result
from palmette.cli.progress import progress


def track(
    movie: Annotated[
        str, typer.Argument(help="A folder of CTC masks, a table of detections (.csv), or a GEFF.")
    ],
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="A tracker of 'palmette train --task tracking'; else one of simulated cells.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="File or folder to write; a summary alone by default."),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format", help="csv, ctc, geff, napari or links; by the name of the output, or csv, by default."
        ),
    ] = None,
    images: Annotated[
        str | None, typer.Option(help="Folder of raw images, for intensities of CTC masks.")
    ] = None,
    pins: Annotated[
        str | None, typer.Option(help="Table of links that hold (frame_from,id_from,frame_to,id_to).")
    ] = None,
    forbid: Annotated[str | None, typer.Option(help="Table of links that do not hold.")] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds; the best solution so far is written then.")
    ] = None,
    plot: Annotated[str | None, typer.Option(help="Draw the lineage tree (.png, .svg, .pdf).")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a folder that is there.")] = False,
    json: Json = False,
) -> None:
    """Link the detections of a movie to tracks, frame by frame, and write the lineage."""
    from palmette.apps.options import picture_name
    from palmette.cli.files import check_readable

    check_readable([model, pins, forbid])
    check_readable([movie], folders=True)
    if plot is not None:
        picture_name(plot)
    if time_limit is not None and not time_limit > 0.0:
        raise ValueError(f"--time-limit must be above 0 seconds, got {time_limit:g}")
    from palmette.apps.tracking.command import Job

    job = Job(movie, model, output, format, images, pins, forbid, overwrite)
    with progress() as shown:
        if job.by_default:
            log(
                f"no --model: a tracker of simulated cells by {job.uses}; one trained on your movies is better"
            )
        shown.stage(f"tracking {movie}")
        tracked = job.run(time_limit, lambda n: shown.stage(f"{n:,} frames") if n % 100 == 0 else None)
        job.write(tracked)
        if plot is not None:
            job.draw(tracked, plot)
    record: dict[str, Any] = job.facts(tracked)
    for warning in job.warnings(tracked):
        log(f"warning: {warning}")
    print_result(json, record, job.summary(tracked))
