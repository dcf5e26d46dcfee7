"""What users tell of a problem beside a model and its data."""

from __future__ import annotations

from dataclasses import dataclass

from palmette.bounds.arguments import check_numbers, log_inverse


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

    def __post_init__(self) -> None:
        """Refuse what no bound can use, before any work."""
        log_inverse(self.delta)
        given = {
            name: getattr(self, name) for name in ("gamma", "norm", "feature_norm", "l2", "rho", "tau", "eps")
        }
        check_numbers(**{name: value for name, value in given.items() if value is not None})
        for variance in self.variances:
            check_numbers(variances=variance)
        check_numbers(least=1, n_tried=self.n_tried)
        if self.output_dimension is not None:
            check_numbers(least=1, output_dimension=self.output_dimension)
        if self.log_annotations is not None:
            check_numbers(least=0.0, log_annotations=self.log_annotations)
