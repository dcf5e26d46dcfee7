"""The exceptions of palmette; each message names the problem, its position and the remedy."""

from __future__ import annotations

import sys
import warnings
from typing import Any


class MissingCapability(TypeError):
    """A component lacks an operation that a learner, loss or solver requires."""


class InfeasibleError(ValueError):
    """No output satisfies the restriction given for a sample.

    `sample` is its number in the message if that counts the samples asked together, which may be a block of all; None
    if it is final.
    """

    def __init__(self, message: str, sample: int | None = None) -> None:
        super().__init__(message)
        self.sample = sample

    def renumbered(self, sample: int) -> InfeasibleError:
        """The same error with the final number of the sample.

        >>> InfeasibleError("sample 1 (length 2): no output", 1).renumbered(40)
        InfeasibleError('sample 40 (length 2): no output')
        """
        return InfeasibleError(str(self).replace(f"sample {self.sample} ", f"sample {sample} ", 1))


class ApproximateInferenceWarning(UserWarning):
    """Some results on graphs with cycles are approximate; the message names them, the method and the remedy."""


class EmptyModelWarning(UserWarning):
    """All weights of a fit are 0, so the model has learnt nothing; the message says what to try."""


class ModelFileError(ValueError):
    """A model file is damaged, unsafe, too new, or of another class."""


class DataFileError(ValueError):
    """An input file cannot be read as asked; the message starts with ``file:line``."""


class SpanError(ValueError):
    """Labels that are not valid spans; `sentence` and `position` say where, -1 if all labels are concerned."""

    def __init__(self, message: str, sentence: int = -1, position: int = -1) -> None:
        super().__init__(message)
        self.sentence, self.position = sentence, position


class DatasetUnavailable(RuntimeError):
    """A data set is neither in ``PALMETTE_DATA`` nor in the cache, and could not be downloaded."""


class TooLarge(ValueError):
    """A request needs more memory than allowed; `n_bytes` is a lower bound on its size."""

    def __init__(self, message: str, n_bytes: float) -> None:
        super().__init__(message)
        self.n_bytes = n_bytes

    def __reduce__(self) -> tuple[Any, ...]:  # pickled by its message alone otherwise
        return type(self), (str(self), *vars(self).values())


class TooWide(TooLarge):
    """A graph's cliques are too large for exact inference; `log2_size` and `n_bytes` are lower bounds."""

    def __init__(self, message: str, log2_size: float, n_bytes: float) -> None:
        self.log2_size = log2_size
        super().__init__(message, n_bytes)


def warn_caller(message: str, category: type[Warning]) -> None:
    """A warning that names the line which called the library, however deep inside it arises."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in ("palmette", "contextlib")  # which stands between where contexts end
