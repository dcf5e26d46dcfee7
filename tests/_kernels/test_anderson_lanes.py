"""Extrapolations of eight iterations at once are those of each alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette._kernels.anderson import extrapolate
from palmette._kernels.anderson_lanes import MEMORY, extrapolate_lanes
from palmette._kernels.constants import LANES


class Run(NamedTuple):
    messages: np.ndarray
    before: np.ndarray
    last_f: np.ndarray
    last_g: np.ndarray
    df: np.ndarray
    dg: np.ndarray
    age: np.ndarray
    gram: np.ndarray
    sums: np.ndarray
    matrix: np.ndarray
    moving: np.ndarray

    @classmethod
    def of(cls, n):
        long, square = [n * LANES] * 4, MEMORY**2 * LANES
        history = [np.zeros(MEMORY * n * LANES, np.float32) for _ in range(2)]
        small = [LANES, square, 2 * MEMORY * LANES, square, LANES]
        return cls(*map(np.zeros, long), *history, *map(np.zeros, small))


def test_eight_iterations_at_once_are_eight_alone():
    """Linear maps of their own; lane 3 starts afresh on the way, lane 5 waits for some steps."""
    rng, n, low = np.random.default_rng(0), 70, 3
    maps = [0.5 * np.linalg.qr(rng.normal(size=(n, n)))[0] for _ in range(LANES)]
    shift = rng.normal(size=(LANES, n))
    run, x = Run.of(n + low), np.zeros((LANES, n))
    run.moving[:] = 1.0
    alone = [
        {"last_f": np.empty(n), "last_g": np.empty(n), "df": np.empty(MEMORY * n), "dg": np.empty(MEMORY * n),
         "gram": np.zeros((MEMORY, MEMORY)), "filled": 0, "steps": 0}
        for _ in range(LANES)
    ]  # fmt: skip
    state, before = run.messages.reshape(-1, LANES), run.before.reshape(-1, LANES)
    state[:low] = 7.0  # entries of others
    for turn in range(14):
        if turn == 6:
            alone[3].update(filled=0, steps=0)
            run.age[3] = 0.0
        run.moving[5] = float(not 4 <= turn < 8)
        if turn == 8:  # after the wait, from where it was, without a history
            alone[5].update(filled=0, steps=0)
            run.age[5], before[low:, 5] = 0.0, state[low:, 5]
        for lane in range(LANES):
            if run.moving[lane]:
                g, own = maps[lane] @ x[lane] + shift[lane], alone[lane]
                state[low:, lane] = g
                own["filled"] = extrapolate(x[lane], g, *own.values())
                own["steps"] += 1
        extrapolate_lanes(run, low, low + n, turn)
        np.testing.assert_allclose(state[low:].T, x, atol=1e-5)
        x[:] = state[low:].T  # single precision of the history does not add up
    assert np.all(state[:low] == 7.0)
    fixed = [np.linalg.solve(np.eye(n) - a, b) for a, b in zip(maps, shift)]
    assert np.max(abs(state[low:].T - fixed)) < 1e-2
