"""Columns of very different size: what palmette reaches and proves, against a plain method in hand-scaled coordinates.

Thirty chains of ten positions with four columns and three labels; one column, or all of them, are multiplied by 1e3
to 1e8, one by 1e-8; `year` is a column near 2,000 beside one near 1e6 that varies by orders of magnitude. The penalty
is `l2 = 1`, so that large columns are hardly penalised at all and small ones are all but switched off. Every problem
is solved to `tol = 1e-6` as its user gives it. The reference is written in NumPy for this file: sums over label
sequences in log space and accelerated proximal gradients with restarts, in coordinates in which every column has unit
size, until 300 iterations bring no decrease of 1e-12. `objective` is what each side ends at, `proven relative gap` is
palmette's certificate, and `converged` is 1 where it says so.
"""

from functools import partial

import numpy as np

from experiments.harness import Benchmark, Side, Target, palmette_side

LENGTH, N_LABELS, TEMPERATURE, TOL = 10, 3, 0.2, 1e-6
SIZES = {"chains": 30, "positions": 30 * LENGTH}
SCALES = {
    "unit": (1.0, 1.0, 1.0, 1.0),
    "1e3": (1e3, 1.0, 1.0, 1.0),
    "1e5": (1e5, 1.0, 1.0, 1.0),
    "1e6": (1e6, 1.0, 1.0, 1.0),
    "mixed": (1e-8, 1.0, 1e8, 1.0),
    "all 1e8": (1e8, 1e8, 1e8, 1e8),
}
# name: (l1, strength of the group lasso, soft hinge)
LOSSES = {
    "CRF": (0.0, 0.0, False),
    "CRF l1": (0.5, 0.0, False),
    "CRF groups": (0.0, 2.0, False),
    "soft hinge": (0.0, 0.0, True),
}


