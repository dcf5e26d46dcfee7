"""Break one line at a time on purpose: `check_structure` must see each of them.

The test runs this file as a script, in one process without compilation, since a mutant need not be fast.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

N_INSTANCES = 4

# module, line, broken line, answer that must fail
MUTATIONS = [
    # the best
    ("_kernels.chain_max", "value[n - 1, i] = node[hi - 1, i]", "value[n - 1, i] = 0.0", "best"),
    ("_kernels.chain_max", "value[t, i] = node[lo + t, i] + best", "value[t, i] = best", "worst"),
    (
        "_kernels.chain_max",
        "best = max(best, table[i, j] + value[t + 1, j])",
        "best = max(best, table[j, i] + value[t + 1, j])",
        "best",
    ),
    ("_kernels.chain_max", "if value[0, i] > value[0, label]:", "if value[0, i] >= value[0, label]:", "best"),
    (
        "_kernels.chain_max",
        "if table[label, j] + value[t + 1, j] > table[label, follow] + value[t + 1, follow]:",
        "if table[label, j] + value[t + 1, j] >= table[label, follow] + value[t + 1, follow]:",
        "worst",
    ),
    (
        "_kernels.chain_max",
        "total[s] = best_path(node, edge, (lo - s) * step, step, lo, hi, value, path)",
        "total[s] = best_path(node, edge, 0, step, lo, hi, value, path)",
        "best",
    ),
    # k best
    ("_kernels.chain_max", "follower_rank[t, i, r] = head[arg]", "follower_rank[t, i, r] = 0", "k_best"),
    ("_kernels.chain_max", "head[arg] += 1", "head[arg] += 2", "k_best"),
    ("_kernels.chain_max", "if candidate > best:", "if candidate >= best:", "k_best"),
    ("_kernels.chain_max", "value[n - 1, i, :] = -np.inf", "value[n - 1, i, :] = -1e9", "k_best"),
    # max-marginals
    (
        "_kernels.chain_max",
        "node_out[lo + t, i] = prefix[i] + suffix[t, i]",
        "node_out[lo + t, i] = prefix[i] + suffix[t, 0]",
        "max_marginals",
    ),
    (
        "_kernels.chain_max",
        "edge_out[lo - s + t, i, j] = reach + suffix[t + 1, j]",
        "edge_out[lo - s + t, i, j] = reach",
        "max_marginals",
    ),
    ("_kernels.chain_max", "fresh[j] = max(fresh[j], reach)", "fresh[j] = reach", "max_marginals"),
    # sums by products
    ("_kernels.chain_sum", "current[j] += p * table[i, j]", "current[j] += p * table[j, i]", "log_partition"),
    ("_kernels.chain_sum", "log_z += shift[e]", "log_z += shift[0]", "log_partition"),
    ("_kernels.chain_sum", "log_z += top + np.log(total)", "log_z += np.log(total)", "log_partition"),
    (
        "_kernels.chain_sum",
        "message[j] = local[t, j] * beta[j] * inverse",
        "message[j] = local[t, j] * inverse",
        "expectation",
    ),
    (
        "_kernels.chain_sum",
        "node_out[lo + t, j] = weight * current[j] * beta[j]",
        "node_out[lo + t, j] = weight * current[j]",
        "marginals",
    ),
    (
        "_kernels.chain_sum",
        "gathered[i, j] += p * message[j]",
        "gathered[i, j] = p * message[j]",
        "expectation",
    ),
    ("_kernels.chain_sum", "p = weight * previous[i]", "p = previous[i]", "expectation"),
    # sums by logarithms, and the choice between the two
    (
        "_kernels.chain_sum",
        "terms[i] = alpha[t - 1, i] + table[i, j]",
        "terms[i] = alpha[t - 1, i] + table[j, i]",
        "log_partition",
    ),
    (
        "_kernels.chain_sum",
        "node_out[lo + t, i] = weight * np.exp(alpha[t, i] + beta[t, i] - log_z)",
        "node_out[lo + t, i] = weight * np.exp(alpha[t, i] - log_z)",
        "expectation",
    ),
    (
        "_kernels.chain_sum",
        "pair[e, i, j] += weight * np.exp(alpha[t, i] + edge[e, i, j] + ahead - log_z)",
        "pair[e, i, j] = weight * np.exp(alpha[t, i] + edge[e, i, j] + ahead - log_z)",
        "expectation",
    ),
    (
        "_kernels.chain_sum",
        "return widest + 2.0 * edge_spread < SAFE_SPREAD",
        "return True",
        "log_partition",
    ),
    (
        "_kernels.chain_sum",
        "return (hi - lo) * (widest + edge_spread + np.log(node.shape[1])) < SAFE_SPREAD",
        "return True",
        "log_partition",
    ),
    # samples
    (
        "_kernels.chain_sum",
        "terms[j] = table[i, j] + node[lo + t + 1, j] + beta[t + 1, j]",
        "terms[j] = table[i, j] + beta[t + 1, j]",
        "sample",
    ),
    (
        "_kernels.chain_sum",
        "threshold = uniform[d, lo + t] * total",
        "threshold = uniform[d, lo] * total",
        "sample",
    ),
    # entropy
    ("_kernels.chain_given", "elif lo < t < hi - 1:", "elif lo <= t < hi - 1:", "entropy"),
    (
        "structures.chain",
        "marginals = self._expectation(theta, cost, within, None, per_edge=True, keep_flag=True).counts",
        "marginals = self._expectation(theta, cost, within, None, per_edge=True).counts",
        "entropy",
    ),
    # given outputs
    (
        "_kernels.chain_given",
        "total += edge[first + (t - 1 - lo) * step, path[t - 1], path[t]] + node[t, path[t]]",
        "total += edge[first + (t - 1 - lo) * step, path[t], path[t - 1]] + node[t, path[t]]",
        "score",
    ),
    (
        "structures.chain",
        "return given - self.log_partition(theta, cost=cost, within=within)",
        "return given - self.log_partition(theta, cost=cost)",
        "log_proba",
    ),
    ("_kernels.chain_given", "node_out[t, path[t]] += weight[s]", "node_out[t, path[t]] += 1.0", "count"),
    (
        "_kernels.chain_given",
        "edge_out[first + (t - 1 - lo) * step, path[t - 1], path[t]] += weight[s]",
        "edge_out[first + (t - 1 - lo) * step, path[t - 1], path[t]] = weight[s]",
        "count",
    ),
    ("structures.chain", "if into is None:", "if True:", "count"),
    # minimum risk
    (
        "structures.checks",
        "return np.asarray(sum(np.multiply.outer(node[:, i], risk[i]) for i in range(n_labels)))",
        "return np.asarray(sum(np.multiply.outer(node[:, i], risk[:, i]) for i in range(n_labels)))",
        "min_risk",
    ),
    # cost and restriction
    ("structures.tables", "node = node + cost.node", "node = node - cost.node", "best"),
    ("structures.tables", "edge = edge + cost.edge", "edge = edge + cost.edge[:1]", "score"),
    (
        "structures.tables",
        "node = np.where(np.isneginf(node), node, sign * node)",
        "node = sign * node",
        "worst",
    ),
    (
        "structures.tables",
        "node = np.where(within.node, node, -np.inf)",
        "node = np.where(within.node, node, -1e9)",
        "log_partition",
    ),
    (
        "structures.tables",
        "edge = np.where(within.edge, edge, -np.inf)",
        "edge = np.where(within.edge[:1], edge, -np.inf)",
        "best",
    ),
    # contradiction
    (
        "structures.chain",
        "return self.best(theta, cost=cost, within=replace(within, contradicts=np.asarray(codes)))",
        "return self.best(theta, cost=cost, within=replace(within, edge=None, contradicts=np.asarray(codes)))",
        "best_contradicting",
    ),
    ("structures.contradiction", "node[contra, 0] = -np.inf", "node[contra, 0] += 0.0", "log_partition"),
    ("structures.contradiction", "node[ends, :, 0] = -np.inf", "node[ends, :, 0] += 0.0", "best"),
    (
        "structures.contradiction",
        "edge[:, :, 0, :, 1] = np.where(contra[right][:, None, :], plain, -np.inf)",
        "edge[:, :, 0, :, 1] = plain",
        "sample",
    ),
    (
        "structures.chain",
        "out = without_flag(out, np.max) if flagged else out",
        "out = without_flag(out) if flagged else out",
        "max_marginals",
    ),
]


def source_of(module: str) -> str:
    return Path(importlib.import_module(f"palmette.{module}").__file__).read_text(encoding="utf-8")


def mutate(source: str, line: str, broken: str) -> str:
    """Replace a line that stands in the source exactly once."""
    lines = source.splitlines()
    places = [n for n, text in enumerate(lines) if text.strip() == line]
    if len(places) != 1:
        raise LookupError(f"{len(places)} lines read {line!r}; mutations must name a line that is there once")
    lines[places[0]] = lines[places[0]].replace(line, broken)
    return "\n".join(lines)


@contextmanager
def replaced(module_name: str, source: str) -> Iterator[None]:
    """Define a module's functions and classes anew, for everyone who has imported them."""
    module = importlib.import_module(module_name)
    own = {
        name: value for name, value in vars(module).items() if getattr(value, "__module__", "") == module_name
    }
    fresh = dict(vars(module))
    exec(compile(source, module.__file__, "exec"), fresh)
    users = [m for name, m in list(sys.modules.items()) if name.split(".")[0] == "palmette"]
    places = [(m, name) for m in users for name in own if vars(m).get(name) is own[name]]
    try:
        for user, name in places:
            setattr(user, name, fresh[name])
        yield
    finally:
        for user, name in places:
            setattr(user, name, own[name])


def survivors() -> list[str]:
    """Mutants that pass the check of their answer, and answers that fail without any mutation."""
    import palmette.structures.chain as chain
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
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    result = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == []


if __name__ == "__main__":
    print(json.dumps(survivors()))
