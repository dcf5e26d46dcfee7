"""What ``palmette align`` does: read, align, write, draw."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from palmette.apps.aligning.aligned import Aligned
from palmette.apps.aligning.aligner import DECODERS, Aligner
from palmette.apps.aligning.constraints import read_constraints
from palmette.apps.aligning.files import FORMATS, read_alignments, read_sequences, write_alignments
from palmette.apps.aligning.records import PairRecord, check_distinct
from palmette.errors import DataFileError

PLOTS = ("blocks", "matrix")


class Job:
    """Pairs to align, with everything checked before any work starts.

    Parameters
    ----------
    data : list of str
        One or two paths of sequences.
    model, params : str, optional
        An aligner, or a parameter file of CONTRAlign; a substitution matrix if neither is given.
    options : dict
        The others of the command line: matrix, open, extend, free_ends, decode, gamma, constraint, posterior, best,
        output, format, plot, plot_kind, width, jobs.
    """

    def __init__(
        self, data: Sequence[str], model: str | None, params: str | None, options: dict[str, Any]
    ) -> None:
        self.data, self.options = list(data), options
        for name, known in (
            ("decode", (None, *DECODERS)),
            ("plot_kind", PLOTS),
            ("format", (None, *FORMATS)),
        ):
            if options[name] not in known:
                flag = "--" + name.replace("_", "-")
                shown = ", ".join(each for each in known if each is not None)
                raise ValueError(f"{flag} must be one of {shown}, got {options[name]!r}")
        if model is not None and params is not None:
            raise ValueError("--model and --params exclude each other: leave one out")
        costs = [name for name in ("matrix", "open", "extend", "free_ends") if options[name] is not None]
        if costs and (model is not None or params is not None):
            flag = "--" + costs[0].replace("_", "-")
            raise ValueError(
                f"{flag} does not go with a model or parameters, which have their own scores: leave it out"
            )
        if options["format"] is not None and options["output"] is None:
            raise ValueError(f"--format {options['format']} says how to write --output; give that, too")
        for path in (*data, model, params, options["matrix"], options["constraint"]):
            out = options["output"]
            if out is not None and path is not None and os.path.realpath(out) == os.path.realpath(path):
                raise ValueError(f"--output {out} would replace {path}, which is read: give another --output")
        self.aligner = _aligner(model, params, options)
        self.by_default = model is None and params is None and options["matrix"] is None
        self.pairs = read_pairs(self.data)
        if options["constraint"] is not None or options["plot"] is not None:
            check_distinct(self.pairs)
        self.constraints = (
            {} if options["constraint"] is None else read_constraints(options["constraint"], self.pairs)
        )
        self.wants_posteriors = options["posterior"] or options["plot"] is not None

    def run(self, progress: Callable[[int], object]) -> Iterator[Aligned]:
        """Align the pairs in their order, in threads."""
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(self.options["jobs"] or os.cpu_count() or 1) as threads:
            for n, aligned in enumerate(threads.map(self._align, self.pairs), 1):
                yield aligned
                progress(n)

    def _align(self, pair: PairRecord) -> Aligned:
        try:
            return self.aligner.align(
                pair, decode=self.options["decode"], gamma=self.options["gamma"], best=self.options["best"] or 1,
                constraint=self.constraints.get(pair.name), posteriors=self.wants_posteriors,
            )  # fmt: skip
        except (ValueError, TypeError) as error:
            error.args = (f"{pair.source}: {error}", *error.args[1:])
            raise

    def write(self, aligned: list[Aligned]) -> None:
        """Write the alignments to a file, if that is wanted."""
        if self.options["output"] is not None:
            write_alignments(
                self.options["output"], [each.record() for each in aligned], self.options["format"]
            )

    def draw(self, aligned: list[Aligned], path: str) -> list[str]:
        """Draw every pair; of several each to a file of its own, and the files' names."""
        stem, suffix = os.path.splitext(path)
        made = []
        for each in aligned:
            own = path if len(aligned) == 1 else f"{stem}.{_as_file(each.name)}{suffix}"
            _draw(each, own, self.options["plot_kind"], self.options["width"])
            made.append(own)
        return made

    def facts(self, aligned: list[Aligned]) -> dict[str, Any]:
        """What JSON tells."""
        return {
            "data": self.data, "default_matrix": self.by_default,
            "decode": self.options["decode"] or self.aligner.decode,
            "gamma": self.aligner.gamma if self.options["gamma"] is None else self.options["gamma"],
            "output": self.options["output"], "pairs": [each.to_dict() for each in aligned],
        }  # fmt: skip


