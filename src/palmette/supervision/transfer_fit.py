"""The fit of a learner on samples in domains: its scorer, its penalty and its samples change, nothing else does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from palmette.contracts.training import Encoded
from palmette.errors import MissingCapability
from palmette.estimators.base import StructuredEstimator
from palmette.estimators.kernel_features import Keep
from palmette.estimators.regularizers import regularizers
from palmette.estimators.strengths import times_usual
from palmette.estimators.tuned import Tuned
from palmette.loops import ANY, register
from palmette.memory import check_size
from palmette.regularizers.elastic import ElasticNet
from palmette.solvers.registry import solver_class
from palmette.supervision.transfer_scorer import DomainBatch, TransferScorer
from palmette.supervision.transfer_tree import DomainTree, check_count

register("loss", ANY, "palmette.supervision.transfer_loss:DomainLoss")
register("diagonal", ANY, "palmette.supervision.transfer_loss:DomainDiagonal")

# Solvers whose loops know the plain layout of weights only, and what to use instead.
COMPILED = {"dual": "lbfgs", "multiclass_dual": "bundle", "kernel_frank_wolfe": "bundle"}
BYTES_A_WEIGHT = 32  # at least, in training: the weight, its gradient, its penalty, a direction


class DomainFit(StructuredEstimator):
    """What :func:`domain_learner` puts before a learner."""

    domain_tree: DomainTree
    domain_names: list[Any]
    domain_codes: np.ndarray
    rho: Any

    def _lay_out(self, data: Encoded) -> tuple[Encoded, Any, Keep]:
        codes = self.domain_codes
        check_count(codes, len(data.samples.batch))
        self._check_weights(data.samples.weight)
        own, inner, keep = super()._lay_out(data)
        n_nodes = len(self.domain_tree.nodes)
        check_size(
            f"{n_nodes:,} nodes of the tree of domains with {inner.n_params:,} weights each",
            BYTES_A_WEIGHT * n_nodes * inner.n_params,
            "join domains, or take fewer features (min_count, a smaller n_hash)",
        )
        shared = super()._regularizer(inner, own)
        scale, self._penalty = penalty_of_nodes(self.rho, shared, inner.blocks["node"], n_nodes)
        paths = tuple(self.domain_tree.path(name) for name in self.domain_names)
        scorer = TransferScorer(inner, paths, scale)
        batch: Any = DomainBatch(own.samples.batch, codes)
        samples = own.samples._replace(batch=batch)
        order = np.argsort(codes, kind="stable")  # so that domains are not cut into many small blocks
        return replace(own, samples=samples.take(order)), scorer, _kept_nodes(keep, scale)

    def _regularizer(self, scorer: Any, data: Encoded) -> Any:
        return self._penalty

    def _in_kernel_dual(self) -> bool:
        return False  # a kernel is a map of rows here: domains share it, and have weights of their own

    def _check_weights(self, weight: np.ndarray) -> None:
        total = np.bincount(self.domain_codes, weight, len(self.domain_names))
        empty = np.flatnonzero(total == 0.0)
        if len(empty):
            raise ValueError(
                f"the domain {self.domain_names[empty[0]]!r} has no example with a positive sample_weight: leave its "
                "samples out, or give them weights"
            )


def domain_learner(model: Any, tree: DomainTree, domains: Sequence[Any], rho: Any) -> Any:
    """A learner like ``model`` whose ``fit`` sees the samples as those of these domains, one per sample."""
    kind = type(model)
    learner = type(kind.__name__, (DomainFit, kind), {})(**model.get_params(deep=False))
    names = list(dict.fromkeys(domains))
    place = {name: number for number, name in enumerate(names)}
    learner.domain_tree, learner.domain_names, learner.rho = tree, names, rho
    learner.domain_codes = np.array([place[domain] for domain in domains], np.int64)
    return learner


def check_learner(model: Any) -> None:
    """Refuse what cannot be fitted in domains, with what can."""
    if not isinstance(model, StructuredEstimator):
        raise TypeError(f"model must be a learner such as CRF(Chain()), got {model!r:.80}")
    if isinstance(model, Tuned):
        plain = type(model)._learner.__name__
        raise MissingCapability(
            f"Transfer does not take {type(model).__name__}, which chooses a penalty without regard to domains: use "
            f"Transfer({plain}(...)) in a GridSearchCV over model__l2 and rho"
        )
    for name, other in COMPILED.items():
        if model.solver == name or isinstance(model.solver, solver_class(name)):
            raise MissingCapability(
                f"solver={name!r} is compiled for the weights of one domain: use solver={other!r} with Transfer"
            )
    if getattr(model, "warm_start", False):
        raise MissingCapability("Transfer starts every fit anew: leave warm_start=True of the model out")
    decomposition, groups = regularizers(model)
    if groups is not None:
        raise MissingCapability(
            "Transfer does not support a GroupLasso, whose groups know no domains: use l1, which is the penalty of the "
            "shared weights and of those of the domains alike"
        )
    if decomposition is not None and decomposition.is_auto:
        raise MissingCapability("Transfer cannot choose the size of pieces: give Decomposition a number")


def check_rho(rho: Any) -> tuple[float, bool]:
    """The number that ``rho`` says, and whether it is a multiple of the penalty of the shared weights."""
    if isinstance(rho, str):
        return times_usual("rho", rho), True
    if isinstance(rho, bool) or not isinstance(rho, Real) or not 0.0 < float(rho) < np.inf:
        raise ValueError(
            "rho must be a finite number > 0, or a multiple of l2 such as '10x' (large: as one domain; small: domains "
            f"apart), got {rho!r}"
        )
    return float(rho), False


def penalty_of_nodes(
    rho: Any, shared: ElasticNet, features: slice, n_nodes: int
) -> tuple[np.ndarray, ElasticNet]:
    """Scales of the nodes, and the penalty of all weights in these scales.

    Where the shared weights have no L2 penalty (``Perceptron``), ``rho`` is relative to 1.
    """
    value, relative = check_rho(rho)
    penalised = bool(np.any(shared.l2))
    l2 = shared.l2 if penalised else np.ones_like(shared.l2)
    if relative:
        scale = 1.0 / np.sqrt(value)
    else:
        usual = l2[features] if np.any(l2[features]) else l2
        scale = float(np.sqrt(usual.max(initial=0.0) / value)) if len(usual) else 1.0
    own = value * l2 if relative else np.full_like(l2, value)
    if not penalised:
        own = np.zeros_like(l2)
    scales = np.array([1.0, *[scale] * (n_nodes - 1)])
    inner = ElasticNet(own, shared.l1).rescaled(np.full_like(l2, scale))
    return scales, ElasticNet(
        np.concatenate([shared.l2, *[inner.l2] * (n_nodes - 1)]),
        np.concatenate([shared.l1, *[inner.l1] * (n_nodes - 1)]),
    )


def _kept_nodes(keep: Keep, scale: np.ndarray) -> Keep:
    """What the model keeps: the scorer of one node, and the weights of all of them in the scale of the model."""

    def kept(w: np.ndarray) -> tuple[Any, np.ndarray]:
        found = [keep(s * own) for s, own in zip(scale, w.reshape(len(scale), -1))]
        return found[0][0], np.concatenate([own for _, own in found])

    return kept
