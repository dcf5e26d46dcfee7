"""Break one line of the inference on segments at a time: `check_structure` must see each of them."""

from __future__ import annotations

import json

import pytest
from mutation import mutate, replaced, run_without_jit, source_of

N_INSTANCES = 5  # the fifth is all zeros, where ties are everywhere

# module, line, broken line, answer that must fail
MUTATIONS = [
    # whole segments
    ("structures.segments.kernels.parts", "if t + d < hi and d < longest[k]:", "if t + d < hi:", "best"),
    (
        "structures.segments.kernels.parts",
        "inside[k] += node[t + d, k]",
        "inside[k] = node[t + d, k]",
        "worst",
    ),
    (
        "structures.segments.kernels.parts",
        "node[t + d, k] += rest[k]",
        "node[t + d, k] += segment[t, d, k]",
        "marginals",
    ),
    (
        "structures.segments.kernels.parts",
        "node[t + d, k] = max(node[t + d, k], rest[k])",
        "node[t + d, k] = rest[k]",
        "max_marginals",
    ),
    # the best
    ("structures.segments.kernels.max", "length[t, s] = d", "length[t, s] = 0", "best"),
    ("structures.segments.kernels.max", "if reach > value[t, s]:", "if reach >= value[t, s]:", "best"),
    (
        "structures.segments.kernels.max",
        "best = max(best, table[i, j] + value[t, j])",
        "best = max(best, table[j, i] + value[t, j])",
        "best",
    ),
    # k best
    ("structures.segments.kernels.max", "best_length[r] = pick", "best_length[r] = 0", "k_best"),
    (
        "structures.segments.kernels.max",
        "d, rank = length[t, i, rank], after_rank[t, i, rank]",
        "d, rank = length[t, i, rank], 0",
        "k_best",
    ),
    # max-marginals
    (
        "structures.segments.kernels.max",
        "segment_out[lo + t, d, i] = reach + after[t + d + 1, i]",
        "segment_out[lo + t, d, i] = reach",
        "max_marginals",
    ),
    (
        "structures.segments.kernels.max",
        "begin[t, j] = max(begin[t, j], reach)",
        "begin[t, j] = reach",
        "max_marginals",
    ),
    # sums
    (
        "structures.segments.kernels.sum",
        "top[s] = max(top[s], share[d, s])",
        "top[s] = share[d, s]",
        "log_partition",
    ),
    (
        "structures.segments.kernels.sum",
        "return not edge_forbidden and edge_spread < SAFE_SPREAD",
        "return True",
        "entropy",
    ),
    (
        "structures.segments.kernels.sum",
        "scaled[i] = ended[i] / total if ended[i] > 0.0 else 0.0",
        "scaled[i] = ended[i]",
        "expectation",
    ),
    (
        "structures.segments.kernels.sum",
        "p = ended[i] * np.exp(edge[e, i, j] + value[j] - after[i])",
        "p = np.exp(edge[e, i, j] + value[j] - after[i])",
        "marginals",
    ),
    ("structures.segments.kernels.sum", "ended[t + d + 1, s] += p", "ended[t + d + 1, s] = p", "expectation"),
    (
        "structures.segments.kernels.sum",
        "segment_out[lo + t, d, s] = weight * p",
        "segment_out[lo + t, d, s] = p",
        "expectation",
    ),
    (
        "structures.segments.kernels.sum",
        "d = choose(own, uniform[1, draw, lo + t])",
        "d = choose(own, uniform[0, draw, lo + t])",
        "sample",
    ),
    ("structures.segments.kernels.given", "total = plus_entropy(ended, -1.0, total)", "pass", "entropy"),
    # given outputs
    (
        "structures.segments.kernels.given",
        "value += segment[t, d, label]",
        "value += segment[t, 0, label]",
        "score",
    ),
    (
        "structures.segments.kernels.given",
        "segment_out[t, d, label] += weight[s]",
        "segment_out[t, d, label] += 1.0",
        "count",
    ),
    ("structures.segments.kernels.given", "value += node[u, label]", "value += node[t, label]", "log_proba"),
    (
        "structures.segments.inference",
        "chances = np.concatenate([begins, np.maximum(found.node - begins, 0.0)], axis=1)",
        "chances = np.concatenate([begins, found.node], axis=1)",
        "min_risk",
    ),
    # costs and restrictions
    ("structures.segments.tables", "segment = segment + cost.segment", "pass", "best"),
    ("structures.segments.tables", "segment = np.where(allowed, segment, -np.inf)", "pass", "log_partition"),
    ("structures.segments.tables", "out[:-d, d] |= inside[d:]", "pass", "best"),
    ("structures.segments.tables", "whole[~contra, 1] = -np.inf", "pass", "log_partition"),
    ("structures.segments.tables", "whole[ends, last[ends], :, 0] = -np.inf", "pass", "best_contradicting"),
    (
        "structures.segments.tables",
        "whole[plain.offsets[:-1], :, :, 2] = -np.inf",
        "pass",
        "sample",
    ),
]


def survivors() -> list[str]:
    """Mutants that pass the check of their answer, and answers that fail without any mutation."""
    from palmette import SemiMarkov
    from palmette.testing import SegmentReference, check_structure

    reference, found = SegmentReference(), []
    try:
        check_structure(SemiMarkov(3), reference, n_instances=N_INSTANCES)
    except AssertionError as error:
        found.append(f"without mutation: {error}")
    for module, line, broken, answer in MUTATIONS:
        with replaced(f"palmette.{module}", mutate(source_of(module), line, broken)):
            import palmette.structures.segments.inference as inference

            structure = type("Mutant", (inference.SegmentInference,), {})()
            try:
                check_structure(structure, reference, n_instances=N_INSTANCES, answers=[answer])
            except (AssertionError, IndexError) as error:
                if isinstance(error, IndexError) or str(error).startswith(f"{answer}:"):
                    continue
            found.append(f"{module}: {broken!r} instead of {line!r} passes the check of {answer}()")
    return found


@pytest.mark.parametrize(("module", "line", "broken", "answer"), MUTATIONS)
def test_mutated_lines_exist(module, line, broken, answer):
    assert mutate(source_of(module), line, broken) != source_of(module)


def test_mutants_are_found():
    assert run_without_jit(__file__) == []


if __name__ == "__main__":
    print(json.dumps(survivors()))
