"""Break one line at a time on purpose: `check_structure` must see each of them.

The test runs this file as a script, in one process without compilation, since a mutant need not be fast.
"""

from __future__ import annotations

import json

import pytest
from mutation import mutate, replaced, run_without_jit, source_of

N_INSTANCES = 4

# module, line, broken line, answer that must fail
MUTATIONS = [
    # the best
    ("structures.chain.kernels.max", "value[n - 1, i] = node[hi - 1, i]", "value[n - 1, i] = 0.0", "best"),
    ("structures.chain.kernels.max", "value[t, i] = node[lo + t, i] + best", "value[t, i] = best", "worst"),
    (
        "structures.chain.kernels.max",
        "best = max(best, table[i, j] + value[t + 1, j])",
        "best = max(best, table[j, i] + value[t + 1, j])",
        "best",
    ),
    (
        "structures.chain.kernels.max",
        "if value[0, i] > value[0, label]:",
        "if value[0, i] >= value[0, label]:",
        "best",
    ),
    (
        "structures.chain.kernels.max",
        "if table[label, j] + value[t + 1, j] > table[label, follow] + value[t + 1, follow]:",
        "if table[label, j] + value[t + 1, j] >= table[label, follow] + value[t + 1, follow]:",
        "worst",
    ),
    (
        "structures.chain.kernels.max",
        "total[s] = best_path(node, edge, (lo - s) * step, step, lo, hi, value, path)",
        "total[s] = best_path(node, edge, 0, step, lo, hi, value, path)",
        "best",
    ),
    # k best
    (
        "structures.chain.kernels.max",
        "follower_rank[t, i, r] = head[arg]",
        "follower_rank[t, i, r] = 0",
        "k_best",
    ),
    ("structures.chain.kernels.max", "head[arg] += 1", "head[arg] += 2", "k_best"),
    ("structures.chain.kernels.max", "if candidate > best:", "if candidate >= best:", "k_best"),
    ("structures.chain.kernels.max", "value[n - 1, i, :] = -np.inf", "value[n - 1, i, :] = -1e9", "k_best"),
    # max-marginals
    (
        "structures.chain.kernels.max",
        "node_out[lo + t, i] = prefix[i] + suffix[t, i]",
        "node_out[lo + t, i] = prefix[i] + suffix[t, 0]",
        "max_marginals",
    ),
    (
        "structures.chain.kernels.max",
        "edge_out[lo - s + t, i, j] = reach + suffix[t + 1, j]",
        "edge_out[lo - s + t, i, j] = reach",
        "max_marginals",
    ),
    ("structures.chain.kernels.max", "fresh[j] = max(fresh[j], reach)", "fresh[j] = reach", "max_marginals"),
    # sums by products
    (
        "structures.chain.kernels.sum",
        "current[j] += p * table[i, j]",
        "current[j] += p * table[j, i]",
        "log_partition",
    ),
    ("structures.chain.kernels.sum", "log_z += shift[e]", "log_z += shift[0]", "log_partition"),
    (
        "structures.chain.kernels.sum",
        "log_z += top + np.log(total)",
        "log_z += np.log(total)",
        "log_partition",
    ),
    (
        "structures.chain.kernels.sum",
        "message[j] = local[t, j] * beta[j] * inverse",
        "message[j] = local[t, j] * inverse",
        "expectation",
    ),
    (
        "structures.chain.kernels.sum",
        "node_out[lo + t, j] = weight * current[j] * beta[j]",
        "node_out[lo + t, j] = weight * current[j]",
        "marginals",
    ),
    (
        "structures.chain.kernels.sum",
        "gathered[i, j] += p * message[j]",
        "gathered[i, j] = p * message[j]",
        "expectation",
    ),
    ("structures.chain.kernels.sum", "p = weight * previous[i]", "p = previous[i]", "expectation"),
    # sums by logarithms, and the choice between the two
    (
        "structures.chain.kernels.sum",
        "terms[i] = alpha[t - 1, i] + table[i, j]",
        "terms[i] = alpha[t - 1, i] + table[j, i]",
        "log_partition",
    ),
    (
        "structures.chain.kernels.sum",
        "node_out[lo + t, i] = weight * np.exp(alpha[t, i] + beta[t, i] - log_z)",
        "node_out[lo + t, i] = weight * np.exp(alpha[t, i] - log_z)",
        "expectation",
    ),
    (
        "structures.chain.kernels.sum",
        "pair[e, i, j] += weight * np.exp(alpha[t, i] + edge[e, i, j] + ahead - log_z)",
        "pair[e, i, j] = weight * np.exp(alpha[t, i] + edge[e, i, j] + ahead - log_z)",
        "expectation",
    ),
    (
        "structures.chain.kernels.sum",
        "return widest + 2.0 * edge_spread < SAFE_SPREAD",
        "return True",
        "log_partition",
    ),
    (
        "structures.chain.kernels.sum",
        "return (hi - lo) * (widest + edge_spread + np.log(node.shape[1])) < SAFE_SPREAD",
        "return True",
        "log_partition",
    ),
    # samples
    (
        "structures.chain.kernels.sum",
        "terms[j] = table[i, j] + node[lo + t + 1, j] + beta[t + 1, j]",
        "terms[j] = table[i, j] + beta[t + 1, j]",
        "sample",
    ),
    (
        "structures.chain.kernels.sum",
        "threshold = uniform[d, lo + t] * total",
        "threshold = uniform[d, lo] * total",
        "sample",
    ),
    # entropy
    ("structures.chain.kernels.given", "elif lo < t < hi - 1:", "elif lo <= t < hi - 1:", "entropy"),
    (
        "structures.chain.chain",
        "marginals = self._expectation(theta, cost, within, None, per_edge=True, keep_flag=True).counts",
        "marginals = self._expectation(theta, cost, within, None, per_edge=True).counts",
        "entropy",
    ),
    # given outputs
    (
        "structures.chain.kernels.given",
        "total += edge[first + (t - 1 - lo) * step, path[t - 1], path[t]] + node[t, path[t]]",
        "total += edge[first + (t - 1 - lo) * step, path[t], path[t - 1]] + node[t, path[t]]",
        "score",
    ),
    (
        "structures.chain.chain",
        "return given - self.log_partition(theta, cost=cost, within=within)",
        "return given - self.log_partition(theta, cost=cost)",
        "log_proba",
    ),
    (
        "structures.chain.kernels.given",
        "node_out[t, path[t]] += weight[s]",
        "node_out[t, path[t]] += 1.0",
        "count",
    ),
    (
        "structures.chain.kernels.given",
        "edge_out[first + (t - 1 - lo) * step, path[t - 1], path[t]] += weight[s]",
        "edge_out[first + (t - 1 - lo) * step, path[t - 1], path[t]] = weight[s]",
        "count",
    ),
    ("structures.chain.chain", "if into is None:", "if True:", "count"),
    # minimum risk
    (
        "structures.positions.checks",
        "return np.asarray(sum(np.multiply.outer(node[:, i], risk[i]) for i in range(n_labels)))",
        "return np.asarray(sum(np.multiply.outer(node[:, i], risk[:, i]) for i in range(n_labels)))",
        "min_risk",
    ),
    # cost and restriction
    ("structures.positions.tables", "node = node + cost.node", "node = node - cost.node", "best"),
    ("structures.positions.tables", "edge = edge + cost.edge", "edge = edge + cost.edge[:1]", "score"),
    (
        "structures.positions.tables",
        "node = np.where(np.isneginf(node), node, sign * node)",
        "node = sign * node",
        "worst",
    ),
    (
        "structures.positions.tables",
        "node = np.where(within.node, node, -np.inf)",
        "node = np.where(within.node, node, -1e9)",
        "log_partition",
    ),
    (
        "structures.positions.tables",
        "edge = np.where(within.edge, edge, -np.inf)",
        "edge = np.where(within.edge[:1], edge, -np.inf)",
        "best",
    ),
    # contradiction
    (
        "structures.chain.chain",
        "return self.best(theta, cost=cost, within=replace(within, contradicts=np.asarray(codes)))",
        "return self.best(theta, cost=cost, within=replace(within, edge=None, contradicts=np.asarray(codes)))",
        "best_contradicting",
    ),
    (
        "structures.chain.contradiction",
        "node[contra, 0] = -np.inf",
        "node[contra, 0] += 0.0",
        "log_partition",
    ),
    ("structures.chain.contradiction", "node[ends, :, 0] = -np.inf", "node[ends, :, 0] += 0.0", "best"),
    (
        "structures.chain.contradiction",
        "edge[:, :, 0, :, 1] = np.where(contra[right][:, None, :], plain, -np.inf)",
        "edge[:, :, 0, :, 1] = plain",
        "sample",
    ),
    (
        "structures.chain.chain",
        "out = without_flag(out, np.max) if flagged else out",
        "out = without_flag(out) if flagged else out",
        "max_marginals",
    ),
]


