"""Shapes of detections: fragments of a cell, two cells as one, and what is measured of an ellipse."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from palmette.datasets.cell_frames import Outlines
from palmette.structures.tracking.detections import Detections


class Noisy(Protocol):
    """What measurements need to know."""

    @property
    def shape(self) -> tuple[int, int]: ...  # noqa: D102
    @property
    def noise(self) -> float: ...  # noqa: D102
    @property
    def bleaching(self) -> float: ...  # noqa: D102


def cut_fragments(cells: Outlines, at: np.ndarray) -> Outlines:
    """Two fragments of each cell, cut across its long axis at the fraction `at` of its half.

    The part beyond the cut has the share ``f(c) = (arccos c - c sqrt(1 - c^2)) / pi`` of the area, and its centroid
    lies ``2 (1 - c^2)^(3/2) / (3 pi f)`` of the half axis away from the centre.
    """
    parts = []
    for side in (-1.0, 1.0):
        c = side * at
        share = (np.arccos(c) - c * np.sqrt(1 - c**2)) / np.pi
        offset = side * 2 * (1 - c**2) ** 1.5 / (3 * np.pi * share) * cells.axes[:, 0]
        direction = np.stack([np.cos(cells.angle), np.sin(cells.angle)], axis=1)
        across = 0.95 * cells.axes[:, 1]
        along = share * cells.area / (np.pi * across)
        turned = across > along
        parts.append(
            Outlines(
                cells.centre + offset[:, None] * direction,
                np.stack([np.maximum(along, across), np.minimum(along, across)], axis=1),
                np.mod(cells.angle + np.where(turned, np.pi / 2, 0), np.pi),
                share * cells.area,
                cells.intensity,
                cells.mitosis,
                cells.owner,
                side * (2 + at),  # the sign says which fragment, the rest where the cut is
            )
        )
    return Outlines.joined(parts)


def joined_shape(first: Outlines, second: Outlines) -> Outlines:
    """Each pair of cells as one detection, with the area, the centre and the second moments of both."""
    area = first.area + second.area
    w1, w2 = first.area / area, second.area / area
    centre = w1[:, None] * first.centre + w2[:, None] * second.centre
    spread = np.zeros((len(area), 2, 2))
    for part, w in ((first, w1), (second, w2)):
        offset = part.centre - centre
        spread += w[:, None, None] * (_moments(part) + offset[:, :, None] * offset[:, None, :])
    values, vectors = np.linalg.eigh(spread)  # ascending
    long = vectors[:, :, 1]
    return Outlines(
        centre,
        2 * np.sqrt(values[:, ::-1]),
        np.mod(np.arctan2(long[:, 1], long[:, 0]), np.pi),
        area,
        w1 * first.intensity + w2 * second.intensity,
        np.maximum(first.mitosis, second.mitosis),
        np.stack([first.owner[:, 0], second.owner[:, 0]], axis=1),
        np.zeros(len(area)),
    )


def _moments(cells: Outlines) -> np.ndarray:
    """Covariances of uniform ellipses, shape (n, 2, 2)."""
    long = np.stack([np.cos(cells.angle), np.sin(cells.angle)], axis=1)
    short = np.stack([-long[:, 1], long[:, 0]], axis=1)
    squares = cells.axes**2 / 4
    return (
        squares[:, 0, None, None] * long[:, :, None] * long[:, None, :]
        + squares[:, 1, None, None] * short[:, :, None] * short[:, None, :]
    )


def measured(cells: Outlines, frame: int, settings: Noisy, rng: np.random.Generator) -> Detections:
    """Measurements with noise, named as in tables of region properties."""
    n, noise = len(cells), settings.noise
    size = np.array(settings.shape)

    def about(values: np.ndarray, by: float = 1.0) -> np.ndarray:
        return values * np.exp(noise * by * rng.standard_normal(n))

    long = about(cells.axes[:, 0], 0.5)
    short = np.minimum(about(cells.axes[:, 1], 0.5), long)
    half = np.sqrt(cells.area / np.pi)
    centre = cells.centre + 0.5 * noise * half[:, None] * rng.standard_normal((n, 2))
    centre = np.clip(centre, 0, size - 1)
    angle = cells.angle + noise * rng.standard_normal(n)
    reach = np.stack(
        [
            np.hypot(long * np.cos(angle), short * np.sin(angle)),
            np.hypot(long * np.sin(angle), short * np.cos(angle)),
        ],
        axis=1,
    )
    boxes = np.concatenate([np.maximum(centre - reach, 0), np.minimum(centre + reach, size)], axis=1)
    intensity = about(cells.intensity * np.exp(-settings.bleaching * frame))
    h = ((long - short) / (long + short)) ** 2
    features = {
        "area": about(cells.area * _visible(centre, reach, size)),
        "intensity": intensity,
        "int_std": about(intensity * (0.18 + 0.12 * cells.mitosis), 2.0),
        "ecc": np.sqrt(1 - (short / long) ** 2),
        "major": 2 * long,
        "minor": 2 * short,
        "orient": np.mod(angle + np.pi / 2, np.pi) - np.pi / 2,
        "perim": about(np.pi * (long + short) * (1 + 3 * h / (10 + np.sqrt(4 - 3 * h))), 0.5),
    }
    shape = (float(size[0]), float(size[1]))
    return Detections(centre, features, np.arange(1, n + 1), boxes, frame, shape)


def _visible(centre: np.ndarray, reach: np.ndarray, size: np.ndarray) -> np.ndarray:
    """The share of each ellipse inside the image, as if borders cut one after the other."""
    share = np.ones(len(centre))
    for gap in (centre, size - centre):
        u = np.clip(gap / reach, -1, 1)
        share = share * (1 - (np.arccos(u) - u * np.sqrt(1 - u**2)) / np.pi).prod(axis=1)
    return share
