"""Dotted names of the package in messages, docstrings and guides: each can be imported as it is written."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"\bpalmette(?:\.[A-Za-z_]\w*)+")


def exists(name):
    found = importlib.import_module("palmette")
    path = found.__name__
    for part in name.split(".")[1:]:
        path = f"{path}.{part}"
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(path)
            except ImportError:
                return False
    return True


def test_names_in_messages_and_guides_exist():
    assert exists("palmette.structures.by_query") and not exists("palmette.data.by_query")
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").glob("*.md"), *ROOT.glob("[AR]*.md")]
    assert len(files) > 100
    wrong = {name: str(f) for f in files for name in NAME.findall(f.read_text("utf-8")) if not exists(name)}
    assert not wrong
