"""One training of a folder from sequences with structures, as the command line asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palmette.apps.folding.decoding import check_tuned_folds
from palmette.apps.folding.evaluation import FoldingReport, evaluate_folds
from palmette.apps.folding.files import read_records
from palmette.apps.folding.folder import Folder
from palmette.apps.folding.learners import make_learner
from palmette.apps.folding.parameter_files import read_parameters
from palmette.apps.folding.records import RNARecord
from palmette.apps.task import Callback, Options, Training, Watch
from palmette.apps.tuning import check_tuning
from palmette.errors import DataFileError
from palmette.structures.folding.folding import Folding


def read_structures(path: str, pseudoknots: str = "keep") -> list[RNARecord]:
    """Sequences of a file, all with structures."""
    records = read_records(path, pseudoknots=pseudoknots)
    for record in records:
        if record.pairs is None:
            raise DataFileError(
                f"{record.source}: {record.name!r} has no structure; give dot-bracket, CT, BPSEQ or Stockholm"
            )
    return records


def measured(folder: Folder, records: Sequence[RNARecord], **options: Any) -> FoldingReport:
    """Fold the sequences of records and compare with their structures, pseudoknots included."""
    found = folder.fold_all(records, probabilities=False, **options)
    return evaluate_folds([record.pairs or () for record in records], [folded.pairs for folded in found])


class FoldingTraining(Training):
    """Learn a folder."""

    def __init__(self, options: Options, tune: str | int | None, has_dev: bool) -> None:
        given = dict(options)
        self.algorithm = given.pop("algorithm")
        self.pseudoknots = given.pop("pseudoknots")
        self.decode, self.gamma = given.pop("decode"), given.pop("gamma")
        pairs = given.pop("pairs")
        own = {
            "min_hairpin": given.pop("min_hairpin"),
            "pairs": pairs if pairs in (None, "canonical", "all") else tuple(pairs.split(",")),
            "outside": given.pop("outside"),
        }
        self.structure = Folding(**{name: value for name, value in own.items() if value is not None})
        params = given.pop("params")
        self.start = None if params is None else read_parameters(params)
        self.options = given
        self.tune = tune
        learner = make_learner(self.algorithm, self.structure, self.start, **given)  # refuses bad settings
        check_tuning(learner, tune, has_dev)

    def read(self, data: Sequence[str], dev: str | None) -> None:
        """Read the structures."""
        self.records = [record for path in data for record in read_structures(path, self.pseudoknots)]
        self.dev = [] if dev is None else read_structures(dev)
        check_tuned_folds(self.records, self.tune, "--folds")

    def size(self) -> str:
        """The numbers of sequences, letters and pairs."""
        letters = sum(map(len, self.records))
        pairs = sum(len(record.pairs or ()) for record in self.records)
        return f"{len(self.records):,} sequences of {letters:,} letters, {pairs:,} pairs"

    def fit(self, callbacks: Sequence[Callback], watch: Watch) -> Folder:
        """Learn a folder."""
        import warnings

        from palmette.structures.folding.folding import OutsideModelWarning

        own = {} if self.gamma is None else {"gamma": self.gamma}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            folder = Folder.train(
                self.records, algorithm=self.algorithm, structure=self.structure, start=self.start, decode=self.decode,
                tune=self.tune, dev=self.dev, callbacks=list(callbacks), **own, **self.options,
            )  # fmt: skip
        self.outside = next(
            (str(each.message) for each in caught if each.category is OutsideModelWarning), None
        )
        for each in caught:
            if each.category is not OutsideModelWarning:
                warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
        return folder

    def warning(self, application: Folder) -> str | None:
        """What the references have that the model cannot have."""
        return self.outside

    def evaluate(self, application: Folder) -> FoldingReport:
        """Fold the held-out sequences and compare."""
        return measured(application, self.dev)

    def facts(self, application: Folder) -> dict[str, Any]:
        """Numbers of the data."""
        return {
            "sequences": len(self.records),
            "letters": sum(map(len, self.records)),
            "pairs": sum(len(record.pairs or ()) for record in self.records),
            "pseudoknots_dropped": sum(len(record.dropped) for record in self.records),
            "outside": self.outside,
            "decode": application.decode,
            "gamma": application.gamma,
        }

    def rows(self, application: Folder) -> list[list[str]]:
        """The same in words."""
        decoding = "" if application.decode == "viterbi" else f", gamma {application.gamma:g}"
        return [["data", self.size()], ["decoding", f"{application.decode}{decoding}"]]
