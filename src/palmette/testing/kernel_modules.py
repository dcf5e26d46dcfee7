"""The modules that hold compiled kernels, for tests that look at every kernel."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

import palmette


def kernel_modules(within: str = "palmette") -> list[ModuleType]:
    """All modules below ``within`` that lie in a folder of kernels (``_kernels``, or ``kernels`` of a structure).

    >>> [module.__name__.rsplit(".", 1)[1] for module in kernel_modules("palmette.structures.segments")]
    ['dual', 'given', 'levels', 'max', 'parts', 'sum']
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


def kernels_of_several_types(within: str = "palmette") -> list[str]:
    """Kernels that this process has compiled for more than one combination of types, each with its types."""
    from palmette._kernels.parts import KernelDispatcher

    found = []
    for module in kernel_modules(within):
        for name, kernel in vars(module).items():
            if isinstance(kernel, KernelDispatcher):
                types = {*kernel.signatures, *kernel.part.signatures}
                if len(types) > 1:
                    found.append("\n    ".join([f"{module.__name__}.{name}", *map(str, types)]))
    return found
