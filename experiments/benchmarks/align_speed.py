"""Pairwise alignment: palmette against parasail, Biopython, scikit-bio and biotite, one thread.

Random proteins of 100, 300 and 1,000 residues and relatives of them (40 % of residues kept, a few gaps), the same on
all sides; BLOSUM62, a gap of k residues costs 10 + k (parasail's open 11, extend 1); CPU seconds per 1,000 pairs, the
least of several rounds. `best` is a batch of pairs with its alignments: one call of `Alignment().best` on scores in
integers, and one call per pair of parasail's fastest vectorised routine for pairs (`nw_trace_scan_16`, of the scan,
striped and diagonal ones; its table is not read), of Biopython's `PairwiseAligner.align`, of scikit-bio's
`pair_align` and of biotite's `align_optimal`. `one` is the same with one pair a call, from scores to codes. `general`
are scores of every cell and costs of gaps at every boundary, in single precision. `posteriors` are the probabilities
of all matches, `gradient` the expected counts of all scores (of a CRF), both in single precision; their ratios are to
`best` of parasail. `double` are the same in double precision.
"""

from experiments.harness import Benchmark, Side, Target, now, palmette_side

LENGTHS = {100: 100, 300: 40, 1000: 8}  # residues, and pairs of this length
ROUNDS = 12
LETTERS = "ARNDCQEGHILKMFPSTWYV"
KINDS = (
    "best",
    "one",
    "general",
    "posteriors",
    "gradient",
    "general double",
    "posteriors double",
    "gradient double",
)


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


def least(function, times, rounds=ROUNDS):
    """Seconds per 1,000 pairs, the least of several rounds after one that does not count."""
    function()
    taken = []
    for _ in range(rounds):
        start = now()
        function()
        taken.append(now() - start)
    return [1000.0 * min(seconds) / times for seconds in zip(*taken)]


def blosum():
    import numpy as np
    from Bio.Align import substitution_matrices

    table = substitution_matrices.load("BLOSUM62")
    return np.array([[table[x][y] for y in LETTERS] for x in LETTERS])


def palmette(run):
    from dataclasses import replace

    import numpy as np

    from palmette import Alignment
    from palmette.structures import AlignmentTables

    table, known = blosum(), {letter: k for k, letter in enumerate(LETTERS)}
    double, single = Alignment(), Alignment(precision="single")
    for n, times in LENGTHS.items():
        inputs = [tuple([known[c] for c in each] for each in pair) for pair in pairs(run, n, times)]
        theta, rng = AlignmentTables.of(inputs, table), np.random.default_rng(0)
        alone = [AlignmentTables.of([pair], table) for pair in inputs]
        mild = replace(
            theta, substitution=0.3 * theta.substitution, open=0.3 * theta.open, extend=0.3 * theta.extend
        )
        any_scores = replace(
            theta,
            cells=rng.normal(size=int(theta.starts[-1])).astype(np.float32),
            open=theta.open + rng.random(theta.open.shape),
            extend=theta.extend + 0.5 * rng.random(theta.open.shape),
        )
        ways = {
            "best": lambda: double.best(theta),
            "one": lambda: [double.best(own) for own in alone],
            "general": lambda: single.best(any_scores),
            "posteriors": lambda: single.marginals(mild),
            "gradient": lambda: single.expectation(mild),
            "general double": lambda: double.best(any_scores),
            "posteriors double": lambda: double.marginals(mild),
            "gradient double": lambda: double.expectation(mild),
        }
        for name, function in ways.items():
            run.add_phase(f"{name}, {n}", *least(function, times))
        run.figures[f"sum of scores, {n}"] = float(double.best(theta).values.sum())


def parasail(run):
    import parasail

    for n, times in LENGTHS.items():
        inputs = pairs(run, n, times)

        def search():
            for a, b in inputs:
                parasail.nw_trace_scan_16(a, b, 11, 1, parasail.blosum62)

        seconds = least(search, times)
        for name in KINDS:
            run.add_phase(f"{name}, {n}", *seconds)
        scores = [parasail.nw_scan_16(a, b, 11, 1, parasail.blosum62).score for a, b in inputs]
        run.figures[f"sum of scores, {n}"] = float(sum(scores))


def biopython(run):
    from Bio.Align import PairwiseAligner, substitution_matrices

    aligner = PairwiseAligner(
        substitution_matrix=substitution_matrices.load("BLOSUM62"), open_gap_score=-11, extend_gap_score=-1
    )
    for n, times in LENGTHS.items():
        inputs = pairs(run, n, times)

        def search():
            for a, b in inputs:
                aligner.align(a, b)[0]  # noqa: B018

        run.add_phase(f"best, {n}", *least(search, times, 2))


def scikit_bio(run):
    from skbio import Protein
    from skbio.alignment import pair_align

    for n, times in LENGTHS.items():
        inputs = [tuple(map(Protein, pair)) for pair in pairs(run, n, times)]

        def search():
            for a, b in inputs:
                pair_align(a, b, sub_score="BLOSUM62", gap_cost=(10, 1), free_ends=False)

        run.add_phase(f"best, {n}", *least(search, times, 2))


def biotite(run):
    from biotite.sequence import ProteinSequence
    from biotite.sequence.align import SubstitutionMatrix, align_optimal

    table = SubstitutionMatrix.std_protein_matrix()
    for n, times in LENGTHS.items():
        inputs = [tuple(map(ProteinSequence, pair)) for pair in pairs(run, n, times)]

        def search():
            for a, b in inputs:
                align_optimal(a, b, table, gap_penalty=(-11, -1), terminal_penalty=True, max_number=1)

        run.add_phase(f"best, {n}", *least(search, times, 2))


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
