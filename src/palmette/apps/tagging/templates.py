"""Feature templates, which taggers read columns by: `palmette.features.templates` under the name that taggers use."""

from palmette.features.templates import Template

__all__ = ["Template"]
