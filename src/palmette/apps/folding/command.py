"""What ``palmette fold`` does: read, fold, write, draw."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from palmette.apps.folding.constraints import read_constraints
from palmette.apps.folding.evidence import INTERCEPT, SLOPE, read_evidence, shape_scores
from palmette.apps.folding.files import FORMATS, read_records, write_records
from palmette.apps.folding.folder import DECODERS, MOST, Folded, Folder
from palmette.apps.folding.records import RNARecord, check_distinct
from palmette.structures.folding.encoder import RNA

PLOTS = ("arc", "planar", "circle", "dots")
KINDS = ("shape", "score")


class Job:
    """Sequences to fold, with everything checked before any work starts.

    Parameters
    ----------
    data : str
        Path of the sequences.
    model, params : str, optional
        A folder, or a parameter file of CONTRAfold; the folder that comes with the package if neither is given.
    options : dict
        The others of the command line: decode, gamma, constraint, suboptimal, most, evidence, evidence_kind, slope,
        intercept, output, format, plot, plot_kind, jobs, probabilities, beam.
    """

    def __init__(self, data: str, model: str | None, params: str | None, options: dict[str, Any]) -> None:
        self.data, self.options = data, options
        for name, known in (("decode", (None, *DECODERS)), ("plot_kind", PLOTS), ("evidence_kind", KINDS),
                            ("format", (None, *FORMATS))):  # fmt: skip
            if options[name] not in known:
                flag = "--" + name.replace("_", "-")
                shown = ", ".join(each for each in known if each is not None)
                raise ValueError(f"{flag} must be one of {shown}, got {options[name]!r}")
        if model is not None and params is not None:
            raise ValueError("--model and --params exclude each other: leave one out")
        if options["format"] is not None and options["output"] is None:
            raise ValueError(f"--format {options['format']} says how to write --output; give that, too")
        for path in (data, model, params, options["evidence"], options["constraint"]):
            out = options["output"]
            if out is not None and path is not None and os.path.realpath(out) == os.path.realpath(path):
                raise ValueError(f"--output {out} would replace {path}, which is read: give another --output")
        if options["evidence"] is None and (options["slope"] is not None or options["intercept"] is not None):
            raise ValueError("--slope and --intercept say what --evidence means; give that, too")
        if options["beam"] is not None:
            _check_beam(options)
        self.folder = _folder(model, params)
        self.by_default = model is None and params is None
        self.records = read_records(data, pseudoknots="keep")
        several = (
            options["constraint"] is not None
            or options["evidence"] is not None
            or options["plot"] is not None
        )
        if several:
            check_distinct(self.records)
        self.constraints = (
            {} if options["constraint"] is None else read_constraints(options["constraint"], self.records)
        )
        self.scores = {} if options["evidence"] is None else self._scores(options)
        self.wants_probabilities = (options["plot"] is not None and options["beam"] is None) or options[
            "probabilities"
        ]

    def _scores(self, options: dict[str, Any]) -> dict[str, Any]:
        values = read_evidence(options["evidence"], self.records)
        if options["evidence_kind"] == "score":
            import numpy as np

            return {name: np.nan_to_num(own) for name, own in values.items()}
        slope = SLOPE if options["slope"] is None else options["slope"]
        intercept = INTERCEPT if options["intercept"] is None else options["intercept"]
        return {name: shape_scores(own, slope, intercept) for name, own in values.items()}

    def run(self, progress: Callable[[int], object]) -> Iterator[Folded]:
        """Fold the sequences in their order, in threads."""
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(self.options["jobs"] or os.cpu_count() or 1) as threads:
            for n, folded in enumerate(threads.map(self._fold, self.records), 1):
                yield folded
                progress(n)

    def _fold(self, record: RNARecord) -> Folded:
        from dataclasses import replace

        own = {name: self.options[name] for name in ("decode", "gamma", "suboptimal", "beam")}
        given: Any = record.sequence
        if record.name in self.scores:
            given = RNA(record.sequence, unpaired=self.scores[record.name])
        try:
            folded = self.folder.fold(
                given, constraint=self.constraints.get(record.name), probabilities=self.wants_probabilities,
                most=self.options["most"] or MOST, **own,
            )  # fmt: skip
        except (ValueError, TypeError) as error:
            error.args = (f"{record.source}: {record.name}: {error}", *error.args[1:])
            raise
        return replace(folded, name=record.name)

    def write(self, folded: list[Folded]) -> None:
        """Write the structures to a file, if that is wanted."""
        if self.options["output"] is not None:
            write_records(self.options["output"], [each.record() for each in folded], self.options["format"])

    def draw(self, folded: list[Folded], path: str) -> list[str]:
        """Draw every sequence; of several each to a file of its own, and the files' names."""
        from palmette.plot.axes import save_figure

        stem, suffix = os.path.splitext(path)
        made = []
        for each in folded:
            own = path if len(folded) == 1 else f"{stem}.{_as_file(each.name)}{suffix}"
            save_figure(_display(each, self.options["plot_kind"]).figure_, own)
            made.append(own)
        return made

    def facts(self, folded: list[Folded]) -> dict[str, Any]:
        """What JSON tells."""
        return {
            "data": self.data, "pretrained": self.by_default, "beam": self.options["beam"],
            "decode": self.options["decode"] or ("viterbi" if self.options["beam"] else self.folder.decode),
            "gamma": self.folder.gamma if self.options["gamma"] is None else self.options["gamma"],
            "output": self.options["output"], "sequences": [each.to_dict() for each in folded],
        }  # fmt: skip


