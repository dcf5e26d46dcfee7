"""A colony of dividing cells that move, grow and push each other; one step per frame."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np
from scipy.spatial import cKDTree

CONDENSED = 0.65  # the visible share of its area that a cell has when it divides
MITOSIS = 3.0  # frames in which a cell rounds up before it divides, and spreads after it was born
PUSHES = 3  # rounds of repulsion per frame


@dataclass(frozen=True)
class ColonySettings:
    """What :func:`palmette.datasets.make_cells` takes, without its defaults; lengths in pixels, times in frames."""

    n_cells: int
    max_cells: int
    shape: tuple[int, int]
    radius: float
    speed: float
    persistence: float
    cycle: float
    cycle_spread: float
    entering: float


@dataclass
class Cells:
    """The cells of one frame, a row each."""

    number: np.ndarray  # of the cell, from 1, never used again
    parent: np.ndarray  # number of the cell it was born of, 0 if none
    position: np.ndarray  # (y, x)
    velocity: np.ndarray
    phase: np.ndarray  # of the cycle, from 0 to 1
    cycle: np.ndarray  # its length
    birth_area: np.ndarray
    full_area: np.ndarray
    roundness: np.ndarray  # the ratio of axes that it has at rest
    angle: np.ndarray  # of the long axis, from the y axis
    brightness: np.ndarray

    def __len__(self) -> int:
        return len(self.number)

    def take(self, rows: np.ndarray) -> Cells:
        """Some of the cells."""
        return Cells(*(getattr(self, f.name)[rows] for f in fields(self)))

    def joined(self, other: Cells) -> Cells:
        """These cells, then others."""
        return Cells(*(np.concatenate([getattr(self, f.name), getattr(other, f.name)]) for f in fields(self)))

    @property
    def mitosis(self) -> np.ndarray:
        """From 0, at rest, to 1, at the moment of division; a new cell comes back to 0."""
        born = self.parent > 0
        before = 1 - (1 - self.phase) * self.cycle / MITOSIS
        after = np.where(born, 0.7 - self.phase * self.cycle / MITOSIS, 0)
        return np.clip(np.maximum(before, after), 0, 1)

    @property
    def area(self) -> np.ndarray:
        """What is seen of a cell: it grows with the cycle, and condenses when it divides."""
        grown = self.birth_area + self.phase * (self.full_area - self.birth_area)
        return grown * (1 - (1 - CONDENSED) * self.mitosis)

    @property
    def intensity(self) -> np.ndarray:
        """Mean brightness: the same mass in a smaller area is brighter."""
        return self.brightness / (1 - (1 - CONDENSED) * self.mitosis)

    @property
    def semi_axes(self) -> np.ndarray:
        """Half the long and half the short axis, shape (n, 2)."""
        ratio = self.roundness + (0.95 - self.roundness) * self.mitosis * (self.phase > 0.5)
        half = np.sqrt(self.area / np.pi)
        return np.stack([half / np.sqrt(ratio), half * np.sqrt(ratio)], axis=1)

    def reach(self, direction: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Distance from the centre to the outline of some cells, along unit vectors (y, x)."""
        long, short = self.semi_axes[rows].T
        along = direction[:, 0] * np.cos(self.angle[rows]) + direction[:, 1] * np.sin(self.angle[rows])
        return long * short / np.sqrt((short * along) ** 2 + long**2 * (1 - np.minimum(along**2, 1)))


