"""What happened in training, iteration by iteration, as python-crfsuite tells it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from palmette.contracts.solver import Step
from palmette.data.ragged import offsets_from_lengths
from palmette.data.samples import Samples


class LabelScore(NamedTuple):
    """How well one label was found in held-out data; None where it neither occurs nor is predicted."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


@dataclass
class TrainingLog:
    """The course of a training run.

    Attributes
    ----------
    iterations : list of dict
        Per iteration ``num``, ``loss``, ``feature_norm``, ``active_features`` (weights other than 0), ``time`` (in
        seconds) and ``scores``; for ``algorithm="lbfgs"`` also ``error_norm`` (of the gradient), ``linesearch_trials``
        and ``linesearch_step``, for ``"l2sgd"`` ``eta`` (length of the last step). With development data ``scores`` has
        a `LabelScore` for each label, and there are ``avg_precision``, ``avg_recall``, ``avg_f1`` (means over labels),
        ``item_accuracy`` and ``instance_accuracy`` (fractions; with ``_float`` appended, floats).
    featgen_num_features : int
        Number of weights.
    featgen_seconds, training_seconds, storing_seconds : float
    reason : str
        Why training stopped.

    Examples
    --------
    >>> from palmette.compat import CRF
    >>> log = CRF(max_iterations=1).fit([[["hot"], ["cold"]]], [["out", "in"]]).training_log_
    >>> [name for name, _, _ in log.events]
    ['start', 'featgen_end', 'prepared', 'iteration', 'optimization_end', 'end']
    >>> _, first, _ = log.events[3]
    >>> print(*log.log[first : first + 2], sep="", end="")
    ***** Iteration #1 *****
    Loss: 1.166644
    """

    iterations: list[dict[str, Any]] = field(default_factory=list)
    featgen_num_features: int | None = None
    featgen_seconds: float | None = None
    training_seconds: float | None = None
    storing_seconds: float | None = None
    reason: str | None = None

    @property
    def last_iteration(self) -> dict[str, Any] | None:
        """The last of the iterations."""
        return self.iterations[-1] if self.iterations else None

    @property
    def log(self) -> list[str]:
        """The run in the words of CRFsuite, line by line."""
        return [line for _, lines in self._told() for line in lines]

    @property
    def events(self) -> list[tuple[str, int, int]]:
        """What happened, and where `log` tells it: event, first line, last line + 1."""
        names, texts = zip(*self._told())
        bounds = offsets_from_lengths([len(lines) for lines in texts]).tolist()
        return list(zip(names, bounds, bounds[1:]))

    @property
    def last_log(self) -> str:
        """The lines of the last event."""
        return "".join(self._told()[-1][1])

    def _told(self) -> list[tuple[str, list[str]]]:
        """Events and their lines."""
        featgen = [f"Number of features: {self.featgen_num_features}\n", _seconds(self.featgen_seconds), "\n"]
        end = [
            f"Stopped by: {self.reason}\n",
            f"Total seconds required for training: {self.training_seconds:.3f}\n",
        ]
        return [
            ("start", ["Feature generation\n"]),
            ("featgen_end", featgen[:2]),
            ("prepared", featgen[2:]),
            *(("iteration", _iteration_lines(entry)) for entry in self.iterations),
            ("optimization_end", [*end, "\n"]),
            ("end", ["Storing the model\n", _seconds(self.storing_seconds), "\n"]),
        ]


def _seconds(seconds: float | None) -> str:
    return f"Seconds required: {seconds or 0.0:.3f}\n"


def _iteration_lines(entry: dict[str, Any]) -> list[str]:
    """An iteration as CRFsuite reports it."""
    lines = ["***** Iteration #{num} *****\n", "Loss: {loss:.6f}\n", "Feature norm: {feature_norm:.6f}\n"]
    if "eta" in entry:
        lines = ["***** Epoch #{num} *****\n", lines[1], "Feature L2-norm: {feature_norm:.6f}\n"]
        lines.append("Learning rate (eta): {eta:.6f}\n")
    if "error_norm" in entry:
        lines += ["Error norm: {error_norm:.6f}\n", "Active features: {active_features}\n"]
        lines += ["Line search trials: {linesearch_trials}\n", "Line search step: {linesearch_step:.6f}\n"]
    lines = [line.format(**entry) for line in [*lines, "Seconds required for this iteration: {time:.3f}\n"]]
    if entry["scores"]:
        lines.append("Performance by label (#match, #model, #ref) (precision, recall, F1):\n")
        for label, score in entry["scores"].items():
            shares = ", ".join("******" if share is None else f"{share:.4f}" for share in score[3:])
            lines.append(f"    {label}: ({score.match}, {score.model}, {score.ref}) ({shares})\n")
        means = "Macro-average precision, recall, F1: ({avg_precision:.6f}, {avg_recall:.6f}, {avg_f1:.6f})\n"
        lines.append(means.format(**entry))
        for name in ("item", "instance"):
            share = entry[f"{name}_accuracy"]
            lines.append(
                f"{name.title()} accuracy: {share.numerator} / {share.denominator} ({float(share):.4f})\n"
            )
    return [*lines, "\n"]


