"""What holds for tests and for examples in docstrings alike."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def no_figures_left():
    """Close figures at the end: matplotlib warns of more than twenty that are open, and warnings are errors."""
    yield
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close("all")
