"""Segmentations that are annotated in part: what each position may be.

Of IOB2 labels each may be UNKNOWN or OneOf several. Of segments ``(start, stop, label)`` the label may be OneOf
several; ``(start, stop, UNKNOWN)`` says that nothing is known of these positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from palmette.data.annotation import UNKNOWN, OneOf
from palmette.data.span_encodings import split_label

Possible: TypeAlias = tuple[tuple[Any, bool], ...] | None
"""Labels with whether a segment begins; none at all: a segment of any label begins; None: anything."""
ANY_BEGIN: Possible = ()


def is_partial(Y: Sequence[Any], form: str) -> bool:
    """Whether some part of the outputs is not known."""
    labels = (item if form == "iob2" else _label_of(item) for y in Y for item in y)
    return any(label is UNKNOWN or isinstance(label, OneOf) for label in labels)


def _label_of(segment: Any) -> Any:
    """The label of what may be a segment; whether it is one is checked elsewhere."""
    return segment[2] if isinstance(segment, tuple | list) and len(segment) == 3 else None


def possible_tags(tags: Sequence[Any], place: str, outside: Any) -> list[Possible]:
    """What each position may be, from IOB2 labels.

    >>> possible_tags(["B-NP", UNKNOWN, OneOf("I-NP", "O")], "y[0]", "O")
    [(('NP', True),), None, (('NP', False), ('O', True))]
    """
    found: list[Possible] = []
    for t, tag in enumerate(tags):
        several = tag.labels if isinstance(tag, OneOf) else (tag,)
        known = tag is not UNKNOWN
        found.append(tuple(_tag(each, f"{place}[{t}]", outside) for each in several) if known else None)
    return found


def _tag(tag: Any, place: str, outside: Any) -> tuple[Any, bool]:
    letter, label = split_label(tag) if isinstance(tag, str) else ("", "")
    if outside is not None and tag == outside:
        return outside, True
    if letter not in ("B", "I"):
        raise ValueError(
            f"{place} is {tag!r:.60}, which is not an IOB2 label: those are {outside!r}, B-... and I-...; convert "
            "others with palmette.data.convert_spans, or give segments (start, stop, label)"
        )
    return label, letter == "B"


def possible_segments(segments: Sequence[Any], n: int, outside: Any) -> list[Possible]:
    """What each of ``n`` positions may be, from checked segments in their order, which do not overlap.

    >>> possible_segments([(0, 2, OneOf("a", "b")), (3, 4, UNKNOWN)], 5, "O")[:3]
    [(('a', True), ('b', True)), (('a', False), ('b', False)), (('O', True),)]
    """
    found: list[Possible] = [None if outside is None else ((outside, True),)] * n
    for start, stop, label, *_ in segments:
        if label is UNKNOWN:
            found[start:stop] = [None] * (stop - start)
            continue
        several = label.labels if isinstance(label, OneOf) else (label,)
        found[start] = tuple((each, True) for each in several)
        found[start + 1 : stop] = [tuple((each, False) for each in several)] * (stop - start - 1)
    for _, stop, label, *_ in segments:
        if label is not UNKNOWN and stop < n and found[stop] is None:
            found[stop] = ANY_BEGIN  # a segment ends before it
    return found
