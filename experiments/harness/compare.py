"""Metrics of our side against a peer, and the verdicts on the targets."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from experiments.harness.measure import Measurement
from experiments.harness.spec import Benchmark, Target


class Verdict(NamedTuple):
    """A target, the peer it was checked against, and the outcome."""

    target: Target
    peer: str
    value: float
    met: bool

    def to_dict(self) -> dict[str, Any]:
        """Keys ``metric``, ``op``, ``bound``, ``peer``, ``value``, ``met``."""
        return {**self.target.to_dict(), "peer": self.peer, "value": self.value, "met": self.met}


def ratio(ours: float, peer: float) -> float:
    """Ours divided by the peer's; NaN where the peer's is zero."""
    return ours / peer if peer else math.nan


def compare(ours: Measurement, peer: Measurement) -> dict[str, float]:
    """All metrics of what both sides have; the names are those that :class:`Target` explains."""
    metrics: dict[str, float] = {}
    for name, phase in ours.phases.items():
        if name in peer.phases:
            metrics[f"{name} wall ratio"] = ratio(phase.wall, peer.phases[name].wall)
            metrics[f"{name} cpu ratio"] = ratio(phase.cpu, peer.phases[name].cpu)
    metrics["peak memory ratio"] = ratio(ours.peak_mb, peer.peak_mb)
    for name, value in ours.figures.items():
        other = peer.figures.get(name, "")
        if isinstance(value, str) or isinstance(other, str):
            continue
        difference = value - other
        metrics[f"{name} ratio"] = ratio(value, other)
        metrics[f"{name} difference"] = difference
        metrics[f"{name} relative difference"] = ratio(abs(difference), abs(other)) if difference else 0.0
    return metrics


def judge(benchmark: Benchmark, best: dict[str, Measurement]) -> list[Verdict]:
    """Check every target against every peer it concerns.

    Raises
    ------
    ValueError
        A target names a metric that the sides did not report.
    """
    ours = best[benchmark.ours]
    own = {name: float(value) for name, value in ours.figures.items() if not isinstance(value, str)}
    verdicts = []
    for target in benchmark.targets:
        for peer in [target.peer] if target.peer else benchmark.peers:
            metrics = own | compare(ours, best[peer])
            if target.metric not in metrics:
                raise ValueError(
                    f"benchmark {benchmark.name!r}: target {target.metric!r} is not a metric of "
                    f"{benchmark.ours!r} against {peer!r}; there are: {', '.join(metrics)}"
                )
            value = metrics[target.metric]
            verdicts.append(Verdict(target, peer, value, target.met(value)))
    return verdicts
