"""ramify: structured prediction. Any learner trains any structure under any kind of supervision.

>>> from ramify import CRF, Chain
>>> X, Y = [[["sunny"], ["rainy"]]], [["out", "in"]]
>>> CRF(Chain(), l2=0.1).fit(X, Y).predict([[["rainy"], ["sunny"]]])
[['in', 'out']]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

_HOME = {
    "CRF": "ramify.estimators",
    "SSVM": "ramify.estimators",
    "Perceptron": "ramify.estimators",
    "PlackettLuce": "ramify.estimators",
    "CombinedDecoder": "ramify.estimators",
    "load": "ramify.estimators",
    "Chain": "ramify.structures",
    "Graph": "ramify.structures",
    "Multiclass": "ramify.structures",
    "Ranking": "ramify.structures",
    "SemiMarkov": "ramify.structures",
    "Decomposition": "ramify.regularizers",
    "GroupLasso": "ramify.regularizers",
    "Clique": "ramify.data",
    "GraphInput": "ramify.data",
    "UNKNOWN": "ramify.data",
    "as_sequences": "ramify.data",
}
_PACKAGES = (
    "bounds", "compat", "data", "datasets", "errors", "inference", "inspection", "kernels", "losses", "metrics", "plot",
    "regularizers", "solvers", "structures", "testing",
)  # fmt: skip

__all__ = [
    "CRF", "SSVM", "UNKNOWN", "Chain", "Clique", "CombinedDecoder", "Decomposition", "Graph", "GraphInput",
    "GroupLasso", "Multiclass", "Perceptron", "PlackettLuce", "Ranking", "SemiMarkov", "as_sequences", "load",
]  # fmt: skip

if TYPE_CHECKING:
    from ramify.data import UNKNOWN, Clique, GraphInput, as_sequences
    from ramify.estimators import CRF, SSVM, CombinedDecoder, Perceptron, PlackettLuce, load
    from ramify.regularizers import Decomposition, GroupLasso
    from ramify.structures import Chain, Graph, Multiclass, Ranking, SemiMarkov


def __getattr__(name: str) -> Any:
    # Names are imported when they are first used, so that ``import ramify`` stays fast.
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _PACKAGES:
        return importlib.import_module(f"ramify.{name}")
    raise AttributeError(f"module 'ramify' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_PACKAGES, "__version__"])
