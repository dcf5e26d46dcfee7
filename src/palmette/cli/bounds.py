"""``palmette bounds``: what the theorems say of a model."""

from __future__ import annotations

from typing import Annotated

import typer

from palmette.apps.options import picture_name
from palmette.cli.files import check_readable
from palmette.cli.output import Json, print_result
from palmette.cli.tasks import Given, TaskName, refuse_files_of_others, task_for


def bounds(
    context: typer.Context,
    given: Given,
    model: Annotated[str, typer.Argument(help="A model file.")],
    data: Annotated[str, typer.Argument(help="The file that it was trained on (.gz, .xz too).")],
    test: Annotated[
        str | None, typer.Option("--test", help="Held-out file to compare the bounds with.")
    ] = None,
    task: TaskName = None,
    delta: Annotated[float, typer.Option(help="Each bound holds with probability 1 - delta.")] = 0.05,
    gamma: Annotated[float | None, typer.Option(help="Margin of Theorem 6.1; the best of four.")] = None,
    norm: Annotated[float | None, typer.Option(help="Bound on |w| fixed before training.")] = None,
    feature_norm: Annotated[float | None, typer.Option(help="Bound on |phi(x, y)| for all inputs.")] = None,
    rho: Annotated[float | None, typer.Option(help="Admissibility of scores, of Theorem 14.")] = None,
    printed: Annotated[
        bool, typer.Option("--printed", help="Show unproven formulas as printed, too.")
    ] = False,
    plot: Annotated[str | None, typer.Option(help="Draw them (.png, .svg, .pdf).")] = None,
    json: Json = False,
) -> None:
    """Print the generalisation bounds of a model beside its risk on held-out data."""
    check_readable([model])
    if plot is not None:
        picture_name(plot)

    from palmette.bounds.arguments import log_inverse
    from palmette.estimators import load

    log_inverse(delta)
    loaded = load(model)
    kind = task_for(loaded, model, task)
    check_readable([data, test], kind.reads_folders)
    options = given.of(kind) | {"model": model}
    refuse_files_of_others(kind, [data, test], "give a model of")
    application = kind.open(loaded, model)
    held_out = (None, None) if test is None else kind.samples(application, test, options)

    from palmette.inspection import BoundsReport

    report = BoundsReport.from_estimator(
        loaded, *kind.samples(application, data, options), *held_out, delta=delta, gamma=gamma, norm=norm,
        feature_norm=feature_norm, rho=rho, printed=printed,
    )  # fmt: skip
    if plot is not None:
        from palmette.plot.axes import save_figure

        save_figure(report.plot().figure_, plot)
    print_result(json, report.to_dict(), str(report))