def text(folded: Folded) -> str:
    """Dot-bracket with the score, and what else was asked for."""
    lines = [f">{folded.name}", folded.sequence, f"{folded.structure} ({folded.score:.3f})"]
    if folded.beam is not None:
        lines.append(f"# approximate: beam {folded.beam}")
    lines += [f"{structure} ({score:.3f})" for structure, score in folded.alternatives]
    if folded.probabilities is not None:
        lines.append(
            f"# log-partition {folded.log_partition:.3f}, probability of the structure {folded.probability:.4g}"
        )
        lines += [f"# {i} {j} {p:.4f}" for i, j, p in folded.to_dict(0.01)["pair_probabilities"]]
    return "\n".join(lines)


def _check_beam(options: dict[str, Any]) -> None:
    """Refuse a beam of no spans, and what a beam cannot do."""
    if options["beam"] < 1:
        raise ValueError(f"--beam must be at least 1, got {options['beam']}")
    for name, asked in (
        ("--suboptimal", options["suboptimal"] is not None),
        ("--probabilities", options["probabilities"]),
        (f"--decode {options['decode']}", options["decode"] not in (None, "viterbi")),
        ("--plot-kind dots", options["plot"] is not None and options["plot_kind"] == "dots"),
    ):
        if asked:
            raise ValueError(
                f"{name} needs all structures, and --beam {options['beam']} finds a single one: leave one out"
            )


def _folder(model: str | None, params: str | None) -> Folder:
    if params is not None:
        return Folder.from_parameters(params)
    if model is not None:
        return Folder.load(model)
    return Folder.pretrained()


def _display(folded: Folded, kind: str) -> Any:
    import matplotlib

    from palmette.plot import ArcDisplay, DotPlotDisplay, FoldDisplay

    matplotlib.use("Agg")
    if kind == "arc":
        return ArcDisplay.from_folded(folded, title=folded.name)
    if kind == "dots":
        return DotPlotDisplay.from_folded(folded, title=folded.name)
    return FoldDisplay.from_folded(folded, layout=kind, title=folded.name)


def _as_file(name: str) -> str:
    return "".join(each if each.isalnum() or each in "._-" else "_" for each in name)
