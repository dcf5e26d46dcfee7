"""palmette: structured prediction. Any learner trains any structure under any kind of supervision.

>>> from palmette import CRF, Chain
>>> X = [[["sunny"], ["rainy"]], [["rainy"], ["sunny"], ["sunny"]]]
>>> Y = [["out", "in"], ["in", "out", "out"]]
>>> CRF(Chain(), l2=0.1).fit(X, Y).predict([[["rainy"], ["rainy"]]])
[['in', 'in']]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

_HOME = {
    "CRF": "palmette.estimators",
    "CRFCV": "palmette.estimators",
    "SORR": "palmette.estimators",
    "SORRCV": "palmette.estimators",
    "SOSC": "palmette.estimators",
    "SOSCCV": "palmette.estimators",
    "SSVM": "palmette.estimators",
    "SSVMCV": "palmette.estimators",
    "Perceptron": "palmette.estimators",
    "PlackettLuce": "palmette.structures.ranking.plackett_luce",
    "PlackettLuceCV": "palmette.structures.ranking.plackett_luce",
    "CombinedDecoder": "palmette.estimators",
    "Encoding": "palmette.estimators",
    "KernelOptions": "palmette.estimators",
    "LossOptions": "palmette.estimators",
    "load": "palmette.estimators",
    "Alignment": "palmette.structures",
    "Chain": "palmette.structures",
    "Folding": "palmette.structures",
    "Graph": "palmette.structures",
    "Hierarchy": "palmette.structures",
    "Multiclass": "palmette.structures",
    "Ranking": "palmette.structures",
    "SemiMarkov": "palmette.structures",
    "Tracking": "palmette.structures",
    "Detections": "palmette.structures",
    "Decomposition": "palmette.regularizers",
    "GroupLasso": "palmette.regularizers",
    "Clique": "palmette.structures",
    "GraphInput": "palmette.structures",
    "Transfer": "palmette.supervision",
    "compare_transfer": "palmette.supervision",
    "UNKNOWN": "palmette.data",
    "Linked": "palmette.data",
    "OneOf": "palmette.data",
    "as_sequences": "palmette.data",
    "ActiveLearner": "palmette.supervision",
    "register": "palmette.registry",
}
_PACKAGES = (
    "bounds", "compat", "data", "datasets", "errors", "estimators", "executors", "features", "inference", "inspection",
    "kernels", "losses", "metrics", "outputs", "plot", "registry", "regression", "regularizers", "solvers",
    "structures", "supervision", "surrogates", "testing",
)  # fmt: skip

__all__ = [
    "CRF", "CRFCV", "SORR", "SORRCV", "SOSC", "SOSCCV", "SSVM", "SSVMCV", "UNKNOWN", "ActiveLearner",
    "Alignment", "Chain", "Clique", "CombinedDecoder", "Decomposition", "Detections", "Encoding", "Folding",
    "Graph", "GraphInput", "GroupLasso", "Hierarchy", "KernelOptions", "Linked", "LossOptions", "Multiclass", "OneOf",
    "Perceptron", "PlackettLuce", "PlackettLuceCV", "Ranking", "SemiMarkov", "Tracking", "Transfer",
    "as_sequences", "compare_transfer", "load", "register",
]  # fmt: skip

if TYPE_CHECKING:
    from palmette.data import UNKNOWN, Linked, OneOf, as_sequences
    from palmette.estimators import (
        CRF,
        CRFCV,
        SORR,
        SORRCV,
        SOSC,
        SOSCCV,
        SSVM,
        SSVMCV,
        CombinedDecoder,
        Encoding,
        KernelOptions,
        LossOptions,
        Perceptron,
        load,
    )  # fmt: skip
    from palmette.registry import register
    from palmette.regularizers import Decomposition, GroupLasso
    from palmette.structures import (
        Alignment,
        Chain,
        Clique,
        Detections,
        Folding,
        Graph,
        GraphInput,
        Hierarchy,
        Multiclass,
        Ranking,
        SemiMarkov,
        Tracking,
    )  # fmt: skip
    from palmette.structures.ranking.plackett_luce import PlackettLuce, PlackettLuceCV
    from palmette.supervision import ActiveLearner, Transfer, compare_transfer


def __getattr__(name: str) -> Any:
    # Names are imported when they are first used, so that ``import palmette`` stays fast.
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _PACKAGES:
        return importlib.import_module(f"palmette.{name}")
    raise AttributeError(f"module 'palmette' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_PACKAGES, "__version__"])
