"""Packages that only the files of some formats need."""

from __future__ import annotations

import importlib
from typing import Any


def extra(module: str, purpose: str) -> Any:
    """Import a module of the extra ``track``.

    Raises
    ------
    ModuleNotFoundError
        It is not installed; the message says what for and how to install it.

    Examples
    --------
    >>> extra("no_such_package", "files of no format")
    Traceback (most recent call last):
    ModuleNotFoundError: files of no format need no_such_package, which is not installed: pip install "palmette[track]"
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is not None and error.name.partition(".")[0] != package:
            raise
        raise ModuleNotFoundError(
            f'{purpose} need {package}, which is not installed: pip install "palmette[track]"', name=package
        ) from error
