"""Fold a transfer RNA: with the folder of the package, under a constraint, with probing data; train one; draw it."""

import sys
import tempfile
from pathlib import Path

from palmette.apps.folding import Folder, RNARecord, evaluate_folds, shape_scores
from palmette.structures.folding.brackets import parse_brackets
from palmette.structures.folding.encoder import RNA

TRNA = "GCGGAUUUAGCUCAGUUGGGAGAGCGCCAGACUGAAGAUCUGGAGGUCCUGUGUUCGAUCCACAGAAUUCGCACCA"
KNOWN = "(((((((..((((........)))).((((.........)))).....(((((.......))))))))))))...."
known = parse_brackets(KNOWN)


def report(what, folded):
    measured = evaluate_folds([known], [folded.pairs])
    print(f"{what:<24} {folded.structure}  score {folded.score:6.2f}  F1 {measured.f1:.3f}")


folder = Folder.pretrained()
print(f"{'known structure':<24} {KNOWN}")
folded = folder.fold(TRNA, decode="viterbi", suboptimal=1.0)
report("highest score", folded)
report("expected accuracy", folder.fold(TRNA, decode="mea", gamma=4.0))
print(
    f"{len(folded.alternatives)} structures within 1 of the best; the first has probability {folded.probability:.3f}"
)

open_stem = "x" * 7 + "." * (len(TRNA) - 7)
report("acceptor stem open", folder.fold(TRNA, decode="viterbi", constraint=open_stem))
reactivities = [0.05 if letter in "()" else 1.2 for letter in KNOWN]
probed = RNA(TRNA, unpaired=shape_scores(reactivities))
report("with SHAPE reactivities", folder.fold(probed, decode="mea"))

hairpins = [
    ("GGGCAAAAGCCC", "((((....))))"),
    ("GCCGAUUUCGGC", "((((....))))"),
    ("AAAGAAAAGAAA", "............"),
]
records = [RNARecord(f"hairpin {k}", x, tuple(parse_brackets(y))) for k, (x, y) in enumerate(hairpins)]
own = Folder.train(records, algorithm="ssvm", l2=0.1)
print(f"learnt from three hairpins: {own.fold('AAGCGCAAAAGCGCAA').structure}")

path = Path(sys.argv[1] if len(sys.argv) > 1 else Path(tempfile.gettempdir()) / "folding.png")
try:
    import matplotlib.pyplot as plt

    from palmette.plot import ArcDisplay, DotPlotDisplay, FoldDisplay

    figure, axes = plt.subplots(1, 3, figsize=(18, 5.5), layout="constrained")
    FoldDisplay.from_folded(folded, ax=axes[0], title="planar", colorbar=False)
    ArcDisplay.from_folded(folded, reference=KNOWN, ax=axes[1], title="arcs")
    DotPlotDisplay.from_folded(folded, ax=axes[2], title="probabilities")
    figure.savefig(path, dpi=120)
    print(f"figure: {path}")
except ImportError as error:
    print(f"no figure: {error}")
