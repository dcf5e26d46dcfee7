"""What an output structure answers: the contract between inference and everything above it."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from palmette.errors import MissingCapability


class Best(NamedTuple):
    """Outputs of a maximisation (or minimisation) and their values, cost included."""

    codes: Any  # outputs of the batch, packed as the structure packs them
    values: np.ndarray  # (n_samples,)


class Expectation(NamedTuple):
    """Log-partitions of a batch and the expected counts, in the shape of the potentials."""

    log_z: np.ndarray  # (n_samples,)
    counts: Any


@runtime_checkable
class Structure(Protocol):
    """A family of outputs with its inference, on packed batches.

    ``theta`` are the potentials of a batch; ``f(x, y) = <theta, count(y)>`` for every output. Every answer takes
    ``cost=`` (added to the score, per label part) and ``within=`` (a restriction). The methods below are the least
    a structure has; the optional ones that learners ask for by name are

    ``worst``, ``k_best``, ``max_marginals`` | ``log_partition``, ``expectation``, ``marginals``, ``entropy``,
    ``sample``, ``min_risk``, ``log_proba`` | ``best_contradicting``, ``best_by_level``.

    A structure that cannot give an answer does not have the method; whoever needs it says so before the first
    step (:func:`require`).

    Where an output is not one label per position, a structure also has doors for what users give and get:
    ``make_codec(y, classes, lengths)`` makes the :class:`~palmette.data.labels.LabelCodec` that reads and writes
    outputs (one code per position), ``code_costs(table)`` turns costs of labels into costs of codes,
    ``extend_encoder(encoder)`` adds features to the encoder of positions, and
    ``check_encoder(encoder)`` refuses inputs that lack them.
    ``measure(row_scores, y)`` says how good each sample is where equal labels are no measure, ``default_loss`` names
    the task loss that fits, ``lacks`` says why answers are missing, and ``first_weights(scorer, samples)`` gives a
    start to solvers of losses that are not convex.
    """

    layout: str  # "sequences" of positions, or one label for each of the "items" of a table
    has_edges: bool  # whether there are weights for label pairs

    def best(self, theta, *, cost=None, within=None) -> Best:
        """Highest-scoring output of every sample."""

    def score(self, theta, codes, *, cost=None, within=None) -> np.ndarray:
        """Score of given outputs."""

    def count(self, theta, codes, *, weight=None, into=None) -> Any:
        """Counts of given outputs in theta's shape, times ``weight``; added to ``into`` if given."""


def require(component: Any, needs: tuple[str, ...], *, user: str, remedy: str) -> None:
    """Raise :class:`MissingCapability` if ``component`` lacks one of the named methods.

    >>> require("text", ("upper",), user="Demo", remedy="")
    """
    missing = [f"{name}()" for name in needs if not callable(getattr(component, name, None))]
    if missing:
        name = type(component).__name__
        known = getattr(component, "lacks", {})  # why it cannot have some answers, and what to use instead
        reason = next((known[need] for need in needs if need in known), remedy)
        raise MissingCapability(f"{user} cannot use {name}: it has no {', '.join(missing)}. {reason}".strip())
