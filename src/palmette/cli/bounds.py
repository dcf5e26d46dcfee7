"""``palmette bounds``: what the theorems say of a model."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from palmette.apps.options import picture_name
from palmette.cli.files import check_readable
from palmette.cli.output import Json, print_result
from palmette.cli.progress import progress
from palmette.cli.tasks import Given, TaskName, refuse_files_of_others, task_for
from palmette.stages import stage


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
    l2: Annotated[
        float | None, typer.Option(help="Smallest L2 penalty, where settings do not say it.")
    ] = None,
    tau: Annotated[float, typer.Option(help="Lipschitz constant of the loss, of Theorem 14.")] = 1.0,
    eps: Annotated[float, typer.Option(help="Accuracy of Proposition 5, per sample.")] = 0.01,
    log_annotations: Annotated[
        float | None, typer.Option(help="ln of the number of annotations, of Theorem 1.1.")
    ] = None,
    variances: Annotated[str, typer.Option(help="Of Theorem 4, such as 0.01,0.1; else a grid.")] = "",
    output_dimension: Annotated[int | None, typer.Option(help="Dimension of outputs, of Theorem 4.")] = None,
    n_tried: Annotated[int, typer.Option(help="Values of R tried on the same data, of Theorem 5.")] = 1,
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

    from palmette.estimators import load
    from palmette.inspection.given import Given as Numbers

    told: dict[str, Any] = {
        "delta": delta, "gamma": gamma, "norm": norm, "feature_norm": feature_norm, "l2": l2, "rho": rho, "tau": tau,
        "log_annotations": log_annotations, "eps": eps, "variances": numbers(variances),
        "output_dimension": output_dimension, "n_tried": n_tried, "printed": printed,
    }  # fmt: skip
    Numbers(**told)  # which refuses what no bound can use
    loaded = load(model)
    kind = task_for(loaded, model, task)
    check_readable([data, test], kind.reads_folders)
    options = given.of(kind) | {"model": model}
    refuse_files_of_others(kind, [data, test], "give a model of")
    application = kind.open(loaded, model)
    from palmette.inspection import BoundsReport

    with progress(), stage(f"bounds of {model}"):
        held_out = (None, None) if test is None else kind.samples(application, test, options)
        samples = kind.samples(application, data, options)
        report = BoundsReport.from_estimator(loaded, *samples, *held_out, **told)
    if plot is not None:
        from palmette.plot.axes import save_figure

        save_figure(report.plot().figure_, plot)
    print_result(json, report.to_dict(), str(report))


def numbers(text: str) -> tuple[float, ...]:
    """Numbers with commas between them.

    >>> numbers("0.01,1")
    (0.01, 1.0)
    """
    try:
        return tuple(map(float, filter(None, map(str.strip, text.split(",")))))
    except ValueError:
        raise ValueError(f"--variances must be numbers with commas between them, got {text!r}") from None