def read_pairs(data: Sequence[str]) -> list[PairRecord]:
    """The pairs of one file, two by two, or of two files: one by one, or a single sequence with all others."""
    if len(data) == 1:
        return read_alignments(data[0])
    first, second = (read_sequences(path) for path in data)
    if len(first) != len(second) and 1 not in (len(first), len(second)):
        raise DataFileError(
            f"{data[0]} has {len(first)} sequences and {data[1]} has {len(second)}: give as many, or one in a file"
        )
    if len(first) == 1:
        first = first * len(second)
    elif len(second) == 1:
        second = second * len(first)
    return [PairRecord(one, two, source=two.source) for one, two in zip(first, second)]


def show(aligned: Aligned, width: int) -> None:
    """Print an alignment: in colours on a terminal, else as plain text."""
    import sys

    from palmette.apps.aligning.terminal import coloured_text, plain_text

    print(heading(aligned))
    if sys.stdout.isatty():
        from rich.console import Console

        Console(highlight=False).print(coloured_text(aligned, width), soft_wrap=True)
    else:
        print(plain_text(aligned, width))
    for number, (matches, score) in enumerate(aligned.alternatives, 2):
        from dataclasses import replace

        other = replace(aligned, matches=matches, score=score, posteriors=None)
        print(f"\n# {number}. best: score {score:g}\n{plain_text(other, width)}")
    print()


def heading(aligned: Aligned) -> str:
    """One line of facts."""
    told = [f"score {aligned.score:g}", f"{len(aligned.matches)} matches"]
    if len(aligned.matches):
        told.append(f"identity {aligned.identity:.1f} %")
    if aligned.posteriors is not None:
        told.append(f"expected matches {aligned.posteriors.sum():.1f}")
        told.append(f"probability {aligned.probability:.3g}")
    return f"# {aligned.name}: {', '.join(told)}"


def _aligner(model: str | None, params: str | None, options: dict[str, Any]) -> Aligner:
    if params is not None:
        return Aligner.from_parameters(params)
    if model is not None:
        return Aligner.load(model)
    own = {
        name: options[name] for name in ("matrix", "open", "extend", "free_ends") if options[name] is not None
    }
    return Aligner.from_matrix(**own)


def _draw(aligned: Aligned, path: str, kind: str, width: int) -> None:
    from palmette.plot import AlignmentDisplay, MatchDisplay
    from palmette.plot.axes import save_figure

    if path.lower().endswith(".html"):
        if kind == "matrix":
            raise ValueError("--plot-kind matrix is a picture: write it as .svg, .png or .pdf, not as .html")
        from palmette.io.atomic import write_atomically

        text = AlignmentDisplay.of_aligned(aligned).to_html(width=width, title=aligned.name)
        with write_atomically(path) as file:
            file.write(text.encode())
        return
    import matplotlib

    matplotlib.use("Agg")
    if kind == "matrix":
        display: Any = MatchDisplay.from_aligned(aligned, title=aligned.name)
    else:
        display = AlignmentDisplay.from_aligned(aligned, width=width, title=aligned.name)
    save_figure(display.figure_, path)


def _as_file(name: str) -> str:
    return "".join(each if each.isalnum() or each in "._-" else "_" for each in name)
