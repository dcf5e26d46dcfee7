"""The 708 named weights of CONTRAfold's model, by rule, in the order of its parameter files.

A name says which parts of a structure its weight counts for. Letters are those of the pair from 5' to 3', then of
its neighbours inside. Ties are in the names: of names that mean the same, the first in alphabetical order stands for
both (:func:`pair_name`, :func:`stacking_name`, :func:`explicit_name`). ``*_at_least_k`` counts once for every length
of at least k, so the score of a length is the sum of all weights up to it.
"""

from __future__ import annotations

from functools import cache
from itertools import product

LETTERS = "ACGU"

HAIRPIN_MOST = 30
"""The longest hairpin with a weight of its own; longer ones count as this."""

LOOP_MOST = 30
"""Unpaired positions of a bulge or an interior loop at most."""

SYMMETRIC_MOST = 15
"""Positions on each side of the longest symmetric interior loop."""

ASYMMETRY_MOST = 28
"""The largest difference of the two sides of an interior loop."""

EXPLICIT_MOST = 4
"""Sides of the interior loops that have a weight of their own."""


def pair_name(section: str, a: str, b: str) -> str:
    """The name of a weight that does not tell (a, b) from (b, a): ``base_pair``, ``internal_1x1_nucleotides``.

    >>> pair_name("base_pair", "U", "A")
    'base_pair_AU'
    """
    return f"{section}_{min(a + b, b + a)}"


def stacking_name(a: str, b: str, c: str, d: str) -> str:
    """The name of a stack of the pair (a, b) on the pair (c, d) inside; read from the other strand it is d c b a.

    >>> stacking_name("U", "A", "G", "C")
    'helix_stacking_CGAU'
    """
    return f"helix_stacking_{min(a + b + c + d, d + c + b + a)}"


def explicit_name(left: int, right: int) -> str:
    """The name of an interior loop with these sides, whichever comes first.

    >>> explicit_name(3, 1)
    'internal_explicit_1_3'
    """
    return f"internal_explicit_{min(left, right)}_{max(left, right)}"


@cache
def feature_names() -> tuple[str, ...]:
    """All names, in the order of the published files.

    >>> names = feature_names()
    >>> len(names), names[0], names[-1]
    (708, 'base_pair_AA', 'external_paired')
    """
    names: dict[str, None] = {}

    def add(*some: str) -> None:
        names.update(dict.fromkeys(some))

    def at_least(section: str, first: int, last: int) -> None:
        add(*(f"{section}_at_least_{k}" for k in range(first, last + 1)))

    def lettered(section: str, n_letters: int) -> None:
        add(*(f"{section}_{''.join(some)}" for some in product(LETTERS, repeat=n_letters)))

    add(*(pair_name("base_pair", a, b) for a, b in product(LETTERS, repeat=2)))
    lettered("terminal_mismatch", 4)
    at_least("hairpin_length", 0, HAIRPIN_MOST)
    sides = range(1, EXPLICIT_MOST + 1)
    add(*(explicit_name(left, right) for left, right in product(sides, repeat=2)))
    at_least("bulge_length", 1, LOOP_MOST)
    at_least("internal_length", 2, LOOP_MOST)
    at_least("internal_symmetric_length", 1, SYMMETRIC_MOST)
    at_least("internal_asymmetry", 1, ASYMMETRY_MOST)
    lettered("bulge_0x1_nucleotides", 1)
    add(*(pair_name("internal_1x1_nucleotides", a, b) for a, b in product(LETTERS, repeat=2)))
    add(*(stacking_name(*some) for some in product(LETTERS, repeat=4)))
    lettered("helix_closing", 2)
    add("multi_base", "multi_unpaired", "multi_paired")
    lettered("dangle_left", 3)
    lettered("dangle_right", 3)
    add("external_unpaired", "external_paired")
    return tuple(names)
