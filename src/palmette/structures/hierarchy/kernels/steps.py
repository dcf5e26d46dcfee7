"""What the two steps of every state are worth for one sample.

A state s looks at the node ``node[s]``; step 0 leaves it for the state ``go[s, 0]``, step 1 takes it. Step b also
leaves the nodes ``node[s] + b .. stop[s, b] - 1``. States are in an order in which steps go forward; the last one is
the end.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel


@kernel()
def weigh_steps(r, score, may, known, node, stop, dead, gain, flag):
    """Of sample r: ``gain[s, b]``, -inf where a step is forbidden, ``flag[s, b]``: 1 where it contradicts ``known``.

    ``may`` (samples, nodes, 2) says which codes nodes may have, ``known`` (samples, nodes) their annotated codes, -1 if
    there is none; either may have no samples.
    """
    # Counts of nodes that must be taken, and of nodes that are annotated as taken, before each node: whether a run of
    # nodes that a step leaves has one of them is a difference of two. O(nodes + states).
    n = score.shape[1]
    must, told = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    for v in range(n):
        must[v + 1] = must[v]
        told[v + 1] = told[v]
        if len(may) and not may[r, v, 0]:
            must[v + 1] += 1
        if len(known) and known[r, v] == 1:
            told[v + 1] += 1
    for s in range(len(node)):
        v = node[s]
        for b in range(2):
            end = stop[s, b]
            gain[s, b] = score[r, v] if b == 1 else 0.0
            if dead[s, b] or must[end] > must[v + b]:
                gain[s, b] = -np.inf
            flag[s, b] = 1 if told[end] > told[v + b] else 0
        if len(may) and not may[r, v, 1]:
            gain[s, 1] = -np.inf
        if len(known) and known[r, v] == 0:
            flag[s, 1] = 1


@kernel()
def best_ahead(gain, flag, go, value):
    """``value[s, f]``: the best sum of steps from s to the end; f: whether a step before contradicts the annotation."""
    # value[s, f] = max_b gain[s, b] + value[go[s, b], f | flag[s, b]]. With two layers only f = 1 counts at the end.
    n, layers = value.shape[0] - 1, value.shape[1]
    value[n, 0] = -np.inf
    value[n, layers - 1] = 0.0
    for s in range(n - 1, -1, -1):
        for f in range(layers):
            left = gain[s, 0] + value[go[s, 0], f | flag[s, 0]]
            taken = gain[s, 1] + value[go[s, 1], f | flag[s, 1]]
            value[s, f] = max(left, taken)
