"""Break every structure in many places, one at a time: the checks of the answers that a place serves must notice.

Run as a script with the name of a table, in a process without compilation, it prints the mutants that survive.
"""

from __future__ import annotations

import ast
import json
import sys

import numpy as np
import pytest
from mutation import OPERATORS, Table, Target, address, code_of, replaced, run_without_jit, sites, spread


def _chain():
    from palmette import Chain

    return Chain()


def _chain2():
    from palmette import Chain

    return Chain(order=2)


def _constrained():
    from palmette import Chain

    rules = [("a", "b"), ("b", "a"), ("b", "b"), (None, "b"), ("a", None)]
    return Chain(allowed=rules).bind(["a", "b"])


def _segments():
    from palmette import SemiMarkov

    return SemiMarkov(3)


def _ranking():
    from palmette import Ranking

    return Ranking([5, 4, 4, 2, 1, 1])


def _graph():
    from palmette import Graph

    return Graph()


def check_ranking_losses() -> None:
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


def check_range_of_chains() -> None:
    """Potentials whose scaled products would underflow: one poor path, or tables that contradict each other."""
    from palmette import Chain
    from palmette.structures import ChainTables

    node, edge = np.tile([0.0, -100.0], (10, 1)), np.array([[[0.0, -np.inf], [-np.inf, 0.0]]])
    node[8, 0] = -np.inf
    poor = ChainTables(node, edge, np.array([0, 10]))
    assert Chain().log_partition(poor) == -1000.0
    assert np.allclose(Chain().expectation(poor).counts.edge, [[[0, 0], [0, 9]]])
    right = np.array([[0.0, -1000.0]] * 2)
    crossed = ChainTables(np.zeros((3, 2)), np.stack([right, -1000.0 - right.T]), np.array([0, 3]))
    assert np.allclose(Chain().log_partition(crossed), -1000.0 + np.log(8))


def check_range_of_second_order() -> None:
    """Tables of triples that contradict each other."""
    from palmette import Chain
    from palmette.structures import ChainTables

    last, first = np.zeros((2, 2, 2, 2))
    last[:, 1, 1] = -1000.0
    first[:], first[1, 1] = -1000.0, 0.0
    theta = ChainTables(np.zeros((4, 2)), np.zeros((3, 2, 2)), np.array([0, 4]), np.stack([last, first]))
    assert np.allclose(Chain(order=2).log_partition(theta), -1000.0 + np.log(16))


def check_range_of_graphs() -> None:
    """As :func:`check_range_of_chains`."""
    from palmette import Graph
    from palmette.structures.graph.tables import GraphTables
    from palmette.testing.graph_instances import Shape, layout_of

    node, edge = np.tile([0.0, -100.0], (10, 1)), np.array([[[0.0, -np.inf], [-np.inf, 0.0]]])
    node[1, 0] = -np.inf  # messages come from the other end
    layout = layout_of([Shape(10, [(t, t + 1) for t in range(9)])])
    theta = GraphTables(node, edge, layout.offsets, layout=layout, edge_table=np.zeros(9, np.int64))
    assert Graph().log_partition(theta) == -1000.0


