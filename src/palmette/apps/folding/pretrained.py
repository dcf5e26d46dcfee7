"""The folder that comes with the package: it serves where nothing was trained yet."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Any

NAME = "rfam.palmette"
ABOUT = {
    "data": "bench1359: 1,359 seed sequences of Rfam 14.2 with published structures, at most 3 per family",
    "licence": "CC0 (Rfam)",
}


def load_pretrained() -> Any:
    """The folder trained on Rfam."""
    from palmette.apps.folding.folder import Folder

    with as_file(files("palmette.apps.folding") / "models" / NAME) as path:
        return Folder.load(path)


def train_pretrained(path: str, **options: Any) -> Any:
    """Train it anew on sequences of Rfam, and write it; options are those of the learner."""
    from palmette.apps.folding.folder import Folder
    from palmette.apps.folding.records import RNARecord
    from palmette.datasets import load_rna
    from palmette.structures.folding.brackets import parse_brackets

    rna = load_rna("bench1359")
    records = [
        RNARecord(str(name), x, tuple(parse_brackets(y)))
        for name, x, y in zip(rna.names, rna.data, rna.target)
    ]
    folder = Folder.train(records, **{"algorithm": "crf", "l2": 3.0, **options})
    folder.save(path, **ABOUT)
    return folder
