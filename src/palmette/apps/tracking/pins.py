"""Links that a person has decided: they hold, or they do not, and all else is solved around them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from palmette.structures.tracking.candidates import Candidates

Node = tuple[int, int]  # frame, id
Link = tuple[Node, Node]


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
        if not own and not out:
            return None
        linked = [_links(candidates, k) for k in range(len(candidates))]
        mask = np.ones(len(candidates), bool)
        for link in own:
            if not any(link in links for links in linked):
                raise ValueError(
                    f"the pinned link from object {link[0][1]} of frame {link[0][0]} to object {link[1][1]} of frame "
                    f"{link[1][0]} is no candidate: the objects are not there, or too far apart (max_distance)"
                )
            self.used.add(link)
            for k, links in enumerate(linked):
                if link not in links and _explains(candidates, k, link):
                    mask[k] = False
        for link in out:
            self.used.add(link)
            for k, links in enumerate(linked):
                if link in links:
                    mask[k] = False
        return mask

    def check_used(self) -> None:
        """Raise ValueError for a pin that no pair of frames had."""
        left = sorted((frozenset(self.links) | frozenset(self.forbidden)) - self.used)
        if left:
            raise ValueError(
                f"the pin {left[0]} joins no frames that are tracked together; give (frame, id) of successive ones"
            )


def _links(candidates: Candidates, place: int) -> set[Link]:
    event, late = candidates.events[place], candidates.late_frame(place)
    return {((event.frame, a), (late, b)) for a in event.before for b in event.after}


def _explains(candidates: Candidates, place: int, link: Link) -> bool:
    """Whether an event explains the future of the first end, or the past of the second."""
    event = candidates.events[place]
    first = event.frame == link[0][0] and link[0][1] in event.before
    return first or (candidates.late_frame(place) == link[1][0] and link[1][1] in event.after)
