"""How good predicted paths are: level by level, node by node, and what is confused with what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.data.paths import nodes_of, read_path, read_paths
from palmette.metrics import HierarchicalScores, hierarchical_scores, level_accuracies

SHOWN = 5  # confusions of each level


@dataclass(frozen=True)
class PathEvaluation:
    """Measures of predicted paths.

    Parameters
    ----------
    n_records : int
    exact : float
        Share of outputs that are right as a whole.
    scores : HierarchicalScores
        Precision, recall and F1 of nodes.
    levels : ndarray
        At each level the share of paths right down to it; empty for sets of paths.
    nodes : dict of tuple to (int, int)
        Of each true node the number of records that have it, and of those that were found.
    confusions : list of Counter
        At each level how often the class of the first key was taken for the second, of paths right above.

    Examples
    --------
    >>> print(evaluate_paths(["a.x", "a.y", "b.z"], ["a.x", "a.x", "b.z"]).format())
    level     1       2
    accuracy  1.0000  0.6667
    exact 0.6667, hierarchical precision 0.8333, recall 0.8333, F1 0.8333; 3 records
    level 2: a.y as a.x 1
    """

    n_records: int
    exact: float
    scores: HierarchicalScores
    levels: np.ndarray
    nodes: dict[tuple[Any, ...], tuple[int, int]]
    confusions: list[Counter[tuple[str, str]]]

    def to_dict(self) -> dict[str, Any]:
        """Keys records, exact, precision, recall, f1, levels, confusions."""
        return {
            "records": self.n_records, "exact": self.exact, **self.scores._asdict(), "levels": self.levels.tolist(),
            "confusions": [
                [{"true": a, "predicted": b, "count": n} for (a, b), n in own.most_common(SHOWN)]
                for own in self.confusions
            ],
        }  # fmt: skip

    def format(self) -> str:
        """Write the table of levels, the other measures, and the most frequent confusions."""
        lines = []
        if len(self.levels):
            names = ["level", *map(str, range(1, len(self.levels) + 1))]
            values = ["accuracy", *(f"{value:.4f}" for value in self.levels)]
            for row in (names, values):
                lines.append("  ".join([row[0].ljust(8), *(cell.ljust(6) for cell in row[1:])]).rstrip())
        lines.append(f"{self.headline()}; {self.n_records:,} records")
        for k, own in enumerate(self.confusions, 1):
            if own:
                shown = ", ".join(f"{a} as {b} {n}" for (a, b), n in own.most_common(SHOWN))
                lines.append(f"level {k}: {shown}")
        return "\n".join(lines)

    def headline(self) -> str:
        """The figures in a few words."""
        return (
            f"exact {self.exact:.4f}, hierarchical precision {self.scores.precision:.4f}, "
            f"recall {self.scores.recall:.4f}, F1 {self.scores.f1:.4f}"
        )


def evaluate_paths(
    y_true: Sequence[Any], y_pred: Sequence[Any], *, multi_label: bool = False, separator: str = "."
) -> PathEvaluation:
    """Compare predicted paths with true ones."""
    counts: Counter[tuple[Any, ...]] = Counter()
    found: Counter[tuple[Any, ...]] = Counter()
    confusions: list[Counter[tuple[str, str]]] = []
    right = 0
    for i, (true, answer) in enumerate(zip(y_true, y_pred, strict=True)):
        read = read_paths if multi_label else lambda *given: [read_path(*given)]
        own, other = (read(each, separator, f"y[{i}]") for each in (true, answer))
        mine, theirs = nodes_of(own), nodes_of(other)
        counts.update(mine.keys())
        found.update(node for node in mine if node in theirs)
        is_open = any(path.open for path in own)
        right += mine.keys() <= theirs.keys() if is_open else mine.keys() == theirs.keys()
        if not multi_label:
            _note(confusions, own[0].labels, other[0].labels, separator)
    return PathEvaluation(
        len(y_true),
        right / len(y_true) if len(y_true) else 0.0,
        hierarchical_scores(y_true, y_pred, multi_label=multi_label, separator=separator),
        np.empty(0) if multi_label else level_accuracies(y_true, y_pred, separator=separator),
        {node: (n, found[node]) for node, n in counts.items()},
        confusions,
    )


def _note(confusions: list[Counter[tuple[str, str]]], true: Any, answer: Any, separator: str) -> None:
    """Count the first level at which two paths differ."""
    for k in range(min(len(true), len(answer))):
        while len(confusions) <= k:
            confusions.append(Counter())
        if true[k] != answer[k]:
            pair = tuple(separator.join(map(str, path[: k + 1])) for path in (true, answer))
            confusions[k][pair[0], pair[1]] += 1
            return
