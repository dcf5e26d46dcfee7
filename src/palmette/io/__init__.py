"""Reading and writing files: complete or not at all, and safe to open."""

from palmette.io.atomic import write_atomically
from palmette.io.model_file import FORMAT, read_model, write_model

__all__ = ["FORMAT", "read_model", "write_atomically", "write_model"]
