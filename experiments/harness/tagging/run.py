"""From a declared task to its report: choose on development data, train, test once, compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.utils import Bunch

from experiments.harness.tagging.task import TaggingTask
from palmette.apps.tagging.systems.system import System, Trained, train
from palmette.metrics import Tally, bootstrap_interval, compare, pooled
from palmette.recipes.context import Context


@dataclass(frozen=True)
class _Chosen:
    """A system with the setting that was best on development data, its score there (%) and the CPU seconds."""

    system: System
    setting: dict[str, Any]
    score: float

    @property
    def shown_setting(self) -> str:
        return show_setting(self.setting)


@dataclass(frozen=True)
class _Tested:
    """A chosen system on the test part: scores of every seed, by name."""

    chosen: _Chosen
    runs: list[dict[str, Tally]]
    seconds: float
    first: Trained

    @property
    def name(self) -> str:
        return self.chosen.system.name

    def values(self, score: str) -> list[float]:
        return [100 * run[score].score for run in self.runs]

    def pooled(self, score: str, n_runs: int) -> Tally:
        """All seeds as one tally; weighted so that `n_runs` runs count, to be compared with another system."""
        return pooled([run[score] for run in self.runs] * (n_runs // len(self.runs)))


def run_task(context: Context, task: TaggingTask) -> None:
    """Run a task and leave tables, a figure, an evaluation and targets in the context.

    The settings of each system are tried on ``dev`` after training on ``fit``, with the system's first seed. The
    baseline and the candidate that was best there are then trained on ``train`` with all their seeds, and label
    ``test`` once each; so are the other candidates if ``task.test_all``. Intervals and p-values are over sentences,
    seeds pooled.

    Parameters
    ----------
    context : Context
    task : TaggingTask
    """
    rows: list[list[Any]] = []
    fit, dev = (task.part(subset, context.quick) for subset in ("fit", "dev"))
    systems = [task.baseline, *task.candidates]
    if context.quick:
        systems = [replace(system, draws=1) for system in systems]
    chosen = [_choose(context, task, system, fit, dev, rows) for system in systems]
    main = next(iter(task.scoring(fit, dev, dev.target)))
    context.add_table("Development data", ["system", "setting", main, "CPU s"], rows)
    del fit, dev

    chosen[1:] = sorted(chosen[1:], key=lambda each: each.score)  # the best one last
    picked = chosen if task.test_all else [chosen[0], *chosen[1:][-1:]]
    data, test = (task.part(subset, context.quick) for subset in ("train", "test"))
    tested = [_test(context, task, each, data, test) for each in picked]
    names = list(tested[0].runs[0])
    empty = [None] * (len(names) + 2)
    others = [[f"{name} (published)", None, None, value, *empty] for name, value in task.published.items()]
    header = ["system", "setting", "seeds", *names, "interval", "sd", "CPU s"]
    context.add_table("Test data", header, [*(_row(each, names) for each in tested), *others])
    for each in tested[1:]:
        _compare(context, each, tested[0], names)
    context.add_figure(main, lambda figure: _draw(figure, task.published, tested, main))
    context.add_evaluation(_evaluation(tested[-1], test))
    value = float(np.mean(tested[-1].values(main)))
    context.add_target(
        f"{tested[-1].name}: {main}", value, ">=", task.quick_target if context.quick else task.target
    )


def show_setting(setting: Mapping[str, Any]) -> str:
    """A setting in a few words.

    >>> show_setting({"l2": 2.0, "max_iter": 10}), show_setting({})
    ('l2=2, max_iter=10', '')
    """
    with config_context(print_changed_only=False):  # Decomposition(size=5.5) should say so
        return ", ".join(f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in setting.items())


def _choose(
    context: Context, task: TaggingTask, system: System, fit: Bunch, dev: Bunch, rows: list[list[Any]]
) -> _Chosen:
    settings = system.settings()[: 1 if context.quick else None]
    found: list[_Chosen] = []
    for trained in train(system, fit.data, fit.target, settings=settings, seed=system.seeds[0]):
        tallies = task.scoring(fit, dev, trained.predict(dev.data))
        name, tally = next(iter(tallies.items()))
        found.append(_Chosen(system, trained.setting, 100 * tally.score))
        rows.append([system.name, found[-1].shown_setting, found[-1].score, trained.seconds])
        tried = ", ".join(filter(None, (system.name, found[-1].shown_setting)))
        context.log(f"dev: {tried}: {name} {found[-1].score:.2f}")
    return max(found, key=lambda each: each.score)


def _test(context: Context, task: TaggingTask, chosen: _Chosen, data: Bunch, test: Bunch) -> _Tested:
    system, runs, seconds = chosen.system, [], []
    models: list[Trained] = []
    for seed in system.seeds[: 1 if context.quick else None]:
        (trained,) = train(system, data.data, data.target, settings=[chosen.setting], seed=seed)
        runs.append(task.scoring(data, test, trained.predict(test.data)))
        seconds.append(trained.seconds)
        models = models or [trained]
        name, tally = next(iter(runs[-1].items()))
        context.log(f"test: {system.name}, seed {seed}: {name} {100 * tally.score:.2f}")
    return _Tested(chosen, runs, float(np.mean(seconds)), models[0])


def _row(tested: _Tested, names: Sequence[str]) -> list[Any]:
    means = [float(np.mean(tested.values(name))) for name in names]
    interval = bootstrap_interval(tested.pooled(names[0], len(tested.runs)))
    spread = float(np.std(tested.values(names[0]), ddof=1)) if len(tested.runs) > 1 else None
    shown = f"[{100 * interval.low:.2f}, {100 * interval.high:.2f}]"
    return [
        tested.name, tested.chosen.shown_setting, len(tested.runs), *means, shown, spread, tested.seconds,
    ]  # fmt: skip


def _compare(context: Context, system: _Tested, baseline: _Tested, names: Sequence[str]) -> None:
    n_runs = int(np.lcm(len(system.runs), len(baseline.runs)))
    rows: list[list[Any]] = []
    for name in names:
        found = compare(system.pooled(name, n_runs), baseline.pooled(name, n_runs))
        limits = f"[{100 * found.low:+.2f}, {100 * found.high:+.2f}]"
        rows.append([name, 100 * found.difference, limits, found.p_value])
    title = f"{system.name} against {baseline.name}"
    context.add_table(title, ["score", "difference", "interval", "p"], rows)


def _draw(figure: Any, published: Mapping[str, float], tested: Sequence[_Tested], score: str) -> None:
    ax = figure.subplots()
    names = [*published, *(each.name for each in tested)]
    for place, value in enumerate(published.values()):
        ax.plot(value, place, "D", color="grey")
    for place, each in enumerate(tested, len(published)):
        interval = bootstrap_interval(each.pooled(score, len(each.runs)))
        ax.plot([100 * interval.low, 100 * interval.high], [place, place], color="C0")
        ax.plot(each.values(score), [place] * len(each.runs), "o", color="C0")
    ax.set_yticks(range(len(names)), names)
    ax.set(
        xlabel=f"{score} on the test part (dots: seeds; bar: 95 % bootstrap interval)",
        ylim=(-0.5, len(names) - 0.5),
    )
    ax.grid(axis="x", alpha=0.3)


def _evaluation(tested: _Tested, test: Bunch) -> Any:
    """The first seed in full, of several draws the first model of it."""
    from palmette.apps.tagging.report import report_on_model

    trained = tested.first
    template = trained.template
    words = None if template is None else [[token[0] for token in sentence] for sentence in test.data]
    draw = ", first draw" if trained.others else ""
    inside = "" if trained.system.encoding is None else f", labels in {trained.system.encoding}"
    title = f"{tested.name}, seed {trained.system.seeds[0]}, on the test part{draw}{inside}"
    labels = trained.labels_for_model(test.target)
    report = report_on_model(trained.model, trained.encode(test.data), labels, words=words, title=title)
    return replace(report, template=template or "")
