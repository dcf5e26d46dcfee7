"""Pairwise alignment: palmette against parasail, Biopython, scikit-bio and biotite, one thread.

Random proteins of 100, 300 and 1,000 residues and relatives of them (40 % of residues kept, a few gaps), the same on
all sides; BLOSUM62, a gap of k residues costs 10 + k (parasail's open 11, extend 1); CPU seconds per 1,000 pairs, the
least of several rounds. `best` is a batch of pairs with its alignments: one call of `Alignment().best` on scores in
integers, and one call per pair of parasail's fastest vectorised routine for pairs (`nw_trace_scan_16`, of the scan,
striped and diagonal ones; its table is not read), of Biopython's `PairwiseAligner.align`, of scikit-bio's
`pair_align` and of biotite's `align_optimal`. `one` is the same with one pair a call, from scores to codes. `general`
are scores of every cell and costs of gaps at every boundary, in single precision, by the kernel alone, and by
`Alignment.best` (`call`), which looks at all scores first. `posteriors` are the probabilities
of all matches, `gradient` the expected counts of all scores (of a CRF), both in single precision; their ratios are to
`best` of parasail. `double` are the same in double precision.
"""

from experiments.harness import Benchmark, Side, Target, now, palmette_side

LENGTHS = {100: 100, 300: 40, 1000: 8}  # residues, and pairs of this length
ROUNDS = 12
LETTERS = "ARNDCQEGHILKMFPSTWYV"
KINDS = ("best", "one", "general", "general call", "posteriors", "gradient")


def pairs(run, n, times):
    """Proteins and relatives."""
    import numpy as np

    rng, out = np.random.default_rng(n), []
    run.sizes[f"{n} residues"] = times
    for _ in range(times):
        a = rng.integers(0, 20, n)
        b = np.where(rng.random(n) < 0.4, a, rng.integers(0, 20, n))
        b = np.repeat(b, rng.choice([0, 1, 2], n, p=[0.03, 0.94, 0.03]))
        out.append(tuple("".join(LETTERS[k] for k in each) for each in (a, b)))
    return out


