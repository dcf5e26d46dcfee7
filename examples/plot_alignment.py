"""Align two proteins: with BLOSUM62, under a constraint, by posteriors; train an aligner; draw the alignment."""

import sys
import tempfile
from pathlib import Path

import numpy as np

from palmette.apps.aligning import Aligner, PairRecord, SequenceRecord, evaluate_alignments
from palmette.apps.aligning.terminal import plain_text

HUMAN = SequenceRecord(
    "myoglobin", "GLSDGEWQLVLNVWGKVEADIPGHGQEVLIRLFKGHPETLEKFDKFKHLKSEDEMKASEDLKKHGATVLTALGGILKKKGHHEAEIKPLAQSHATKHKIP"
)  # fmt: skip
OTHER = SequenceRecord(
    "globin", "VLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYFPHFDLSHGSAQVKGHGKKVADALTNAVAHVDDMPNALSALSDLHAHKLRVD"
)

aligner = Aligner.from_matrix("BLOSUM62", open=-11, extend=-1, free_ends=True)
aligned = aligner.align(HUMAN, OTHER, best=3)
print(f"score {aligned.score:g}, identity {aligned.identity:.1f} %, probability {aligned.probability:.3g}")
print(plain_text(aligned, 50))
print("next best scores:", *(score for _, score in aligned.alternatives))

by_posteriors = aligner.align(HUMAN, OTHER, decode="mea")
print(f"by posteriors: {len(by_posteriors.matches)} matches, {by_posteriors.posteriors.sum():.1f} expected")
shifted = aligner.align(HUMAN, OTHER, constraint="1=2")
print(f"with position 1 on position 2: score {shifted.score:g}")


def mutated(rng, k):
    """A sequence and a copy of it with letters left out and changed: the alignment is known."""
    letters = np.array(list("ARNDCQEGHILKMFPSTWYV"))
    a = rng.choice(letters, 60)
    b = np.where(rng.random(60) < 0.3, rng.choice(letters, 60), a)
    return PairRecord.from_rows("".join(a), "".join(np.where(rng.random(60) < 0.9, b, "-")), name=f"pair {k}")


rng = np.random.default_rng(0)
pairs = [mutated(rng, k) for k in range(30)]
for algorithm in ("crf", "ssvm"):
    own = Aligner.train(pairs[:20], algorithm=algorithm, l2=0.1, max_iter=30, tol=0.01)
    report = evaluate_alignments(pairs[20:], [each.matches for each in own.align_all(pairs[20:])])
    print(f"{algorithm} from 20 pairs, on 10 others: {report.headline()}")

path = Path(sys.argv[1] if len(sys.argv) > 1 else Path(tempfile.gettempdir()) / "alignment.png")
try:
    import matplotlib.pyplot as plt

    from palmette.plot import AlignmentDisplay, MatchDisplay

    figure, axes = plt.subplots(1, 2, figsize=(16, 5.5), layout="constrained", width_ratios=[2, 1])
    AlignmentDisplay.from_aligned(aligned, ax=axes[0], width=50, title="BLOSUM62")
    MatchDisplay.from_aligned(aligned, ax=axes[1], title="posteriors of matches")
    figure.savefig(path, dpi=120)
    print(f"figure: {path}")
except ImportError as error:
    print(f"no figure: {error}")
