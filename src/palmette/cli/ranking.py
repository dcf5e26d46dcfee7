"""What ``palmette train``, ``predict`` and ``evaluate`` do for rankings."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from palmette.cli.files import attempt, saved, text_output
from palmette.cli.output import aligned, log, print_result
from palmette.cli.progress import progress, timed
from palmette.cli.summary import count_of_weights, outcome_rows
from palmette.errors import EmptyModelWarning

if TYPE_CHECKING:
    from palmette.data.letor import Queries

_REMEDY = {
    "plackett-luce": "a smaller --l1 or --l2",
    "ramp": "--algorithm plackett-luce, or a smaller --l2",
    "ssvm": "--algorithm plackett-luce or ramp, or a smaller --l2",
}


def train_ranking(
    data: Sequence[str],
    model: str,
    dev: str | None,
    algorithm: str,
    reading: dict[str, Any],
    scale: str,
    json: bool,
    tune: str | int | None = None,
    **options: Any,
) -> None:
    """Learn a ranker from LETOR files."""
    seconds: dict[str, float] = {}
    with progress() as shown, timed(seconds, "total"):
        with timed(seconds, "import"):
            from palmette.apps.ranking import Ranker, make_ranker
            from palmette.apps.tuning import check_folds, check_tuning, tuning_record
            from palmette.data.letor import Queries, read_letor

            # bad options are refused before the data is read
            check_tuning(make_ranker(algorithm, tuned=tune is not None, **options), tune, dev is not None)
        with timed(seconds, "read"):
            shown.stage(f"reading {', '.join(data)}")
            queries = Queries.joined([read_letor(path, **reading) for path in data])
            check_folds(tune, len(queries.y), "queries", "--folds")
            held_out = None if dev is None else read_letor(dev, n_features=queries.n_features, **reading)
        shown.stage(f"learning from {queries.describe()}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyModelWarning)  # said below, in the words of the command line
            ranker = Ranker.train(
                queries, algorithm=algorithm, scale=scale, reading=reading, callbacks=[shown], tune=tune, dev=held_out,
                **options,
            )  # fmt: skip
        seconds |= ranker.seconds
        evaluation = None
        if held_out is not None:
            shown.stage(f"scoring {dev}")
            with timed(seconds, "evaluate"):
                evaluation = ranker.evaluate(held_out)
        with timed(seconds, "save"):
            trouble = attempt(ranker.save, model)
    model, code = saved(ranker.save, model, trouble)
    fitted, result = ranker.model, ranker.model.result_
    record = {
        "task": "ranking",
        "algorithm": algorithm,
        "model": model,
        "model_bytes": os.path.getsize(model),
        **queries.facts(),
        "weights": len(fitted.coef_),
        "nonzero_weights": int((fitted.coef_ != 0).sum()),
        "iterations": result.step.n_iter,
        "objective": result.primal,
        "gap": result.gap,
        "converged": bool(result.converged),
        "reason": result.reason,
        "l2": fitted.l2_,
        "tuning": tuning_record(fitted),
        "seconds": seconds,
        "dev": None if evaluation is None else evaluation.to_dict(),
    }
    print_result(json, record, _summary(record, queries, "" if evaluation is None else evaluation.headline()))
    if not record["nonzero_weights"]:
        log(f"warning: all weights are 0, so that the model has no order; try {_REMEDY[algorithm]}")
    if code:
        raise typer.Exit(code)


def predict_ranking(loaded: Any, source: str, data: str, orders: bool, output: str | None) -> None:
    """Write scores in the order of the file, or the documents of each query, best first."""
    import numpy as np

    ranker, queries = _read(loaded, source, data)
    found = ranker.scores(queries)
    with text_output(output) as out:
        if not orders:
            places = np.argsort(np.concatenate(queries.lines))  # split queries stand together no longer
            out.writelines(f"{score!r}\n" for score in np.concatenate(found)[places].tolist())
            return
        for name, lines, texts, scores in zip(queries.ids, queries.lines, queries.comments, found):
            for rank, d in enumerate(np.argsort(-scores, kind="stable"), 1):
                out.write(f"{name}\t{rank}\t{lines[d]}\t{float(scores[d])!r}\t{texts[d]}\n")


def evaluate_ranking(loaded: Any, source: str, data: str, json: bool) -> None:
    """Print NDCG and precision at ranks 1 to 10, MAP and the mean reciprocal rank."""
    ranker, queries = _read(loaded, source, data)
    evaluation = ranker.evaluate(queries)
    print_result(
        json,
        {"task": "ranking", **queries.facts(), **evaluation.to_dict()},
        f"{evaluation.format()}\n{queries.describe()}",
    )


def reading_options(missing: str, split: str, zero_based: bool) -> dict[str, Any]:
    """Options of `read_letor` from those of the command line."""
    value: Any = missing
    if missing not in ("error", "minimum"):
        try:
            value = float(missing)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ValueError(f"--missing takes error, minimum or a finite number, got {missing!r}")
    return {"missing": value, "split": split, "zero_based": zero_based}


def _read(loaded: Any, source: str, data: str) -> tuple[Any, Queries]:
    from palmette.apps.ranking import Ranker
    from palmette.data.letor import read_letor

    ranker = Ranker.from_model(loaded, source)
    return ranker, read_letor(data, n_features=ranker.n_features, **ranker.reading)


def _summary(record: dict[str, Any], queries: Queries, held_out: str) -> str:
    from palmette.apps.tuning import tuning_rows

    rows = [
        ["data", queries.describe()],
        ["model", f"{record['algorithm']}, {count_of_weights(record)}"],
        *outcome_rows(record),
        *tuning_rows(record["tuning"]),
    ]
    if held_out:
        rows.append(["held out", held_out])
    rows.append(["written", f"{record['model']} ({record['model_bytes'] / 2**10:.1f} kB)"])
    return aligned(rows)
