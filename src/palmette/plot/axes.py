"""What all displays share: axes to draw on, and cells that carry labels."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

import numpy as np

MISSING = "plots need matplotlib, which is not installed: pip install 'palmette[plot]'"


def has_matplotlib() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def need_matplotlib() -> None:
    """Check that matplotlib is installed.

    Raises
    ------
    ModuleNotFoundError
        It is not; the message says how to install it.
    """
    if not has_matplotlib():
        raise ModuleNotFoundError(MISSING, name="matplotlib")


def axes_to_draw_on(ax: Any = None) -> Any:
    """The axes given, or those of a new figure.

    Raises
    ------
    ModuleNotFoundError
        matplotlib is not installed; the message says how to install it.
    """
    need_matplotlib()
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def save_figure(figure: Any, path: str) -> None:
    """Write a figure to a file, which appears when it is complete; its name says the format."""
    from palmette.io.atomic import write_atomically

    with write_atomically(path) as file:
        figure.savefig(file, format=path.rpartition(".")[2].lower(), bbox_inches="tight", dpi=150)


def label_ticks(axis: Any, labels: Sequence[Any], *, most: int = 60, **options: Any) -> None:
    """Write labels at the cells 0, 1, ... of an axis; of very many only some, so that they stay readable."""
    step = -(-len(labels) // most)
    axis.set_ticks(np.arange(0, len(labels), step), [str(label) for label in labels[::step]], **options)


def write_in_cells(ax: Any, image: Any, texts: np.ndarray, **options: Any) -> list[Any]:
    """Write a text into every cell of an image, light on dark and dark on light."""
    values = image.get_array()
    colors = image.cmap(image.norm(values))
    lightness = colors[..., :3] @ [0.299, 0.587, 0.114]
    ink = np.where(lightness > 0.5, "black", "white")
    return [
        ax.text(j, i, texts[i, j], ha="center", va="center", color=ink[i, j], **options)
        for i, j in np.ndindex(*texts.shape)
    ]
