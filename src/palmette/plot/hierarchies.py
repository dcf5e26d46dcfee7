"""Plot of a tree of classes with how many records of each node were found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from palmette.data.paths import nodes_of, read_path, read_paths
from palmette.plot.axes import axes_to_draw_on

Node = tuple[Any, ...]


class HierarchyDisplay:
    """A tree from left to right; a node is as large as the records that have it, its colour the share found.

    Parameters
    ----------
    nodes : mapping of tuple to (int, int)
        Of every node, named by the labels from the top to it, how many records have it and how many of them were found.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    points_ : PathCollection
        The nodes.
    text_ : list of Text
        Their labels.

    Examples
    --------
    >>> display = HierarchyDisplay.from_predictions(["a.x", "a.y", "b"], ["a.x", "a.x", "b"])
    >>> display.points_.get_array().tolist()  # a, a.x, a.y, b
    [1.0, 1.0, 0.0, 1.0]
    """

    def __init__(self, nodes: Mapping[Node, tuple[int, int]]) -> None:
        if not nodes:
            raise ValueError("nodes is empty: there is no tree to draw")
        for node in nodes:
            if not isinstance(node, tuple) or not node or (len(node) > 1 and node[:-1] not in nodes):
                raise ValueError(
                    f"nodes has {node!r:.60} and not its parent; a node is a tuple of labels from the top"
                )
        self.nodes = dict(sorted(nodes.items(), key=lambda item: tuple(map(str, item[0]))))

    @classmethod
    def from_predictions(
        cls, y_true: Sequence[Any], y_pred: Sequence[Any], *, multi_label: bool = False, separator: str = ".",
        ax: Any = None, **options: Any,
    ) -> HierarchyDisplay:  # fmt: skip
        """Draw true and predicted paths (lists of paths with ``multi_label``); options are those of :meth:`plot`."""
        counts: Counter[Node] = Counter()
        found: Counter[Node] = Counter()
        for i, (true, answer) in enumerate(zip(y_true, y_pred, strict=True)):
            read: Any = read_paths if multi_label else lambda *given: [read_path(*given)]
            mine, theirs = (
                nodes_of(read(each, separator, f"{name}[{i}]"))
                for name, each in (("y_true", true), ("y_pred", answer))
            )
            counts.update(mine.keys())
            found.update(node for node in mine if node in theirs)
        return cls({node: (n, found[node]) for node, n in counts.items()}).plot(ax=ax, **options)

    def plot(
        self, ax: Any = None, *, cmap: Any = "RdYlGn", labels: bool = True, colorbar: bool = True
    ) -> HierarchyDisplay:
        """Draw the tree.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones by default.
        cmap : str or Colormap, default="RdYlGn"
        labels : bool, default=True
            Write the label of each node beside it.
        colorbar : bool, default=True

        Returns
        -------
        self
        """
        ax = axes_to_draw_on(ax)
        height = self._heights()
        for node, y in height.items():
            if len(node) > 1:
                above = height[node[:-1]]
                ax.plot([len(node) - 1, len(node)], [above, y], color="0.7", linewidth=1, zorder=1)
        counts = np.array(list(self.nodes.values()), float)
        share = np.divide(
            counts[:, 1], counts[:, 0], out=np.full(len(counts), np.nan), where=counts[:, 0] > 0
        )
        self.points_ = ax.scatter(
            [len(node) for node in self.nodes], [height[node] for node in self.nodes], c=share, cmap=cmap, vmin=0.0,
            vmax=1.0, s=20.0 + 200.0 * counts[:, 0] / max(counts[:, 0].max(), 1.0), edgecolors="0.3", zorder=2,
            plotnonfinite=True,
        )  # fmt: skip
        self.text_ = [
            ax.annotate(
                str(node[-1]), (len(node), height[node]), (6, 6), textcoords="offset points", fontsize="small"
            )
            for node in (self.nodes if labels else ())
        ]
        deepest = max(map(len, self.nodes))
        ax.set(xlabel="level", yticks=[], xticks=range(1, deepest + 1), xlim=(0.7, deepest + 0.6))
        if colorbar:
            ax.figure.colorbar(self.points_, ax=ax, label="share found")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _heights(self) -> dict[Node, float]:
        """Leaves one below the other, inner nodes in the middle of their children."""
        below: dict[Node, list[Node]] = {}
        for node in self.nodes:
            below.setdefault(node[:-1], []).append(node)
        height: dict[Node, float] = {}
        for node in reversed(self.nodes):  # what is below a node comes after it
            own = [height[child] for child in below.get(node, [])]
            lowest = min(height.values(), default=1.0)
            height[node] = float(np.mean(own)) if own else lowest - 1.0
        return {node: -height[node] for node in self.nodes}
