"""Label images to detections: position and shape of every object from its moments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from palmette.structures.tracking.detections import Detections


def measured(
    labels: Any, image: Any = None, frame: int = 0, spacing: float | Sequence[float] | None = None
) -> Detections:
    """Measure the objects of a label image.

    Parameters
    ----------
    labels : array of int of shape (height, width) or (depth, height, width)
        Pixels of object k have the value k > 0; the background is 0. An object need not be connected.
    image : array of the same shape, optional
        The raw image, for intensities.
    frame : int, default=0
        The number of the frame.
    spacing : float or one per axis, optional
        The size of a pixel; 1 by default. Positions, lengths, areas and ``shape`` are in this unit.

    Returns
    -------
    Detections
        ``ids`` are the labels, ``position`` the centroids (pixel (0, 0) has its centre at 0), ``boxes`` the bounding
        boxes, whose upper corner is the first pixel outside. The features:

        ``area``
            Number of pixels times the size of a pixel (in 3-d the volume).
        ``major``, ``minor``, ``ecc``
            Longest and shortest axis of the ellipse (ellipsoid) with the same second moments, and
            ``sqrt(1 - (minor / major)^2)``; all 0 for a single pixel.
        ``orient``
            Only in 2-d: the angle from the first axis (y) to the major axis, from -pi/2 to pi/2.
        ``extent``
            Area over the area of the bounding box.
        ``intensity``, ``int_std``, ``int_max``
            Only with `image`: mean over the object minus the median of the background, standard deviation, maximum.

        Names and definitions are those of :func:`palmette.datasets.load_fluo`, so that a model of one suits the other.

    Raises
    ------
    ValueError
        Labels that are not whole numbers from 0 on, an image of another shape or with a value that is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> cells = measured(np.array([[3, 3, 3, 0], [0, 0, 0, 7]]), frame=5)
    >>> cells.ids, cells.position.tolist(), cells.boxes.tolist()
    (array([3, 7]), [[0.0, 1.0], [1.0, 3.0]], [[0.0, 0.0, 1.0, 3.0], [1.0, 3.0, 2.0, 4.0]])
    >>> cells.features["area"], cells.features["major"].round(2), cells.features["orient"].round(2)
    (array([3., 1.]), array([3.27, 0.  ]), array([1.57, 0.  ]))
    """
    labels = _checked_labels(labels, frame)
    scale = _checked_spacing(spacing, labels.ndim)
    ids, at, codes = _pixels(labels)
    n = len(ids)
    counts = np.bincount(codes, minlength=n).astype(float)
    position = np.empty((n, labels.ndim))
    offsets = []  # of pixels from the centroid of their object
    boxes = np.empty((n, 2 * labels.ndim))
    for axis, coordinate in enumerate(at):
        centre = np.bincount(codes, coordinate, n) / counts
        position[:, axis] = centre
        offsets.append((coordinate - centre[codes]) * scale[axis])
        low, high = np.full(n, labels.shape[axis]), np.full(n, -1)
        np.minimum.at(low, codes, coordinate)
        np.maximum.at(high, codes, coordinate)
        boxes[:, axis], boxes[:, labels.ndim + axis] = low, high + 1
    moments = np.empty((n, labels.ndim, labels.ndim))
    for i in range(labels.ndim):
        for j in range(i + 1):
            moments[:, i, j] = moments[:, j, i] = (
                np.bincount(codes, offsets[i] * offsets[j], minlength=n) / counts
            )
    sides = boxes[:, labels.ndim :] - boxes[:, : labels.ndim]
    features = {
        "area": counts * scale.prod(),
        **_axes(moments),
        "extent": counts / sides.prod(axis=1),
    }
    if image is not None:
        features |= _intensities(_checked_image(image, labels, frame), labels, at, codes, counts)
    return Detections(
        position * scale,
        features,
        ids,
        boxes * np.tile(scale, 2),
        frame,
        tuple((labels.shape * scale).tolist()),
    )


def _pixels(labels: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, ...], np.ndarray]:
    """Labels in ascending order; coordinates of all pixels of objects; the place of the label of each."""
    at = np.nonzero(labels)
    values = labels[at]
    top = int(values.max(initial=0))
    if top > 4 * labels.size:  # a table of all labels would be larger than the image
        ids, codes = np.unique(values, return_inverse=True)
        return ids.astype(np.int64), at, codes.reshape(-1)
    ids = np.flatnonzero(np.bincount(values.astype(np.int64)))
    place = np.zeros(top + 1, np.int64)
    place[ids] = np.arange(len(ids))
    return ids, at, place[values]


def _axes(moments: np.ndarray) -> dict[str, np.ndarray]:
    """Axes of the ellipsoid with the given covariances: half an axis is sqrt((d + 2) variance) in d dimensions."""
    n_axes = moments.shape[1]
    variances = np.linalg.eigvalsh(moments).clip(0) if len(moments) else np.empty((0, n_axes))
    variances[variances < 1e-12 * variances.max(axis=1, keepdims=True, initial=0.0)] = 0.0
    major, minor = (2 * np.sqrt((n_axes + 2) * variances[:, k]) for k in (-1, 0))
    flatness = np.divide(minor, major, out=np.ones(len(major)), where=major > 0)
    found = {"major": major, "minor": minor, "ecc": np.sqrt(1 - flatness**2)}
    if n_axes == 2:
        difference = moments[:, 0, 0] - moments[:, 1, 1]
        found["orient"] = 0.5 * np.arctan2(2 * moments[:, 0, 1], difference)
    return found


def _intensities(
    image: np.ndarray, labels: np.ndarray, at: tuple[np.ndarray, ...], codes: np.ndarray, counts: np.ndarray
) -> dict[str, np.ndarray]:
    n = len(counts)
    outside = image[labels == 0]
    background = float(np.median(outside)) if outside.size else 0.0
    values = image[at].astype(float) - background
    mean = np.bincount(codes, values, n) / counts
    spread = np.bincount(codes, (values - mean[codes]) ** 2, n) / counts
    top = np.full(n, -np.inf)
    np.maximum.at(top, codes, values)
    return {"intensity": mean, "int_std": np.sqrt(spread), "int_max": top + background}


# -- what comes from outside -----------------------------------------------------------------------------------------


def _checked_labels(labels: Any, frame: int) -> np.ndarray:
    labels = np.asarray(labels)
    if labels.ndim not in (2, 3):
        raise ValueError(
            f"frame {frame}: the label image has shape {labels.shape}, expected (height, width) or (depth, height, "
            "width); give one frame at a time"
        )
    if labels.dtype.kind not in "iu":
        raise ValueError(
            f"frame {frame}: the label image has values of type {labels.dtype}, expected whole numbers, one per "
            "object; scipy.ndimage.label makes them of a foreground"
        )
    if labels.dtype.kind == "i" and labels.size and labels.min() < 0:
        where = tuple(np.argwhere(labels < 0)[0].tolist())
        raise ValueError(
            f"frame {frame}: the label image is {labels[where]} at pixel {where}; labels are 1, 2, ..., the "
            "background 0"
        )
    return labels


def _checked_spacing(spacing: float | Sequence[float] | None, n_axes: int) -> np.ndarray:
    scale = np.ones(n_axes) if spacing is None else np.array(spacing, float)
    if scale.ndim == 0:
        scale = np.full(n_axes, float(scale))
    if scale.shape != (n_axes,) or not np.isfinite(scale).all() or (scale <= 0).any():
        raise ValueError(
            f"spacing={spacing!r}: expected the size of a pixel, one positive number or {n_axes}, one for each axis"
        )
    return scale


def _checked_image(image: Any, labels: np.ndarray, frame: int) -> np.ndarray:
    image = np.asarray(image)
    if image.shape != labels.shape:
        raise ValueError(
            f"frame {frame}: the image has shape {image.shape}, its labels {labels.shape}; give the image that was "
            "segmented, one channel of it"
        )
    if image.dtype.kind not in "biuf":
        raise ValueError(f"frame {frame}: the image has values of type {image.dtype}, expected numbers")
    if image.dtype.kind == "f" and not np.isfinite(image).all():
        where = tuple(np.argwhere(~np.isfinite(image))[0].tolist())
        raise ValueError(f"frame {frame}: the image is {image[where]} at pixel {where}; repair it first")
    return image
