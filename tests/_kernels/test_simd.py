"""Vectors of eight: every operation against NumPy, and the chains built from them against the plain kernels."""

from __future__ import annotations

import platform

import numpy as np
import pytest
from numba import config

from palmette._kernels import constants, lanes, simd
from palmette._kernels import simd_moves as moves
from palmette._kernels.jit import kernel
from palmette.structures import Chain
from palmette.structures.positions.tables import ChainTables

pytestmark = pytest.mark.nojit
DTYPES = [np.float32, np.float64]


@kernel()
def elementwise(a, b, out):
    x, y = simd.load(a, 0), simd.load(b, 0)
    simd.store(out, 0, simd.add(x, y))
    simd.store(out, 8, simd.sub(x, y))
    simd.store(out, 16, simd.mul(x, y))
    simd.store(out, 24, simd.divide(x, y))
    simd.store(out, 32, simd.larger(x, y))
    simd.store(out, 40, simd.smaller(x, y))
    simd.store(out, 48, simd.fma(x, y, simd.spread(a, 3)))
    simd.store(out, 56, simd.sqrt(simd.mul(x, x)))
    simd.store(out, 64, simd.where_positive(x, y))
    simd.store(out, 72, simd.splat(out, 2.5))
    return simd.total(x), simd.largest(y)


@kernel()
def wide(a, b, out):
    x, y, w = simd.load_wide(a, 0), simd.load_wide(b, 0), simd.lanes_wide(a)
    simd.store(out, 0, simd.fma(x, y, simd.spread_wide(a, 3)))
    simd.store(out, w, simd.larger(x, simd.splat_wide(out, 0.5)))
    simd.store(out, 2 * w, simd.where_at_least(x, y, simd.add(x, y), simd.mul(x, y)))
    simd.store(out, 3 * w, simd.exp(x))
    return simd.total(x), simd.largest(y), w


@kernel()
def halve_with_denormals_as_zero(a, n):
    before = simd.flush_denormals()
    for _ in range(n):
        simd.store(a, 0, simd.mul(simd.load(a, 0), simd.splat(a, 0.5)))
    simd.restore_denormals(before)


@kernel()
def shifted(a, b, wide, out, octets):
    x, y, w = simd.load_wide(a, 0), simd.load_wide(b, 0), simd.lanes_wide(a)
    simd.store(out, 0, moves.moved(x, 1, y))
    simd.store(out, w, moves.moved(x, 4, y))
    simd.store(out, 2 * w, moves.moved(x, 32, y))
    simd.store(out, 3 * w, simd.larger(x, simd.add(x, y)))
    moves.store_larger(octets, 1, x, y)
    moves.fetch(a, 0)
    return moves.last(x)


@kernel()
def shifted_floats(a, b, wide, out):
    x, y, w = simd.load_wide(a, 0), simd.load_wide(b, 0), simd.lanes_wide(a)
    simd.store(out, 0, moves.moved_down(x, 1, y))
    simd.store(out, w, moves.moved_down(x, 4, y))
    simd.store(out, 2 * w, moves.spread_first(x))
    simd.store(out, 3 * w, moves.spread_last(x))
    simd.store(out, 4 * w, moves.load_as(wide, 1, a))
    simd.store(out, 5 * w, moves.sums_after(x))
    simd.store(out, 6 * w, moves.sums_before(x))
    moves.store_as(wide, 1, x)


@kernel()
def chosen(table, places, out):
    simd.store(out, 0, moves.looked_up(table, 3, simd.load_wide(places, 0)))


@kernel()
def dealt(source, step, out):
    moves.store_striped(source, 1, step, out, 2)


@kernel()
def exponentials(a, out):
    for i in range(0, len(a), 8):
        simd.store(out, i, simd.exp(simd.load(a, i)))


@kernel()
def logarithms(a, b, out):
    for i in range(0, len(a), 8):
        simd.store(out, i, simd.log_ratio(simd.load(a, i), simd.load(b, i)))


@kernel()
def masked(bits, a, out):
    simd.store(out, 0, simd.where_bits(bits[0], simd.load(a, 0)))


@kernel()
def bytes_times(octets, factors):
    return moves.weighted_bytes(moves.load_word(octets, 1), factors)


def test_bytes_are_weighted_modulo_a_power_of_two(rng):
    octets = rng.integers(0, 256, 9).astype(np.uint8)
    factors = rng.integers(2**63, 2**64, 8, dtype=np.uint64)
    exact = sum(int(byte) * int(factor) for byte, factor in zip(octets[1:], factors)) % 2**64
    assert int(bytes_times(octets, factors)) == exact


