"""Transfer between corpora and genres: part-of-speech tagging of a target from few of its sentences and a source.

`palmette.compare_transfer` on `masc` -> `ptb-sample` (Penn tags; many genres, then newspapers) and on the weblogs of
`ud-ewt` -> its reviews (universal tags). Each strategy chooses its penalties by cross-validation on its own training
sentences, the library's six settings in two folds. Sentences are drawn at random for every seed: 1,000 of the source,
1,000 of the target for training, and at most 500 of the published test sentences. Features are those of the library's
default tagging template; the model is a CRF.

Targets: with any share of the target, transfer is not below the target alone with that share by more than the 95 %
interval of the latter; with 20 % of the target it is at least as good as the target alone with 40 %.
"""

import time
import zlib

from experiments.harness import Study, StudyTable
from palmette.supervision.transfer_comparison import L2S, PAIRS

N_SOURCE, N_TARGET, N_TEST = 1000, 1000, 500
SHARES = (0.1, 0.2, 0.4)
SEEDS = (1, 2)
TASKS = ("masc -> ptb-sample", "weblog -> reviews")
SETUP = f"{zlib.crc32(repr((N_SOURCE, N_TARGET, N_TEST, SHARES, L2S, PAIRS)).encode()):08x}"


def parts(task):
    """Sentences and tags of source, target and test."""
    from palmette.datasets import load_masc, load_ptb_sample, load_ud_ewt

    if task == "masc -> ptb-sample":
        bunches = load_masc("train"), load_ptb_sample("train"), load_ptb_sample("test")
        return [list(zip(bunch.data, bunch.target)) for bunch in bunches]
    source, target = task.split(" -> ")
    train, test = (load_ud_ewt(part, tags="upos") for part in ("train", "test"))
    return [
        [(x, y) for x, y, genre in zip(bunch.data, bunch.target, bunch.genres) if genre == wanted]
        for bunch, wanted in ((train, source), (train, target), (test, target))
    ]


def run(point):
    """All strategies of one task; the counts of each test sentence are kept for intervals and tests."""
    import warnings

    import numpy as np

    from palmette import CRF, Chain, compare_transfer
    from palmette.apps.tagging.default_template import default_template
    from palmette.features import ColumnSentences, Template

    rng = np.random.default_rng(point["seed"])
    drawn = [
        [part[i] for i in rng.permutation(len(part))[:n]]
        for part, n in zip(parts(point["task"]), (N_SOURCE, N_TARGET, N_TEST))
    ]
    X, y = zip(*(pair for part in drawn for pair in part))
    domains = ["source"] * len(drawn[0]) + ["target"] * (len(drawn[1]) + len(drawn[2]))
    test = np.arange(len(X)) >= len(drawn[0]) + len(drawn[1])
    model = CRF(Chain(), tol=1e-2, n_jobs=1)
    inputs = model.encode(ColumnSentences(list(X), Template.parse(default_template(2))))
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compare_transfer(
            model, inputs, list(y), domains, "target", share=SHARES, test=test, cv=2, random_state=point["seed"]
        )  # fmt: skip
    rows = [
        {
            "strategy": row.strategy, "share": row.share, "n_source": row.n_source, "n_target": row.n_target,
            "params": row.params, "right": row.tally.numerator.tolist(), "total": row.tally.denominator.tolist(),
        }
        for row in found.rows
    ]  # fmt: skip
    return {"rows": rows, "seconds": time.process_time() - start}


def comparison(record):
    """The comparison of a stored run."""
    import numpy as np

    from palmette.metrics import Tally
    from palmette.supervision import TransferComparison
    from palmette.supervision.transfer_comparison import Trained

    return TransferComparison(
        tuple(
            Trained(
                row["strategy"], row["share"], row["n_source"], row["n_target"], row["params"],
                Tally("score", np.array(row["right"]), np.array(row["total"])),
            )
            for row in record["rows"]
        )
    )  # fmt: skip


def title(record):
    """The task and the seed of a run."""
    return f"{record['task']}, seed {record['seed']}"


def summarise(records):
    """One table for each task; and transfer against the target alone."""
    tables, against = [], []
    for record in records:
        found = comparison(record)
        tables.append(StudyTable(f"{title(record)}, {record['seconds']:.0f} CPU s", *found.table()))
        for share in SHARES:
            own, alone = (found.row(strategy, share) for strategy in ("Transfer", "Partial target"))
            union = found.row("Union", share)
            against.append(
                [
                    f"{title(record)}, {share:.0%}",
                    str(found.difference(own, alone)),
                    str(found.difference(own, union)),
                ]
            )
    header = ["task, share", "transfer - target alone", "transfer - union"]
    return [*tables, StudyTable("Differences in points, with 95 % interval", header, against)]


def missed(records):
    """Targets that the runs miss."""
    found = []
    for record in records:
        rows = comparison(record)
        for share in SHARES:
            own, alone = rows.row("Transfer", share), rows.row("Partial target", share)
            if own.score < alone.interval.low:
                found.append(f"{title(record)}: transfer with {share:.0%} is below the target alone")
        own, twice = rows.row("Transfer", 0.2), rows.row("Partial target", 0.4)
        if own.score < twice.score:
            found.append(f"{title(record)}: transfer with 20 % is below the target alone with 40 %")
    return found


BENCHMARK = Study(
    name="transfer_text",
    doc=__doc__,
    points=[{"task": task, "seed": seed, "setup": SETUP} for seed in SEEDS for task in TASKS],
    run=run,
    summarise=summarise,
    missed=missed,
    line=title,
)
