"""What a structure says about the parts of a model that is read from a file."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar


class ModelParts:
    """Defaults of what model files ask of a structure: which codec, encoder and scorer go with it."""

    functions: ClassVar[tuple[str, ...]] = ()
    """Parameters that may be functions. Files hold no code, so they are given again on loading."""

    part_kinds: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({})
    """The registered kinds of "codec", "encoder" and "scorer" that go with this structure; all if not named."""

    def restore_encoder(self, encoder: Any) -> None:
        """Give an encoder from a file what files cannot hold."""

    def check_model(self, encoder: Any, weights: Any, codec: Any) -> None:
        """Raise ValueError unless the parts of a model agree, so that no compiled loop reads past an array."""
