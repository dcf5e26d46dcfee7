"""Parameters of learners: few, typed, and the rare ones in objects that searches reach into."""

import inspect
import io
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import palmette
from palmette import (
    CRF,
    CRFCV,
    SSVM,
    SSVMCV,
    Chain,
    Encoding,
    KernelOptions,
    LossOptions,
    Perceptron,
    PlackettLuce,
    PlackettLuceCV,
)  # fmt: skip
from palmette.datasets import make_tagging
from palmette.kernels import RBF

SETTINGS = {"encoding": Encoding, "kernel_options": KernelOptions, "loss_options": LossOptions}
LABELLED = (CRF, SSVM, Perceptron, CRFCV, SSVMCV)
OTHERS = (PlackettLuce, PlackettLuceCV)
MOVED = [
    (kind, place, name)
    for kind in (*LABELLED, *OTHERS)
    for place, settings in SETTINGS.items()
    if place in inspect.signature(kind).parameters
    for name in inspect.signature(settings).parameters
    if name != "edge_kernel" or kind in (SSVM, SSVMCV)  # which alone take one
]
X, Y = make_tagging(n_samples=24, random_state=0)


def made(kind, **options):
    return kind(Chain(), **options) if kind in LABELLED else kind(**options)


@pytest.mark.parametrize("kind", (*LABELLED, *OTHERS))
def test_few_parameters(kind):
    names = set(inspect.signature(kind).parameters) - {"l2s", "cv", "scoring", "search_tol"}  # of searches
    objects = {"regularizer", *SETTINGS}
    assert len(names - objects) <= 22, "everyday parameters"
    assert len(names & objects) <= 4
    assert set(made(kind).get_params(deep=False)) == set(inspect.signature(kind).parameters)


@pytest.mark.parametrize("kind", (CRF, SSVM, Perceptron, PlackettLuce))
def test_help_fits_on_a_screen(kind):
    text = inspect.getdoc(kind)
    assert text.count("\n") + 2 <= 60, "with the signature"
    assert ">>> " in text
    described = text.split("Attributes\n---")[0]
    for name in inspect.signature(kind).parameters:
        assert name in described, f"{name} is not described"


def test_plain_learners_share_the_parameters_of_searches():
    for tuned, plain in ((CRFCV, CRF), (SSVMCV, SSVM), (PlackettLuceCV, PlackettLuce)):
        own, known = (inspect.signature(kind).parameters for kind in (tuned, plain))
        assert set(own) - {"l2s", "cv", "scoring", "search_tol"} == set(known) - {"l2", "C", "warm_start"}
        assert all(own[name].default == known[name].default for name in set(own) & set(known) - {"structure"})


@pytest.mark.parametrize(("kind", "place", "name"), MOVED)
def test_old_names_say_where_they_are_now(kind, place, name):
    message = rf"{name} moved: {kind.__name__}\({place}={SETTINGS[place].__name__}\({name}=3\)\)"
    with pytest.raises(TypeError, match=message):
        made(kind, **{name: 3})
    learner = made(kind)
    with pytest.raises(TypeError, match=message):
        learner.set_params(**{name: 3})
    learner.set_params(**{f"{place}__{name}": 3})
    assert getattr(getattr(learner, place), name) == learner.get_params()[f"{place}__{name}"] == 3
    assert getattr(made(kind), place) is None, "other learners keep their defaults"


def test_names_that_are_gone_or_never_were():
    for act in (lambda: SSVM(Chain(), edge_weight=2.0), lambda: SSVM(Chain()).set_params(edge_weight=2.0)):
        with pytest.raises(TypeError, match=r"edge_weight=2.0 is gone: l2_edge = l2 / edge_weight"):
            act()
    for kind in (CRF, Perceptron, CRFCV, PlackettLuce):
        with pytest.raises(
            TypeError, match=r"edge_kernel is for the hinge: SSVM\(kernel=..., kernel_options=Kernel"
        ):
            made(kind, edge_kernel="rbf")
    with pytest.raises(TypeError, match=r"CRF\(\) got an unexpected keyword argument 'temperature'"):
        CRF(Chain(), temperature=0.1)
    with pytest.raises(ValueError, match="Invalid parameter 'minimum' for estimator Encoding"):
        CRF(Chain()).set_params(encoding__minimum=2)
    with pytest.raises(ValueError, match="Invalid parameter 'loss_options'"):
        CRF(Chain()).set_params(loss_options__temperature=2)
    with pytest.raises(TypeError, match=r"encoding must be a palmette.Encoding, got \{'min_count': 2\}"):
        CRF(Chain(), encoding={"min_count": 2}).fit(X, Y)


