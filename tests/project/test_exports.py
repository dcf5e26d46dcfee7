"""Public names: every package exports what it lists, and CONTRIBUTING names only files that exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import palmette

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("package", ["", *(f".{name}" for name in palmette._PACKAGES)])
def test_every_listed_name_is_there(package):
    module = importlib.import_module(f"palmette{package}")
    assert [name for name in getattr(module, "__all__", ()) if not hasattr(module, name)] == []


def test_contributing_and_architecture_name_files_that_exist():
    missing = []
    for page in ("CONTRIBUTING.md", "ARCHITECTURE.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        for name in re.findall(r"`((?:[\w.]+/)+[\w.]*\w(?:\.py|\.md)?)`", text):
            places = (ROOT / name, ROOT / "src" / name, ROOT / "src" / "palmette" / name)
            if not any(place.exists() for place in places):
                missing.append(f"{page}: {name}")
    assert missing == []