class Keeper:
    """A solver's callback that fills a log, and prints each iteration if ``verbose``.

    Parameters
    ----------
    log : TrainingLog
    predict : callable, optional
        Weights to the codes of all rows of ``held_out``.
    held_out : Samples, optional
        Encoded development data.
    classes : tuple of labels
    verbose : bool
    """

    sees_weights = True

    def __init__(
        self, log: TrainingLog, predict: Callable[[np.ndarray], np.ndarray], held_out: Samples | None,
        classes: tuple[Any, ...], verbose: bool,
    ) -> None:  # fmt: skip
        self._log, self._predict, self._held_out = log, predict, held_out
        self._classes, self._verbose, self._seconds = classes, verbose, 0.0

    def __call__(self, step: Step, weights: Callable[[], np.ndarray]) -> None:
        """Take note of an iteration."""
        w = weights()
        entry = {
            "num": step.n_iter,
            "loss": step.primal,
            "feature_norm": float(np.linalg.norm(w)),
            "active_features": int(np.count_nonzero(w)),
            "time": step.seconds - self._seconds,
            "scores": {},
        }
        self._seconds = step.seconds
        if self._held_out is not None:
            entry |= held_out_scores(self._held_out, self._predict(w), self._classes)
        self._log.iterations.append(entry)
        if self._verbose:
            print(describe(entry))


def held_out_scores(held_out: Samples, predicted: np.ndarray, classes: tuple[Any, ...]) -> dict[str, Any]:
    """Scores of predicted codes by label, their means, and the accuracies of items and whole sequences."""
    true, n = held_out.codes, len(classes)
    right = predicted == true
    count = [np.bincount(codes, minlength=n) for codes in (true[right], predicted, true)]
    scores = {label: _score(*map(int, numbers)) for label, *numbers in zip(classes, *count)}
    whole = np.logical_and.reduceat(right, held_out.batch.offsets[:-1])
    found: dict[str, Any] = {"scores": scores}
    for name in ("precision", "recall", "f1"):
        found[f"avg_{name}"] = sum(getattr(score, name) or 0.0 for score in scores.values()) / n
    for name, hits in (("item", right), ("instance", whole)):
        found[f"{name}_accuracy"] = Fraction(int(hits.sum()), len(hits))
        found[f"{name}_accuracy_float"] = float(hits.mean())
    return found


def _score(match: int, model: int, ref: int) -> LabelScore:
    if not model and not ref:
        return LabelScore(match, model, ref, None, None, None)
    precision, recall = match / model if model else 0.0, match / ref if ref else 0.0
    return LabelScore(match, model, ref, precision, recall, 2 * match / (model + ref))


def describe(entry: dict[str, Any]) -> str:
    """An iteration on one line."""
    text = f"Iter {entry['num']:<4} time={entry['time']:<6.2f} loss={entry['loss']:<10.2f}"
    text += f" active={entry['active_features']:<7} feature_norm={entry['feature_norm']:.2f}"
    if "avg_f1" in entry:
        text += "  precision={avg_precision:.3f} recall={avg_recall:.3f} F1={avg_f1:.3f}".format(**entry)
        text += " accuracy={item_accuracy_float:.3f} whole={instance_accuracy_float:.3f}".format(**entry)
    return text


def report(entry: dict[str, Any]) -> str:
    """The scores of each label as a table."""
    width = max(len(str(label)) for label in ("label", *entry["scores"]))
    lines = [f"{'label':<{width}}  precision  recall     F1  support"]
    for label, score in entry["scores"].items():
        numbers = [value or 0.0 for value in score[3:]]
        line = "  {:9.3f}  {:6.3f}  {:.3f}  {:7}".format(*numbers, score.ref)
        lines.append(f"{label!s:<{width}}{line}")
    return "\n".join(lines)
