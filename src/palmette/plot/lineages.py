"""Plot of a lineage tree: a line per track along time, divisions as forks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from palmette.plot.axes import axes_to_draw_on
from palmette.structures.tracking.lineage import Lineage, Track

Values = Mapping[tuple[int, int], float] | Sequence[float] | np.ndarray | Callable[[Track], float]


class LineageDisplay:
    """The tree of a lineage: a line for each track, from its first frame to its last, forks where cells divide.

    Families lie side by side, larger ones first; within a family no lines cross, unless cells merge.

    Parameters
    ----------
    lineage : Lineage
    values : array of shape (n_detections,), mapping of (frame, id) to float, or function of a Track, optional
        What colours stand for; without it every family has a colour of its own. NaN is grey.
    name : str, optional
        Of the values, for the colour bar.
    min_length : int, default=1
        Families with fewer detections are left out.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : LineCollection
        The tracks.
    forks_, merges_ : LineCollection
        From the end of a track to the beginnings of its children; broken lines from further parents of a track.
    place_ : dict of int to float
        Where each track lies across the time axis, by its label.

    See Also
    --------
    plot_lineage : Draw it in one call.

    Examples
    --------
    >>> from palmette.datasets import make_cells
    >>> from palmette.plot import LineageDisplay
    >>> display = LineageDisplay(make_cells(n_cells=5, n_frames=30, random_state=0).lineage).plot()
    >>> display.ax_.get_ylabel()
    'frame'
    """

    def __init__(
        self, lineage: Lineage, values: Values | None = None, *, name: str = "", min_length: int = 1
    ) -> None:
        self.lineage, self.name = lineage, name
        if not len(lineage):
            raise ValueError("the lineage has no detections: there is nothing to draw")
        self.tracks = lineage.tracks()
        self._label_of = np.zeros(len(lineage), int)
        for track in self.tracks:
            self._label_of[list(track.nodes)] = track.label
        self.values = None if values is None else _node_values(lineage, self.tracks, values)
        self.families = [family for family in self._families() if self._size(family) >= min_length]
        if not self.families:
            raise ValueError(f"no family has min_length={min_length} detections: choose a smaller one")
        self.place_ = self._places()

    def plot(
        self,
        ax: Any = None,
        *,
        direction: str = "down",
        cmap: Any = "viridis",
        colorbar: bool = True,
        labels: bool | None = None,
        linewidth: float | None = None,
    ) -> LineageDisplay:
        """Draw the tree.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones by default, as large as the tree needs.
        direction : {"down", "right"}, default="down"
            Where time goes.
        cmap : str or Colormap, default="viridis"
            Of the values.
        colorbar : bool, default=True
        labels : bool, optional
            Whether to write the labels of tracks; by default if there are at most 40.
        linewidth : float, optional
            By default thinner the more tracks there are.

        Returns
        -------
        self
        """
        if direction not in ("down", "right"):
            raise ValueError(f"direction must be 'down' or 'right', got {direction!r}")
        down, n = direction == "down", len(self.place_)
        new = ax is None
        ax = axes_to_draw_on(ax)
        from matplotlib.collections import LineCollection

        if new:
            across, along = float(np.clip(0.14 * n + 2, 6, 20)), 5.5
            ax.figure.set_size_inches((across, along) if down else (7.5, max(3.5, 0.62 * across)))
        width = linewidth or float(np.clip(80 / n, 1.5, 3.0))
        segments, colours = self._segments()
        forks, merges = self._forks()
        turn = slice(None) if down else slice(None, None, -1)
        grey: dict[str, Any] = {"colors": "0.55", "linewidths": max(0.5 * width, 0.9), "zorder": 1}
        self.forks_ = LineCollection([f[:, turn] for f in forks], joinstyle="round", **grey)
        self.merges_ = LineCollection([m[:, turn] for m in merges], linestyles=(0, (2, 2)), **grey)
        self.lines_ = LineCollection(
            [s[:, turn] for s in segments], capstyle="butt", linewidths=width, zorder=2
        )
        mapped = self._colour(colours, cmap)
        for lines in (self.merges_, self.forks_, self.lines_):
            ax.add_collection(lines)
        self._mark_ends(ax, down, width)
        if labels if labels is not None else n <= 40:
            self._write_labels(ax, down)
        self._set_axes(ax, down)
        if mapped and colorbar:
            ax.figure.colorbar(self.lines_, ax=ax, label=self.name or None, pad=0.02, fraction=0.04)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    # ------------------------------------------------------------------------------------------- the layout

    def _links(self) -> dict[int, list[int]]:
        """From tracks to those that begin where they end, in the order of time."""
        children: dict[int, list[int]] = {track.label: [] for track in self.tracks}
        for a, b in self._label_of[self.lineage.edges].tolist():
            if a != b:
                children[a].append(b)
        return {label: sorted(set(after)) for label, after in children.items()}

    def _families(self) -> list[list[int]]:
        """Labels of the tracks of each family, large families first."""
        group = {track.label: track.label for track in self.tracks}

        def root(label: int) -> int:
            while group[label] != label:
                group[label] = group[group[label]]
                label = group[label]
            return label

        for label, after in self._links().items():
            for child in after:
                a, b = sorted((root(label), root(child)))
                group[b] = a
        families: dict[int, list[int]] = {}
        for track in self.tracks:
            families.setdefault(root(track.label), []).append(track.label)
        return sorted(families.values(), key=lambda family: (-len(family), -self._size(family), family[0]))

    def _size(self, family: Sequence[int]) -> int:
        return sum(len(self.tracks[label - 1].nodes) for label in family)

    def _places(self) -> dict[int, float]:
        """Leaves of a family side by side, a track in the middle of its children."""
        place = dict[int, float]()
        parents = {track.label: track.parent for track in self.tracks if track.parent}
        own: dict[int, list[int]] = {track.label: [] for track in self.tracks}
        for child, parent in parents.items():
            own[parent].append(child)
        at = 0.0
        for family in self.families:
            for first in (label for label in family if label not in parents):
                stack = [(first, False)]
                while stack:
                    label, done = stack.pop()
                    if done:
                        place[label] = float(np.mean([place[child] for child in own[label]]))
                    elif own[label]:
                        stack.append((label, True))
                        stack += [(child, False) for child in reversed(own[label])]
                    else:
                        place[label] = at
                        at += 1
            at += 0.6  # between families
        return place

    # ------------------------------------------------------------------------------------------ what is drawn

    def _segments(self) -> tuple[list[np.ndarray], np.ndarray]:
        """Pieces of lines (place, frame), and what gives them their colour: one piece per track, or per detection."""
        pieces, colours = [], []
        for k, family in enumerate(self.families):
            for label in family:
                track, x = self.tracks[label - 1], self.place_[label]
                if self.values is None:
                    pieces.append(np.array([[x, track.begin], [x, track.end]], float))
                    colours.append(float(k))
                    continue
                at = self.lineage.frame[list(track.nodes)].astype(float)
                edges = np.concatenate([at[:1], (at[1:] + at[:-1]) / 2, at[-1:]])
                pieces += [np.array([[x, a], [x, b]]) for a, b in zip(edges, edges[1:])]
                colours += self.values[list(track.nodes)].tolist()
        return pieces, np.array(colours)

    def _forks(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Elbows from parents to children, and straight lines from further parents."""
        forks, merges = [], []
        for label, after in self._links().items():
            for child in after if label in self.place_ else ():
                end, begin = self.tracks[label - 1].end, self.tracks[child - 1].begin
                x, y = self.place_[label], self.place_[child]
                if self.tracks[child - 1].parent == label:
                    forks.append(np.array([[x, end], [y, end], [y, begin]], float))
                else:
                    merges.append(np.array([[x, end], [y, begin]], float))
        return forks, merges

    def _colour(self, colours: np.ndarray, cmap: Any) -> bool:
        """Give the lines their colours; whether these stand for values."""
        import matplotlib as mpl

        if self.values is None:
            cycle = mpl.colormaps["tab10"](np.arange(10))
            self.lines_.set_color(cycle[colours.astype(int) % 10])
            return False
        shown = mpl.colormaps[cmap] if isinstance(cmap, str) else cmap
        self.lines_.set_cmap(shown.with_extremes(bad="0.75"))
        self.lines_.set_array(np.ma.masked_invalid(colours))
        known = colours[np.isfinite(colours)]
        if len(known):
            self.lines_.set_clim(*np.quantile(known, [0.01, 0.99]))
        return True

    def _mark_ends(self, ax: Any, down: bool, width: float) -> None:
        """A dot where a track appears after the first frame, a bar where one ends before the last."""
        first, last = self.lineage.frame.min(), self.lineage.frame.max()
        links = self._links()
        has_parent = {child for after in links.values() for child in after}
        shown = [self.tracks[label - 1] for label in self.place_]
        new = [t for t in shown if t.begin > first and t.label not in has_parent]
        gone = [t for t in shown if t.end < last and not links[t.label]]
        for marker, ends in (
            ("o", [(self.place_[t.label], t.begin) for t in new]),
            ("_" if down else "|", [(self.place_[t.label], t.end) for t in gone]),
        ):
            if ends:
                x, y = np.array(ends, float).T
                ax.scatter(
                    *((x, y) if down else (y, x)),
                    s=14 * width,
                    c="0.35",
                    marker=marker,
                    linewidths=1,
                    zorder=3,
                )

    def _write_labels(self, ax: Any, down: bool) -> None:
        for label, x in self.place_.items():
            track = self.tracks[label - 1]
            middle = (track.begin + track.end) / 2
            ax.annotate(
                str(label), (x, middle) if down else (middle, x), xytext=(3, 0) if down else (0, 3),
                textcoords="offset points", fontsize=7, color="0.3", va="center" if down else "bottom",
                ha="left" if down else "center", zorder=4,
            )  # fmt: skip

    def _set_axes(self, ax: Any, down: bool) -> None:
        first, last = self.lineage.frame.min(), self.lineage.frame.max()
        pad = max(0.03 * (last - first), 0.5)
        across, along = (ax.xaxis, ax.yaxis) if down else (ax.yaxis, ax.xaxis)
        across.set_ticks([])
        along.get_major_locator().set_params(integer=True)
        low, high = -1.0, max(self.place_.values()) + 1
        if down:
            ax.set(xlim=(low, high), ylim=(last + pad, first - pad), ylabel="frame")
        else:
            ax.set(ylim=(high, low), xlim=(first - pad, last + pad), xlabel="frame")
        for side in ("top", "right", "bottom" if down else "left"):
            ax.spines[side].set_visible(False)


