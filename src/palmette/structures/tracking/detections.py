"""The objects that were found in one frame of a movie."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Detections:
    """Objects of one frame: where they are and what was measured of them.

    Parameters
    ----------
    position : array of shape (n, 2) or (n, 3)
        Centres (y, x) or (z, y, x), all in one unit of length.
    features : mapping of str to array of shape (n,), optional
        Measurements such as ``"area"``, ``"intensity"``, ``"eccentricity"``. Those with known names are used in known
        ways (:mod:`palmette.structures.tracking.event_features`); of all others but
        those of outlines (``LEFT_OUT`` of :mod:`palmette.structures.tracking.pair`) their differences are features.
    ids : array of int of shape (n,), optional
        Names of the objects within the frame, all different; by default 0, 1, ...
    boxes : array of shape (n, 4) or (n, 6), optional
        Bounding boxes: the lower corner, then the upper one, in the order of ``position``.
    frame : int
        The number of the frame.
    shape : tuple of float, optional
        The size of the image in the unit of ``position``, for distances to its border.

    Raises
    ------
    ValueError
        If shapes differ, ids repeat, or a number is not finite; the message names the frame and the object.

    Examples
    --------
    >>> cells = Detections([[1.0, 2.0], [5.0, 5.0]], {"area": [30.0, 28.0]}, ids=[7, 9], frame=3)
    >>> len(cells), cells.place[9], cells.features["area"]
    (2, 1, array([30., 28.]))
    """

    position: Any
    features: Mapping[str, Any] = field(default_factory=dict)
    ids: Any = None
    boxes: Any = None
    frame: int = 0
    shape: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        position = np.array(self.position, float)
        position = (
            position.reshape(0, position.shape[-1] if position.ndim == 2 else 2)
            if not position.size
            else position
        )
        if position.ndim != 2 or position.shape[1] not in (2, 3):
            raise ValueError(
                f"frame {self.frame}: position has shape {position.shape}, expected (n, 2) or (n, 3): a row (y, x) or "
                "(z, y, x) per object"
            )
        n = len(position)
        if isinstance(self.frame, bool) or not isinstance(self.frame, int | np.integer):
            raise ValueError(f"frame must be a whole number, got {self.frame!r}")
        ids = np.arange(n) if self.ids is None else np.array(self.ids)
        if ids.shape != (n,) or (n and ids.dtype.kind not in "iu"):
            raise ValueError(f"frame {self.frame}: ids must be {n} whole numbers, one per object")
        ids = ids.astype(np.int64)
        known, counts = np.unique(ids, return_counts=True)
        if len(known) < n:
            raise ValueError(
                f"frame {self.frame}: the id {known[counts > 1][0]} occurs {counts.max()} times; ids must differ"
            )
        self._set("position", position)
        self._set("ids", ids)
        self._set(
            "features", {str(name): self._column(name, values, n) for name, values in self.features.items()}
        )
        self._refuse_not_finite("position", position)
        flat = np.flatnonzero(self.features.get("area", np.empty(0)) <= 0.0)
        if len(flat):
            raise ValueError(
                f"frame {self.frame}, object {ids[flat[0]]}: its area is {self.features['area'][flat[0]]:g}; areas are "
                "above 0: leave the object out"
            )
        if self.boxes is not None:
            boxes = np.array(self.boxes, float).reshape(n, -1) if n else np.empty((0, 2 * position.shape[1]))
            if boxes.shape != (n, 2 * position.shape[1]):
                raise ValueError(
                    f"frame {self.frame}: boxes has shape {boxes.shape}, expected {(n, 2 * position.shape[1])}: lower "
                    "corner, then upper corner"
                )
            self._refuse_not_finite("boxes", boxes)
            self._set("boxes", boxes)
        if self.shape is not None and len(self.shape) != position.shape[1]:
            raise ValueError(
                f"frame {self.frame}: shape={self.shape} has {len(self.shape)} numbers, but positions have "
                f"{position.shape[1]}"
            )

    def __len__(self) -> int:
        return len(self.position)

    @property
    def place(self) -> dict[int, int]:
        """From ids to places in the arrays."""
        return {own: k for k, own in enumerate(self.ids.tolist())}

    def remembered(self, name: Hashable, make: Callable[[], Any]) -> Any:
        """What is made of the detections alone, made once: each frame is part of several pairs."""
        known = self.__dict__.setdefault("_remembered", {})
        if name not in known:
            known[name] = make()
        return known[name]

    def take(self, places: np.ndarray) -> Detections:
        """Some of the objects."""
        return Detections(
            self.position[places],
            {name: values[places] for name, values in self.features.items()},
            self.ids[places],
            None if self.boxes is None else self.boxes[places],
            self.frame,
            self.shape,
        )

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _column(self, name: str, values: Any, n: int) -> np.ndarray:
        column = np.array(values, float)
        if column.shape != (n,):
            raise ValueError(
                f"frame {self.frame}: the feature {name!r} has shape {column.shape}, expected one number for each of "
                f"the {n} objects"
            )
        self._refuse_not_finite(f"the feature {name!r}", column)
        return column

    def _refuse_not_finite(self, name: str, values: np.ndarray) -> None:
        finite = np.isfinite(values)
        bad = np.flatnonzero(~(finite if values.ndim == 1 else finite.all(axis=1)))
        if len(bad):
            raise ValueError(
                f"frame {self.frame}, object {self.ids[bad[0]]}: {name} is {values[bad[0]]}; measure it again, or "
                "leave the object out"
            )
