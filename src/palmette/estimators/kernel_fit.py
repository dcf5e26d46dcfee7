"""Fitting with a kernel: the Gram matrix, its dual, and the rows that support the solution."""

from __future__ import annotations

import copy
import time
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from palmette.contracts.executor import Executor
from palmette.contracts.training import Encoded
from palmette.errors import MissingCapability
from palmette.estimators.class_weight import class_weighted
from palmette.estimators.emptiness import tell_empty
from palmette.estimators.kernel_features import refuse_coordinates
from palmette.estimators.progress import progress, tell_end
from palmette.estimators.settings import settings_of
from palmette.estimators.strengths import own_strength, wanted_tol
from palmette.estimators.training import encode_training, layout_weights, seed_of
from palmette.executors.choose import executor_for
from palmette.kernels import Nystroem, resolve_kernel
from palmette.kernels.definite import EXACT, check_definite
from palmette.kernels.gram import Gram
from palmette.kernels.rows import as_rows
from palmette.kernels.training_rows import KernelRows
from palmette.objectives.kernel_dual import KernelProblem
from palmette.objectives.kernel_edges import EdgePart
from palmette.objectives.kernel_scorer import KernelScorer, bare, edge_inputs
from palmette.solvers.driver import outcome
from palmette.solvers.kernel_frank_wolfe import KernelFrankWolfe
from palmette.solvers.registry import make_solver


def check_kernel_settings(model: Any) -> None:
    """Refuse a budget that makes no sense, and a kernel of edges alone."""
    options = settings_of(model, "kernel_options")
    if not (isinstance(options.cache_size, Real) and 0.0 < float(options.cache_size) < np.inf):
        raise ValueError(f"cache_size must be a positive number, got {options.cache_size!r}")
    if model.kernel is None and options.edge_kernel is not None:
        raise ValueError("edge_kernel needs a kernel of nodes too: give kernel=Linear(), for example")
    for name, given in (("kernel", model.kernel), ("edge_kernel", options.edge_kernel)):
        own = None if given is None else resolve_kernel(given, name)
        if own is not None and (own.compares_objects if isinstance(own, Nystroem) else own.objects):
            raise TypeError(
                f"{name}={given!r} compares objects, but {type(model).__name__} learns from rows of numbers: take a "
                "kernel of rows, or regression (SORR, SOSC)"
            )


