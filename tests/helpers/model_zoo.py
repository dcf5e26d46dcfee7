"""A small fitted model of every kind that a model file can hold, and how to ask it."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from palmette import (
    CRF,
    SORR,
    SORRCV,
    SOSC,
    SOSCCV,
    SSVM,
    Chain,
    Encoding,
    Graph,
    Hierarchy,
    KernelOptions,
    LossOptions,
    Multiclass,
    Perceptron,
    PlackettLuce,
    Ranking,
    SemiMarkov,
)
from palmette.apps.ranking import Ranker
from palmette.apps.tagging.columns import read_columns
from palmette.apps.tagging.tagger import Tagger
from palmette.apps.tagging.templates import Template
from palmette.compat import CRF as DropIn
from palmette.data import read_letor
from palmette.features import ColumnSentences
from palmette.kernels import (
    RBF,
    Blurred,
    CommonPath,
    Directions,
    Hamming,
    Joined,
    Linear,
    NGram,
    Nystroem,
    Polynomial,
    Transformed,
)
from palmette.losses import NDCG
from palmette.outputs import CandidateOutputs
from palmette.regularizers import Decomposition, GroupLasso
from palmette.structures import Agreement, AtMostOne, Clique, GraphInput, Parity

RNG = np.random.default_rng(5)
WORDS = [[["w=a", "x"], ["w=b"], ["w=a"]], [["w=b", "x"], ["w=c"]], [["w=c"], ["w=a"], ["w=b"], ["w=c", "x"]]]
TAGS = [["B", "I", "O"], ["B", "O"], ["O", "B", "I", "O"]]
SEGMENTS = [[(0, 2, "P")], [(0, 1, "P")], [(1, 3, "P")]]
DENSE = [RNG.normal(size=(len(y), 4)).round(2) for y in TAGS]
SPARSE = [sparse.csr_array(np.where(RNG.random(x.shape) < 0.6, x, 0.0)) for x in DENSE]
ITEMS, CLASSES = RNG.normal(size=(9, 4)).round(2), list("abcabcabc")
GRADES = [[0, 2, 1], [0, 1], [1, 0, 0, 2]]
LETOR = "2 qid:1 1:0.5 2:1\n0 qid:1 2:0.25\n1 qid:2 1:1\n0 qid:2 1:0 2:3\n"
COLUMNS = "the D B\ndog N I\nran V O\n\na D B\ncat N I\n\ndog N B\n"
TEMPLATE = 'U0:%x[0,0]\nU1:%x[-1,0]/%x[0,1]\nU2:%m[0,0,"^."]/%x[1,1]/%s[0,0,1]\nB\nB1:%x[0,1]\n'
SENTENCES = [[tuple(line.split()[:2]) for line in part.splitlines()] for part in COLUMNS.split("\n\n")]
LABELS = [[line.split()[2] for line in part.splitlines()] for part in COLUMNS.split("\n\n")]
STRINGS, PATHS = ["abab", "bca", "cab", "aab"], ["a.x", "a.y", "b"] * 3
EDGES = [[(0, 1), (1, 2)], [(0, 1)], [(0, 1), (1, 2), (2, 3), (3, 0)]]


def graphs(nodes: list, **more: list) -> list[GraphInput]:
    return [GraphInput(x, EDGES[i], **{k: v[i] for k, v in more.items()}) for i, x in enumerate(nodes)]


def segment_features(x: Any, start: int, stop: int) -> list[str]:
    return [f"n={stop - start}"]


class Kind(NamedTuple):
    """How to make a model, how to ask one read from a file, and what ``load`` has to be given."""

    make: Callable[[], Any]
    ask: Callable[[Any], Any]
    given: Mapping[str, Any] = MappingProxyType({})


def plain(model: Any, X: Any, y: Any, **given: Any) -> Kind:
    def ask(loaded: Any) -> Any:
        return loaded.predict(X)

    return Kind(lambda: model.fit(X, y), ask, given)


def with_marginals(model: Any, X: Any, y: Any) -> Kind:
    def ask(loaded: Any) -> Any:
        return loaded.predict(X), loaded.predict_marginals(X), loaded.predict_nbest(X, 2)

    return Kind(lambda: model.fit(X, y), ask)


def tagger(**options: Any) -> Kind:
    text = read_columns("-", stream=io.StringIO(COLUMNS))

    def ask(loaded: Any) -> Any:
        return Tagger.from_model(loaded, "the file").predict(SENTENCES)

    return Kind(lambda: Tagger.train(text, max_iter=5, **options), ask)


def ranker() -> Kind:
    queries = read_letor("-", stream=io.StringIO(LETOR))
    return Kind(
        lambda: Ranker.train(queries, algorithm="plackett-luce"),
        lambda loaded: Ranker.from_model(loaded, "the file").scores(queries),
    )


def kinds() -> dict[str, Kind]:
    """All of them, not fitted yet."""
    columns = ColumnSentences(SENTENCES, Template.parse(TEMPLATE))
    types = {
        "node_types": [["p", "q", "p"], ["q", "p"], ["p", "p", "q", "q"]],
        "edge_types": [["e", "f"], ["f"], ["e"] * 4],
    }
    edge_features = {"edge_features": [RNG.normal(size=(len(e), 2)).round(2) for e in EDGES]}
    named_edges = {"edge_features": [[["same"]] * len(e) for e in EDGES]}
    factors = {
        "factors": [
            [Clique([0, 1, 2]), Parity([0, 1], "B")],
            [Agreement([0, 1])],
            [Clique([[0, 1, 2], [1, 2, 3]]), AtMostOne([0, 2], "I"), Agreement([0, 1, 2, 3])],
        ]
    }
    own = [GraphInput(x[:2], [(0, 1)]) for x in DENSE]
    short = [y[:2] for y in TAGS]
    return {
        "crf chain names": with_marginals(CRF(Chain()), WORDS, TAGS),
        "crf chain dense": with_marginals(CRF(Chain()), DENSE, TAGS),
        "crf chain sparse": plain(CRF(Chain(), classes=["B", "I", "O"]), SPARSE, TAGS),
        "crf chain hashed": plain(CRF(Chain(), encoding=Encoding(n_hash=11), l1=0.5), WORDS, TAGS),
        "crf chain allowed": plain(CRF(Chain(allowed="IOB2")), WORDS, TAGS),
        "crf chain pairs": plain(CRF(Chain(allowed=[("B", "I"), ("I", "O"), ("B", "O"), ("O", "B")])), WORDS, TAGS),
        "crf second order": with_marginals(CRF(Chain(order=2)), WORDS, TAGS),
        "crf edge features": plain(CRF(Chain(), edge_features=["w="]), WORDS, TAGS),
        "crf edge features dense": plain(CRF(Chain(order=2), edge_features=[0, 2]), DENSE, TAGS),
        "crf columns": plain(CRF(Chain(), edge_features=["B"]), columns, LABELS),
        "crf hashed columns": plain(CRF(Chain(), encoding=Encoding(n_hash=13)), columns, LABELS),
        "crf pieces": plain(
            CRF(Chain(), regularizer=[Decomposition(2.0), GroupLasso(0.1, "attribute")], max_iter=5), WORDS, TAGS
        ),
        "crf items": with_marginals(CRF(Multiclass()), ITEMS, CLASSES),
        "ssvm items": plain(SSVM(Multiclass(), task_loss=1.0 - np.eye(3)), ITEMS, CLASSES),
        "ssvm chain": plain(SSVM(Chain(), max_iter=5), WORDS, TAGS),
        "ramp items": plain(SSVM(Multiclass(), loss="ramp", max_iter=5), ITEMS, CLASSES),
        "perceptron chain": plain(Perceptron(Chain(), max_iter=3), SPARSE, TAGS),
        "crf segments": plain(CRF(SemiMarkov(3)), WORDS, SEGMENTS),
        "crf segments dense": plain(CRF(SemiMarkov({"P": 2, None: 1})), DENSE, SEGMENTS),
        "crf segment features": plain(
            CRF(SemiMarkov(3, segment_features)), WORDS, SEGMENTS, segment_features=segment_features
        ),
        "perceptron segments": plain(Perceptron(SemiMarkov(2), max_iter=3), WORDS, TAGS),
        "crf graph": with_marginals(CRF(Graph()), graphs(WORDS), TAGS),
        "crf graph types": plain(CRF(Graph(symmetric=["e"])), graphs(DENSE, **types), TAGS),
        "crf graph edges": plain(CRF(Graph(symmetric=True)), graphs(DENSE, **edge_features), TAGS),
        "crf graph named edges": plain(CRF(Graph()), graphs(WORDS, **named_edges), TAGS),
        "ssvm graph factors": plain(SSVM(Graph(), max_iter=5), graphs(WORDS, **factors), TAGS),
        "crf graph own": plain(CRF(Graph(parameters="own")), own, short),
        "crf hierarchy": with_marginals(CRF(Hierarchy(["a.x", "a.y", "b", "c.z"])), ITEMS, ["a.x", "a.y", "b"] * 3),
        "ssvm subtrees": plain(
            SSVM(Hierarchy({"a": ["x", "y"]}, inner_ends=True, multi_label=True), max_iter=5),
            ITEMS, [[("a", "x")], [("a", "x"), ("a", "y")], [("a",)]] * 3,
        ),
        "ssvm ranking": plain(SSVM(Ranking(), task_loss=NDCG(2), max_iter=5), DENSE, GRADES),
        "plackett-luce": plain(PlackettLuce(), SPARSE, GRADES),
        "kernel chain": plain(SSVM(Chain(), kernel=RBF(0.5), max_iter=5), DENSE, TAGS),
        "kernel sparse": plain(SSVM(Chain(), kernel=Polynomial(2), max_iter=5), SPARSE, TAGS),
        "kernel second order": plain(SSVM(Chain(order=2), kernel=Linear(), max_iter=5), WORDS, TAGS),
        "kernel items": plain(SSVM(Multiclass(), kernel="poly", max_iter=5), ITEMS, CLASSES),
        "kernel precomputed": plain(SSVM(Multiclass(), kernel="precomputed"), ITEMS @ ITEMS.T, CLASSES),
        "kernel images": plain(
            SSVM(Chain(), kernel=Transformed(Directions((2, 2), n_directions=3), RBF()), max_iter=5), DENSE, TAGS
        ),
        "kernel edges": plain(
            SSVM(
                Chain(), kernel=RBF(0.5), max_iter=5,
                kernel_options=KernelOptions(edge_kernel=Transformed(Blurred((2, 4)), RBF())),
            ), DENSE, TAGS
        ),
        "kernel graph": plain(
            SSVM(Graph(), kernel=RBF(0.5), kernel_options=KernelOptions(edge_kernel=RBF(0.1)), max_iter=5),
            graphs(DENSE, **edge_features), TAGS
        ),
        "kernel graph weights": plain(
            SSVM(Graph(), kernel=RBF(0.5), max_iter=5), graphs(DENSE, **edge_features), TAGS
        ),
        "kernel slack": plain(
            SSVM(Chain(), kernel=RBF(0.5), loss_options=LossOptions(rescaling="slack"), max_iter=5), DENSE, TAGS
        ),
        "nystroem": plain(SSVM(Chain(), kernel=Nystroem(RBF(0.5), 4), max_iter=5), DENSE, TAGS),
        "nystroem sparse": plain(SSVM(Chain(), kernel=Nystroem(RBF(0.5), 4), max_iter=5), SPARSE, TAGS),
        "nystroem segments": plain(SSVM(SemiMarkov(2), kernel=Nystroem(RBF(0.5), 4), max_iter=5), DENSE, SEGMENTS),
        "nystroem graph": plain(
            SSVM(Graph(), kernel=Nystroem(RBF(0.5), 4), max_iter=5), graphs(DENSE, **edge_features), TAGS
        ),
        "sorr": plain(SORR("dirac", kernel=RBF(0.5), fit_intercept=True), ITEMS, CLASSES),
        "sorr strings": plain(SORR(NGram(2), kernel=NGram((1, 2), idf=True) ** 2), STRINGS, STRINGS),
        "sorr paths": plain(SORR(CommonPath(separator="."), kernel="precomputed"), ITEMS @ ITEMS.T, PATHS),
        "sorr words": plain(SORR(Hamming(blank=True), kernel=Joined(Linear())), DENSE, ["BIO", "BO", "OBIO"]),
        "sorr landmarks": plain(SORR("dirac", kernel=Nystroem(RBF(0.5), 4)), ITEMS, CLASSES),
        "sorr candidates": plain(
            SORR(CandidateOutputs(Hamming(), lengths="known"), kernel=Joined(Linear())), DENSE, TAGS
        ),
        "sorr cv": plain(SORRCV("dirac", kernels=[RBF(0.5), Linear()], l2s=3, cv=3), ITEMS, CLASSES),
        "sosc cv": plain(SOSCCV("dirac", kernels=[RBF(0.5)], multipliers=3, cv=3), ITEMS, CLASSES),
        "sosc": plain(SOSC("dirac", kernel=Polynomial(2), R=0.5), ITEMS, CLASSES),
        "sosc box": plain(SOSC("dirac", kernel=RBF(0.5), R=0.1, constraint="box"), ITEMS, CLASSES),
        "tagger": tagger(template=Template.parse(TEMPLATE), encoding="IOB2", invalid="repair"),
        "tagger hashed": tagger(template=Template.parse(TEMPLATE.replace("B1:%x[0,1]\n", "")), n_hash=17),
        "ranker": ranker(),
        "drop-in": Kind(
            lambda: DropIn(max_iterations=5).fit(WORDS, TAGS).model_, lambda loaded: loaded.predict(WORDS)
        ),
    }  # fmt: skip


def saved(kind: Kind) -> bytes:
    """The model file of a kind."""
    file = io.BytesIO()
    model = kind.make()
    if hasattr(model, "result_"):
        model.save(file)
        return file.getvalue()
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:  # taggers and rankers write to paths
        path = os.path.join(folder, "model")
        model.save(path)
        with open(path, "rb") as written:
            return written.read()
