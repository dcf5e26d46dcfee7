"""Links that a person has decided: they hold, or they do not, and all else is solved around them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from palmette.structures.tracking.candidates import Candidates, Link


@dataclass(frozen=True)
class Pins:
    """Links that must be, and links that must not be; a node is ``(frame, id)``.

    Examples
    --------
    >>> Pins(links=[((0, 4), (1, 9))]).links
    frozenset({((0, 4), (1, 9))})
    """

    links: Iterable[Link] = ()
    forbidden: Iterable[Link] = ()
    used: set[Link] = field(default_factory=set, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("links", "forbidden"):
            object.__setattr__(self, name, frozenset(getattr(self, name)))
        both = frozenset(self.links) & frozenset(self.forbidden)
        if both:
            raise ValueError(f"the link {min(both)} is pinned and forbidden; leave one out")

    def allowed(self, candidates: Candidates) -> np.ndarray | None:
        """Which candidates fit, bool (n_events,); None if no pin is about these frames.

        Raises
        ------
        ValueError
            For a pinned link that no candidate has.
        """
        frames = [int(frame.frame) for frame in candidates.frames]
        own = [link for link in self.links if link[0][0] in frames[:-1] and link[1][0] in frames[1:]]
        out = [link for link in self.forbidden if link[0][0] in frames and link[1][0] in frames]
        real = {node for link in self.links for node in link if node[0] in frames}
        if not own and not out and not real:
            return None
        mask = np.ones(len(candidates), bool)
        mask[candidates.calling_false(real)] = False  # its other end may be in the next window
        for link in own:
            mask[candidates.against(link)] = False
        for link in out:
            mask[candidates.having(link)] = False
        self.used.update(own, out)
        return mask

    def check_used(self) -> None:
        """Raise ValueError for a pin that no pair of frames had."""
        left = sorted((frozenset(self.links) | frozenset(self.forbidden)) - self.used)
        if left:
            raise ValueError(
                f"the pin {left[0]} joins no frames that are tracked together; give (frame, id) of successive ones"
            )
