"""Break one line of the inference on rankings or of their losses at a time: the checks must see each of them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from mutation import mutate, replaced, run_without_jit, source_of

N_INSTANCES = 5
WEIGHTS = [5, 4, 4, 2, 1, 1]

# module, line, broken line, answer that must fail ("loss": the augmented maximum or the value of some loss)
MUTATIONS = [
    # sorting
    (
        "structures.ranking.kernels.sort",
        "while j > start and values[order[j - 1]] < values[own]:",
        "while j > start and values[order[j - 1]] <= values[own]:",
        "best",
    ),
    ("structures.ranking.kernels.sort", "if keys[order[r]] > keys[order[r - 1]]:", "if False:", "worst"),
    (
        "structures.ranking.kernels.sort",
        "while i > 0 and position[i - 1] == position[r] and place[order[i - 1]] > place[own]:",
        "while False:",
        "worst",
    ),
    (
        "structures.ranking.ranking",
        "return theta.node + ratio * cost.gain if is_proportional(cost.discount, position) else None",
        "return theta.node + ratio * cost.gain",
        "best",
    ),
    (
        "structures.ranking.ranking",
        "sort_samples(sign * keys, theta.node, position, theta.offsets, ranks)",
        "sort_samples(keys, theta.node, position, theta.offsets, ranks)",
        "worst",
    ),
    # assignment
    (
        "structures.ranking.kernels.assignment",
        "there = length + cost[row, j] - u[row] - v[j]",
        "there = cost[row, j] - u[row] - v[j]",
        "best",
    ),
    ("structures.ranking.kernels.assignment", "u[i] += length - reach[column_of[i]]", "pass", "best"),
    (
        "structures.ranking.kernels.assignment",
        "lowest_columns(cost, np.int64(0), nothing, everything, u, v, column_of, row_of)",
        "pass",
        "best",
    ),
    ("structures.ranking.kernels.assignment", "free[column_of[i]] = False", "pass", "best"),
    # k best
    ("structures.ranking.kernels.assignment", "open_column[column_of[i]] = False", "pass", "k_best"),
    ("structures.ranking.kernels.assignment", "if not (row == first and banned[j]):", "if True:", "k_best"),
    (
        "structures.ranking.search",
        "forbidden = banned.copy() if i == start else np.zeros(n, bool)",
        "forbidden = np.zeros(n, bool)",
        "k_best",
    ),
    (
        "structures.ranking.search",
        "return (own[order[:-1]] - own[order[1:]]) * drop",
        "return own[order[:-1]] - own[order[1:]]",
        "k_best",
    ),
    (
        "structures.ranking.search",
        "rises = np.flatnonzero(now[:-1] < now[1:])",
        "rises = np.flatnonzero(now[:-2] < now[1:-1])",
        "k_best",
    ),
    # given rankings, costs and restrictions
    (
        "structures.ranking.kernels.given",
        "total += node[d] * position[ranks[d]]",
        "total += node[d] * position[d - offsets[s]]",
        "score",
    ),
    (
        "structures.ranking.kernels.given",
        "out[d] += weight[s] * position[ranks[d]]",
        "out[d] += position[ranks[d]]",
        "count",
    ),
    ("structures.ranking.ranking", "own += cost.table[rows, ranks]", "pass", "score"),
    ("structures.ranking.ranking", "gain[~within.allowed[lo:hi, : hi - lo]] = -np.inf", "pass", "best"),
    ("structures.ranking.tables", "found += self.table[start:stop, :n]", "pass", "best"),
    ("structures.ranking.tables", "alike = (own[None, :] == own[:, None]).sum(axis=1)", "alike = 1", "score"),
    # losses
    (
        "structures.ranking.kernels.merge",
        "gained = -value_of[g] * discount[r]",
        "gained = -value_of[g]",
        "loss",
    ),
    (
        "structures.ranking.kernels.merge",
        "gained = -float(placed[g]) / (r + 1)",
        "gained = -1.0 / (r + 1)",
        "loss",
    ),
    ("structures.ranking.kernels.merge", "higher += size[g] - placed[g]", "higher += size[g]", "loss"),
    ("structures.ranking.kernels.merge", "whole += rest[i]", "pass", "loss"),
    (
        "structures.ranking.kernels.merge",
        "whole += score[order[i]] * position[r]",
        "whole += score[order[i]] * position[i]",
        "loss",
    ),
    (
        "structures.ranking.kernels.merge",
        "while g >= 0 and (placed[g] == most[g] or total == cut):",
        "while g >= 0 and (placed[g] == most[g] or total == cut - 1):",
        "loss",
    ),
    (
        "structures.ranking.kernels.merge",
        "keys[d - lo] = score[d] - factor[s] * ratio * gain[grade[d]]",
        "keys[d - lo] = score[d] - factor[s] * gain[grade[d]] * 0.5",
        "loss",
    ),
    ("structures.ranking.kernels.merge", "here += float(hits) / (r + 1)", "here += 1.0 / (r + 1)", "loss"),
    (
        "structures.ranking.kernels.merge",
        "for h in range(at[r] + 1, n_grades):",
        "for h in range(at[r], n_grades):",
        "loss",
    ),
    (
        "structures.ranking.augmented_maximum",
        "seen = np.where(np.arange(len(discount)) < self.cut, discount, 0.0)",
        "seen = discount",
        "loss",
    ),
]


def check_losses() -> None:
    """Values and maxima of every loss on small queries, by every way."""
    from test_ranking_losses import LOSSES, enumerated, plain_loss

    from palmette.structures import Ranking, RankingTables
    from palmette.structures.ranking import augmented_maximum as bound
    from palmette.structures.ranking.codec import RankingCodec, grades_of

    rng = np.random.default_rng(0)
    for turn in range(16):
        theta = RankingTables(rng.normal(scale=[0.1, 2.0][turn % 2], size=8), np.array([0, 5, 8]))
        grades = [rng.integers(0, 4, 5), rng.integers(0, 3, 3)]
        true = RankingCodec().encode_outputs(grades, [5, 3])
        structure = Ranking([0.25, "letor"][turn // 2 % 2])
        for loss in LOSSES:
            fixed = loss.bind(structure, ())
            expected = enumerated(structure, loss, theta, true, 1.0)
            for force in (False, True):
                if force and fixed.kind == bound.GAIN:
                    object.__setattr__(fixed, "_ways", lambda *_: np.full(2, bound.ASSIGN))
                best = fixed.augmented_best(structure, theta, true)
                lost = fixed.value(structure, theta, true, best.codes)
                plain = [plain_loss(loss, grades_of(true[a:b]), best.codes[a:b]) for a, b in ((0, 5), (5, 8))]
                assert np.allclose(best.values, expected) and np.allclose(lost, plain), "loss: differs"


def survivors() -> list[str]:
    """Mutants that pass the check of their answer, and checks that fail without any mutation."""
    import palmette.structures.ranking.ranking as home
    from palmette.testing import RankingReference, check_structure

    def check(answer: str) -> None:
        if answer == "loss":
            return check_losses()
        reference = RankingReference(WEIGHTS)
        check_structure(home.Ranking(WEIGHTS), reference, n_instances=N_INSTANCES, answers=[answer])

    found = []
    for answer in sorted({answer for *_, answer in MUTATIONS}):
        try:
            check(answer)
        except AssertionError as error:
            found.append(f"without mutation: {error}")
    for module, line, broken, answer in MUTATIONS:
        with replaced(f"palmette.{module}", mutate(source_of(module), line, broken)):
            try:
                check(answer)
            except (AssertionError, IndexError, ValueError) as error:
                if not isinstance(error, AssertionError) or str(error).startswith(f"{answer}:"):
                    continue
            found.append(f"{module}: {broken!r} instead of {line!r} passes the check of {answer}")
    return found


@pytest.mark.parametrize(("module", "line", "broken", "answer"), MUTATIONS)
def test_mutated_lines_exist(module, line, broken, answer):
    assert mutate(source_of(module), line, broken) != source_of(module)


def test_mutants_are_found():
    assert run_without_jit(__file__) == []


if __name__ == "__main__":
    print(json.dumps(survivors()))
