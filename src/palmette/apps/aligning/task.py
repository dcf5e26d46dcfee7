"""The task of alignment on the command line: pairs with alignments, an aligner, recall over core columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

from palmette.apps.options import Option, readable
from palmette.apps.task import Inspection, Options, Result, Task, Training, register_task

if TYPE_CHECKING:
    from palmette.apps.aligning.aligner import Aligner

_DECODE = Option("decode", "How an alignment is chosen; by the model by default.", choices=("viterbi", "mea"))
_GAMMA = Option("gamma", "For mea: weight of gaps; the larger, the fewer matches. 0 by default.", float)

_OPTIONS = {
    "train": (
        Option("algorithm", "The learner.", default="crf", choices=("crf", "ssvm", "soft_hinge", "ramp", "perceptron")),
        Option("l2", "L2 penalty.", float),
        Option("missed", "For hinges and ramp: cost of missing all core columns of a reference; 1 by default.", float),
        Option("false", "For hinges and ramp: cost of as many false matches as there are core columns; 0 by default.",
               float),
        Option("params", "Parameter file of CONTRAlign to start from.", check=readable),
        Option("alphabet", "Letters of the sequences; protein by default.", choices=("protein", "dna", "rna")),
        Option("references", "core: only columns of upper-case letters are certain; all: every column and gap is.",
               choices=("core", "all")),
        Option("long_gaps", "A second kind of gaps, for long ones.", bool, False),
        Option("free_ends", "Gaps at the ends cost nothing.", bool, False),
        _DECODE,
        _GAMMA,
    ),
    "evaluate": (_DECODE, _GAMMA),
    "predict": (_DECODE, _GAMMA),
}  # fmt: skip


class _Alignment(Task):
    """Align pairs of sequences."""

    name = "alignment"
    summary = "global alignments of pairs of sequences"
    files = "pairs of rows in aligned FASTA, core columns in upper case"
    about = {  # noqa: RUF012
        "predict": "Aligned FASTA. 'palmette align' takes constraints, and writes other formats, too.",
        "evaluate": "Aligns the sequences with --model, and compares with their alignments: recall and precision of "
        "core columns, and over-alignment, as means of pairs and of all columns together, and recall by identity.",
    }
    options = _OPTIONS
    fact_names = ("decode", "gamma", "alphabet", "long_gaps", "free_ends", "about")

    def prepare(self, options: Options, tune: str | int | None, has_dev: bool) -> Training:
        from palmette.apps.aligning.training import AligningTraining

        return AligningTraining(options, tune, has_dev)

    def open(self, model: Any, source: str) -> Aligner:
        from palmette.apps.aligning.aligner import Aligner

        return Aligner.from_model(model, source)

    def predict(self, application: Aligner, data: str, out: IO[str], options: Options) -> None:
        """Write alignments as aligned FASTA."""
        from palmette.apps.aligning.fasta import format_aligned_fasta
        from palmette.apps.aligning.files import read_alignments

        own = {"decode": options["decode"], "gamma": options["gamma"]}
        for aligned in application.align_all(read_alignments(data), posteriors=False, **own):
            out.writelines(format_aligned_fasta([aligned.record()]))

    def samples(self, application: Aligner, data: str, options: Options) -> tuple[Any, Any]:
        """Pairs of sequences and their alignments, or the core columns of these."""
        from palmette.apps.aligning.aligner import output_of
        from palmette.apps.aligning.training import read_references

        pairs = read_references(data)
        return [(each.a.sequence, each.b.sequence) for each in pairs], [
            output_of(each, "core") for each in pairs
        ]

    def evaluate(
        self, application: Aligner | None, data: str, options: Options, log: Callable[[str], None]
    ) -> Result:
        """Align sequences and compare with their alignments."""
        from palmette.apps.aligning.training import measured, read_references

        if application is None:
            raise ValueError(f"{data}: give the --model that aligns it")
        report = measured(
            application, read_references(data), decode=options["decode"], gamma=options["gamma"]
        )
        return {"task": self.name, **report.to_dict()}, report.format()

    def inspect(self, application: Aligner) -> Inspection:
        structure = application.model.structure
        about = (getattr(application.model, "extra_", None) or {}).get("about") or {}
        facts = {
            "decode": application.decode, "gamma": application.gamma, "alphabet": structure.alphabet,
            "long_gaps": structure.long_gaps, "free_ends": structure.free_ends, "about": about,
        }  # fmt: skip
        decoding = application.decode + (
            f", gamma {application.gamma:g}" if application.decode == "mea" else ""
        )
        rows = [["decodes", decoding], *map(list, about.items())]
        return Inspection(facts, rows, feature_names=list(application.weights), shows_labels=False)


register_task(_Alignment())
