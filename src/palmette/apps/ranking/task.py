"""The task of ranking on the command line: LETOR files, a ranker, NDCG."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

from palmette.apps.options import Option, page_name, readable
from palmette.apps.task import Inspection, Options, Result, Task, Training, register_task

if TYPE_CHECKING:
    from palmette.apps.ranking.ranker import Ranker
    from palmette.apps.ranking.report import RankingReport
    from palmette.data.letor import Queries


def _missing_value(text: str) -> str | float:
    """What NULL stands for, as `read_letor` takes it."""
    if text in ("error", "minimum"):
        return text
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"--missing takes error, minimum or a finite number, got {text!r}")
    return value


_ABOUT = {
    "predict": "One score per line of the input; with --orders QUERY, RANK, LINE, SCORE and the comment.",
    "evaluate": "NDCG and precision at ranks 1 to 10, mean average precision, mean reciprocal rank, of the scores "
    "that --model gives: it is needed, since files of documents hold no predictions. --report writes a page about it, "
    "--baseline compares with another model.",
}
_OPTIONS = {
    "train": (
        Option("algorithm", "The learner.", default="plackett-luce", choices=("plackett-luce", "ramp", "ssvm") ),
        Option("l2", "L2 penalty; 10 by default (plackett-luce), or by the scale of the features.", float),
        Option("l1", "L1 penalty of plackett-luce, for sparse models; 0 by default.", float),
        Option("radius", "For ramp: the norm of the weights; 4 by default.", float),
        Option("top", "Number of ranks in NDCG; 10 by default (ssvm: all).", int),
        Option("scale", "Scale features to [0, 1] within each query, or not.", default="query",
               choices=("query", "none")),
        Option("missing", "Value of NULL: a number, minimum (of the query), or error.", default="error",
               check=_missing_value),
        Option("split_queries", "Queries whose lines are not contiguous: refuse or merge.", default="refuse",
               choices=("refuse", "merge")),
        Option("zero_based", "Features are numbered from 0.", bool, False),
    ),
    "predict": (Option("orders", "Write the documents of each query, best first.", bool, False),),
    "evaluate": (
        Option("report", "Write a page about it (.html).", metavar="FILE", check=page_name),
        Option("baseline", "Another ranking model to compare with, query by query.", metavar="FILE", check=readable),
    ),
}  # fmt: skip


class _Ranking(Task):
    """Rank the documents of queries."""

    name = "ranking"
    summary = "order the documents of each query"
    files = "graded documents, one per line: GRADE qid:QUERY 1:VALUE 2:VALUE ... # comment"
    about = _ABOUT
    options = _OPTIONS
    fact_names = ("scale", "reading")

    def prepare(self, options: Options, tune: str | int | None, has_dev: bool) -> Training:
        from palmette.apps.ranking.training import RankingTraining

        return RankingTraining(options, tune, has_dev)

    def open(self, model: Any, source: str) -> Ranker:
        from palmette.apps.ranking.ranker import Ranker

        return Ranker.from_model(model, source)

    def predict(self, application: Ranker, data: str, out: IO[str], options: Options) -> None:
        """Write scores in the order of the file, or the documents of each query, best first."""
        import numpy as np

        queries = _read(application, data)
        found = application.scores(queries)
        if not options["orders"]:
            places = np.argsort(np.concatenate(queries.lines))  # split queries stand together no longer
            out.writelines(f"{score!r}\n" for score in np.concatenate(found)[places].tolist())
            return
        for name, lines, texts, scores in zip(queries.ids, queries.lines, queries.comments, found):
            for rank, d in enumerate(np.argsort(-scores, kind="stable"), 1):
                out.write(f"{name}\t{rank}\t{lines[d]}\t{float(scores[d])!r}\t{texts[d]}\n")

    def samples(self, application: Ranker, data: str, options: Options) -> tuple[Any, Any]:
        """Queries and the grades of their documents."""
        queries = _read(application, data)
        return application.inputs(queries), queries.y

    def evaluate(
        self, application: Ranker | None, data: str, options: Options, log: Callable[[str], None]
    ) -> Result:
        """NDCG and precision at ranks 1 to 10, MAP and the mean reciprocal rank."""
        if application is None:
            raise ValueError(
                f"{data}: files of documents hold no predictions; give the --model that ranks them"
            )
        queries = _read(application, data)
        if options["report"] is None and options["baseline"] is None:
            evaluation, compared, lines = application.evaluate(queries), None, []
        else:
            page = _report(application, queries, data, options)
            evaluation, compared = page.evaluation, page.comparison_record()
            lines = [f"minus {options['baseline']}, with intervals of 95 %:"] if compared else []
            lines += [
                f"{name:15}  {c.difference:+.4f} [{c.low:+.4f}, {c.high:+.4f}], p = {c.p_value:.2g}"
                for name, c in page.comparisons.items()
            ]
            if options["report"] is not None:
                page.write(options["report"])
                log(f"report: {options['report']}")
        record = {"task": self.name, **queries.facts(), **evaluation.to_dict()}
        record |= {"report": options["report"], "comparison": compared}
        return record, "\n".join([evaluation.format(), queries.describe(), *lines])

    def inspect(self, application: Ranker) -> Inspection:
        reading, scale = application.reading, application.scale
        first = 0 if reading.get("zero_based") else 1
        scaled = "scaled to [0, 1] within each query" if scale == "query" else "as they are"
        options = ", ".join(f"{name}={value!r}" for name, value in reading.items())
        text = f"GRADE qid:QUERY 1:VALUE ..., features {scaled}" + f" ({options})" * bool(options)
        return Inspection(
            {"scale": scale, "reading": reading},
            [["input", text]],
            feature_names=[f"feature {first + column}" for column in range(application.n_features)],
            shows_labels=False,
        )

    def recognise(self, path: str) -> str | None:
        """Find the query of a document in the first line: as columns it would be one sentence of many labels."""
        from palmette.io.lines import read_raw_lines

        lines = enumerate(map(bytes.split, read_raw_lines(path)), 1)
        first = ((number, cells) for number, cells in lines if cells and not cells[0].startswith(b"#"))
        number, cells = next(first, (0, []))
        if len(cells) > 1 and cells[1].startswith(b"qid:"):
            return (
                f"{path}:{number}: {cells[1].decode(errors='replace')[:40]} is the query of a graded document"
            )
        return None


def _report(ranker: Ranker, queries: Queries, data: str, options: Options) -> RankingReport:
    """The page, with a comparison if there is a baseline."""
    from palmette.apps.ranking.ranker import Ranker
    from palmette.apps.ranking.report import report_on_scores

    scores, path = None, options["baseline"]
    if path is not None:
        if data == "-":
            raise ValueError(
                "--baseline reads the documents a second time: give a file instead of standard input (-)"
            )
        other = Ranker.load(path)
        again = _read(other, data)
        if again.ids != queries.ids:
            raise ValueError(
                f"{path}: this model reads other queries from {data}; give one that was trained with the same options"
            )
        scores = other.scores(again)
    first = 0 if ranker.reading.get("zero_based") else 1
    weights = [(f"feature {first + i}", float(w)) for i, w in enumerate(ranker.model.coef_)]
    return report_on_scores(
        queries, ranker.scores(queries), baseline=scores, baseline_name=os.path.basename(path or ""), weights=weights,
        title=f"{os.path.basename(options['model'])} on {os.path.basename(data)}",
    )  # fmt: skip


def _read(ranker: Ranker, data: str) -> Queries:
    from palmette.data.letor import read_letor

    return read_letor(data, n_features=ranker.n_features, **ranker.reading)


register_task(_Ranking())
