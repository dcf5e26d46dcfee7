"""The command line, ``palmette COMMAND ...``: results on standard output, all else on standard error."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from typing import Any

OK, MISSED, BAD_INPUT, BROKEN_PIPE = 0, 1, 2, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Parameters
    ----------
    arguments : list of str, optional
        Those of the process by default.

    Returns
    -------
    int
        0 if all went well, 1 if a benchmark or recipe missed a target, 2 for bad input, 130 after Ctrl-C, 143 after
        SIGTERM in training, 141 if the reader of the output went away.

    Notes
    -----
    Bad input becomes one line on standard error. With ``palmette --debug COMMAND ...`` or ``PALMETTE_DEBUG=1`` it
    is raised, so that Python shows where it arose.

    Examples
    --------
    >>> main(["--version"])  # doctest: +ELLIPSIS
    palmette ...
    0
    """
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    settings = {"debug": os.environ.get("PALMETTE_DEBUG", "") not in ("", "0")}
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            code = _run(given, settings)
            sys.stdout.flush()
        except BrokenPipeError:
            _abandon_output()
            return BROKEN_PIPE
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            return 128 + signal.SIGINT
        except Exception as error:
            message = _message(error)
            if message is None or settings["debug"]:
                raise
            print(f"error: {message}", file=sys.stderr)
            return BAD_INPUT
    return code


def _run(arguments: list[str], settings: dict[str, bool]) -> int:
    # Not through Typer's own main(), which turns errors into panels and exit codes of its own.
    import typer

    from palmette.cli.app import app
    from palmette.cli.completion import ASKED

    command: Any = typer.main.get_command(app)
    try:
        if ASKED in os.environ:
            command.main([], prog_name="palmette", complete_var=ASKED)  # prints completions and exits
        with command.make_context("palmette", arguments, obj=settings) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except SystemExit as end:  # of completion
        return int(end.code or OK)
    return OK


def _message(error: Exception) -> str | None:
    """What to tell the user, or None for an error that is not of the user's making."""
    from palmette.errors import DatasetUnavailable

    if hasattr(error, "format_message"):  # the usage errors of Typer
        context = getattr(error, "ctx", None)
        hint = f" (try '{context.command_path} --help')" if context else ""
        return str(error.format_message()).rstrip() + hint
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{os.fspath(error.filename)}: {error.strerror}"
    if isinstance(error, ImportError) and (error.name or "").startswith("palmette"):
        return None  # a broken installation; the traceback says which part
    if isinstance(error, ValueError | TypeError | OSError | ImportError | DatasetUnavailable):
        return str(error) or type(error).__name__
    return None


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    print(f"warning: {message}", file=sys.stderr)


def _abandon_output() -> None:
    """Make Python's last flush at exit go nowhere instead of failing again."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
