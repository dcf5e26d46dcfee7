"""Plot of the detections of a frame on its image, with the paths that led to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.plot.axes import axes_to_draw_on
from palmette.structures.tracking.detections import Detections
from palmette.structures.tracking.lineage import Lineage

MOST_LABELS = 150


class OverlayDisplay:
    """Positions and names of the detections of a frame on its image, with tails: where they were in frames before.

    A track and all its detections have one colour in all frames. Daughters have colours of their own, and the tail of
    a daughter goes on along that of its mother.

    Parameters
    ----------
    image : array of shape (height, width), (height, width, 3 or 4), or None
        Without one the frame is drawn white.
    detections : Detections or sequence of Detections
        Of the frame to show; for tails also those of the frames before it. The last one is shown.
    lineage : Lineage, optional
        Without it, ids of detections instead of labels of tracks, and no tails.
    tail : int, default=5
        Frames to look back.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    im_ : AxesImage or None
    points_ : PathCollection
        The detections.
    tails_ : LineCollection
    text_ : list of Text
        Labels of tracks, or ids.

    See Also
    --------
    plot_overlay : Draw it in one call.

    Examples
    --------
    >>> from palmette.datasets import make_cells
    >>> from palmette.plot import OverlayDisplay
    >>> movie = make_cells(n_cells=5, n_frames=8, render=True, random_state=0)
    >>> display = OverlayDisplay(movie.images[7], movie.frames, movie.lineage).plot()
    >>> len(display.points_.get_offsets()) == len(movie.frames[7])
    True
    """

    def __init__(self, image: Any, detections: Any, lineage: Lineage | None = None, *, tail: int = 5) -> None:
        given = [detections] if isinstance(detections, Detections) else list(detections)
        if not given:
            raise ValueError(
                "there are no detections: give those of one frame, and of the frames before for tails"
            )
        if tail < 0:
            raise ValueError(f"tail must be a number of frames >= 0, got tail={tail}")
        self.shown = given[-1]
        if self.shown.position.shape[1] != 2:
            raise ValueError(
                f"frame {self.shown.frame}: positions have {self.shown.position.shape[1]} numbers; an overlay shows "
                "two dimensions: leave one out"
            )
        self.image = None if image is None else np.asarray(image)
        self.lineage, self.tail = lineage, tail
        oldest = self.shown.frame - tail
        self._place = {
            (each.frame, own): tuple(at)
            for each in given
            if oldest <= each.frame <= self.shown.frame
            for own, at in zip(each.ids.tolist(), each.position.tolist())
        }
        self._find_tracks()

    def _find_tracks(self) -> None:
        """Labels of the detections shown, and their paths through earlier frames."""
        self.labels, self.paths = self.shown.ids.tolist(), list[np.ndarray]()
        self._tracked = [True] * len(self.shown)
        self._owners: list[tuple[int, int]] = []  # of pieces of paths: the label, and the later frame
        if self.lineage is None:
            return
        g = self.lineage
        label_of = {}
        for track in g.tracks():
            for k in track.nodes:
                label_of[int(g.frame[k]), int(g.id[k])] = track.label
        nodes = [(self.shown.frame, own) for own in self.shown.ids.tolist()]
        self.labels = [label_of.get(node, 0) for node in nodes]
        self._tracked = [node in label_of for node in nodes]
        recent = (g.frame[g.edges[:, 1]] <= self.shown.frame) & (
            g.frame[g.edges[:, 0]] >= self.shown.frame - self.tail
        )
        parents: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for a, b in g.edges[recent].tolist():
            child = (int(g.frame[b]), int(g.id[b]))
            parents.setdefault(child, []).append((int(g.frame[a]), int(g.id[a])))
        for label, node in zip(self.labels, nodes):
            front = [node]
            while front:
                child = front.pop()
                for parent in parents.get(child, ()):
                    if parent in self._place and child in self._place:
                        self.paths.append(np.array([self._place[parent], self._place[child]]))
                        self._owners.append((label, child[0]))
                        front.append(parent)

    def plot(
        self,
        ax: Any = None,
        *,
        cmap: Any = "gray",
        labels: bool | None = None,
        size: float | None = None,
        boxes: bool = False,
    ) -> OverlayDisplay:
        """Draw the frame.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones by default.
        cmap : str or Colormap, default="gray"
            Of the image.
        labels : bool, optional
            Whether to write labels; by default if there are at most 150 detections.
        size : float, optional
            Of the points, in square points.
        boxes : bool, default=False
            Whether to draw bounding boxes, if the detections have them.

        Returns
        -------
        self
        """
        new = ax is None
        ax = axes_to_draw_on(ax)
        n = len(self.shown)
        height, width = self._size()
        if new:
            long = 9.0
            scale = long / max(height, width)
            ax.figure.set_size_inches(max(width * scale, 3), max(height * scale, 3) + 0.3)
        self.im_ = None if self.image is None else self._draw_image(ax, cmap)
        dark = self.im_ is not None
        colours = track_colours(self.labels, dark)
        colours[~np.array(self._tracked, bool)] = (0.6, 0.6, 0.6, 1.0)
        y, x = self.shown.position.T
        self.points_ = ax.scatter(
            x, y, s=size or float(np.clip(2400 / max(n, 1), 8, 36)), facecolors="none", edgecolors=colours,
            linewidths=1.4, zorder=3,
        )  # fmt: skip
        self._draw_tails(ax, dark)
        if boxes and self.shown.boxes is not None:
            self._draw_boxes(ax, colours)
        written = labels if labels is not None else n <= MOST_LABELS
        self.text_ = self._write(ax, colours, dark) if written else []
        ax.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5), xticks=[], yticks=[], aspect="equal")
        ax.set_title(f"frame {self.shown.frame}", fontsize=10)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _size(self) -> tuple[float, float]:
        if self.image is not None:
            return self.image.shape[0], self.image.shape[1]
        if self.shown.shape is not None:
            return self.shown.shape[0], self.shown.shape[1]
        reach = np.array([(1.0, 1.0), *self._place.values()]).max(axis=0)
        return float(reach[0]) + 10, float(reach[1]) + 10

    def _draw_image(self, ax: Any, cmap: Any) -> Any:
        image = self.image
        assert image is not None
        if image.ndim != 2:
            return ax.imshow(image, zorder=0)
        low, high = np.quantile(image, [0.01, 0.998])
        return ax.imshow(image, cmap=cmap, vmin=low, vmax=max(high, low + 1e-9), zorder=0)

    def _draw_tails(self, ax: Any, dark: bool) -> None:
        from matplotlib.collections import LineCollection

        if not self.paths:
            self.tails_ = ax.add_collection(LineCollection([]))
            return
        labels, ends = zip(*self._owners)
        colours = track_colours(labels, dark)
        colours[:, 3] = 1 - 0.75 * (self.shown.frame - np.array(ends)) / max(self.tail, 1)  # older parts fade
        lines = [path[:, ::-1] for path in self.paths]
        self.tails_ = ax.add_collection(
            LineCollection(lines, colors=colours, linewidths=1.8, capstyle="round", zorder=2)
        )

    def _draw_boxes(self, ax: Any, colours: np.ndarray) -> None:
        from matplotlib.patches import Rectangle

        for (y0, x0, y1, x1), colour in zip(self.shown.boxes, colours):
            ax.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, fill=False, edgecolor=colour, linewidth=0.8))

    def _write(self, ax: Any, colours: np.ndarray, dark: bool) -> list[Any]:
        from matplotlib.patheffects import withStroke

        outline = [withStroke(linewidth=1.8, foreground="black" if dark else "white")]
        height, width = self._size()
        written = []
        for label, tracked, (y, x), colour in zip(self.labels, self._tracked, self.shown.position, colours):
            right, top = x < 0.95 * width, y > 0.03 * height  # names stay inside the frame
            written.append(
                ax.annotate(
                    str(label) if tracked else "?", (x, y), xytext=(4 if right else -4, 4 if top else -4),
                    textcoords="offset points", ha="left" if right else "right", va="bottom" if top else "top",
                    fontsize=7.5, color=colour, path_effects=outline, zorder=4,
                )
            )  # fmt: skip
        return written


def plot_overlay(
    image: Any,
    detections: Any,
    lineage: Lineage | None = None,
    *,
    tail: int = 5,
    ax: Any = None,
    **options: Any,
) -> OverlayDisplay:
    """Draw the detections of a frame on its image, with labels and tails of their tracks.

    Parameters
    ----------
    image, detections, lineage, tail
        As for :class:`OverlayDisplay`: the last of several Detections is shown, those before it are for the tails.
    ax : matplotlib Axes, optional
    **options
        Of :meth:`OverlayDisplay.plot`: ``cmap``, ``labels``, ``size``, ``boxes``.

    Returns
    -------
    OverlayDisplay

    Examples
    --------
    >>> from palmette.datasets import make_cells
    >>> from palmette.plot import plot_overlay
    >>> movie = make_cells(n_cells=5, n_frames=8, random_state=0)
    >>> len(plot_overlay(None, movie.frames, movie.lineage, tail=3).paths) > 5
    True
    """
    return OverlayDisplay(image, detections, lineage, tail=tail).plot(ax, **options)


def track_colours(labels: Any, dark: bool = True) -> np.ndarray:
    """A colour for each label, the same wherever it occurs, and far from those of the labels near it.

    Examples
    --------
    >>> track_colours([1, 2, 1]).shape
    (3, 4)
    """
    from matplotlib.colors import hsv_to_rgb

    hue = np.mod(np.asarray(labels, float) * 0.6180339887, 1)  # the golden ratio spreads them evenly
    light = np.full_like(hue, 1.0 if dark else 0.75)
    rgb = hsv_to_rgb(np.stack([hue, np.full_like(hue, 0.65 if dark else 0.9), light], axis=-1)).reshape(-1, 3)
    return np.concatenate([rgb, np.ones((len(rgb), 1))], axis=1)
