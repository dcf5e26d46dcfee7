"""Cross-validated output-kernel ridge regression: SORRCV against scikit-learn's GridSearchCV(KernelRidge), one thread.

Whole words of the OCR letters (places joined, divided by their length), 55 words as outputs under the Dirac kernel,
hence as 55 indicator columns for `KernelRidge`. The path is 10 folds x 20 penalties x 4 polynomial degrees, scored by
the squared error; 1,000 words, and the 6,251 words of nine of the ten folds of the data. All sides have the same folds,
penalties and kernels. `GridSearchCV` computes the kernel in every fit; `precomputed` is given the Gram matrix of each
degree, whose computation counts once. At 6,251 words each peer runs the first of the ten folds and two of the twenty
penalties, the strongest and the weakest, and the time of these fits is taken a hundred times: folds are of one size,
and a fit costs the same for every penalty. `SORRCV` also fits the model in the end, the peers do not. `scores` are
random but fixed combinations of all scores that the peers have, which agree only if all of them do.

`strings` is ours alone: SORR with a 4-gram kernel on 100,000 synthetic strings, noisy copies of 200 words of 40
letters, by 2,000 landmarks and conjugate gradients; `wrong` is the share of wrong words among 2,000 new strings.
"""

from experiments.harness import Benchmark, Side, Target, now, palmette_side

SIZES = (1000, 6251)
WHOLE = 1000  # words up to which the peers make all fits
DEGREES, N_PENALTIES, N_FOLDS = (1, 2, 3, 4), 20, 10
STRINGS, LANDMARKS = 100_000, 2000


def words(run, size):
    """Joined images of words, the words, and the folds."""
    import numpy as np
    from sklearn.model_selection import KFold

    from palmette.datasets import load_ocr_letters

    data = load_ocr_letters()
    chosen = np.flatnonzero(np.asarray(data.folds) > 0)[:size]
    longest = max(map(len, data.data))
    X = np.zeros((len(chosen), longest * data.data[0].shape[1]))
    for row, i in zip(X, chosen):
        row[: data.data[i].size] = np.ravel(data.data[i])
    X /= np.linalg.norm(X, axis=1)[:, None]
    run.sizes[f"{size} words"] = len(X)
    folds = list(KFold(N_FOLDS, shuffle=True, random_state=0).split(X))
    return X, ["".join(data.target[i]) for i in chosen], folds


def penalties():
    import numpy as np

    return np.geomspace(100.0, 0.01, N_PENALTIES)


def seen_by_peers(size, scores):
    """Scores by degree, penalty and fold: those of the fits that the peers make."""
    return scores if size <= WHOLE else scores[:, [0, -1], :1]


def combined(scores):
    """A fixed random combination of scores by degree, penalty and fold."""
    import numpy as np

    return float(np.sum(scores * np.random.default_rng(0).normal(size=scores.shape)))


def palmette(run):
    from palmette import SORRCV
    from palmette.kernels import Polynomial

    for size in SIZES:
        X, y, folds = words(run, size)
        kernels = [Polynomial(degree, gamma=1.0, coef0=1.0) for degree in DEGREES]
        model = SORRCV("dirac", kernels=kernels, l2s=penalties(), cv=folds, scoring="squared")
        with run.phase(f"path, {size}"):
            model.fit(X, y)
        run.figures[f"scores, {size}"] = combined(seen_by_peers(size, model.cv_scores_))
        run.figures[f"optimality, {size}"] = model.result_.kkt
        del model
    many_strings(run)


def many_strings(run):
    import numpy as np

    from palmette import SORR
    from palmette.kernels import NGram, Nystroem

    rng = np.random.default_rng(0)
    letters, known = np.array(list("ACDEFGHIKLMNPQRSTVWY")), rng.integers(0, 20, (200, 40))

    def strings(n):
        which = rng.integers(0, len(known), n)
        copies = np.where(rng.random((n, 40)) < 0.2, rng.integers(0, 20, (n, 40)), known[which])
        return list(map("".join, letters[copies])), which.tolist()

    X, y = strings(STRINGS)
    new, true = strings(2000)
    model = SORR("dirac", kernel=Nystroem(NGram(4, binary=True), LANDMARKS), l2=1.0, tol=1e-6)
    with run.phase("strings"):
        model.fit(X, y)
    run.figures["strings, iterations"] = model.result_.n_steps
    run.figures["strings, residual"] = model.result_.kkt
    run.figures["strings, wrong"] = 1.0 - model.score(new, true)


def peer(run, grams):
    """GridSearchCV of KernelRidge, with kernels of features or with Gram matrices."""
    import numpy as np
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.metrics.pairwise import polynomial_kernel
    from sklearn.model_selection import GridSearchCV

    own = {"scoring": "neg_mean_squared_error", "refit": False}
    for size in SIZES:
        X, y, folds = words(run, size)
        columns = np.unique(y, return_inverse=True)[1]
        Y = np.eye(columns.max() + 1)[columns]
        tried, seen = (penalties(), folds) if size <= WHOLE else (penalties()[[0, -1]], folds[:1])
        times = N_PENALTIES * N_FOLDS / (len(tried) * len(seen))
        scores = []
        for degree in DEGREES:
            start = now()
            if grams:
                given, kernel = (
                    polynomial_kernel(X, degree=degree, gamma=1.0, coef0=1.0),
                    {"kernel": "precomputed"},
                )
                run.add_phase(f"path, {size}", *(now() - start))
                start = now()
            else:
                given, kernel = X, {"kernel": "poly", "degree": degree, "gamma": 1.0, "coef0": 1.0}
            search = GridSearchCV(KernelRidge(**kernel), {"alpha": tried}, cv=seen, **own).fit(given, Y)
            taken = now() - start
            run.add_phase(f"path, {size}", times * taken.wall, times * taken.cpu)
            each = [search.cv_results_[f"split{k}_test_score"] for k in range(len(seen))]
            scores.append(Y.shape[1] * np.stack(each, axis=1))
        run.figures[f"scores, {size}"] = combined(np.array(scores))


BENCHMARK = Benchmark(
    name="sorr_speed",
    doc=__doc__,
    main_phase="path, 1000",
    sides={
        "palmette": palmette_side(palmette),
        "GridSearchCV": Side(lambda run: peer(run, False), imports=("sklearn",), package="scikit-learn"),
        "precomputed": Side(lambda run: peer(run, True), imports=("sklearn",), package="scikit-learn"),
    },
    targets=[
        Target("path, 1000 cpu ratio", "<=", 1 / 25, peer="GridSearchCV"),
        Target("path, 6251 cpu ratio", "<=", 1 / 10, peer="GridSearchCV"),
        *(Target(f"scores, {size} relative difference", "<=", 1e-10) for size in SIZES),
        Target("strings, wrong", "<=", 0.01),
    ],
)