def fit_kernel(model: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """``fit`` of a learner whose loss has a dual that takes kernels as they are."""
    kernel = resolve_kernel(model.kernel)
    kernel.check()
    model._check_structure()
    refuse_coordinates(model)
    started = time.perf_counter()
    weight = class_weighted(model, y, sample_weight)
    data = encode_training(X, y, model.structure, model.classes, weight, **model._encoding())
    model._surrogate_for(data)  # which refuses outputs that are annotated in part
    model._note_features(X, reset=True)
    with executor_for(model.n_jobs) as executor:
        problem, scorer = kernel_problem(model, kernel, data, executor)
        encoded = time.perf_counter()
        with progress(model, lambda w: model._snapshot(data, *scorer.of_support(w))) as callbacks:
            result, stop = outcome(kernel_solver(model, callbacks).solve, problem)
    scorer, w = scorer.of_support(result.w)
    model._keep(data, scorer, replace(result, w=w))
    tell_empty(model, data, result)
    model.fit_seconds_ = {"encode": encoded - started, "solve": time.perf_counter() - encoded}
    tell_end(model, model.result_, sum(model.fit_seconds_.values()))
    if stop is not None:
        raise stop
    return model


def kernel_problem(
    model: Any, kernel: Any, data: Encoded, executor: Executor
) -> tuple[KernelProblem, KernelScorer]:
    """The dual problem, and the scorer of its distinct rows."""
    samples, options = data.samples, settings_of(model, "kernel_options")
    budget = 1e6 * float(options.cache_size)
    seed = seed_of(model.random_state)
    for name in ("l2_node", "l2_edge"):  # bad values are refused before any work
        positive(model, name)
    linear, edges = linear_part(model, data), None
    edge_kernel = None if options.edge_kernel is None else edge_kernel_of(model, linear, data)
    least = int(samples.batch.lengths.max(initial=1))
    found = compared(kernel, as_rows(samples.batch.rows), budget, executor, seed, least)
    scorer = KernelScorer(found.kernel, found.support, data.encoder.n_columns, linear)
    model.l2_ = positive(model, "l2_node", found.gram)
    if edge_kernel is not None:
        rows = edge_inputs(samples.batch)
        left = budget - found.gram.gram.nbytes - found.gram.small.nbytes
        own = compared(edge_kernel, rows, left, executor, seed, rows.shape[0])
        l2_edge = positive(model, "l2_edge", own.gram)
        edges = EdgePart.of(own.gram, own.unique, samples.batch, linear.n_labels, l2_edge)
        linear = without_pairs(linear)
        scorer = replace(scorer, linear=linear, edge_kernel=own.kernel, edge_support=own.support)
    problem = KernelProblem(
        data.structure, model._surrogate(tuple(data.codec.classes_)).task_loss, samples, found.unique, found.gram,
        linear, model.l2_, np.full(linear.n_params, positive(model, "l2_edge")), executor, edges,
    )  # fmt: skip
    return problem, scorer


class Compared(NamedTuple):
    """A kernel bound to rows, the distinct ones among them (all of them, by number, if precomputed), and their Gram."""

    kernel: Any
    support: Any
    unique: np.ndarray
    gram: Gram


def compared(kernel: Any, rows: Any, budget: float, executor: Executor, seed: int, least: int) -> Compared:
    """The Gram matrix of rows by a kernel, which has to be positive semi-definite."""
    bound, support, unique, prepared = KernelRows.of(kernel, rows)
    check_definite(bound, prepared, seed)
    n = prepared.shape[0]
    gram = Gram(bound, prepared, budget, executor, least=min(least, n))
    if not bound.surely_definite and gram.way == "full" and n > EXACT:
        whole = gram.gram.reshape(n, gram.stride)[:, :n]
        check_definite(bound, prepared, seed, lambda v: whole @ v.astype(np.float32))
    return Compared(bound, support, unique, gram)


def edge_kernel_of(model: Any, linear: Any, data: Encoded) -> Any:
    """The kernel of edges, if they can have one."""
    given = settings_of(model, "kernel_options").edge_kernel
    kernel = resolve_kernel(given, "edge_kernel")
    if isinstance(kernel, Nystroem) or getattr(kernel, "precomputed", False):
        raise TypeError(f"edge_kernel must be a kernel of rows, got {given!r}")
    kernel.check()
    if not linear.has_edges or bool(np.any(getattr(linear, "symmetric", False))):
        raise MissingCapability(
            f"edge_kernel={given!r} compares directed edges, which {model.structure!r} does not have"
        )
    n_types = len(getattr(data.encoder, "edge_types", ()))
    if n_types > 1 and getattr(data.samples.batch, "edge_rows", None) is None:
        raise MissingCapability(
            f"edge_kernel={given!r} would compare the nodes that edges join, whatever the type of edge, "
            f"and X has {n_types} types of edges: give edge_features, or leave edge_types out"
        )
    return kernel


def without_pairs(linear: Any) -> Any:
    """The scorer of what neither kernel scores: without a table of label pairs and without features of edges."""
    own = {"pairs": np.empty(0, np.int64)}
    return (
        replace(linear, **own, edge_weights=None)
        if hasattr(linear, "edge_weights")
        else replace(linear, **own)
    )


def linear_part(model: Any, data: Encoded) -> Any:
    """The scorer of what the kernel does not score: rows without columns, no intercept."""
    plain = copy.copy(model)
    plain.fit_intercept, plain.encoding = False, replace(settings_of(model, "encoding"), states="all")
    samples = data.samples
    stripped = replace(data, samples=samples._replace(batch=bare(samples.batch)))
    return layout_weights(plain, stripped)


def positive(model: Any, name: str, gram: Gram | None = None) -> float:
    """L2 of nodes or edges, as given; or else the usual one: that of a Gram matrix, and 1 of a plain table."""
    own, relative = own_strength(model, name)
    if not own > 0.0:
        raise ValueError(f"a kernel needs {'l2' if getattr(model, name) is None else name} > 0, got {own!r}")
    return own * model.usual_share * variance(gram) if relative and gram is not None else own


def variance(gram: Gram) -> float:
    """Mean of ``|phi(x) - mean|^2 = K(x, x) - mean K(x, .)`` over up to 500 distinct rows; 1 if all are alike."""
    step = -(-gram.n // 500)
    some = gram.block(slice(0, gram.n, step)).astype(float)
    own = some[np.arange(len(some)), np.arange(0, gram.n, step)].mean()
    found = own - some.mean()
    return float(found) if found > 1e-6 * own else 1.0


def kernel_solver(model: Any, callbacks: Any) -> Any:
    """The solver of the kernel dual."""
    solver = model.solver if isinstance(model.solver, KernelFrankWolfe) else "kernel_frank_wolfe"
    return make_solver(
        solver, tol=wanted_tol(model), max_iter=model.max_iter, random_state=seed_of(model.random_state),
        callbacks=callbacks,
    )  # fmt: skip
