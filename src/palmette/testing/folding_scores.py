"""The score of a folded sequence, loop by loop, from named weights: slow, plain, and independent of all inference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from palmette.structures.folding.brackets import Pair, check_pairs, crossing, parse_brackets
from palmette.structures.folding.feature_names import (
    ASYMMETRY_MOST,
    EXPLICIT_MOST,
    HAIRPIN_MOST,
    LOOP_MOST,
    SYMMETRIC_MOST,
    explicit_name,
    pair_name,
    stacking_name,
)


def evaluate(sequence: str, structure: str | Sequence[Pair], weights: Mapping[str, float]) -> float:
    """The score of a structure: the sum of the weights of its features, as often as they occur.

    Parameters
    ----------
    sequence : str
        Letters A, C, G, U; features of other letters count 0.
    structure : dot-bracket string or list of pairs
        Nested.
    weights : dict of str to float
        By name (:func:`palmette.structures.folding.feature_names.feature_names`); those that are missing are 0.

    Examples
    --------
    >>> evaluate("GAAAC", "(...)", {"base_pair_CG": 2.0, "hairpin_length_at_least_3": 0.5})
    2.5
    """
    return sum(times * weights.get(name, 0.0) for name, times in features(sequence, structure).items())


def features(sequence: str, structure: str | Sequence[Pair]) -> Counter[str]:
    """How often each named feature occurs in a structure.

    Examples
    --------
    >>> found = features("GAAAC", "(...)")
    >>> print(*(name for name in sorted(found) if "at_least" not in name))
    base_pair_CG external_paired helix_closing_CG helix_closing_GC terminal_mismatch_GCAA
    """
    pairs = parse_brackets(structure) if isinstance(structure, str) else check_pairs(structure, len(sequence))
    if isinstance(structure, str) and len(structure) != len(sequence):
        raise ValueError(f"{len(structure)} characters of structure for {len(sequence)} letters")
    if crossing(pairs) is not None:
        raise ValueError(f"pairs {crossing(pairs)} cross; only nested structures have a score")
    return _Counted(sequence, dict(pairs)).found


class _Counted:
    """Features of one structure; `closes` gives the last position of the pair that begins at a position."""

    def __init__(self, sequence: str, closes: dict[int, int]) -> None:
        self.s, self.closes, self.found = sequence, closes, Counter[str]()
        branches, unpaired = self.inside(-1, len(sequence))
        self.add("external_unpaired", "", unpaired)
        for i, j in branches:
            self.add("external_paired")
            self.junction_a(j, i, j + 1, i - 1)
        for i, j in closes.items():
            self.add_pair("base_pair", i, j)
            self.loop(i, j)

    def inside(self, i: int, j: int) -> tuple[list[Pair], int]:
        """The pairs directly inside (i, j), and the number of unpaired positions there."""
        branches, unpaired, at = [], 0, i + 1
        while at < j:
            if at in self.closes:
                branches.append((at, self.closes[at]))
                at = self.closes[at] + 1
            else:
                unpaired, at = unpaired + 1, at + 1
        return branches, unpaired

    def add(self, name: str, letters: str = "", times: int = 1) -> None:
        """Count a feature, unless one of its letters is unknown."""
        if times and all(letter in "ACGU" for letter in letters):
            self.found[name + (f"_{letters}" if letters else "")] += times

    def add_pair(self, section: str, i: int, j: int) -> None:
        if self.s[i] in "ACGU" and self.s[j] in "ACGU":
            self.found[pair_name(section, self.s[i], self.s[j])] += 1

    def up_to(self, section: str, first: int, length: int, most: int) -> None:
        for k in range(first, min(length, most) + 1):
            self.found[f"{section}_at_least_{k}"] += 1

    def letter(self, position: int) -> str:
        """The letter at a position, ``?`` beyond the ends."""
        return self.s[position] if 0 <= position < len(self.s) else "?"

    def junction_a(self, left: int, right: int, by_left: int, by_right: int) -> None:
        pair = self.s[left] + self.s[right]
        self.add("helix_closing", pair)
        self.add("dangle_left", pair + self.letter(by_left))
        self.add("dangle_right", pair + self.letter(by_right))

    def junction_b(self, left: int, right: int, by_left: int, by_right: int) -> None:
        pair = self.s[left] + self.s[right]
        self.add("helix_closing", pair)
        self.add("terminal_mismatch", pair + self.s[by_left] + self.s[by_right])

    def loop(self, i: int, j: int) -> None:
        """The loop that (i, j) closes."""
        branches, unpaired = self.inside(i, j)
        if not branches:
            self.junction_b(i, j, i + 1, j - 1)
            self.up_to("hairpin_length", 0, unpaired, HAIRPIN_MOST)
        elif len(branches) == 1:
            self.two_sided(i, j, *branches[0])
        else:
            self.add("multi_base")
            self.add("multi_unpaired", "", unpaired)
            self.add("multi_paired", "", 1 + len(branches))
            self.junction_a(i, j, i + 1, j - 1)
            for p, q in branches:
                self.junction_a(q, p, q + 1, p - 1)

    def two_sided(self, i: int, j: int, p: int, q: int) -> None:
        """Stacked pairs, a bulge or an interior loop."""
        left, right = p - i - 1, j - q - 1
        if left == right == 0:
            letters = self.s[i] + self.s[j] + self.s[p] + self.s[q]
            if all(letter in "ACGU" for letter in letters):
                self.found[stacking_name(*letters)] += 1
            return
        if left + right > LOOP_MOST:
            raise ValueError(
                f"the loop between pairs ({i}, {j}) and ({p}, {q}) has {left + right} unpaired positions; the model "
                f"has at most {LOOP_MOST}"
            )
        self.junction_b(i, j, i + 1, j - 1)
        self.junction_b(q, p, q + 1, p - 1)
        if left == 0 or right == 0:
            self.up_to("bulge_length", 1, left + right, LOOP_MOST)
            if left + right == 1:
                self.add("bulge_0x1_nucleotides", self.s[i + 1 if left else j - 1])
            return
        if max(left, right) <= EXPLICIT_MOST:
            self.found[explicit_name(left, right)] += 1
        self.up_to("internal_length", 2, left + right, LOOP_MOST)
        if left == right:
            self.up_to("internal_symmetric_length", 1, left, SYMMETRIC_MOST)
        self.up_to("internal_asymmetry", 1, abs(left - right), ASYMMETRY_MOST)
        if left == right == 1:
            self.add_pair("internal_1x1_nucleotides", i + 1, j - 1)


def longest_two_sided_loop(structure: str | Sequence[Pair]) -> int:
    """Unpaired positions of the longest bulge or interior loop, 0 if there is none.

    >>> longest_two_sided_loop("(..(...).)")
    3
    """
    pairs = parse_brackets(structure) if isinstance(structure, str) else sorted(structure)
    loops = []
    for (i, j), (p, q) in pairwise(pairs):
        if q < j and not any(q < k < j for k, _ in pairs):  # (p, q) is the only branch of (i, j)
            loops.append(p - i - 1 + j - q - 1)
    return max(loops, default=0)
