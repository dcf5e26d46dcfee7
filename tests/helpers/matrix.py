"""Which learner trains which structure, under which task loss, by which solver: found by trying every cell.

Run as a script it prints ``docs/matrix.md``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from palmette import (
    CRF,
    SSVM,
    Alignment,
    Chain,
    Detections,
    Folding,
    Graph,
    GraphInput,
    Hierarchy,
    LossOptions,
    Multiclass,
    Perceptron,
    PlackettLuce,
    Ranking,
    SemiMarkov,
    Tracking,
)  # fmt: skip
from palmette.errors import MissingCapability
from palmette.solvers.registry import HOME

SOLVERS = ("auto", *sorted(HOME))
REFUSED = (MissingCapability, ValueError, TypeError)


class Cell(NamedTuple):
    """One combination; ``refusal`` is None where it trains."""

    learner: str
    structure: str
    task_loss: str
    solver: str
    refusal: str | None


def data() -> dict[str, tuple[Any, list[str], Any, Any]]:
    """Structure, task losses, inputs and outputs of a few tiny samples, by name."""
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=(3, 4)) for _ in range(4)]
    tags = [["a", "b", "a"], ["b", "b", "a"], ["a", "a", "b"], ["b", "a", "b"]]
    graphs = [GraphInput(x, [(0, 1), (0, 2)]) for x in rows]
    spans = [[(0, 2, "x"), (2, 3, "y")], [(0, 1, "y")], [(1, 3, "x")], [(0, 3, "y")]]
    labelled = ["hamming", "zero_one"]
    tracking = Tracking(("move", "appear", "disappear"), max_distance=9.0)
    pairs = [tracking.candidates((Detections(x[:1, :2]), Detections(x[:1, 2:]))) for x in rows]
    return {
        "Multiclass": (Multiclass(), labelled, np.vstack(rows), [t for y in tags for t in y]),
        "Chain": (Chain(), labelled, rows, tags),
        "Chain(order=2)": (Chain(order=2), labelled, rows, tags),
        "SemiMarkov": (SemiMarkov(3), labelled, rows, spans),
        "Graph": (Graph(), labelled, graphs, tags),
        "Hierarchy": (
            Hierarchy(),
            ["common_path", "symmetric_difference", "first_mistakes", "zero_one"],
            np.vstack([x[0] for x in rows]),
            ["a.x", "a.y", "b.z", "a.x"],
        ),
        "Ranking": (
            Ranking(),
            ["ndcg", "pairwise", "zero_one"],
            rows,
            [[2, 0, 1], [0, 1, 0], [1, 0, 0], [0, 2, 1]],
        ),
        "Folding": (
            Folding(),
            ["missed_pairs", "zero_one"],
            ["GGAAAACC", "GAAAAC", "AAAAAA", "GCAAAAGC"],
            ["((....))", "(....)", "......", "((....))"],
        ),
        "Alignment": (
            Alignment(),
            ["missed_columns", "zero_one"],
            [("ACDE", "ADE"), ("ACK", "AK"), ("CDE", "CDE"), ("AKK", "AKKD")],
            [("ACDE", "A-DE"), ("ACK", "A-K"), ("CDE", "CDE"), ("AKK-", "AKKD")],
        ),
        "Tracking": (tracking, labelled, pairs, [[1, 0, 0]] * 4),
    }


def learners() -> dict[str, Any]:
    """What to try: a function of structure, task loss and solver that makes an estimator."""
    common = {"tol": 0.1, "max_iter": 1, "n_jobs": 1}

    def machine(**options: Any) -> Any:
        return lambda structure, task_loss, solver: SSVM(
            structure, l2=1.0, task_loss=task_loss, solver=solver, **options, **common
        )

    def perceptron(**options: Any) -> Any:
        return lambda structure, task_loss, solver: Perceptron(
            structure, max_iter=1, n_jobs=1, **options, **({} if solver == "auto" else {"solver": solver})
        )

    def orders(**options: Any) -> Any:
        return lambda structure, task_loss, solver: PlackettLuce(l2=1.0, solver=solver, **options, **common)

    return {
        "CRF": lambda structure, task_loss, solver: CRF(structure, l2=1.0, solver=solver, **common),
        "CRF, kernel": lambda structure, task_loss, solver: CRF(
            structure, l2=1.0, kernel="rbf", solver=solver, **common
        ),
        "SSVM, hinge": machine(),
        "SSVM, hinge, slack rescaling": machine(loss_options=LossOptions(rescaling="slack")),
        "SSVM, soft hinge": machine(loss="soft_hinge"),
        "SSVM, ramp": machine(loss="ramp"),
        "SSVM, hinge, kernel": machine(kernel="rbf"),
        "SSVM, ramp, kernel": machine(loss="ramp", kernel="rbf"),
        "Perceptron": perceptron(),
        "Perceptron, kernel": perceptron(kernel="rbf"),
        "Plackett-Luce": orders(),
        "Plackett-Luce, kernel": orders(kernel="rbf"),
    }


def cells() -> Iterator[Cell]:
    """Every combination, tried."""
    for name, make in learners().items():
        for kind, (structure, losses, X, y) in data().items():
            if name.startswith("Plackett-Luce") and kind != "Ranking":
                continue
            costs = name.startswith("SSVM")
            for task_loss in losses if costs else losses[:1]:
                for solver in SOLVERS:
                    yield Cell(
                        name,
                        kind,
                        task_loss if costs else "",
                        solver,
                        attempt(make, structure, task_loss, solver, X, y),
                    )


def attempt(make: Any, structure: Any, task_loss: str, solver: str, X: Any, y: Any) -> str | None:
    """Why a fit is refused, or None if it is not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            make(structure, task_loss, solver).fit(X, y)
        except REFUSED as error:
            return str(error)
    return None


def page(found: list[Cell]) -> str:
    """The matrix as a page of the documentation."""
    lines = [
        "# What trains what",
        "",
        "Every cell was tried by `tests/helpers/matrix.py`, which writes this page; a test fails where it is out of",
        "date. A cell names the task losses with which the solver trains the structure (`yes` where the",
        "learner has no task loss); it is empty where the fit is refused before the first step.",
        "",
    ]
    kinds = list(data())
    for name in learners():
        own = [cell for cell in found if cell.learner == name]
        present = [kind for kind in kinds if any(cell.structure == kind for cell in own)]
        lines += [f"## {name}", "", f"| solver | {' | '.join(present)} |", "|---" * (len(present) + 1) + "|"]
        for solver in SOLVERS:
            row = []
            for kind in present:
                here = [c for c in own if (c.structure, c.solver) == (kind, solver) and c.refusal is None]
                row.append(", ".join(c.task_loss or "yes" for c in here))
            if any(row):
                lines.append(f"| `{solver}` | {' | '.join(row)} |")
        refused = [cell for cell in own if cell.solver == "auto" and cell.refusal is not None]
        lines += [""] + [
            f"* {c.structure}{', ' + c.task_loss if c.task_loss else ''}: {c.refusal}" for c in refused
        ]
        lines += [""] if refused else []
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    print(page(list(cells())), end="")
