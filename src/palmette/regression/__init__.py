"""Regression of outputs as vectors on inputs as kernel values: arrays in, arrays out, and certificates."""

from __future__ import annotations

from palmette.regression.box import box_constrained
from palmette.regression.constrained import BallPath
from palmette.regression.held_out import held_out_ball, held_out_ridge
from palmette.regression.large import conjugate_ridge
from palmette.regression.large_ball import moments_ball
from palmette.regression.result import RegressionResult
from palmette.regression.ridge import ridge, ridge_path
from palmette.regression.weighted import Weighted

__all__ = [
    "BallPath",
    "RegressionResult",
    "Weighted",
    "box_constrained",
    "conjugate_ridge",
    "held_out_ball",
    "held_out_ridge",
    "moments_ball",
    "ridge",
    "ridge_path",
]
