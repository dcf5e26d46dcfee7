"""Every answer of a structure once."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.structures.positions.tables import Restriction


def ask_all(model: Any, X: Any) -> Any:
    """Ask the structure of a model for everything, with and without a restriction; returns the potentials."""
    structure = model.structure
    theta = model.scorer_.score(model.coef_, model.encoder_.transform(X))
    codes = structure.best(theta).codes
    for within in (None, Restriction(contradicts=np.asarray(codes))):
        structure.worst(theta, within=within)
        structure.k_best(theta, 2, within=within)
        structure.max_marginals(theta, within=within)
        structure.entropy(theta, within=within)
        structure.sample(theta, random_state=0, within=within)
        structure.min_risk(theta, within=within)
        structure.log_proba(theta, codes, within=within)
    structure.count(theta, codes)
    return theta
