"""What the command line asks of an application, and the register of those that answer.

A new task is a folder of `palmette.apps` with a module ``task.py`` that registers it. The command line names none.
"""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

import palmette.apps
from palmette.apps.options import Option

Options = Mapping[str, Any]
"""Values of the options of a task by name, checked; None stands for a default. In training also ``solver``, ``tol``,
``max_iter``, ``n_jobs`` and ``random_state``, in the other commands ``model``, the path of the model."""

Callback = Callable[[Any], object]
"""Called with every step of a solver."""

Watch = Callable[[Any, float], object]
"""Called now and then with a step of a solver and the accuracy on the held-out file."""

Result = tuple[dict[str, Any], str]
"""What a command prints: the object for JSON, and the same in words."""


class Application(Protocol):
    """A fitted model together with how it reads its files, such as a tagger."""

    @property
    def model(self) -> Any:
        """The estimator."""

    @property
    def seconds(self) -> dict[str, float]:
        """What training spent on each of its phases."""

    def save(self, path: str) -> None:
        """Write one model file, whose ``extra`` has the name of the task under ``"task"``."""


class Evaluation(Protocol):
    """Scores on held-out data."""

    def to_dict(self) -> dict[str, Any]:
        """Return the scores for JSON."""

    def headline(self) -> str:
        """Return the most important ones in a few words."""


class Training(ABC):
    """One training of a task. It is made before any data is read, and refuses bad options then."""

    algorithm: str

    @abstractmethod
    def read(self, data: Sequence[str], dev: str | None) -> None:
        """Read the files to learn from, and the held-out file."""

    @abstractmethod
    def size(self) -> str:
        """How much there is to learn from, such as ``60 sentences``."""

    @abstractmethod
    def fit(self, callbacks: Sequence[Callback], watch: Watch) -> Application:
        """Learn.

        A KeyboardInterrupt hands over what was learnt (`palmette.apps.interrupted.handing_over`).
        """

    @abstractmethod
    def evaluate(self, application: Any) -> Evaluation:
        """Score the held-out file."""

    @abstractmethod
    def facts(self, application: Any) -> dict[str, Any]:
        """What JSON tells of the data and of what only this task has."""

    @abstractmethod
    def rows(self, application: Any) -> list[list[str]]:
        """The same in words: pairs of a name and a text, the first of them for the data."""

    def warning(self, application: Any) -> str | None:
        """What the user must know of the model, if there is something."""
        return None


@dataclass
class Inspection:
    """What ``palmette inspect`` tells of the application beside its model."""

    facts: dict[str, Any]
    rows: list[list[str]] = field(default_factory=list)
    sections: list[str] = field(default_factory=list)
    feature_names: list[str] | None = None
    shows_labels: bool = True


class Task(ABC):
    """A kind of application that the command line trains, runs and measures.

    Attributes
    ----------
    name : str
        As ``--task`` takes it and model files keep it.
    summary : str
        One line for the help.
    files : str
        What its files hold, for the help and for messages, such as ``columns of tokens``.
    about : dict of str to str
        What each command does for this task, for its help.
    options : dict of str to sequence of Option
        The options that only this task has, by command: ``train``, ``predict``, ``evaluate``, ``inspect``.
    fact_names : tuple of str
        Keys of :attr:`Inspection.facts`, which are null for models of other tasks.
    is_default : bool
        Whether this is the task where none is named.
    reads_folders : bool
        Whether its data may be folders.
    """

    name: str
    summary: str
    files: str
    about: Mapping[str, str] = {}
    options: Mapping[str, Sequence[Option]] = {}
    fact_names: tuple[str, ...] = ()
    is_default = False
    reads_folders = False

    def takes(self, model: Any) -> bool:
        """Whether a model that ``palmette train`` has not made is for this task all the same."""
        return False

    @abstractmethod
    def prepare(self, options: Options, tune: str | int | None, has_dev: bool) -> Training:
        """Check all options of a training; ``tune`` is what the penalty is chosen by ("dev", or a number of folds)."""

    @abstractmethod
    def open(self, model: Any, source: str) -> Any:
        """Return the application whose model was loaded from the file `source`; refuse models of other tasks."""

    @abstractmethod
    def predict(self, application: Any, data: str, out: IO[str], options: Options) -> None:
        """Write predictions for a file."""

    @abstractmethod
    def evaluate(self, application: Any, data: str, options: Options, log: Callable[[str], None]) -> Result:
        """Measure an application on a file, or the predictions that are in the file if the application is None."""

    def samples(self, application: Any, data: str, options: Options) -> tuple[Any, Any]:
        """Inputs and outputs of a file as the model of the application takes them in training."""
        raise ValueError(f"--task {self.name} does not say what its samples are: use the Python interface")

    def inspect(self, application: Any) -> Inspection:
        """Tell how the application reads its files."""
        return Inspection({})

    def answer(self, application: Any, options: Options, top: int | None) -> Result | None:
        """What the options of ``inspect`` ask for; None for the usual facts."""
        return None

    def recognise(self, path: str) -> str | None:
        """Say where and why a file is plainly one of this task, if it is: for those who gave it to another."""
        return None


_tasks: dict[str, Task] = {}


def register_task(task: Task) -> None:
    """Add a task; one of the same name is replaced.

    Raises
    ------
    ValueError
        Where another task has the same option with another type: a model file tells the task of
        ``predict``, ``evaluate`` and ``inspect``, which are given their options before it is read.
    """
    for other in (other for name, other in _tasks.items() if name != task.name):
        for command in ("predict", "evaluate", "inspect"):
            theirs = {option.flag: option.type for option in other.options.get(command, ())}
            for option in task.options.get(command, ()):
                if theirs.get(option.flag, option.type) is not option.type:
                    raise ValueError(
                        f"task {task.name}: {option.flag} of {command} is of type {option.type.__name__}, and that of "
                        f"task {other.name} of type {theirs[option.flag].__name__}; choose another name"
                    )
    _tasks[task.name] = task


def all_tasks() -> dict[str, Task]:
    """All tasks, sorted by name: those of the folders beside this module, and what else was registered."""
    for found in pkgutil.iter_modules(palmette.apps.__path__):
        if found.ispkg and Path(palmette.apps.__path__[0], found.name, "task.py").exists():
            importlib.import_module(f"palmette.apps.{found.name}.task")
    return dict(sorted(_tasks.items()))


def get_task(name: str | None = None) -> Task:
    """The task of a name; without one the default."""
    known = all_tasks()
    if name is None:
        return next(task for task in known.values() if task.is_default)
    if name not in known:
        raise ValueError(f"{name!r} is not a task; there are: {', '.join(known)}")
    return known[name]