def check_falling_order() -> None:
    """Sorting of rows that are longer than those of the instances."""
    from palmette.structures.ranking.kernels.sort import falling_order

    for n in (1, 16, 17, 60, 100):
        values = np.random.default_rng(n).integers(0, n // 2 + 1, n).astype(float)
        assert np.array_equal(falling_order(values), np.argsort(-values, kind="stable"))


CHAIN, SEGMENTS, RANKING, GRAPH = (f"structures.{name}" for name in ("chain", "segments", "ranking", "graph"))
TABLES, LABELLED = "structures.positions.tables", "structures.positions.labelled"
MAX, SUM, GIVEN = (f"{CHAIN}.kernels.{name}" for name in ("max", "sum", "given"))
MAX2, SUM2, GIVEN2, MESSAGES2 = (
    f"{CHAIN}.kernels.{name}" for name in ("max2", "sum2", "given2", "messages2")
)
S_MAX, S_SUM, S_GIVEN, S_PARTS = (f"{SEGMENTS}.kernels.{name}" for name in ("max", "sum", "given", "parts"))
R_SORT, R_ASSIGN, R_GIVEN, R_MERGE = (
    f"{RANKING}.kernels.{n}" for n in ("sort", "assignment", "given", "merge")
)
F_MAX, F_SUM, F_GIVEN, F_LOGS, F_PRODUCTS, F_ORDER = (
    f"{GRAPH}.kernels.forest_{name}" for name in ("max", "sum", "given", "logs", "products", "order")
)

# Of each function: the answers that must notice (any of them), and the number of mutants.
STRUCTURES = {
    "chain": Table(
        _chain,
        instances=(0, 2),
        targets=[
            Target(MAX, "best_suffixes", "best", 3),
            Target(MAX, "best_path", "best", 3),
            Target(MAX, "best_paths", "worst", 1),
            Target(MAX, "k_best_paths", "k_best", 5),
            Target(MAX, "max_marginals", "max_marginals", 4),
            Target(SUM, "fits_products", "range log_partition", 2),
            Target(SUM, "forward_products", "log_partition", 4),
            Target(SUM, "marginals_by_products", "expectation", 3),
            Target(SUM, "forward_logs", "log_partition", 2),
            Target(SUM, "backward_logs", "marginals", 2),
            Target(SUM, "marginals_by_logs", "marginals", 3),
            Target(SUM, "draw_paths", "sample", 3),
            Target(GIVEN, "path_score", "score", 2),
            Target(GIVEN, "add_counts", "count", 2),
            Target(GIVEN, "chain_entropies", "entropy", 2),
            Target(f"{CHAIN}.chain", "Chain._extreme", "worst", 1),
            Target("contracts.structure", "Structure.best_contradicting", "best_contradicting", 2),
            Target(f"{CHAIN}.chain", "Chain.min_risk", "min_risk", 2),
            Target(LABELLED, "LabelledPositions.log_proba", "log_proba", 2),
            Target(f"{CHAIN}.contradiction", "with_contradiction", "best_contradicting log_partition", 3),
            Target(f"{CHAIN}.contradiction", "without_flag", "marginals", 1),
            Target(TABLES, "combine", "best worst score", 3),
        ],
        equivalent={
            "k_best_paths strict 3": "k taken from one list end the loop",
            "forward_products infinity 0": "no instance is as low",
            "Chain.min_risk infinity 2": "triples",
            "with_contradiction unit 1": "the row before the first one is the last, which is an end",
            "without_flag unit 0": "triples",
        },
        checks={"range": check_range_of_chains},
    ),
    "chain of second order": Table(
        _chain2,
        instances=(0, 2, 20),
        targets=[
            Target(MAX2, "best_suffixes", "best max_marginals", 3),
            Target(MAX2, "best_path", "best", 3),
            Target(MAX2, "k_best_suffixes", "k_best", 3),
            Target(MAX2, "k_best_paths", "k_best", 3),
            Target(MAX2, "max_marginals", "max_marginals", 3),
            Target(MESSAGES2, "fits_products", "range log_partition", 1),
            Target(MESSAGES2, "forward_products", "log_partition", 3),
            Target(MESSAGES2, "backward_products", "expectation", 3),
            Target(MESSAGES2, "forward_logs", "log_partition", 2),
            Target(MESSAGES2, "backward_logs", "marginals", 2),
            Target(MESSAGES2, "marginals_by_logs", "marginals", 2),
            Target(SUM2, "draw_paths", "sample", 3),
            Target(GIVEN2, "sample_entropy", "entropy", 2),
            Target(GIVEN2, "add_triple_scores", "score", 2),
            Target(GIVEN2, "add_triple_counts", "count", 1),
            Target(f"{CHAIN}.chain", "Chain._extreme", "worst", 1),
            Target("contracts.structure", "Structure.best_contradicting", "best_contradicting", 1),
            Target(f"{CHAIN}.chain", "Chain.min_risk", "min_risk", 2),
            Target(LABELLED, "LabelledPositions.log_proba", "log_proba", 1),
            Target(f"{CHAIN}.contradiction", "with_contradiction", "best_contradicting", 2),
            Target(f"{CHAIN}.contradiction", "without_flag", "marginals", 2),
        ],
        equivalent={
            "best_suffixes strict 0": "saves work only",
            "k_best_suffixes strict 0": "k taken from one list end the loop",
            "fits_products drop 0": "within the margin of the bound",
        },
        checks={"range": check_range_of_second_order},
    ),
    "constrained chain": Table(
        _constrained,
        instances=(0, 1, 2, 3),
        targets=[
            Target(f"{CHAIN}.constrained", "constrained", "best log_partition", 5),
        ],
        equivalent={"constrained always 1": "rules that allow everything change nothing"},
    ),
    "segments": Table(
        _segments,
        instances=(0, 2),
        targets=[
            Target(S_PARTS, "whole_scores", "best", 2),
            Target(S_PARTS, "sum_over_rows", "marginals", 2),
            Target(S_PARTS, "best_over_rows", "max_marginals", 1),
            Target(S_MAX, "best_suffixes", "best", 4),
            Target(S_MAX, "best_segmentation", "best", 2),
            Target(S_MAX, "merge_states", "k_best", 2),
            Target(S_MAX, "merge_lengths", "k_best", 2),
            Target(S_MAX, "k_best_segmentations", "k_best", 2),
            Target(S_MAX, "max_marginals", "max_marginals", 3),
            Target(S_SUM, "sums_of_lengths", "log_partition expectation", 2),
            Target(S_SUM, "log_suffixes", "log_partition", 2),
            Target(S_SUM, "cross_boundary", "expectation", 3),
            Target(S_SUM, "sample_expectation", "expectation", 2),
            Target(S_SUM, "draw_segmentations", "sample", 2),
            Target(S_GIVEN, "segmentation_scores", "score", 2),
            Target(S_GIVEN, "add_counts", "count", 2),
            Target(S_GIVEN, "segmentation_entropies", "entropy", 2),
            Target(f"{SEGMENTS}.inference", "SegmentInference._extreme", "worst", 1),
            Target(f"{SEGMENTS}.inference", "SegmentInference.min_risk", "min_risk", 2),
            Target(LABELLED, "LabelledPositions.log_proba", "log_proba", 1),
            Target(f"{SEGMENTS}.tables", "combined", "best score", 2),
            Target(f"{SEGMENTS}.tables", "_with_contradiction", "best_contradicting", 2),
        ],
        equivalent={
            "best_segmentation unit 2": "something beats -inf wherever there is an output",
            "merge_states always 0": "k taken from one list end the loop",
            "merge_lengths strict 0": "k taken from one list end the loop",
            "SegmentInference.min_risk drop 1": "risks of labels alone: test_semi_markov",
        },
    ),
    "ranking": Table(
        _ranking,
        instances=(0, 2, 3, 6),
        targets=[
            Target(R_SORT, "falling_order", "order", 5),
            Target(R_SORT, "sort_rows", "best worst", 3),
            Target(R_ASSIGN, "augment", "best k_best", 4),
            Target(R_ASSIGN, "lowest_columns", "best", 4),
            Target(R_ASSIGN, "assign_otherwise", "k_best", 2),
            Target(f"{RANKING}.search", "assignments", "k_best", 3),
            Target(f"{RANKING}.search", "sorted_rankings", "k_best", 1),
            Target(f"{RANKING}.search", "by_exchanges", "k_best", 3),
            Target(f"{RANKING}.ranking", "Ranking._extreme", "worst", 1),
            Target("contracts.structure", "Structure.best_contradicting", "best_contradicting", 1),
            Target(f"{RANKING}.ranking", "Ranking.score", "score", 2),
            Target(f"{RANKING}.gains", "gains", "best", 2),
            Target(f"{RANKING}.tables", "RankingCost.of", "best k_best", 2),
            Target(R_GIVEN, "ranking_scores", "score", 1),
            Target(R_GIVEN, "add_ranking_counts", "count", 1),
            Target(R_MERGE, "merge_rows", "loss", 6),
            Target(R_MERGE, "augmented_ranks", "loss", 1),
            Target(R_MERGE, "ranking_losses", "loss", 3),
            Target(f"{RANKING}.augmented_maximum", "BoundRankingLoss._ways", "loss", 1),
        ],
        equivalent={
            "sort_rows strict 2": "places are distinct",
            "augment strict 3": "which of two equally near columns comes first",
            "assignments strict 0": "keeps all of them",
            "by_exchanges strict 0": "ranks are distinct",
            "BoundRankingLoss._ways strict 1": "a limit of memory",
        },
        checks={"loss": check_ranking_losses, "order": check_falling_order},
    ),
    "graph": Table(
        _graph,
        instances=(0, 2, 3, 4),
        targets=[
            Target(F_ORDER, "forest_orders", "best", 3, fresh=True),
            Target(F_MAX, "inside_maxima", "best", 3),
            Target(F_MAX, "best_labels", "best", 3),
            Target(F_MAX, "max_marginals", "max_marginals", 4),
            Target("_kernels.spread", "exponentiate_table", "log_partition", 1),
            Target(F_PRODUCTS, "fits_products", "range log_partition", 2),
            Target(F_PRODUCTS, "inside_products", "log_partition", 3),
            Target(F_PRODUCTS, "outside_products", "expectation", 4),
            Target(F_LOGS, "inside_logs", "log_partition", 2),
            Target(F_LOGS, "outside_logs", "marginals", 4),
            Target(F_SUM, "expectations", "expectation", 2),
            Target(F_SUM, "draw_labels", "sample", 3),
            Target("_kernels.logs", "choose", "sample", 2),
            Target(F_GIVEN, "labeling_scores", "score", 1),
            Target(F_GIVEN, "add_counts", "count", 1),
            Target(f"{GRAPH}.best", "_extreme", "worst", 1),
            Target(f"{GRAPH}.restricted_copies", "best_contradicting", "best_contradicting", 2),
            Target(f"{GRAPH}.restricted_copies", "ranked_labelings", "k_best", 3),
            Target(f"{GRAPH}.sums", "_entropies", "entropy", 1),
            Target(LABELLED, "LabelledPositions.log_proba", "log_proba", 1),
            Target(f"{GRAPH}.sums", "min_risk", "min_risk", 1),
        ],
        equivalent={
            "exponentiate_table infinity 1": "no instance is as low",
            "fits_products minus 2": "within the margin of the bound",
            "ranked_labelings unit 2": "no sample is larger than a batch",
        },
        checks={"range": check_range_of_graphs},
    ),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_mutants_are_noticed(name):
    assert run_without_jit(__file__, name) == []


@pytest.mark.parametrize("name", [name for name in STRUCTURES if name != "constrained chain"])
def test_every_answer_has_mutants_of_its_own(name):
    from palmette.testing import CHECKS

    table = STRUCTURES[name]
    alone = {target.answers for target in table.sample.values() if " " not in target.answers}
    present = {answer for answer in CHECKS if callable(getattr(table.structure(), answer, None))}
    assert alone >= present


@pytest.mark.parametrize("name", STRUCTURES)
def test_equivalent_mutants_would_be_tried(name):
    table = STRUCTURES[name]
    assert {address(mutant) for target in table.targets for mutant in spread(target)} >= set(table.equivalent)


TOY = """
def toy(a, b):
    total = 0.0
    for i in range(len(a)):
        if a[i] > b[0, i]:
            total += a[i] * b[1, i]
        else:
            total = max(total, a[i] + b[0, i + 1])
    a[0] = -np.inf
    b[0] = c[i, j]
    return sorted(a, reverse=True) if total else total
"""
BROKEN = {
    "strict": ["a[i] >= b[0, i]"],
    "minus": ["a[i] - b[0, i + 1]"],
    "factor": ["b[1, i]"],
    "first": ["total"],
    "swap": ["c[j, i]"],
    "overwrite": ["total = a[i] * b[1, i]"],
    "drop": ["pass", "pass", "pass", "pass"],
    "unit": ["1.0"],
    "infinity": ["-1000000000.0"],
    "always": ["if True:", "sorted(a, reverse=True)"],
    "keyword": ["sorted(a)"],
}


@pytest.mark.parametrize("operator", [operator.__name__ for operator in OPERATORS])
def test_operators(operator):
    found = [site for site in sites(ast.parse(TOY), "toy", "toy") if site.mutant.operator == operator]
    assert [ast.unparse(site.new).splitlines()[0] for site in found] == BROKEN[operator]
    assert [site.mutant.ordinal for site in found] == list(range(len(found)))


def test_a_mutant_is_there_for_everyone_and_for_a_while():
    from palmette.structures.chain.chain import _expected_losses  # imported from ``checks``

    target = Target("structures.positions.checks", "_expected_losses", "", 99)
    mutant = next(mutant for mutant in spread(target) if mutant.operator == "minus")
    node = np.array([[0.25, 0.75]])
    before = _expected_losses(node, None)
    with replaced(mutant, code_of(mutant)[0]):
        assert not np.array_equal(_expected_losses(node, None), before)
    assert np.array_equal(_expected_losses(node, None), before)


if __name__ == "__main__":
    print(json.dumps(STRUCTURES[sys.argv[1]].survivors()))
