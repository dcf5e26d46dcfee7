"""One training of an aligner from pairs with alignments, as the command line asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palmette.apps.aligning.aligner import Aligner
from palmette.apps.aligning.evaluation import AlignmentReport, evaluate_alignments
from palmette.apps.aligning.files import read_alignments
from palmette.apps.aligning.learners import make_learner
from palmette.apps.aligning.parameter_files import read_parameters
from palmette.apps.aligning.records import PairRecord
from palmette.apps.task import Callback, Options, Training, Watch
from palmette.errors import DataFileError
from palmette.structures.alignment.alignment import Alignment


def read_references(path: str) -> list[PairRecord]:
    """Pairs of a file, all with alignments."""
    pairs = read_alignments(path)
    for pair in pairs:
        if pair.matches is None:
            raise DataFileError(
                f"{pair.source}: {pair.name!r} has no alignment; give rows with gaps (aligned FASTA, .afa)"
            )
    return pairs


def measured(aligner: Aligner, pairs: Sequence[PairRecord], **options: Any) -> AlignmentReport:
    """Align the sequences of pairs and compare with their alignments."""
    found = aligner.align_all(pairs, posteriors=False, **options)
    return evaluate_alignments(pairs, [aligned.matches for aligned in found])


class AligningTraining(Training):
    """Learn an aligner."""

    def __init__(self, options: Options, tune: str | int | None, has_dev: bool) -> None:
        given = dict(options)
        if tune is not None:
            raise ValueError("--tune does not choose penalties of alignment; give --l2, and compare by --dev")
        self.algorithm = given.pop("algorithm")
        self.decode, self.gamma = given.pop("decode"), given.pop("gamma")
        self.references = given.pop("references") or "core"
        own = {name: given.pop(name) for name in ("alphabet", "long_gaps", "free_ends")}
        self.structure = Alignment(**{name: value for name, value in own.items() if value})
        params = given.pop("params")
        self.start = None if params is None else read_parameters(params)
        self.options = given
        make_learner(self.algorithm, self.structure, self.start, **given)  # refuses bad settings

    def read(self, data: Sequence[str], dev: str | None) -> None:
        """Read the alignments."""
        self.pairs = [pair for path in data for pair in read_references(path)]
        self.dev = [] if dev is None else read_references(dev)

    @property
    def n_core(self) -> int:
        """Core columns in all."""
        return sum(len(pair.core_matches) for pair in self.pairs)

    @property
    def n_letters(self) -> int:
        """Letters of all sequences."""
        return sum(len(pair.a) + len(pair.b) for pair in self.pairs)

    def size(self) -> str:
        """The numbers of pairs, letters and core columns."""
        return f"{len(self.pairs):,} pairs of {self.n_letters:,} letters, {self.n_core:,} core columns"

    def fit(self, callbacks: Sequence[Callback], watch: Watch) -> Aligner:
        """Learn an aligner."""
        own = {} if self.gamma is None else {"gamma": self.gamma}
        return Aligner.train(
            self.pairs, algorithm=self.algorithm, structure=self.structure, start=self.start, decode=self.decode,
            references=self.references, callbacks=list(callbacks), **own, **self.options,
        )  # fmt: skip

    def evaluate(self, application: Aligner) -> AlignmentReport:
        """Align the held-out pairs and compare."""
        return measured(application, self.dev)

    def facts(self, application: Aligner) -> dict[str, Any]:
        """Numbers of the data."""
        return {
            "pairs": len(self.pairs), "letters": self.n_letters, "core_columns": self.n_core,
            "references": self.references, "decode": application.decode, "gamma": application.gamma,
        }  # fmt: skip

    def rows(self, application: Aligner) -> list[list[str]]:
        """The same in words."""
        decoding = "" if application.decode == "viterbi" else f", gamma {application.gamma:g}"
        return [["data", self.size()], ["decoding", f"{application.decode}{decoding}"]]
