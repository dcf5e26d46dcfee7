"""Features of events, by name. Lengths are in units of a cell's size, see :mod:`palmette.structures.tracking.pair`.

======================  ==================================================================================
``distance``            length of a link
``drift``               distance of its end from where the flow of the neighbours leads
``detour forward``      log of the length over that of the shortest link of the earlier detection
``detour backward``     the same of the later detection
``mutual``              1 if each is the other's nearest
``overlap``             intersection over union of bounding boxes, where there are any
``change NAME``         a measurement after minus before (area: of logs; intensity: relative to the frame)
``jump NAME``           its absolute value
``border``, ``crowd``   distance to the border of the image, and to the nearest detection of the frame, at most 5
``nearest``             of an appearance or disappearance: distance to the nearest detection of the other frame
``least drift``         the least drift of its links, at most 5
``inside``              the lesser of ``border`` and ``least drift``: large if neither explains it
``drift x border``      their product
``NAME``                the measurement itself
``far``, ``near``       of three detections: the longer and the shorter of the two links
``middle``              distance of the single one to the middle of the two
``middle drift``        of two later ones: distance of their middle from where the flow leads
``between``             distance of the two
``angle``               cosine of the angle at the single one: -1 if it stands between the two
``across``              cos 2a of the angle a between the long axis of the single one and the line of the two:
                        -1 if they stand beside it, as daughters do
``across x ecc``        the same times the fourth power of the eccentricity: round ones have no axis
``across of two``       the same of the axes of the two, their mean
``parallel``            cos 2a of the angle a between the axes of the two
``conserved NAME``      log of the sum of the two over the single one (area; mass = area x intensity)
``unequal NAME``        absolute difference of the two
``NAME of two``         their mean
======================  ==================================================================================

Axes come from the measurement ``orient`` (radians from the first axis towards the second) of flat images. Features in
``BENDS`` also count beyond quantiles of their own (hinges), so that their effect need not be linear.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from palmette.structures.tracking.pair import Pair, has_axes

BENDS = frozenset({
    "distance", "drift", "detour forward", "detour backward", "jump area", "jump intensity", "change intensity",
    "change area", "border", "crowd", "nearest", "least drift", "inside", "drift x border", "far", "near", "middle",
    "middle drift", "between", "angle", "across", "across x ecc", "across of two", "parallel", "conserved area",
    "conserved mass", "unequal area", "unequal intensity", "area", "intensity",
})  # fmt: skip


class Columns(NamedTuple):
    """Names of features, and their values, shape (n_features, n_events)."""

    names: tuple[str, ...]
    values: np.ndarray

    @classmethod
    def of(cls, named: Columns | Mapping[str, np.ndarray], n_events: int, kind: str) -> Columns:
        """Features by name as columns; raises ValueError unless each has a finite number for every event."""
        from palmette.structures.tracking.kernels.measuring import first_not_finite

        if not isinstance(named, Columns):
            names = tuple(named)
            wrong = [name for name in names if np.shape(named[name]) != (n_events,)]
            columns = [np.asarray(named[name], float) for name in names if not wrong]
            named = cls((*wrong, *names), np.stack(columns) if columns else np.empty((0, n_events)))
            bad = 0 if wrong else first_not_finite(named.values)
        else:
            bad = first_not_finite(named.values)
        if bad >= 0:
            raise ValueError(
                f"{kind}: the feature {named.names[bad]!r} must be a finite number for each of the {n_events} events"
            )
        return named


def of_link(pair: Pair, before: np.ndarray, after: np.ndarray) -> Columns:
    """Features of a link between one detection and another."""
    from palmette.structures.tracking.kernels.measuring import measure_links

    boxes = pair.a.boxes is not None and pair.b.boxes is not None
    out = _columns(link_names(pair.measurements, boxes), len(before))
    measure_links(*pair.sides, before, after, pair.flow, pair.unit, out.values)
    return out


def of_one(pair: Pair, place: np.ndarray, late: bool) -> Columns:
    """Features of a detection that stands alone: in the later frame, or in the earlier one."""
    from palmette.structures.tracking.kernels.measuring import measure_single

    out = _columns(single_names(pair.measurements), len(place))
    measure_single(pair.sides[late], place, out.values)
    return out


def of_three(pair: Pair, single: np.ndarray, two: np.ndarray, late: bool) -> Columns:
    """Features of one detection and two of the other frame; ``late``: the two are in the later frame."""
    from palmette.structures.tracking.kernels.measuring import measure_three

    axes, one = has_axes(pair.a) and has_axes(pair.b), pair.a if late else pair.b
    out = _columns(three_names(pair.measurements, late, axes, axes and "ecc" in one.features), len(single))
    flow = pair.flow if late else pair.flow[:0]
    measure_three(pair.sides[not late], pair.sides[late], single, two, flow, pair.unit, out.values)
    return out


def _columns(names: tuple[str, ...], n: int) -> Columns:
    return Columns(names, np.empty((len(names), n)))


@lru_cache
def link_names(measurements: tuple[str, ...], boxes: bool) -> tuple[str, ...]:
    """Names of the features of links, in the order of the kernel."""
    names = ["distance", "drift", "detour forward", "detour backward", "mutual", "border", "crowd"]
    names += ["overlap"] if boxes else []
    return (*names, *(f"{what} {name}" for name in measurements for what in ("change", "jump")))


@lru_cache
def single_names(measurements: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the features of single detections, in the order of the kernel."""
    return ("nearest", "border", "crowd", "least drift", "inside", "drift x border", *measurements)


@lru_cache
def three_names(measurements: tuple[str, ...], drift: bool, axes: bool, firm: bool) -> tuple[str, ...]:
    """Names of the features of three detections, in the order of the kernel."""
    names = [
        "far",
        "near",
        "middle",
        "between",
        "angle",
        "detour forward",
        "detour backward",
        "border",
        "crowd",
    ]
    names += ["middle drift"] if drift else []
    names += ["across", *(["across x ecc"] if firm else []), "across of two", "parallel"] if axes else []
    for name in measurements:
        names += [name, f"{name} of two", f"unequal {name}"]
    if "area" in measurements:
        names += ["conserved area", *(["conserved mass"] if "intensity" in measurements else [])]
    return tuple(names)
