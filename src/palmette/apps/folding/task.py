"""The task of folding on the command line: sequences with structures, a folder, F1 of base pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

from palmette.apps.options import Option, readable
from palmette.apps.task import Inspection, Options, Result, Task, Training, register_task

if TYPE_CHECKING:
    from palmette.apps.folding.folder import Folder

_DECODE = Option(
    "decode", "How a structure is chosen; by the model by default.", choices=("viterbi", "mea", "centroid")
)
_GAMMA = Option("gamma", "For mea and centroid: the larger, the more pairs; 4 by default.", float)


def _at_least_0(value: int) -> int:
    if value < 0:
        raise ValueError(f"--min-hairpin must be at least 0, got {value}")
    return value


_OPTIONS = {
    "train": (
        Option("algorithm", "The learner.", default="crf", choices=("crf", "ssvm", "ramp", "perceptron")),
        Option("l2", "L2 penalty.", float),
        Option("missed", "For ssvm and ramp: cost of missing all pairs of a reference; 1 by default.", float),
        Option("false", "For ssvm and ramp: cost of as many false pairs as a reference has; 0 by default.", float),
        Option("params", "Parameter file of CONTRAfold or EternaFold to start from.", check=readable),
        Option("min_hairpin", "Least number of positions between paired ones; 3 by default.", int, check=_at_least_0),
        Option("pairs", "Letters that may pair: canonical, all, or such as AU,CG,GU.", metavar="PAIRS"),
        Option("outside", "References that the model cannot have: project drops pairs, error refuses.",
               choices=("project", "error")),
        Option("pseudoknots", "Pairs that cross: error, drop the fewest, or keep them for --outside.",
               default="keep", choices=("error", "drop", "keep")),
        _DECODE,
        _GAMMA,
    ),
    "evaluate": (_DECODE, _GAMMA),
    "predict": (_DECODE, _GAMMA),
}  # fmt: skip


class _Folding(Task):
    """Fold RNA."""

    name = "folding"
    summary = "base pairs of RNA sequences"
    files = "sequences with structures: dot-bracket, CT, BPSEQ or Stockholm (SS_cons)"
    about = {  # noqa: RUF012
        "predict": "Dot-bracket. 'palmette fold' takes constraints and evidence, and writes other formats, too.",
        "evaluate": "Folds the sequences with --model, and compares with their structures: sensitivity, selectivity, "
        "F1 of base pairs, as means of sequences and of all pairs together.",
    }
    options = _OPTIONS
    fact_names = ("decode", "gamma", "min_hairpin", "pairs_allowed", "about")

    def prepare(self, options: Options, tune: str | int | None, has_dev: bool) -> Training:
        from palmette.apps.folding.training import FoldingTraining

        return FoldingTraining(options, tune, has_dev)

    def open(self, model: Any, source: str) -> Folder:
        from palmette.apps.folding.folder import Folder

        return Folder.from_model(model, source)

    def predict(self, application: Folder, data: str, out: IO[str], options: Options) -> None:
        """Write structures in dot-bracket."""
        from dataclasses import replace

        from palmette.apps.folding.fasta import format_dot_bracket
        from palmette.apps.folding.files import read_records

        records = read_records(data, pseudoknots="keep")
        own = {"decode": options["decode"], "gamma": options["gamma"]}
        for record, folded in zip(records, application.fold_all(records, probabilities=False, **own)):
            out.writelines(format_dot_bracket([replace(record, pairs=tuple(folded.pairs))]))

    def samples(self, application: Folder, data: str, options: Options) -> tuple[Any, Any]:
        """Sequences and their structures."""
        from palmette.apps.folding.training import read_structures

        records = read_structures(data)
        return [each.sequence for each in records], [each.structure for each in records]

    def evaluate(
        self, application: Folder | None, data: str, options: Options, log: Callable[[str], None]
    ) -> Result:
        """Fold sequences and compare with their structures."""
        from palmette.apps.folding.training import measured, read_structures

        if application is None:
            raise ValueError(f"{data}: give the --model that folds it")
        records = read_structures(data)
        report = measured(application, records, decode=options["decode"], gamma=options["gamma"])
        return {"task": self.name, **report.to_dict()}, report.format()

    def inspect(self, application: Folder) -> Inspection:
        from palmette.structures.folding.feature_names import feature_names

        structure = application.model.structure
        about = (getattr(application.model, "extra_", None) or {}).get("about") or {}
        facts = {
            "decode": application.decode, "gamma": application.gamma, "min_hairpin": structure.min_hairpin,
            "pairs_allowed": structure.pairs, "about": about,
        }  # fmt: skip
        rows = [["decodes", f"{application.decode}, gamma {application.gamma:g}"], *map(list, about.items())]
        return Inspection(facts, rows, feature_names=list(feature_names()), shows_labels=False)


register_task(_Folding())
