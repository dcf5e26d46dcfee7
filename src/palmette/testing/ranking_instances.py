"""Small random queries that break inference: ties of scores, costs that cross them, huge scores, single documents."""

from __future__ import annotations

from palmette.testing.chain_instances import _huge, _huge_whole, _moderate, _whole, _zeros

KINDS = [
    ("ties", _whole, (3, 1, 4)),
    ("moderate", _moderate, (5, 2, 1)),
    ("zeros", _zeros, (4, 1, 2)),
    ("huge", _huge, (3, 4)),
    ("huge ties", _huge_whole, (4, 3)),
    ("single documents", _moderate, (1, 1)),
    ("one query", _whole, (5,)),
]