@pytest.mark.parametrize("dtype", DTYPES)
def test_operations(rng, dtype):
    a, b = rng.normal(size=(2, 8)).astype(dtype)
    out = np.empty(80, dtype)
    total, largest = elementwise(a, b, out)
    expected = [
        a + b, a - b, a * b, a / b, np.maximum(a, b), np.minimum(a, b), a * b + a[3], np.abs(a), np.where(a > 0, b, 0),
        np.full(8, 2.5),
    ]  # fmt: skip
    np.testing.assert_allclose(
        out, np.concatenate(expected), rtol=1e-6 if dtype == np.float32 else 1e-14, atol=1e-7
    )
    assert total == pytest.approx(float(a.sum()), abs=1e-5) and largest == b.max()


@pytest.mark.parametrize("dtype", DTYPES)
def test_wide_operations(rng, dtype):
    lanes = 64 // np.dtype(dtype).itemsize
    a, b = rng.normal(size=(2, lanes)).astype(dtype)
    out = np.empty(4 * lanes, dtype)
    total, largest, found = wide(a, b, out)
    expected = [a * b + a[3], np.maximum(a, dtype(0.5)), np.where(a >= b, a + b, a * b), np.exp(a)]
    near = 1e-6 if dtype == np.float32 else 1e-14
    np.testing.assert_allclose(out, np.concatenate(expected), rtol=near, atol=near)
    assert found == lanes and largest == b.max()
    assert total == pytest.approx(float(a.sum()), abs=1e-5)


