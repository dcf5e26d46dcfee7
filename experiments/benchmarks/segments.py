"""Training CRFs on segments, on chains of second order and on forests, against the chain CRF on the same data.

The data are sentences of CoNLL-2000 chunking, with chunks of four types (NP, VP, PP, any other) of up to ten words, and
the 19 templates of `crf_chunking`. The chain has their IOB2 labels (9), the segments are those of a semi-Markov CRF
(`SemiMarkov(10)`: 4 types and O; features of tokens inside, of the first and of the last token, lengths). All have
l2 = 2 and run to a proven relative gap of 1e-3, by the solver that `CRF` chooses and by L-BFGS, on one thread. `train`
goes from encoded features to weights.

* `palmette`, which is the segments, against `chain`: the first 200,000 tokens.
* `order 2` (triples of labels) and `forests` (each sentence as a graph, whose edges join neighbours, so that the
  optimum is that of a chain): the first 50,000 tokens.
"""

from functools import partial

from experiments.harness import Benchmark, Target, palmette_side

L2, TOL, LONGEST = 2.0, 1e-3, 10
TOKENS, FEWER_TOKENS = 200_000, 50_000
TYPES = ("NP", "VP", "PP")


def load(n_tokens):
    """Attributes and IOB2 labels of the first sentences without longer chunks."""
    from experiments.benchmarks.crf_chunking import attributes
    from palmette.datasets import load_conll2000

    train, X, Y, n = load_conll2000(subset="train"), [], [], 0
    for words, tags in zip(train.data, train.target):
        labels = [tag if tag == "O" or tag[2:] in TYPES else f"{tag[:2]}other" for tag in tags]
        run, longest = 0, 0
        for label in labels:
            run = run + 1 if label.startswith("I-") else 1
            longest = max(longest, run)
        if longest > LONGEST:
            continue
        n += len(words)
        if n > n_tokens:
            break
        X.append(attributes(words))
        Y.append(labels)
    return X, Y


def as_graphs(X):
    """Sentences as graphs whose edges join neighbours."""
    return [(x, [(t, t + 1) for t in range(len(x) - 1)]) for x in X]


def train(run, kind, n_tokens, solver="auto"):
    """Time the training of a CRF, and note what it has proven."""
    from palmette import CRF, Chain, Graph, SemiMarkov
    from palmette.estimators.training import encode_inputs

    kinds = {"chain": Chain(), "segments": SemiMarkov(LONGEST), "order 2": Chain(order=2), "forests": Graph()}
    structure = kinds[kind]

    def fit(X, Y, tol):
        return CRF(structure, l2=L2, tol=tol, solver=solver, n_jobs=1).fit(X, Y)

    X, Y = load(n_tokens)
    if kind == "forests":
        X = as_graphs(X)
    run.figures["tokens"] = sum(map(len, Y))
    with run.phase("compile"):
        fit(X[:300], Y[:300], 0.1)
    with run.phase("encode"):
        encoded = encode_inputs(X, structure)
    with run.phase("train"):
        crf = fit(encoded, Y, TOL)
    result = crf.result_
    run.figures["weights"] = len(crf.coef_)
    run.figures["objective"] = result.primal
    run.figures["proven gap"] = result.gap / result.primal
    run.figures["passes"] = result.step.n_oracle
    run.figures["epochs or iterations"] = result.step.n_iter


def side(kind, n_tokens, solver="auto"):
    """A contestant."""
    return palmette_side(partial(train, kind=kind, n_tokens=n_tokens, solver=solver))


BENCHMARK = Benchmark(
    name="segments",
    doc=__doc__,
    main_phase="train",
    sides={
        "palmette": side("segments", TOKENS),
        "chain": side("chain", TOKENS),
        "segments, L-BFGS": side("segments", TOKENS, "lbfgs"),
        "order 2": side("order 2", FEWER_TOKENS),
        "order 2, L-BFGS": side("order 2", FEWER_TOKENS, "lbfgs"),
        "forests": side("forests", FEWER_TOKENS),
        "forests, L-BFGS": side("forests", FEWER_TOKENS, "lbfgs"),
    },
    targets=[
        Target("train cpu ratio", "<=", 8.0, peer="chain"),
        Target("proven gap", "<=", TOL),
    ],
)
