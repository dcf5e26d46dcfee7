"""Break one line at a time of chains of second order and of constrained ones: `check_structure` must see each."""

# ruff: noqa: E501

from __future__ import annotations

import json

import pytest
from mutation import mutate, replaced, run_without_jit, source_of

N_INSTANCES = 3

# module, line, broken line, answer that must fail
SECOND_ORDER = [
    # the best
    ("structures.chain.kernels.max2", "best = node[hi - 1, j]", "best = 0.0", "best"),
    ("structures.chain.kernels.max2", "best = max(best, row[k] + ahead[k])", "best = max(best, row[k])", "best"),
    ("structures.chain.kernels.max2", "if value[0, i, j] > value[0, left, right]:", "if value[0, i, j] >= value[0, left, right]:", "best"),
    ("structures.chain.kernels.max2", "if row[k] + ahead[k] > row[follow] + ahead[follow]:", "if row[k] + ahead[k] >= row[follow] + ahead[follow]:", "worst"),
    ("structures.chain.kernels.max2", "left, right = right, follow", "left, right = left, follow", "best"),
    ("structures.chain.kernels.max2", "follower[t, i, j, r] = arg", "follower[t, i, j, r] = 0", "k_best"),
    ("structures.chain.kernels.max2", "rank[t, i, j, r] = head[arg]", "rank[t, i, j, r] = 0", "k_best"),
    ("structures.chain.kernels.max2", "if candidate > best:", "if candidate >= best:", "k_best"),
    ("structures.chain.kernels.max2", "taken[left, right] += 1", "taken[left, right] += 2", "k_best"),
    ("structures.chain.kernels.max2", "fresh[j, k] = max(fresh[j, k], reach)", "fresh[j, k] = reach", "max_marginals"),
    ("structures.chain.kernels.max2", "triple_out[first3 + t, i, j, k] = reach + suffix[t + 1, j, k]", "triple_out[first3 + t, i, j, k] = reach", "max_marginals"),
    ("structures.chain.kernels.max2", "node_out[lo + t, i] = max(node_out[lo + t, i], whole)", "node_out[lo + t, i] = whole", "max_marginals"),
    # sums
    ("structures.chain.kernels.messages2", "current[i, j] += p * table[j]", "current[i, j] += p", "log_partition"),
    ("structures.chain.kernels.messages2", "log_z += shift3[f]", "log_z += 0.0", "log_partition"),
    ("structures.chain.kernels.messages2", "log_z += shift[e]", "log_z += 0.0", "log_partition"),
    ("structures.chain.kernels.messages2", "log_z += top", "log_z += 0.0", "log_partition"),
    ("structures.chain.kernels.messages2", "into3[j] += p * x", "into3[j] = p * x", "expectation"),
    ("structures.chain.kernels.messages2", "p = weight * alpha[t - 1, h, i]", "p = alpha[t - 1, h, i]", "expectation"),
    ("structures.chain.kernels.messages2", "message[i, j] = pair[e, i, j] * local[t, j] * beta[i, j] * inverse", "message[i, j] = pair[e, i, j] * local[t, j] * inverse", "marginals"),
    ("structures.chain.kernels.messages2", "return 2.0 * widest + 3.0 * edge_spread + 4.0 * triple_spread < SAFE_SPREAD", "return True", "log_partition"),
    ("structures.chain.kernels.messages2", "terms[h] = alpha[t - 1, h, i] + triple[first3 + (t - 2) * step3, h, i, j]", "terms[h] = alpha[t - 1, h, i]", "log_partition"),
    ("structures.chain.kernels.messages2", "into[k] += weight * np.exp(alpha[t, i, j] + table[k] + ahead - log_z)", "into[k] += np.exp(alpha[t, i, j] + table[k] + ahead - log_z)", "expectation"),
    ("structures.chain.kernels.messages2", "ahead = table[k] + node[lo + t + 1, k] + beta[t + 1, j, k]", "ahead = table[k] + beta[t + 1, j, k]", "sample"),
    ("structures.chain.kernels.sum2", "terms[j] += triple[at3 + (t - 2) * step3, path[d, lo + t - 2], i, j]", "terms[j] += 0.0", "sample"),
    ("structures.chain.kernels.sum2", "if n == 2:  # a table shared by all triples is none of its business", "if n == 1:", "log_partition"),
    ("structures.chain.kernels.given2", "return entropy_of(triple_marginal[: n - 2].ravel()) - entropy_of(pair_marginal[1 : n - 2].ravel())", "return entropy_of(triple_marginal[: n - 2].ravel())", "entropy"),
    # given outputs
    ("structures.chain.kernels.given2", "total[s] += triple[(first3 + t - lo) * step3, path[t], path[t + 1], path[t + 2]]", "total[s] += triple[0, path[t], path[t + 1], path[t + 2]]", "score"),
    ("structures.chain.kernels.given2", "triple_out[(first3 + t - lo) * step3, path[t], path[t + 1], path[t + 2]] += weight[s]", "triple_out[(first3 + t - lo) * step3, path[t], path[t + 1], path[t + 2]] += 1.0", "count"),
    # tables
    ("structures.positions.tables", "triple = cost.triple if triple is None else triple + cost.triple", "triple = cost.triple", "best"),
    ("structures.positions.tables", "triple = np.where(np.isneginf(triple), triple, sign * triple)", "triple = sign * triple", "worst"),
    ("structures.positions.tables", "triple = np.where(within.triple, 0.0 if triple is None else triple, -np.inf)", "triple = np.where(within.triple, 0.0, -np.inf)", "best_contradicting"),
    ("structures.chain.contradiction", "triple = reduce(triple.reshape(-1, labels, 2, labels, 2, labels, 2), axis=(2, 4, 6))", "triple = reduce(triple.reshape(-1, labels, 2, labels, 2, labels, 2)[:, :, :1], axis=(2, 4, 6))", "marginals"),
    ("structures.chain.chain", "triple = np.where(np.isneginf(triple), -np.inf, 0.0)", "triple = np.zeros_like(triple)", "min_risk"),
    ("structures.chain.chain", "return given - self.log_partition(theta, cost=cost, within=within)", "return given - self.log_partition(theta, within=within)", "log_proba"),
]  # fmt: skip

