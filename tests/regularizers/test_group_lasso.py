"""The group lasso: its algebra against numerical minima, its bounds, and which weights make a group."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone
from toy_problems import BinaryLogistic, MulticlassHinge, MulticlassLogistic, make, objective

from palmette import CRF, Chain, Encoding, Graph, SemiMarkov
from palmette.objectives.certificate import CutPool
from palmette.objectives.elastic_dual import best_mean, best_share
from palmette.regularizers import ElasticNet, GroupedElasticNet, GroupLasso

seeds = st.integers(0, 2**32 - 1)
GROUP = np.array([0, 2, 0, 1, 2, 2, 3])


def random_penalty(rng, l2=True, l1=True, weights=7):
    """Groups of three, two and one weights, one of them without strength."""
    group = GROUP[:weights]
    n_groups = group.max() + 1
    strength = rng.uniform(0.2, 2.0, n_groups) * (np.arange(n_groups) != 1)
    return GroupedElasticNet(
        (rng.uniform(0.2, 2.0, n_groups) * (l2 or np.arange(n_groups) == 1))[group],
        rng.uniform(0.1, 1.0, weights) * l1,
        group,
        strength,
    )


def minimum(function, start, penalty):
    """Smallest value that a derivative-free search finds, from several starts and from points with zero groups."""
    best = np.inf
    for pattern in range(2 ** len(penalty.strength)):
        on = (pattern >> penalty.group) & 1 == 1

        def restricted(x, on=on):
            w = np.zeros(len(start))
            w[on] = x
            return function(w)

        if on.any():
            best = min(best, minimize(restricted, start[on] + 0.1, method="BFGS", options={"gtol": 1e-9}).fun)
        else:
            best = min(best, function(np.zeros(len(start))))
    return best


# ------------------------------------------------------------------------------------------------- algebra


def test_value_by_definition(rng):
    reg, w = random_penalty(rng), rng.normal(size=7)
    groups = sum(s * np.linalg.norm(w[reg.group == g]) for g, s in enumerate(reg.strength))
    assert reg.value(w) == pytest.approx(ElasticNet(reg.l2, reg.l1).value(w) + groups)
    np.testing.assert_allclose(reg.norms(w), [np.linalg.norm(w[reg.group == g]) for g in range(4)])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("l1", [False, True])
def test_prox_is_the_minimiser(seed, l1):
    rng = np.random.default_rng(seed)
    reg, v, d = random_penalty(rng, l1=l1), 2.0 * rng.normal(size=7), rng.uniform(0.3, 3.0)

    def proximal(w):
        return d / 2 * np.sum((w - v) ** 2) + reg.value(w)

    found = reg.prox(v, d)
    assert proximal(found) <= minimum(proximal, v, reg) + 1e-7


@given(seed=seeds, l1=st.booleans(), l2=st.booleans())
def test_prox_satisfies_the_subgradient_condition(seed, l1, l2):
    rng = np.random.default_rng(seed)
    reg, v, d = random_penalty(rng, l1=l1, l2=l2), 3.0 * rng.normal(size=7), rng.uniform(0.1, 10.0)
    w = reg.prox(v, d)
    np.testing.assert_allclose(reg.min_norm_subgradient(w, d * (w - v)), 0.0, atol=1e-12)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("l1", [False, True])
def test_conjugate_is_a_minimum(seed, l1):
    rng = np.random.default_rng(seed)
    reg, g = random_penalty(rng, l1=l1), 2.0 * rng.normal(size=7)

    def penalised(w):
        return float(g @ w) + reg.value(w)

    assert reg.dual_value(g) == pytest.approx(-minimum(penalised, -g, reg), abs=1e-7)
    lowest = -reg.excess(g) / reg.l2
    assert penalised(lowest) == pytest.approx(-reg.dual_value(g))


def test_conjugate_without_l2_is_the_dual_ball():
    reg = GroupedElasticNet(np.zeros(3), np.array([0.0, 0.0, 1.0]), [0, 0, 1], [5.0, 2.0])
    assert reg.dual_value(np.array([3.0, 4.0, -3.0])) == 0.0
    assert reg.dual_value(np.array([3.0, 4.01, 0.0])) == np.inf
    assert reg.dual_value(np.array([0.0, 0.0, 3.01])) == np.inf
    assert reg.largest_share(np.array([6.0, 8.0, 0.0])) == pytest.approx(0.5)
    assert reg.largest_share(np.array([0.0, 0.0, 6.0])) == pytest.approx(0.5)
    assert reg.largest_share(np.array([1.0, 0.0, 0.1])) == 1.0


@given(seeds)
def test_shortest_subgradient(seed):
    """It is a subgradient, and no other is shorter: checked against random ones of the penalty."""
    rng = np.random.default_rng(seed)
    reg, g = random_penalty(rng), rng.normal(size=7)
    w = rng.normal(size=7) * (rng.random(7) < 0.6) * (rng.random(4) < 0.6)[reg.group]
    found = reg.min_norm_subgradient(w, g)
    for _ in range(20):  # a subgradient s of R at w: R(x) >= R(w) + <s, x - w> for all x
        x = w + rng.normal(size=7) * 10.0 ** rng.uniform(-3, 1)
        assert reg.value(x) >= reg.value(w) + (found - g) @ (x - w) - 1e-9
    box = np.where(w == 0.0, rng.uniform(-1, 1, 7), np.sign(w)) * reg.l1
    ball = rng.normal(size=7)
    norms = reg.norms(ball)
    unit = np.where(norms > 0, rng.uniform(0, 1, 4) / np.where(norms > 0, norms, 1), 0.0)
    at_zero = reg.norms(w) == 0.0
    own = np.where(at_zero, 0.0, 1.0 / np.where(at_zero, 1.0, reg.norms(w)))[reg.group] * w
    direction = np.where(at_zero[reg.group], ball * unit[reg.group], own)
    other = g + reg.l2 * w + box + reg.strength[reg.group] * direction
    assert np.linalg.norm(found) <= np.linalg.norm(other) + 1e-12


@given(seed=seeds, l1=st.booleans())
def test_derivatives_of_the_conjugate(seed, l1):
    """First and second derivatives along cuts, by finite differences away from the kinks."""
    rng = np.random.default_rng(seed)
    reg, g, rows = random_penalty(rng, l1=l1), 3.0 * rng.normal(size=7), rng.normal(size=(3, 7))
    model = reg.dual_model(rows)
    (value, slope), root = model.slope(g), model.root(g)
    curvature = root @ root.T
    assert value == pytest.approx(reg.dual_value(g))
    h = 1e-5
    near = [reg.excess(g + s * h * row) != 0.0 for row in rows for s in (-1, 1)]
    if any(np.any(mask != (reg.excess(g) != 0.0)) for mask in near):
        return  # a kink is within reach
    steps = [model.slope(g + s * h * row) for row in rows for s in (-1, 1)]
    for k in range(3):
        low, high = steps[2 * k], steps[2 * k + 1]
        assert slope[k] == pytest.approx((high[0] - low[0]) / (2 * h), rel=1e-4, abs=1e-6)
        np.testing.assert_allclose(curvature[k], (high[1] - low[1]) / (2 * h), rtol=1e-3, atol=1e-4)


@given(seeds)
def test_groups_of_one_are_l1(seed):
    rng = np.random.default_rng(seed)
    l2, l1 = rng.uniform(0.1, 2.0, 5), rng.uniform(0.0, 2.0, 5)
    lasso, groups = ElasticNet(l2, l1), GroupedElasticNet(l2, np.zeros(5), np.arange(5), l1)
    w, g = rng.normal(size=5) * (rng.random(5) < 0.5), 2 * rng.normal(size=5)
    assert groups.value(w) == pytest.approx(lasso.value(w))
    assert groups.dual_value(g) == pytest.approx(lasso.dual_value(g))
    np.testing.assert_allclose(groups.prox(g, 0.7), lasso.prox(g, 0.7), atol=1e-12)
    np.testing.assert_allclose(
        groups.min_norm_subgradient(w, g), lasso.min_norm_subgradient(w, g), atol=1e-12
    )
    rows = rng.normal(size=(4, 5))
    models = groups.dual_model(rows), lasso.dual_model(rows)
    for ours, theirs in zip(*(model.slope(g) for model in models)):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    ours, theirs = (model.root(g) for model in models)
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-12)
    offsets, start = rng.uniform(0.0, 3.0, 4), np.zeros(4)
    ours, theirs = (best_mean(reg, offsets, rows, start, 1.0)[1] for reg in (groups, lasso))
    assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-9)


def test_what_it_says_about_itself(rng):
    reg = random_penalty(rng, l2=False, l1=False)
    assert not reg.separable and not reg.quadratic and not reg.strongly_convex
    plain = GroupedElasticNet(np.ones(3), np.zeros(3), [0, 0, 1], [0.0, 0.0])
    assert plain.separable and plain.quadratic
    assert GroupedElasticNet(np.zeros(3), np.zeros(3), [0, 0, 1], [1.0, 0.0]).unpenalised.tolist() == [2]
    assert pickle.loads(pickle.dumps(reg)).same_as(reg) and not reg.same_as(plain)
    assert not reg.same_as(ElasticNet(reg.l2, reg.l1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"group": [0, 1]}, "one group for each of the 3 weights"),
        ({"group": [0, 0, 2]}, r"group\[2\] is 2, but groups are 0..1"),
        ({"group": [0, -1, 1]}, r"group\[1\] is -1"),
        ({"strength": [1.0, np.nan]}, r"strength\[1\] is nan"),
        ({"strength": [-1.0, 1.0]}, r"strength\[0\] is -1.0"),
        ({"l2": [1.0, 2.0, 1.0]}, r"same all over a group"),
        ({"l1": [1.0, -2.0, 1.0]}, r"l1\[1\] is -2.0"),
    ],
)
def test_bad_groups(change, message):
    given_ = {"l2": [1.0] * 3, "l1": [0.0] * 3, "group": [0, 0, 1], "strength": [1.0, 1.0]}
    with pytest.raises(ValueError, match=message):
        GroupedElasticNet(**(given_ | change))


# -------------------------------------------------------------------------------------------------- bounds


@pytest.mark.parametrize("kind", [BinaryLogistic, MulticlassLogistic, MulticlassHinge])
@given(seed=seeds, l2=st.sampled_from([0.0, 0.3]), l1=st.sampled_from([0.0, 0.5]), n_cuts=st.integers(1, 8))
def test_bound_holds_everywhere_and_never_falls(kind, seed, l2, l1, n_cuts):
    rng = np.random.default_rng(seed)
    problem = make(kind, rng, n=12, n_features=3, l2=l2, l1=l1)
    group = rng.integers(0, 3, problem.n_params)
    problem.regularizer = GroupedElasticNet(
        problem.regularizer.l2, problem.regularizer.l1, group, rng.uniform(0.5, 5.0, 3)
    )
    pool, bounds = CutPool(problem.regularizer, 4), []
    for _ in range(n_cuts):
        w = rng.normal(size=problem.n_params) * 10.0 ** rng.uniform(-2, 1)
        pool.add(*problem.loss(w), w)
        bounds.append(pool.lower_bound())
    assert bounds == sorted(bounds) and bounds[-1] >= 0.0
    for _ in range(20):
        w = rng.normal(size=problem.n_params) * 10.0 ** rng.uniform(-3, 1)
        assert bounds[-1] <= objective(problem, w) * (1.0 + 1e-12)


@given(seed=seeds, l2=st.booleans(), l1=st.booleans())
def test_best_share_of_one_cut(seed, l2, l1):
    rng = np.random.default_rng(seed)
    reg, g, offset = random_penalty(rng, l2, l1), 3.0 * rng.normal(size=7), rng.uniform(0.0, 5.0)
    share, value = best_share(reg, offset, g)
    assert 0.0 <= share <= 1.0
    grid = [s * offset - reg.dual_value(s * g) for s in np.linspace(0.0, 1.0, 200)]
    assert value >= max(grid) - 1e-9


# ------------------------------------------------------------------------------------------------ grouping


X = [[["w:the", "p=D", "bias"], ["w:dog", "p=N", "bias"]], [["w:dog", "p=N"], ["w:barks", "p=V", "s=a:b"]]]
Y = [["D", "N"], ["N", "V"]]


def fitted(regularizer=None, **options):
    return CRF(Chain(), regularizer=regularizer, **options).fit(X, Y)


def test_groups_by_template_attribute_and_list():
    model = fitted()
    by_template = GroupLasso(1.0).groups(model.scorer_, model.encoder_)
    assert list(by_template) == ["w", "p", "bias", "s", "(edge)"]
    names = np.array(model.encoder_.feature_names)
    column = model.scorer_.coordinates()[0]
    assert {str(n) for n in names[column[by_template["w"]]]} == {"w:the", "w:dog", "w:barks"}
    np.testing.assert_array_equal(by_template["(edge)"], np.arange(model.scorer_.n_params)[-9:])
    together = np.sort(np.concatenate(list(by_template.values())))
    np.testing.assert_array_equal(together, np.arange(model.scorer_.n_params))
    by_attribute = GroupLasso(1.0, by="attribute").groups(model.scorer_, model.encoder_)
    assert list(by_attribute) == [*names, "(edge)"]
    own = GroupLasso(1.0, by=["a" if k % 2 else "b" for k in range(len(names))])
    assert set(own.groups(model.scorer_, model.encoder_)) == {"a", "b", "(edge)"}


def test_groups_of_arrays_and_intercepts(rng):
    x = [rng.normal(size=(4, 3)) for _ in range(5)]
    y = [list("abab") for _ in range(5)]
    model = CRF(Chain()).fit(x, y)
    for by in ("template", "attribute"):
        groups = GroupLasso(1.0, by=by).groups(model.scorer_, model.encoder_)
        assert list(groups) == [0, 1, 2, "(bias)", "(edge)"]
        assert groups[1].tolist() == [2, 3] and len(groups["(bias)"]) == 2 and len(groups["(edge)"]) == 4
    assert set(GroupLasso(1.0, by=np.array([7, 7, 8])).groups(model.scorer_, model.encoder_)) == {
        7, 8, "(bias)", "(edge)",
    }  # fmt: skip


def test_edge_features_are_groups_of_their_own():
    model = fitted(edge_features="all")
    groups = GroupLasso(1.0).groups(model.scorer_, model.encoder_)
    assert {"w", "w (edge)", "p (edge)", "(edge)"} <= set(groups)
    blocks = model.scorer_.blocks
    assert all(blocks["edge_features"].start <= j < blocks["edge_features"].stop for j in groups["w (edge)"])
    together = np.sort(np.concatenate(list(groups.values())))
    np.testing.assert_array_equal(together, np.arange(model.scorer_.n_params))


def test_strength_is_scaled_by_the_root_of_the_size():
    model = fitted()
    plain = ElasticNet(np.ones(model.scorer_.n_params), np.zeros(model.scorer_.n_params))
    lasso = GroupLasso(0.3)
    bound = lasso.bind(plain, model.scorer_, model.encoder_)
    sizes = [len(group) for group in lasso.groups(model.scorer_, model.encoder_).values()]
    np.testing.assert_allclose(bound.strength, 0.3 * np.sqrt(sizes))


def test_a_useless_template_leaves_as_a_whole(rng):
    x = [[[f"w:{k}", f"noise:{rng.integers(30)}"] for k in rng.integers(0, 3, 6)] for _ in range(40)]
    y = [[position[0] for position in sample] for sample in x]
    model = CRF(Chain(), l2=0.01, regularizer=GroupLasso(0.5)).fit(x, y)
    groups = GroupLasso(0.5).groups(model.scorer_, model.encoder_)
    assert not model.coef_[groups["noise"]].any() and model.coef_[groups["w"]].all()
    assert model.score(x, y) == 1.0 and model.result_.reason == "gap"
    n_columns = model.encoder_.n_columns
    assert model.prune().encoder_.n_columns == 3 < n_columns


def test_hashed_features_have_no_templates():
    with pytest.raises(ValueError, match=r"hashed features keep no names.*by='attribute'"):
        fitted(GroupLasso(0.1), encoding=Encoding(n_hash=64))
    assert fitted(GroupLasso(0.1, by="attribute"), encoding=Encoding(n_hash=64)).result_.converged


def test_segments_have_a_group_for_each_other_kind_of_weight():
    model = CRF(SemiMarkov(max_length=2)).fit(X, [["B-D", "B-N"], ["B-N", "I-N"]])
    groups = GroupLasso(0.1).groups(model.scorer_, model.encoder_)
    assert {"w", "p", "(edge)", "(begin)", "(end)", "(length)"} <= set(groups)


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, "1", None, True])
def test_bad_weights(weight):
    with pytest.raises(ValueError, match="weight must be a finite number >= 0"):
        GroupLasso(weight)


@pytest.mark.parametrize(("by", "error"), [("templates", ValueError), (3, TypeError), (None, TypeError)])
def test_bad_grouping(by, error):
    with pytest.raises(error, match="'template', 'attribute' or one group name for each column"):
        GroupLasso(1.0, by=by)


def test_list_of_another_length():
    with pytest.raises(ValueError, match="groups for 2 columns, but the features have"):
        fitted(GroupLasso(1.0, by=["a", "b"]))


def test_is_a_parameter_object():
    lasso = clone(GroupLasso(2.5, by="attribute"))
    assert (lasso.weight, lasso.by) == (2.5, "attribute")
    assert repr(GroupLasso(2.5)) == "GroupLasso(weight=2.5)"


def test_features_of_the_edges_of_graphs_are_groups_too():
    X = [([["a", "b"], ["a"], ["b"]], [(0, 1), (1, 2)], [["x"], ["y"]]), ([["a"], ["b"]], [(1, 0)], [["y"]])]
    Y = [[0, 1, 1], [0, 1]]
    model = CRF(Graph(), l2=0.1, regularizer=GroupLasso(0.2, by="attribute")).fit(X, Y)
    groups = GroupLasso(0.2, by="attribute").groups(model.scorer_, model.encoder_)
    assert list(groups) == ["a", "b", "(edge)", "edge x (edge)", "edge y (edge)"]
    assert sorted(np.concatenate(list(groups.values()))) == list(range(model.scorer_.n_params))
    everything = CRF(Graph(), l2=0.1, regularizer=GroupLasso(50.0, by="attribute")).fit(X, Y)
    assert not everything.coef_.any()
