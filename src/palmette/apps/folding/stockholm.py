"""Stockholm: alignments of families with a consensus structure, which is projected on each sequence."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from palmette.apps.folding.records import RNARecord, check_policy, check_sequence, parsed, settle
from palmette.errors import DataFileError
from palmette.io.lines import read_lines, source_name
from palmette.structures.folding.brackets import Pair

GAPS = "-._~"


@dataclass(frozen=True)
class Alignment:
    """An alignment with its annotation.

    Parameters
    ----------
    rows : dict of str to str
        Aligned sequences by name, all of one length.
    consensus : str, optional
        ``SS_cons``: the structure of the columns.
    notes : dict of str to list of str
        ``#=GF`` lines by their tag, such as ``AC`` and ``ID``.
    structures : dict of str to str
        ``#=GR name SS``: structures of single sequences, aligned.
    columns : dict of str to str
        Other ``#=GC`` lines by their tag.
    source : str
        File and line where it begins.
    """

    rows: Mapping[str, str]
    consensus: str | None = None
    notes: Mapping[str, list[str]] = field(default_factory=dict)
    structures: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    source: str = ""

    @property
    def name(self) -> str:
        """Accession, else identifier, else nothing."""
        return next((self.notes[tag][0].split(None, 1)[0] for tag in ("AC", "ID") if self.notes.get(tag)), "")

    def records(self, pseudoknots: str = "error") -> Iterator[RNARecord]:
        """Each sequence without its gaps, with the consensus projected on it.

        A pair is kept if the sequence has both of its ends; the others are counted in ``lost``. Without a
        consensus the sequence's own structure is taken, if it has one.

        >>> rows = {"a": "GGAAA-CC", "b": "-GAAAUCC"}
        >>> [(r.sequence, r.structure, r.lost) for r in Alignment(rows, "<<....>>").records()]
        [('GGAAACC', '((...))', 0), ('GAAAUCC', '(....).', 1)]
        """
        check_policy(pseudoknots)
        shared = None if self.consensus is None else parsed(self.consensus, f"{self.source} (SS_cons)")
        for name, row in self.rows.items():
            where = f"{self.source} ({name})"
            place: dict[int, int] = {}
            sequence: list[str] = []
            for column, letter in enumerate(row):
                if letter not in GAPS:
                    place[column] = len(sequence)
                    sequence.append(letter)
            letters = check_sequence("".join(sequence), where)
            own = shared
            if own is None and name in self.structures:
                own = parsed(self.structures[name], where)
            if own is None:
                yield RNARecord(name, letters, group=self.name, source=where)
                continue
            pairs: list[Pair] = [(place[i], place[j]) for i, j in own if i in place and j in place]
            kept, dropped = settle(pairs, pseudoknots, where)
            yield RNARecord(name, letters, kept, dropped, len(own) - len(pairs), self.name, where)


def read_alignments(path: str | os.PathLike[str], *, stream: IO[Any] | None = None) -> Iterator[Alignment]:
    """Yield the alignments of a Stockholm file, which may be cut into blocks.

    Examples
    --------
    >>> import io
    >>> text = "# STOCKHOLM 1.0\\n#=GF AC RF1\\na GGAAACC\\n#=GC SS_cons <<...>>\\n//\\n"
    >>> [(a.name, a.consensus) for a in read_alignments("-", stream=io.StringIO(text))]
    [('RF1', '<<...>>')]
    """
    file, number, begun = source_name(path), 0, None
    for number, raw in enumerate(read_lines(path, stream), 1):
        text, where = raw.strip(), f"{file}:{number}"
        if not text:
            continue
        if begun is None:
            if not text.startswith("# STOCKHOLM"):
                raise DataFileError(f"{where}: {text[:20]!r} stands where '# STOCKHOLM 1.0' is expected")
            begun = _Begun(where)
        elif text == "//":
            yield begun.alignment()
            begun = None
        else:
            begun.add(text, where)
    if begun is not None:
        raise DataFileError(
            f"{file}:{number}: the file ends inside the alignment of {begun.source}; '//' is missing"
        )
    if number == 0:
        raise DataFileError(f"{file}:1: there is no alignment in the file")


def read_stockholm(
    path: str | os.PathLike[str], *, pseudoknots: str = "error", stream: IO[Any] | None = None
) -> Iterator[RNARecord]:
    """Yield the sequences of all alignments, with their consensus structures projected on them."""
    check_policy(pseudoknots)
    for alignment in read_alignments(path, stream=stream):
        yield from alignment.records(pseudoknots)


def format_stockholm(alignments: Iterable[Alignment]) -> Iterator[str]:
    """The text of a Stockholm file, alignment by alignment; one block each."""
    for alignment in alignments:
        labels = [*alignment.rows, *(f"#=GR {name} SS" for name in alignment.structures), "#=GC SS_cons",
                  *(f"#=GC {tag}" for tag in alignment.columns)]  # fmt: skip
        width = max(map(len, labels)) + 1
        lines = ["# STOCKHOLM 1.0"]
        lines += [f"#=GF {tag} {text}" for tag, texts in alignment.notes.items() for text in texts]
        for name, row in alignment.rows.items():
            lines.append(f"{name:<{width}}{row}")
            if name in alignment.structures:
                lines.append(f"{f'#=GR {name} SS':<{width}}{alignment.structures[name]}")
        lines += [f"{f'#=GC {tag}':<{width}}{text}" for tag, text in alignment.columns.items()]
        if alignment.consensus is not None:
            lines.append(f"{'#=GC SS_cons':<{width}}{alignment.consensus}")
        yield "\n".join([*lines, "//", ""])


def as_alignments(records: Iterable[RNARecord]) -> Iterator[Alignment]:
    """Each sequence as an alignment of its own, the structure as its consensus."""
    for record in records:
        notes = {"ID": [record.name]} | ({"AC": [record.group]} if record.group else {})
        yield Alignment({record.name: record.sequence}, record.structure, notes, source=record.source)


class _Begun:
    """An alignment of which some lines were read."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.parts: dict[str, dict[str, list[str]]] = {"": {}, "GC": {}, "GR": {}, "GF": {}}

    def add(self, text: str, where: str) -> None:
        kind = text[2:4] if text.startswith("#=") else ""
        if text.startswith("#") and kind not in ("GC", "GR", "GF"):
            return  # a comment, or what is known of one sequence
        wanted = {"": 2, "GC": 3, "GR": 4, "GF": 3}[kind]
        columns = text.split(None, wanted - 1)
        if len(columns) < wanted:
            if kind == "GF":
                return
            raise DataFileError(f"{where}: {len(columns)} columns where {wanted} are expected: {text[:40]!r}")
        if kind != "GF" and len(columns[-1].split()) > 1:
            raise DataFileError(f"{where}: a space inside the row: {text[:40]!r}")
        self.parts[kind].setdefault(" ".join(columns[min(1, wanted - 2) : -1]), []).append(columns[-1])

    def alignment(self) -> Alignment:
        rows, columns, own = ({key: "".join(some) for key, some in self.parts[kind].items()}
                              for kind in ("", "GC", "GR"))  # fmt: skip
        if not rows:
            raise DataFileError(f"{self.source}: the alignment has no sequences")
        width = len(next(iter(rows.values())))
        for name, row in {**rows, **columns, **own}.items():
            if len(row) != width:
                raise DataFileError(
                    f"{self.source}: the row {name!r} has {len(row)} columns, the first {width}; rows of an alignment "
                    "have one length"
                )
        structures = {key.rpartition(" ")[0]: text for key, text in own.items() if key.endswith(" SS")}
        return Alignment(
            rows, columns.pop("SS_cons", None), self.parts["GF"], structures, columns, self.source
        )