@pytest.mark.parametrize("dtype", [*DTYPES, np.int16])
def test_lanes_move(rng, dtype):
    w = 64 // np.dtype(dtype).itemsize
    a, b = rng.integers(-9, 9, (2, w)).astype(dtype)
    wide, both = rng.integers(-9, 9, w + 1).astype(float), np.concatenate([b, a])
    out, octets = np.empty(7 * w, dtype), np.zeros(2 + w // 8, np.uint8)
    assert shifted(a, b, wide, out, octets) == a[-1]
    np.testing.assert_array_equal(
        out[: 4 * w], np.concatenate([both[w - 1 : -1], both[w - 4 : -4], b, np.maximum(a, a + b)])
    )
    np.testing.assert_array_equal(np.unpackbits(octets, bitorder="little")[8:-8], a > b)
    assert octets[0] == octets[-1] == 0
    if dtype != np.int16:
        given = wide.copy()
        shifted_floats(a, b, wide, out)
        both = np.concatenate([a, b])
        expected = [both[1 : w + 1], both[4 : w + 4], np.full(w, a[0]), np.full(w, a[-1]), given[1:]]
        expected += [a.sum() - np.cumsum(a), np.cumsum(a) - a]
        np.testing.assert_array_equal(out, np.concatenate(expected))
        np.testing.assert_array_equal(wide, np.concatenate([given[:1], a]))


def test_places_are_looked_up(rng):
    table, places = rng.integers(-9999, 9999, 40).astype(np.int16), rng.integers(0, 32, 32).astype(np.int16)
    out = np.empty(32, np.int16)
    chosen(table, places, out)
    np.testing.assert_array_equal(out, table[3 + places])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("given", DTYPES)
@pytest.mark.parametrize("step", [4, 7])
def test_lanes_are_dealt_out(rng, dtype, given, step):
    w = 64 // np.dtype(dtype).itemsize
    source, out = rng.integers(-9, 9, 1 + w * step).astype(given), np.zeros(4 * w + 3, dtype)
    dealt(source, step, out)
    np.testing.assert_array_equal(out[2:-1].reshape(4, w), source[1:].reshape(w, step)[:, :4].T)
    assert not out[:2].any() and out[-1] == 0


def test_denormals_count_as_zero_inside_only():
    tiny = np.finfo(np.float32).tiny
    a = np.full(8, tiny, np.float32)
    halve_with_denormals_as_zero(a, 1)
    if not config.DISABLE_JIT and platform.machine().lower() in ("x86_64", "amd64", "aarch64", "arm64"):
        assert not a.any()
    assert (np.full(8, tiny, np.float32) * np.float32(0.5)).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_exp_is_accurate_and_flushes_to_zero(dtype):
    single = dtype == np.float32
    a = np.linspace(-86 if single else -700, 85 if single else 700, 8 * 400).astype(dtype)
    out = np.empty_like(a)
    exponentials(a, out)
    np.testing.assert_allclose(out, np.exp(a.astype(float)), rtol=3e-7 if single else 4e-15)
    low = np.array([-1e30, -200.0 if single else -1e4, -np.inf, -89 if single else -709, 0, 0, 0, 0], dtype)
    out = np.empty(8, dtype)
    exponentials(low, out)
    assert not out[:4].any() and (out[4:] == 1.0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_logarithms_of_ratios_are_accurate(rng, dtype):
    a, near = rng.uniform(-80, 80, 4000), rng.normal(size=4000)
    a, b = np.exp(np.concatenate([a, a])).astype(dtype), np.exp(np.concatenate([a + near, -a])).astype(dtype)
    out = np.empty_like(a)
    logarithms(a, b, out)
    expected = np.log(a.astype(np.longdouble)) - np.log(b.astype(np.longdouble))
    eps = np.finfo(dtype).eps
    assert np.max(abs(out - expected) / np.maximum(1.0, abs(expected))) < 3 * eps
    logarithms(a, a, out)
    assert np.all(out == 0.0)
    logarithms(np.zeros(8, dtype), np.ones(8, dtype), out[:8])
    np.testing.assert_allclose(out[:8], np.log(float(np.finfo(dtype).tiny)), rtol=0.02)


@pytest.mark.parametrize("bits", [0, 1, 0b10100110, 255])
def test_bits_pick_lanes(bits):
    a, out = np.arange(1.0, 9.0), np.empty(8)
    masked(np.array([bits], np.uint8), a, out)
    np.testing.assert_array_equal(out, [a[k] if bits >> k & 1 else 0.0 for k in range(8)])


def padded(table, width, filler):
    out = np.full((*table.shape[:-1], width), filler)
    out[..., : table.shape[-1]] = table
    return out


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_labels", [1, 3, 8, 13, 22])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_chains_agree_with_the_plain_kernels(rng, dtype, n_labels, n):
    width = -(-n_labels // 8) * 8
    theta = ChainTables(
        rng.normal(size=(n, n_labels)), rng.normal(size=(1, n_labels, n_labels)), np.array([0, n])
    )
    node = padded(theta.node, width, constants.NEVER).astype(dtype).ravel()
    edge = padded(theta.edge[0], width, 0.0).astype(dtype).ravel()
    factor, factor_t, pairs = (np.zeros(width * width, dtype) for _ in range(3))
    alpha, pull = np.empty_like(node), np.empty_like(node)
    shift = lanes.exponentiate_edges(edge, n_labels, width, factor, factor_t)
    scores = node.copy()
    log_z = lanes.sum_chain(node, n, n_labels, width, factor, factor_t, alpha, pull) + (n - 1) * shift
    lanes.add_pairs(alpha, pull, n, n_labels, width, 1.0, pairs)
    expected = Chain().expectation(theta)
    near = dict(rtol=1e-4, atol=1e-5) if dtype == np.float32 else dict(rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(log_z, expected.log_z[0], **near)
    np.testing.assert_allclose(node.reshape(n, width)[:, :n_labels], expected.counts.node, **near)
    counted = (pairs * factor).reshape(width, width)[:n_labels, :n_labels]
    np.testing.assert_allclose(counted, expected.counts.edge[0], **near)

    path, edge_t = np.empty(n, np.int64), np.zeros(width * width, dtype)
    lanes.transpose(edge, n_labels, width, edge_t)
    value = lanes.best_chain(scores, n, n_labels, width, edge, edge_t, path)
    best = Chain().best(theta)
    np.testing.assert_array_equal(path, best.codes)
    assert value == pytest.approx(best.values[0], rel=1e-5)


def test_ties_go_to_the_lowest_codes():
    n, width = 4, 8
    node = padded(np.zeros((n, 3)), width, constants.NEVER).ravel()
    edge, edge_t = np.zeros(width * width), np.zeros(width * width)
    edge[0 * width + 0] = -1.0  # 0 0 is worse than the rest
    lanes.transpose(edge, 3, width, edge_t)
    path = np.empty(n, np.int64)
    assert lanes.best_chain(node, n, 3, width, edge, edge_t, path) == 0.0
    assert path.tolist() == [0, 1, 0, 1]


def test_numbers_out_of_range_are_noticed():
    node = np.zeros(16, np.float32)
    node[3:8] = node[11:16] = constants.NEVER
    node[0], node[9] = 200.0, 200.0  # label 0 first, label 1 next ...
    edge = np.zeros(64, np.float32)
    edge[:24] = 300.0
    edge[1] = -100.0  # ... and that pair all but forbidden
    factor, factor_t, alpha, pull = (np.zeros(64, np.float32) for _ in range(4))
    lanes.exponentiate_edges(edge, 3, 8, factor, factor_t)
    assert np.isnan(lanes.sum_chain(node, 2, 3, 8, factor, factor_t, alpha, pull))