@dataclass
class Colony:
    """Cells in a frame of fixed size, and the law by which they become those of the next frame.

    Velocities follow a persistent random walk (an autoregression of order 1), cells that overlap push each other apart,
    the phase of a cell's cycle advances by ``1 / cycle`` per frame, more slowly the nearer the colony is to
    `max_cells`, and at phase 1 two daughters take its place, which share its mass. Cells whose centre leaves the frame
    are gone; others enter through its border.
    """

    settings: ColonySettings
    rng: np.random.Generator
    next_number: int = field(default=1, init=False)
    cells: Cells = field(init=False)

    def __post_init__(self) -> None:
        s = self.settings
        self.cells = self._new(s.n_cells, self.rng.random((s.n_cells, 2)) * s.shape)
        for _ in range(40):  # from random places to places side by side
            self._push_apart()
        np.clip(self.cells.position, 0, np.array(s.shape) - 1e-6, out=self.cells.position)

    @property
    def dividing(self) -> np.ndarray:
        """Which cells divide before the next frame."""
        return self.cells.phase + self._pace() / self.cells.cycle >= 1

    def step(self) -> None:
        """Go on to the next frame."""
        s, pace = self.settings, self._pace()
        divides = self.dividing
        mothers, others = self.cells.take(divides), self.cells.take(~divides)
        others.phase = others.phase + pace / others.cycle
        self.cells = others.joined(self._daughters(mothers))
        self._move()
        inside = np.all((self.cells.position >= 0) & (self.cells.position < s.shape), axis=1)
        self.cells = self.cells.take(inside).joined(self._entering())

    def _pace(self) -> float:
        """Of the cycle: 1 in a small colony, 0 in a full one."""
        free = 1 - len(self.cells) / self.settings.max_cells
        return float(np.clip(4 * free, 0, 1))

    def _numbers(self, n: int) -> np.ndarray:
        self.next_number += n
        return np.arange(self.next_number - n, self.next_number)

    def _new(self, n: int, position: np.ndarray) -> Cells:
        """Cells of any age and no known parent."""
        s, rng = self.settings, self.rng
        full = 1.4 * np.pi * s.radius**2 * np.exp(0.12 * rng.standard_normal(n))
        return Cells(
            self._numbers(n), np.zeros(n, int), np.array(position, float).reshape(n, 2),
            s.speed * rng.standard_normal((n, 2)), 0.95 * rng.random(n), self._cycles(n), full / 2, full,
            self._ratios(n), np.pi * rng.random(n), 100 * np.exp(0.2 * rng.standard_normal(n)),
        )  # fmt: skip

    def _cycles(self, n: int) -> np.ndarray:
        s = self.settings
        return np.maximum(s.cycle * np.exp(s.cycle_spread * self.rng.standard_normal(n)), 2 * MITOSIS)

    def _ratios(self, n: int) -> np.ndarray:
        """Of the short to the long axis."""
        return np.clip(0.72 + 0.1 * self.rng.standard_normal(n), 0.45, 0.95)

    def _daughters(self, mothers: Cells) -> Cells:
        n, rng = len(mothers), self.rng
        share = np.clip(0.5 + 0.03 * rng.standard_normal(n), 0.4, 0.6)
        axis = mothers.angle + 0.3 * rng.standard_normal(n)
        apart = (
            np.stack([np.cos(axis), np.sin(axis)], axis=1)
            * (0.8 * np.sqrt(mothers.full_area / np.pi))[:, None]
        )
        both = []
        for side, part in ((1, share), (-1, 1 - share)):
            both.append(
                Cells(
                    self._numbers(n), mothers.number.copy(),
                    mothers.position + side * apart * (2 * (1 - part))[:, None],  # the centre of mass stays
                    mothers.velocity + 0.1 * side * apart, np.zeros(n), self._cycles(n), mothers.full_area * part,
                    1.4 * np.pi * self.settings.radius**2 * np.exp(0.12 * rng.standard_normal(n)),
                    self._ratios(n), np.mod(axis + np.pi / 2 + 0.2 * rng.standard_normal(n), np.pi),
                    mothers.brightness * np.exp(0.04 * rng.standard_normal(n)),
                )
            )  # fmt: skip
            both[-1].full_area = np.maximum(both[-1].full_area, 1.3 * both[-1].birth_area)
        return both[0].joined(both[1])

    def _move(self) -> None:
        cells, s, rng = self.cells, self.settings, self.rng
        fresh = s.speed * np.sqrt(1 - s.persistence**2) * rng.standard_normal((len(cells), 2))
        cells.velocity = s.persistence * cells.velocity + fresh
        cells.position = cells.position + cells.velocity * (1 - 0.8 * cells.mitosis)[:, None]
        cells.angle = np.mod(cells.angle + 0.1 * rng.standard_normal(len(cells)), np.pi)
        for _ in range(PUSHES):
            self._push_apart()

    def _push_apart(self) -> None:
        cells = self.cells
        first, second, gap, direction = touching(cells, 0.0)
        push = 0.4 * gap[:, None] * direction  # gaps of overlapping cells are negative
        np.add.at(cells.position, first, push)
        np.add.at(cells.position, second, -push)

    def _entering(self) -> Cells:
        s, rng = self.settings, self.rng
        n = rng.poisson(s.entering) if len(self.cells) < s.max_cells else 0
        height, width = s.shape
        along = rng.random(n) * 2 * (height + width)
        edges = [along < width, along < 2 * width, along < 2 * width + height]
        y = np.select(edges, [0, height - 1, along - 2 * width], along - 2 * width - height)
        x = np.select(edges, [along, along - width, 0], width - 1)
        new = self._new(n, np.stack([y, x], axis=1))
        inward = np.sign(np.array(s.shape) / 2 - new.position)
        on_edge = np.stack([edges[1], ~edges[1]], axis=1)
        new.velocity = np.where(on_edge, inward * np.abs(new.velocity), new.velocity)
        return new


def touching(cells: Cells, within: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of cells whose outlines are at most `within` apart on the line between their centres.

    Returns rows of both, the gap (negative if they overlap), and the direction from the first to the second.
    """
    if len(cells) < 2:
        none = np.empty(0, int)
        return none, none, np.empty(0), np.empty((0, 2))
    longest = 2 * float(cells.semi_axes[:, 0].max())
    pairs = cKDTree(cells.position).query_pairs(longest + within, output_type="ndarray")
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    first, second = pairs[:, 0], pairs[:, 1]
    offset = cells.position[second] - cells.position[first]
    distance = np.maximum(np.linalg.norm(offset, axis=1), 1e-9)
    direction = offset / distance[:, None]
    gap = distance - cells.reach(direction, first) - cells.reach(direction, second)
    near = gap <= within
    return first[near], second[near], gap[near], direction[near]
