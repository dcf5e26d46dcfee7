"""Feature templates, which taggers read columns by: `ramify.features.templates` under the name that taggers use."""

from ramify.features.templates import Template

__all__ = ["Template"]
