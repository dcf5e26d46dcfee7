"""Kinds of model files: classes of the user's own, and kinds that nobody has registered."""

from __future__ import annotations

import io
import subprocess
import sys
from dataclasses import dataclass

import pytest

import palmette
from palmette import CRF, SSVM, Chain, Multiclass
from palmette.errors import ModelFileError
from palmette.io import read_model, write_model
from palmette.losses import Hamming
from palmette.registry import find, is_registered, kind_of, register

X, Y = [[["a"], ["b"]], [["b"], ["a"]]], [["x", "y"], ["y", "x"]]


@register("structure")
class LabelledChain(Chain):
    """A chain with a setting of its own."""

    def __init__(self, order=1, allowed=None, note="none"):
        super().__init__(order, allowed)
        self.note = note


@register("learner")
class QuickCRF(CRF):
    """A learner of the user's own."""


@register("loss", "my loss")
@dataclass(frozen=True)
class MyLoss(Hamming):
    """A loss of the user's own."""


class Unregistered(CRF):
    """A learner that nobody has registered."""


def saved(model) -> io.BytesIO:
    file = io.BytesIO()
    model.save(file)
    return file


def test_own_structures_learners_and_losses_are_saved():
    model = palmette.load(saved(QuickCRF(LabelledChain(note="mine")).fit(X, Y)))
    assert (
        type(model) is QuickCRF and type(model.structure) is LabelledChain and model.structure.note == "mine"
    )
    assert model.predict(X) == Y
    machine = palmette.load(saved(SSVM(Chain(), task_loss=MyLoss(), max_iter=3).fit(X, Y)))
    assert type(machine.task_loss) is MyLoss


def test_what_is_not_registered_cannot_be_saved():
    assert not is_registered(Unregistered(Chain()))
    with pytest.raises(TypeError, match=r"cannot hold a Unregistered.*palmette.register"):
        Unregistered(Chain()).fit(X, Y).save(io.BytesIO())


@pytest.mark.parametrize("part", ["learner", "structure", "encoder", "scorer", "codec"])
def test_an_unknown_kind_says_what_to_import(part):
    kind, header, arrays = read_model(saved(CRF(Chain()).fit(X, Y)))
    if part == "learner":
        kind = "os"
    elif part == "structure":
        header["params"]["structure"]["object"] = "os"
    else:
        header[part]["kind"] = "os"
    file = io.BytesIO()
    write_model(file, kind, header, arrays)
    with pytest.raises(ModelFileError, match=f"a[n]? {part} of the kind 'os'.*import the module"):
        palmette.load(file)


def test_a_file_imports_no_module_of_its_choice(tmp_path):
    (tmp_path / "trap.py").write_text("raise SystemExit(3)")
    kind, header, arrays = read_model(saved(CRF(Chain()).fit(X, Y)))
    for name in ("trap", "trap.Trap", "trap:Trap"):
        header["params"]["structure"] = {"object": name, "group": "structure", "options": {}}
        with open(tmp_path / "model", "wb") as file:
            write_model(file, kind, header, arrays)
        code = "import palmette, sys\ntry:\n palmette.load('model')\nexcept palmette.errors.ModelFileError: sys.exit(7)"
        assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path).returncode == 7


def test_a_kind_is_taken_once():
    with pytest.raises(ValueError, match="structure kind 'Chain' is taken by palmette"):
        register("structure", "Chain")(type("Other", (), {}))
    with pytest.raises(ValueError, match="group must be one of"):
        register("thing")


def test_kinds_of_palmette_are_found_by_name():
    assert find("structure", "Multiclass") is Multiclass and kind_of(Multiclass()) == "Multiclass"
    assert find("solver", "Bundle").__name__ == "Bundle"
    with pytest.raises(ValueError, match="there is a loss of the kind 'Hinge', which is not registered"):
        find("loss", "Hinge")