def survivors() -> list[str]:
    """Mutants that pass the check of their answer, and answers that fail without any mutation."""
    import palmette.structures.chain.chain as chain
    from palmette.testing import ChainReference, check_structure

    reference, found = ChainReference(), []
    try:
        check_structure(chain.Chain(), reference, n_instances=N_INSTANCES)
    except AssertionError as error:
        found.append(f"without mutation: {error}")
    for module, line, broken, answer in MUTATIONS:
        with replaced(f"palmette.{module}", mutate(source_of(module), line, broken)):
            try:
                check_structure(chain.Chain(), reference, n_instances=N_INSTANCES, answers=[answer])
            except AssertionError as error:
                if str(error).startswith(f"{answer}:"):
                    continue
            found.append(f"{module}: {broken!r} passes the check of {answer}()")
    return found


@pytest.mark.parametrize(("module", "line", "broken", "answer"), MUTATIONS)
def test_mutated_lines_exist(module, line, broken, answer):
    assert mutate(source_of(module), line, broken) != source_of(module)


def test_every_answer_has_a_mutation():
    from palmette.testing import CHECKS

    assert {answer for *_, answer in MUTATIONS} == set(CHECKS)


def test_mutants_are_found():
    assert run_without_jit(__file__) == []


if __name__ == "__main__":
    print(json.dumps(survivors()))
