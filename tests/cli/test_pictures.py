"""Pictures of commands: what cannot be drawn is refused before any work."""

from __future__ import annotations

import pytest

from palmette.cli import main

COMMANDS = {
    "fold": ["fold", "seqs.fa"],
    "align": ["align", "seqs.fa"],
    "track": ["track", "seqs.fa"],
    "bounds": ["bounds", "seqs.fa", "seqs.fa"],
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seqs.fa").write_text(">a\nGGGAAACCC\n>b\nGGGAACCC\n")
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_without_matplotlib_the_remedy_is_named_first(command, monkeypatch, capsys):
    monkeypatch.setattr("palmette.plot.axes.has_matplotlib", lambda: False)
    assert main([*COMMANDS[command], "--plot", "out.svg"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and "pip install 'palmette[plot]'" in err and err.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_bad_names_are_refused_first(command, capsys):
    assert main([*COMMANDS[command], "--plot", "out.txt"]) == 2
    assert "--plot out.txt: pictures are written as .png, .svg" in capsys.readouterr().err
    assert main([*COMMANDS[command], "--plot", "nowhere/out.svg"]) == 2
    assert "nowhere" in capsys.readouterr().err


def test_a_page_needs_no_matplotlib(folder, monkeypatch, capsys):
    monkeypatch.setattr("palmette.plot.axes.has_matplotlib", lambda: False)
    assert main(["align", "seqs.fa", "--plot", "out.html"]) == 0
    assert (folder / "out.html").read_text().startswith("<!")