def few(inputs):
    """The first tenth, for those that take longer."""
    return inputs[: max(1, len(inputs) // 10)]


def least(function, inputs, times, rounds=ROUNDS):
    """Seconds per 1,000 pairs of a call for each input, the least of several rounds after one that does not count."""
    taken = []
    for k in range(rounds + 1):
        start = now()
        for x in inputs:
            function(*x)
        if k:
            taken.append(now() - start)
    return [1000.0 * min(seconds) / times for seconds in zip(*taken)]


def blosum():
    import numpy as np
    from Bio.Align import substitution_matrices

    table = substitution_matrices.load("BLOSUM62")
    return np.array([[table[x][y] for y in LETTERS] for x in LETTERS])


def general_kernel(theta, like):
    """The kernel and its arguments, those of ``Alignment.best``."""
    import numpy as np

    from palmette.structures.alignment.kernels.fast_batch import best_fast, octets_of_best
    from palmette.structures.alignment.question import ask
    from palmette.structures.alignment.room import room

    size = octets_of_best(theta.offsets, theta.splits, len(theta.substitution), like)
    codes, values = np.empty(len(theta.letters), np.int32), np.empty(len(theta))
    room(1 << 25)  # kept, as after a longer batch
    given = ask(theta, None, None).of_one_kind, like, room(size), np.ones(len(theta), bool), codes, values
    return best_fast, (*given[0], *given[1:])


def palmette(run):
    from dataclasses import replace

    import numpy as np

    from palmette import Alignment
    from palmette.structures import AlignmentTables

    table, known = blosum(), {letter: k for k, letter in enumerate(LETTERS)}
    for n, times in LENGTHS.items():
        inputs = [tuple([known[c] for c in each] for each in pair) for pair in pairs(run, n, times)]
        theta, rng = AlignmentTables.of(inputs, table), np.random.default_rng(0)
        mild = replace(
            theta, substitution=0.3 * theta.substitution, open=0.3 * theta.open, extend=0.3 * theta.extend
        )
        rugged = replace(
            theta,
            cells=rng.normal(size=int(theta.starts[-1])).astype(np.float32),
            open=theta.open + rng.random(theta.open.shape),
            extend=theta.extend + 0.5 * rng.random(theta.open.shape),
        )
        best = Alignment().best
        run.add_phase(f"best, {n}", *least(best, [(theta,)], times))
        run.add_phase(f"one, {n}", *least(best, [(AlignmentTables.of([p], table),) for p in inputs], times))
        for more, precision in (("", "single"), (" double", "double")):
            own, like = Alignment(precision=precision), np.empty(0, np.float64 if more else np.float32)
            kernel, given = general_kernel(rugged, like)
            run.add_phase(f"general{more}, {n}", *least(kernel, [given], times))
            run.add_phase(f"general call{more}, {n}", *least(own.best, [(rugged,)], times))
            run.add_phase(f"posteriors{more}, {n}", *least(own.marginals, [(mild,)], times))
            run.add_phase(f"gradient{more}, {n}", *least(own.expectation, [(mild,)], times))
        run.figures[f"sum of scores, {n}"] = float(best(theta).values.sum())


def parasail(run):
    import parasail

    more = 11, 1, parasail.blosum62
    for n, times in LENGTHS.items():
        inputs = [(*pair, *more) for pair in pairs(run, n, times)]
        seconds = least(parasail.nw_trace_scan_16, inputs, times)
        for name in KINDS:
            run.add_phase(f"{name}, {n}", *seconds)
            if name not in ("best", "one"):
                run.add_phase(f"{name} double, {n}", *seconds)
        run.figures[f"sum of scores, {n}"] = float(sum(parasail.nw_scan_16(*own).score for own in inputs))


def biopython(run):
    from Bio.Align import PairwiseAligner, substitution_matrices

    aligner = PairwiseAligner(
        substitution_matrix=substitution_matrices.load("BLOSUM62"), open_gap_score=-11, extend_gap_score=-1
    )
    for n, times in LENGTHS.items():
        inputs = few(pairs(run, n, times))
        run.add_phase(f"best, {n}", *least(lambda a, b: aligner.align(a, b)[0], inputs, len(inputs), 3))


def scikit_bio(run):
    from functools import partial

    from skbio import Protein
    from skbio.alignment import pair_align

    align = partial(pair_align, sub_score="BLOSUM62", gap_cost=(10, 1), free_ends=False)
    for n, times in LENGTHS.items():
        inputs = [tuple(map(Protein, pair)) for pair in few(pairs(run, n, times))]
        run.add_phase(f"best, {n}", *least(align, inputs, len(inputs), 3))


def biotite(run):
    from functools import partial

    from biotite.sequence import ProteinSequence
    from biotite.sequence.align import SubstitutionMatrix, align_optimal

    align = partial(
        align_optimal,
        matrix=SubstitutionMatrix.std_protein_matrix(),
        gap_penalty=(-11, -1),
        terminal_penalty=True,
        max_number=1,
    )
    for n, times in LENGTHS.items():
        inputs = [tuple(map(ProteinSequence, pair)) for pair in few(pairs(run, n, times))]
        run.add_phase(f"best, {n}", *least(align, inputs, len(inputs), 3))


BENCHMARK = Benchmark(
    name="align_speed",
    doc=__doc__,
    main_phase="best, 300",
    sides={
        "palmette": palmette_side(palmette),
        "parasail": Side(parasail, imports=("parasail",), package="parasail"),
        "Biopython": Side(biopython, imports=("Bio",), package="biopython"),
        "scikit-bio": Side(scikit_bio, imports=("skbio",), package="scikit-bio"),
        "biotite": Side(biotite, imports=("biotite",), package="biotite"),
    },
    targets=[
        *(Target(f"best, {n} cpu ratio", "<=", 0.5, peer="parasail") for n in LENGTHS),
        *(Target(f"best, {n} cpu ratio", "<=", 0.025, peer="Biopython") for n in LENGTHS),
        *(Target(f"general, {n} cpu ratio", "<=", 1.0, peer="parasail") for n in LENGTHS),
        *(Target(f"posteriors, {n} cpu ratio", "<=", 5.0, peer="parasail") for n in LENGTHS),
        *(
            Target(f"one, {n} cpu ratio", "<=", bound, peer="parasail")
            for n, bound in zip(LENGTHS, (2.5, 1.0, 0.5))
        ),
    ],
)
