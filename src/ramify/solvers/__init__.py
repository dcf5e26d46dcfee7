"""Solvers: each sees only what it declares it needs, and returns its result with a certificate."""

from ramify.solvers.base import Recorder, Result, Step

__all__ = ["Recorder", "Result", "Step"]
