"""The modules that hold compiled kernels, for tests that look at every kernel."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

import palmette


def kernel_modules(within: str = "palmette") -> list[ModuleType]:
    """All modules below ``within`` that lie in a folder of kernels (``_kernels``, or ``kernels`` of a structure).

    >>> [module.__name__.rsplit(".", 1)[1] for module in kernel_modules("palmette.structures.segments")]
    ['given', 'levels', 'max', 'parts', 'sum']
    """
    found = []
    for info in pkgutil.walk_packages(palmette.__path__, "palmette."):
        home = info.name.rpartition(".")[0]
        is_kernel = home == "palmette._kernels" or (
            home.startswith("palmette.structures.") and home.endswith(".kernels")
        )
        if is_kernel and not info.ispkg and info.name.startswith(within + "."):
            found.append(importlib.import_module(info.name))
    return found
