"""RNA folding: palmette against ViennaRNA, one thread.

Random sequences of 100 to 1,000 letters, the same on both sides; CPU seconds are medians over sequences. `best` goes
from a sequence to its best structure in brackets: `Folding().best` with the scores of the folder that comes with the
package, in double precision and in single, and `RNA.fold` (minimum free energy). `pairs` are the log-partition and the
probabilities of all pairs: `Folding().marginals`, and `pf()` of a fold compound. Each side has its usual model:
interior loops of up to 30 positions, multiloops, dangling ends.

Of palmette alone: the best structure with the cost of a task loss (false and missed pairs) against the one without; the
expected counts of all scores (the gradient of a CRF) against the probabilities of pairs; how time grows with length; a
sequence of 10,000 letters exactly, and one of 30,000 by beam search, which is approximate, in processes of their own.
"""

import sys
from statistics import median

from experiments.harness import Benchmark, Side, Target, now, palmette_side

LENGTHS = {100: 15, 200: 15, 500: 9, 1000: 5}  # letters, and sequences of this length
LONG, LONGER, BEAM = 10_000, 30_000, 100
BEST = (0.08, 0.05, 0.03, 0.025)
DOUBLE = (0.10, 0.07, 0.05, 0.045)


def sequences(run, n, times):
    import numpy as np

    rng = np.random.default_rng(n)
    run.sizes[f"{n} letters"] = times
    return ["".join(rng.choice(list("ACGU"), n)) for _ in range(times)]


def timed(inputs, *functions):
    """Median seconds of a call of each function, after one that does not count; in turn on each input.

    One after the other the same function differs from itself by up to 1.6 on a busy machine.
    """
    taken = [[] for _ in functions]
    for function in functions:
        function(inputs[0])
    for x in inputs:
        for function, own in zip(functions, taken):
            start = now()
            function(x)
            own.append(now() - start)
    return [[median(seconds) for seconds in zip(*own)] for own in taken]


def tables():
    """Scores of loops: those of the folder that comes with the package."""
    from palmette.apps.folding.pretrained import load_pretrained
    from palmette.structures.folding.scorer import weights_to_tables

    return weights_to_tables() @ load_pretrained().model.coef_


def seconds_of(folding, scores, inputs):
    """Seconds of the best structure and of the probabilities of pairs, and what costs and a gradient take more."""
    from palmette.structures import FoldingTables, PairLoss
    from palmette.structures.folding.codec import FoldingCodec

    codec, loss = FoldingCodec(), PairLoss(1.0, 0.5).bind(folding, ())

    def theta(x):
        return FoldingTables.of([x], scores)

    costs = {x: loss.cost(theta(x), folding.best(theta(x)).codes) for x in inputs}

    def pairs(x):
        return folding.marginals(theta(x))

    (best,) = timed(inputs, lambda x: codec.decode(folding.best(theta(x)).codes))
    (alone,) = timed(inputs, pairs)
    plain, augmented = timed(
        inputs, lambda x: folding.best(theta(x)), lambda x: folding.best(theta(x), cost=costs[x])
    )
    beside, gradient = timed(inputs, pairs, lambda x: folding.expectation(theta(x)))
    return {
        "best": best,
        "pairs": alone,
        "augmented / plain": augmented[1] / plain[1],
        "gradient / pairs": gradient[1] / beside[1],
    }


def palmette(run):
    from math import log

    from palmette import Folding

    scores, seconds = tables(), {}
    answers = {"double": Folding(), "single": Folding(precision="single")}
    for n, times in LENGTHS.items():
        inputs = sequences(run, n, times)
        for precision, folding in answers.items():
            for name, own in seconds_of(folding, scores, inputs).items():
                seconds[name, precision, n] = own
                if name in ("best", "pairs"):
                    run.add_phase(f"{name}, {precision}, {n}", *own)
    for precision in answers:
        for name in ("augmented / plain", "gradient / pairs"):
            run.figures[f"{name}, {precision}, worst length"] = max(
                seconds[name, precision, n] for n in LENGTHS
            )
        for name in ("best", "pairs"):
            ratio = seconds[name, precision, 1000][1] / seconds[name, precision, 500][1]
            run.figures[f"exponent of {name}, {precision}, 500 to 1,000"] = log(ratio) / log(2.0)
    exact, shorter = apart("exact", LONG), apart("exact", LONG // 2)
    run.figures["10,000 letters, CPU s"], run.figures["10,000 letters, peak MB"] = exact[:2]
    run.figures["exponent of best, double, 5,000 to 10,000"] = log(exact[0] / shorter[0]) / log(2.0)
    beam, shorter = apart("beam", LONGER), apart("beam", LONGER // 2)
    run.figures["30,000 letters by beam, CPU s"], run.figures["30,000 letters by beam, peak MB"] = beam[:2]
    run.figures["exponent of the beam, 15,000 to 30,000"] = log(beam[0] / shorter[0]) / log(2.0)
    run.figures["score by beam / exact, 5,000 letters"] = (
        apart("beam", LONG // 2)[2] / apart("exact", LONG // 2)[2]
    )


def apart(kind, n):
    """CPU seconds, peak memory in MB and the score of one search, in a fresh process."""
    import json
    import subprocess

    code = f"from experiments.benchmarks.fold_speed import search; search({kind!r}, {n})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def search(kind, n):
    import json

    import numpy as np

    from experiments.harness.measure import peak_memory_mb
    from palmette import Folding
    from palmette.structures import FoldingTables

    folding = Folding(memory_limit=2.5e9) if kind == "exact" else Folding(beam=BEAM)
    rng, scores = np.random.default_rng(n), tables()
    short, long = ("".join(rng.choice(list("ACGU"), length)) for length in (60, n))
    folding.best(FoldingTables.of([short], scores))  # compiled before
    given = FoldingTables.of([long], scores)
    start = now()
    value = folding.best(given).values[0]
    print(json.dumps([(now() - start).cpu, peak_memory_mb(), float(value)]))


def vienna(run):
    import RNA

    for n, times in LENGTHS.items():
        inputs = sequences(run, n, times)
        (fold,) = timed(inputs, RNA.fold)
        (pairs,) = timed(inputs, lambda x: RNA.fold_compound(x).pf())
        for precision in ("double", "single"):
            run.add_phase(f"best, {precision}, {n}", *fold)
            run.add_phase(f"pairs, {precision}, {n}", *pairs)


BENCHMARK = Benchmark(
    name="fold_speed",
    doc=__doc__,
    main_phase="best, double, 1000",
    sides={
        "palmette": palmette_side(palmette),
        "ViennaRNA": Side(vienna, imports=("RNA",), package="viennarna"),
    },
    targets=[
        *(Target(f"best, double, {n} cpu ratio", "<=", bound) for n, bound in zip(LENGTHS, BEST)),
        *(Target(f"pairs, single, {n} cpu ratio", "<=", bound) for n, bound in zip(LENGTHS, BEST)),
        *(Target(f"pairs, double, {n} cpu ratio", "<=", bound) for n, bound in zip(LENGTHS, DOUBLE)),
        *(Target(f"augmented / plain, {p}, worst length", "<=", 1.25) for p in ("double", "single")),
        *(Target(f"gradient / pairs, {p}, worst length", "<=", 1.6) for p in ("double", "single")),
        Target("10,000 letters, CPU s", "<=", 15.0),
        Target("10,000 letters, peak MB", "<=", 2500.0),
        Target("30,000 letters by beam, CPU s", "<=", 60.0),
        Target("30,000 letters by beam, peak MB", "<=", 2000.0),
    ],
)