CONSTRAINED = [
    ("structures.chain.constrained", "node[starts] = np.where(rules.start, node[starts], -np.inf)", "node[starts] = node[starts]", "best"),
    ("structures.chain.constrained", "node[ends] = np.where(rules.end, node[ends], -np.inf)", "node[ends] = node[ends]", "log_partition"),
    ("structures.chain.constrained", "return replace(tables, node=node, edge=np.where(rules.transition, tables.edge, -np.inf))", "return replace(tables, node=node)", "k_best"),
]  # fmt: skip


def survivors() -> list[str]:
    """Mutants that pass the check of their answer, and answers that fail without any mutation."""
    import palmette.structures.chain.chain as chain
    import palmette.structures.chain.constrained  # noqa: F401
    from palmette.testing import check_structure, reference_for

    def second_order():
        return chain.Chain(order=2)

    def constrained():
        rules = [("a", "b"), ("b", "a"), ("b", "b"), (None, "b"), ("a", None)]
        return chain.Chain(allowed=rules).bind(["a", "b"])

    found = []
    for make, mutations in ((second_order, SECOND_ORDER), (constrained, CONSTRAINED)):
        reference = reference_for(make())
        try:
            check_structure(make(), reference, n_instances=N_INSTANCES)
        except AssertionError as error:
            found.append(f"without mutation: {error}")
        for module, line, broken, answer in mutations:
            with replaced(f"palmette.{module}", mutate(source_of(module), line, broken)):
                try:
                    check_structure(make(), reference, n_instances=N_INSTANCES + 6, answers=[answer])
                except AssertionError as error:
                    if str(error).startswith(f"{answer}:"):
                        continue
                found.append(f"{module}: {broken!r} passes the check of {answer}()")
    return found


@pytest.mark.parametrize(("module", "line", "broken", "answer"), SECOND_ORDER + CONSTRAINED)
def test_mutated_lines_exist(module, line, broken, answer):
    assert mutate(source_of(module), line, broken) != source_of(module)


def test_every_answer_has_a_mutation():
    from palmette.testing import CHECKS

    assert {answer for *_, answer in SECOND_ORDER} == set(CHECKS)


def test_mutants_are_found():
    assert run_without_jit(__file__) == []


if __name__ == "__main__":
    print(json.dumps(survivors()))