def plot_lineage(
    lineage: Lineage,
    values: Values | None = None,
    *,
    name: str = "",
    min_length: int = 1,
    ax: Any = None,
    **options: Any,
) -> LineageDisplay:
    """Draw the tree of a lineage.

    Parameters
    ----------
    lineage : Lineage
    values, name, min_length
        As for :class:`LineageDisplay`.
    ax : matplotlib Axes, optional
    **options
        Of :meth:`LineageDisplay.plot`: ``direction``, ``cmap``, ``colorbar``, ``labels``, ``linewidth``.

    Returns
    -------
    LineageDisplay

    Examples
    --------
    >>> import numpy as np
    >>> from palmette.datasets import make_cells
    >>> from palmette.plot import plot_lineage
    >>> movie = make_cells(n_cells=5, n_frames=30, random_state=0)
    >>> area = np.concatenate([frame.features["area"] for frame in movie.frames])
    >>> display = plot_lineage(movie.lineage, area, name="area", direction="right")
    >>> display.ax_.get_xlabel()
    'frame'
    """
    return LineageDisplay(lineage, values, name=name, min_length=min_length).plot(ax, **options)


def _node_values(lineage: Lineage, tracks: Sequence[Track], values: Values) -> np.ndarray:
    """One number per detection."""
    if callable(values):
        found = np.full(len(lineage), np.nan)
        for track in tracks:
            found[list(track.nodes)] = values(track)
        return found
    if isinstance(values, Mapping):
        nodes = zip(lineage.frame.tolist(), lineage.id.tolist())
        return np.array([values.get(node, np.nan) for node in nodes], float)
    found = np.asarray(values, float)
    if found.shape != (len(lineage),):
        raise ValueError(
            f"values has shape {found.shape}, expected one number for each of the {len(lineage)} detections of the "
            "lineage"
        )
    return found