def problems():
    """Inputs (chains x positions x columns) and labels of every problem."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, LENGTH, 4))
    scores = x @ rng.normal(size=(4, N_LABELS)) + rng.gumbel(size=(30, LENGTH, N_LABELS))
    for name, scale in SCALES.items():
        yield name, x * np.array(scale), scores.argmax(axis=2)
    years = np.stack(
        [rng.integers(1950, 2020, x.shape[:2]), rng.lognormal(12, 2, x.shape[:2])], axis=2
    ).astype(float)
    late = years[..., 0] + 20 * rng.normal(size=x.shape[:2]) > 1985
    yield "year", years, np.where(late, 0, np.where(years[..., 1] > 2e5, 1, 2))


def palmette(run):
    from palmette import CRF, SSVM, Chain, LossOptions
    from palmette.regularizers import GroupLasso

    def model(l1, groups, soft):
        penalty = GroupLasso(groups) if groups else None
        options = {"l2": 1.0, "l1": l1, "regularizer": penalty, "tol": TOL}
        if soft:
            return SSVM(
                Chain(), loss="soft_hinge", loss_options=LossOptions(temperature=TEMPERATURE), **options
            )
        return CRF(Chain(), **options)

    run.sizes |= SIZES
    with run.phase("compile"):
        for _, x, y in list(problems())[:1]:
            for settings in LOSSES.values():
                model(*settings).fit(list(x), y.tolist())
    with run.phase("train"):
        for name, x, y in problems():
            for loss, settings in LOSSES.items():
                result = model(*settings).fit(list(x), y.tolist()).result_
                run.figures[f"{loss}, {name}: objective"] = result.primal
                run.figures[f"{loss}, {name}: proven relative gap"] = result.gap / result.primal
                run.figures[f"{loss}, {name}: converged"] = float(result.converged)


def reference(run):
    run.sizes |= SIZES
    with run.phase("train"):
        for name, x, y in problems():
            for loss, settings in LOSSES.items():
                run.figures[f"{loss}, {name}: objective"] = minimum(x, y, *settings)


def minimum(x, y, l1, groups, soft, l2=1.0):
    """The least objective met by accelerated proximal gradients in scaled coordinates."""
    n_columns = x.shape[2]
    size = 1.0 / np.sqrt((x * x).mean(axis=(0, 1)) + l2 / (x.shape[0] * LENGTH))
    z = np.concatenate([x * size, np.ones((*y.shape, 1))], axis=2)  # the last column is the intercept
    factor = np.append(size, 1.0)[:, None]
    loss = partial(data_term, z, np.eye(N_LABELS)[y], soft)
    # A group is a row of columns' weights, or the table of transitions; its strength grows with the root of its size.
    penalties = [
        (l2 * factor**2, l1 * factor, groups * np.sqrt(N_LABELS) * factor),
        (l2, l1, groups * N_LABELS),
    ]

    def smooth(v):
        value, gradients = loss(v)
        value += sum(0.5 * np.sum(penalty[0] * part**2) for penalty, part in zip(penalties, v))
        return value, [g + penalty[0] * part for g, penalty, part in zip(gradients, penalties, v)]

    def rough(v):
        total = sum(np.sum(penalty[1] * np.abs(part)) for penalty, part in zip(penalties, v))
        rows = penalties[0][2][:, 0] @ np.linalg.norm(v[0], axis=1) if groups else 0.0
        return total + rows + penalties[1][2] * np.linalg.norm(v[1])

    def shrink(part, l1, strength, pace, axis):
        part = np.sign(part) * np.maximum(np.abs(part) - pace * l1, 0.0)
        norm = np.linalg.norm(part, axis=axis, keepdims=True)
        return part * np.maximum(1.0 - pace * strength / np.where(norm > 0.0, norm, np.inf), 0.0)

    v = [np.zeros((n_columns + 1, N_LABELS)), np.zeros((N_LABELS, N_LABELS))]
    ahead, momentum, pace, best, settled = v, 1.0, 1.0, np.inf, 0
    while settled < 300:  # iterations without a decrease that can be seen
        value, gradients = smooth(ahead)
        while True:
            moved = [a - pace * g for a, g in zip(ahead, gradients)]
            new = [
                shrink(part, penalty[1], penalty[2], pace, axis)
                for part, penalty, axis in zip(moved, penalties, (1, None))
            ]
            steps = [b - a for a, b in zip(ahead, new)]
            bent = sum(np.sum(g * s) + np.sum(s * s) / (2.0 * pace) for g, s in zip(gradients, steps))
            there = smooth(new)[0]
            if there <= value + bent + 1e-13 * abs(value):
                break
            pace *= 0.5
        total = there + rough(new)
        if total > best:
            momentum = 1.0
        settled = 0 if total < best - 1e-12 * abs(best) or best == np.inf else settled + 1
        best = min(best, total)
        grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead = [b + (momentum - 1.0) / grown * (b - a) for a, b in zip(v, new)]
        v, momentum, pace = new, grown, 1.02 * pace
    return best


def data_term(z, truth, soft, v):
    """Log loss or soft hinge of all chains, and its gradients for the weights of columns and of transitions."""
    node, edge = z @ v[0], v[1]
    heat = TEMPERATURE if soft else 1.0
    augmented = (node + (1.0 - truth) * soft) / heat
    ahead, back = np.empty_like(node), np.zeros_like(node)
    ahead[:, 0] = augmented[:, 0]
    for t in range(1, LENGTH):
        ahead[:, t] = augmented[:, t] + np.logaddexp.reduce(ahead[:, t - 1, :, None] + edge / heat, axis=1)
    for t in range(LENGTH - 2, -1, -1):
        follow = (augmented + back)[:, t + 1, None, :] + edge / heat
        back[:, t] = np.logaddexp.reduce(follow, axis=2)
    log_z = np.logaddexp.reduce(ahead[:, -1], axis=1)
    marginals = np.exp(ahead + back - log_z[:, None, None])
    pairs = np.exp(
        ahead[:, :-1, :, None] + edge / heat + (augmented + back)[:, 1:, None, :] - log_z[:, None, None, None]
    )
    true_pairs = np.einsum("itj,itk->jk", truth[:, :-1], truth[:, 1:])
    value = heat * log_z.sum() - np.sum(truth * node) - np.sum(true_pairs * edge)
    return value, [np.einsum("ita,itk->ak", z, marginals - truth), pairs.sum(axis=(0, 1)) - true_pairs]


CASES = [f"{loss}, {name}" for loss in LOSSES for name in (*SCALES, "year")]

BENCHMARK = Benchmark(
    name="scaling",
    doc=__doc__,
    main_phase="train",
    sides={
        "palmette": palmette_side(palmette),
        "reference": Side(reference, imports=("numpy",), package="numpy"),
    },
    targets=[
        *(Target(f"{case}: objective relative difference", "<=", TOL) for case in CASES),
        *(Target(f"{case}: proven relative gap", "<=", TOL) for case in CASES),
    ],
)
