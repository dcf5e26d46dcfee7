"""What users tell of a problem beside a model and its data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Given:
    """What the user tells of a problem; see :class:`~palmette.inspection.BoundsReport`."""

    delta: float = 0.05
    gamma: float | None = None
    norm: float | None = None
    feature_norm: float | None = None
    l2: float | None = None
    rho: float | None = None
    tau: float = 1.0
    log_annotations: float | None = None
    eps: float = 0.01
    variances: tuple[float, ...] = ()
    output_dimension: int | None = None
    n_tried: int = 1
    printed: bool = False