@pytest.mark.parametrize("kind", (*LABELLED, *OTHERS))
def test_clones_have_settings_of_their_own(kind):
    learner = made(kind, encoding=Encoding(min_count=2))
    twin = clone(learner).set_params(encoding__min_count=5)
    assert learner.encoding.min_count == 2 and twin.encoding.min_count == 5
    assert clone(twin).encoding == twin.encoding != learner.encoding
    assert twin.set_params(encoding=None, encoding__n_hash=7).encoding == Encoding(n_hash=7)
    assert clone(made(kind)).encoding is None


def test_searches_reach_into_settings():
    grid = {"encoding__min_count": [1, 4], "encoding__transitions": ["observed", "all"]}
    search = GridSearchCV(CRF(Chain(), tol=0.1, n_jobs=1), grid, cv=2).fit(X, Y)
    assert len(search.cv_results_["params"]) == 4 and set(search.best_params_) == set(grid)
    few, all_ = (len(CRF(Chain(), encoding=Encoding(min_count=n), tol=0.1).fit(X, Y).coef_) for n in (4, 1))
    assert few < all_
    best = search.best_estimator_
    assert best.encoding.min_count == search.best_params_["encoding__min_count"]
    soft = SSVM(Chain(), loss="soft_hinge", tol=0.1, n_jobs=1)
    search = GridSearchCV(soft, {"loss_options__temperature": [0.1, 1.0]}, cv=2).fit(X, Y)
    assert search.best_estimator_._surrogate(("a", "b")).temperature in (0.1, 1.0)


def test_settings_reach_the_fit_of_searching_learners():
    model = CRFCV(Chain(), l2s=[1.0, 0.1], cv=2, encoding=Encoding(min_count=4)).fit(X, Y)
    assert (
        model.encoder_.n_columns
        == CRF(Chain(), encoding=Encoding(min_count=4), tol=0.1).fit(X, Y).encoder_.n_columns
    )


def test_files_and_pickles_keep_settings():
    rows = [np.random.default_rng(n).normal(size=(4, 2)) for n in range(5)]
    labels = [["a" if x[0] > 0 else "b" for x in row] for row in rows]
    models = [
        CRF(Chain(), encoding=Encoding(min_count=2, transitions="observed"), tol=0.1).fit(X, Y),
        SSVM(Chain(), loss_options=LossOptions(rescaling="slack"), tol=0.1).fit(X, Y),
        SSVM(Chain(), kernel=RBF(0.5), kernel_options=KernelOptions(RBF(0.1), 100), tol=0.1).fit(
            rows, labels
        ),
    ]
    for model in models:
        file = io.BytesIO()
        model.save(file)
        inputs = rows if model.get_params()["kernel_options__cache_size"] == 100 else X
        for twin in (palmette.load(file), pickle.loads(pickle.dumps(model))):
            assert repr(twin) == repr(model) and twin.predict(inputs) == model.predict(inputs)


def test_functions_in_settings_are_given_again():
    rows = [np.random.default_rng(n).normal(size=(4, 2)) for n in range(5)]
    labels = [["a" if x[0] > 0 else "b" for x in row] for row in rows]
    edges = KernelOptions(edge_kernel=_product)
    model = SSVM(Chain(), kernel=RBF(0.5), kernel_options=edges, tol=0.1).fit(rows, labels)
    file = io.BytesIO()
    model.save(file)
    with pytest.raises(palmette.errors.ModelFileError, match="edge_kernel=_product"):
        palmette.load(file)
    assert palmette.load(file, edge_kernel=_product).predict(rows) == model.predict(rows)


def _product(a, b):
    return a @ b.T


def test_short_representations():
    for kind in LABELLED:
        assert repr(made(kind)) == f"{kind.__name__}(structure=Chain())"
    learner = SSVM(Chain(), encoding=Encoding(min_count=2), loss_options=LossOptions())
    short = "SSVM(encoding=Encoding(min_count=2), loss_options=LossOptions(), structure=Chain())"
    assert " ".join(repr(learner).split()) == short


def test_parts_take_multiples_of_the_usual_penalty():
    with pytest.raises(ValueError, match="l2_edge must be a number >= 0, or a multiple of the usual penalty"):
        CRF(Chain(), l2_edge="much").fit(X, Y)
    with pytest.raises(ValueError, match="l2_node must be a finite number >= 0, got -1"):
        CRF(Chain(), l2_node=-1).fit(X, Y)
    one, two = (CRF(Chain(), l2_edge=l2, tol=1e-6).fit(X, Y) for l2 in ("3x", 3.0))
    np.testing.assert_array_equal(one.coef_, two.coef_)
