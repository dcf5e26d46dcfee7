"""Small charts as inline SVG, in the colours of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence

from palmette.page.elements import Html, tag

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 320, 200, 46, 32, 10
_FAINT = "var(--faint)"


def curve(points: Sequence[tuple[float, float]], *, x: str, y: str, title: str) -> Html:
    """A falling or rising line with a logarithmic y axis; points that are not positive and finite are left out.

    Parameters
    ----------
    points : sequence of (x, y)
    x, y : str
        What the axes show.
    title : str
        For those who cannot see it.

    Examples
    --------
    >>> "polyline" in curve([(0.0, 10.0), (1.0, 0.1)], x="seconds", y="gap", title="the gap falls")
    True
    """
    kept = [(a, math.log10(b)) for a, b in points if math.isfinite(a) and math.isfinite(b) and b > 0]
    if len(kept) < 2:
        return Html("")
    right = max(a for a, _ in kept) or 1.0
    low, high = math.floor(min(b for _, b in kept)), math.ceil(max(b for _, b in kept))
    high += high == low

    def place(a: float, b: float) -> tuple[float, float]:
        return _across(a / right), _up((b - low) / (high - low))

    step = -(-(high - low) // 6)
    ticks = [(_up((b - low) / (high - low)), f"1e{b}") for b in range(low, high + 1, step)]
    line = " ".join(f"{px:.1f},{py:.1f}" for px, py in (place(a, b) for a, b in kept))
    drawn = tag("polyline", points=line, fill="none", stroke="rgb(var(--cool))", stroke_width=2)
    return _chart(title, [(_across(0), "0"), (_across(1), f"{right:.3g}")], ticks, x, y, [drawn])


def reliability(bins: Sequence[tuple[float, float, int]], *, title: str) -> Html:
    """Share that was right against the probability that was given; on the diagonal both agree.

    Parameters
    ----------
    bins : sequence of (mean probability, share right, number)
        Empty bins are left out; the area of a dot grows with its number.

    Examples
    --------
    >>> reliability([(0.55, 0.5, 10), (0.95, 0.97, 90)], title="reliability").count("<circle")
    2
    """
    most = max((n for *_, n in bins), default=1)
    line = {"stroke": _FAINT, "stroke_dasharray": "3 3"}
    drawn = [tag("line", x1=_across(0), y1=_up(0), x2=_across(1), y2=_up(1), **line)]
    for p, right, n in bins:
        if n:
            radius = 3 + 9 * math.sqrt(n / most)
            label = tag("title", f"{n:,} tokens: probability {p:.3f}, right {right:.3f}")
            place = {"cx": f"{_across(p):.1f}", "cy": f"{_up(right):.1f}", "r": f"{radius:.1f}"}
            drawn.append(
                tag("circle", label, **place, fill="rgb(var(--cool) / .6)", stroke="rgb(var(--cool))")
            )
    shares = (0.0, 0.25, 0.5, 0.75, 1.0)
    across, up = [(_across(v), f"{v:g}") for v in shares], [(_up(v), f"{v:g}") for v in shares]
    return _chart(title, across, up, "probability given", "share right", drawn)


def _across(share: float) -> float:
    return _LEFT + share * (_WIDTH - _LEFT - 16)


def _up(share: float) -> float:
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - _TOP)


def _chart(
    title: str,
    across: list[tuple[float, str]],
    up: list[tuple[float, str]],
    x: str,
    y: str,
    drawn: list[Html],
) -> Html:
    """Axes with ticks around what was drawn."""
    floor, middle = _up(0), f"translate(11 {_up(0.5):.0f}) rotate(-90)"
    names = [
        tag("text", x, x=_across(0.5), y=_HEIGHT - 3, text_anchor="middle", fill=_FAINT),
        tag("text", y, transform=middle, text_anchor="middle", fill=_FAINT),
    ]
    ticks = [tag("text", s, x=f"{p:.1f}", y=f"{floor + 15:.1f}", text_anchor="middle") for p, s in across]
    ticks += [tag("text", s, x=_LEFT - 5, y=f"{p + 4:.1f}", text_anchor="end") for p, s in up]
    rules = [
        tag("line", x1=_LEFT, y1=f"{p:.1f}", x2=_across(1), y2=f"{p:.1f}", stroke="var(--rule)")
        for p, _ in up
    ]
    box = {"viewBox": f"0 0 {_WIDTH} {_HEIGHT}", "width": _WIDTH, "height": _HEIGHT}
    return tag("svg", tag("title", title), rules, ticks, names, drawn, role="img", **box)
