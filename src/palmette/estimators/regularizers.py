"""The ``regularizer`` parameter of learners: what it may hold, and what it means for structure and solver."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from palmette.contracts.structure import Structure
from palmette.contracts.training import Encoded
from palmette.data.annotation import pairs_of
from palmette.data.ragged import Ragged
from palmette.errors import MissingCapability
from palmette.estimators.folds import copy_for_folds, cut_folds, placed_folds
from palmette.estimators.training import seed_of
from palmette.features.encoded import EncodedInputs
from palmette.regularizers.decomposition import Decomposition, check_removable
from palmette.regularizers.group_lasso import GroupLasso
from palmette.solvers.registry import solver_class
from palmette.stages import stage
from palmette.surrogates.perceptron import PerceptronLoss

TAKES_PIECES = ("stochastic", "perceptron", "proximal")
TAKES_GROUPS = ("proximal",)
N_FOLDS = 3


def regularizers(estimator: Any) -> tuple[Decomposition | None, GroupLasso | None]:
    """The parts of ``estimator.regularizer``, checked against the estimator and its structure."""
    given = estimator.regularizer
    parts = [] if given is None else list(given) if isinstance(given, list | tuple) else [given]
    found: dict[type, Any] = {}
    for part in parts:
        kind = next((k for k in (Decomposition, GroupLasso) if isinstance(part, k)), None)
        if kind is None:
            raise TypeError(
                "regularizer must be a Decomposition, a GroupLasso or a list with one of each, got "
                f"{part!r} (L2 and L1 are the parameters l2 and l1)"
            )
        if kind in found:
            raise ValueError(
                f"regularizer has two of {kind.__name__}: {found[kind]!r} and {part!r}; give one"
            )
        part.check()
        found[kind] = part
    if GroupLasso in found and not estimator._takes_groups:
        raise MissingCapability(
            f"{type(estimator).__name__} does not support a GroupLasso, which needs a smooth loss: use CRF, or "
            "SSVM(loss='soft_hinge')"
        )
    if Decomposition in found:
        check_removable(estimator.structure)
    return found.get(Decomposition), found.get(GroupLasso)


def solver_for(name: Any, problem: Any) -> Any:
    """The solver of a problem: as given, or for "auto" one that takes its pieces and groups, else None."""
    if not (isinstance(name, str) and name == "auto"):
        return name
    if not problem.regularizer.separable:
        return "proximal"
    return None if problem.decomposition is None else "stochastic"


def check_solver(solver: Any, problem: Any) -> None:
    """Refuse a solver that would overlook pieces or groups."""
    for wanted, part, able in (
        (problem.decomposition is not None, "Decomposition", TAKES_PIECES),
        (not problem.regularizer.separable, "GroupLasso", TAKES_GROUPS),
    ):
        if wanted and not isinstance(solver, tuple(map(solver_class, able))):
            perceptron = isinstance(problem.surrogate, PerceptronLoss)
            serves = {"perceptron": perceptron, "stochastic": not perceptron, "proximal": problem.smooth}
            names = " or ".join(repr(name) for name in able if serves[name])
            raise MissingCapability(
                f"{type(solver).__name__} does not support the regularizer {part}: use solver={names}"
            )


def structure_of_pieces(structure: Structure) -> Any:
    """The structure in training on pieces, which may begin and end with any label."""
    rules = structure.rules
    if rules is None:
        return structure
    loose = copy.copy(structure)
    loose.rules = rules._replace(start=np.ones_like(rules.start), end=np.ones_like(rules.end))
    return loose


def settle_size(estimator: Any, decomposition: Decomposition | None, data: Encoded) -> Decomposition | None:
    """What cuts the samples in training: with a size, and None where nothing is cut.

    Sets ``decomposition_`` of the estimator, and ``decomposition_scores_`` where the size was to be chosen.
    """
    for name in ("decomposition_", "decomposition_scores_"):
        vars(estimator).pop(name, None)
    if decomposition is None:
        return None
    if pairs_of(data.samples.known) is not None:
        raise MissingCapability(
            "a Decomposition drops edges, and y has allowed labels of edges (Linked): leave one of them out"
        )
    if decomposition.is_auto:
        scores = size_scores(estimator, data)
        best = max(sorted(scores, reverse=True), key=scores.__getitem__)  # of equally good ones the largest
        decomposition, estimator.decomposition_scores_ = Decomposition(best), scores
    estimator.decomposition_ = decomposition
    return decomposition if np.isfinite(decomposition.size) else None


def size_scores(estimator: Any, data: Encoded) -> dict[float, float]:
    """Accuracy of every size of pieces (``inf``: none) in 3-fold cross-validation on the training data.

    Feature columns are those of all samples; the weights are of the training folds alone.
    """
    n, samples = len(data.samples.batch), data.samples
    if n < N_FOLDS:
        raise ValueError(
            f"Decomposition(size='auto') needs at least {N_FOLDS} samples to choose the size, got {n}: give a size"
        )
    X = EncodedInputs(samples.batch, data.encoder)
    y = data.codec.decode_sequences(Ragged(samples.codes, samples.code_offsets))
    from sklearn.model_selection import KFold  # not with the module: it loads half of scikit-learn

    splits = KFold(N_FOLDS, shuffle=True, random_state=seed_of(estimator.random_state)).split(np.zeros(n))
    others = [part for part in regularizers(estimator)[1:] if part is not None]
    model = copy_for_folds(estimator, verbose=0, warm_start=False)
    found: dict[float, float] = {}
    with placed_folds(model, cut_folds(X, y, samples.weight, splits)) as scores:
        for size in Decomposition.SIZES:
            with stage(f"pieces of {size:g} positions" if np.isfinite(size) else "whole samples"):
                found[size] = float(scores({"regularizer": [Decomposition(size), *others]}).mean())
    return found
