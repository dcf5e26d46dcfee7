"""Encoders: user inputs in, packed batches out."""

from ramify.features.base import Encoder
from ramify.features.door import encoder_from_state, make_encoder

__all__ = ["Encoder", "encoder_from_state", "make_encoder"]
