"""What an annotation says of outputs: of parts a label, one of several, or nothing; of pairs what they may be."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

UNKNOWN_CODE: Final = -1


class _Unknown:
    """The type of `UNKNOWN`; there is one instance per process, whatever is pickled or copied."""

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __reduce__(self) -> str:
        return "UNKNOWN"  # pickle and copy look the name up in this module

    # Before all labels: scikit-learn sorts labels when it makes folds.

    def __lt__(self, other: object) -> bool:
        return other is not self

    def __gt__(self, other: object) -> bool:
        return False


UNKNOWN: Final = _Unknown()
"""Marks a part without annotation in the labels given to `fit`; its code is -1."""


class OneOf:
    """One of several labels: what an annotator knows of a part who cannot decide between them.

    Parameters
    ----------
    *labels : hashable
        At least one. Their order and repetitions do not matter.

    Examples
    --------
    >>> OneOf("B-PER", "B-ORG") == OneOf("B-ORG", "B-PER", "B-ORG")
    True
    >>> from palmette import CRF, UNKNOWN, Multiclass
    >>> model = CRF(Multiclass()).fit([[0.0], [0.1], [1.0], [0.9]], ["a", UNKNOWN, "b", OneOf("b", "c")])
    >>> model.classes_.tolist(), model.predict([[0.0], [1.0]]).tolist()
    (['a', 'b', 'c'], ['a', 'b'])
    """

    __slots__ = ("labels",)

    labels: tuple[Any, ...]

    def __init__(self, *labels: Hashable) -> None:
        if not labels:
            raise ValueError("OneOf() has no labels: name those that are possible, or give UNKNOWN for any")
        for label in labels:
            if not isinstance(label, Hashable):
                raise TypeError(
                    f"OneOf(...): {label!r:.60} is a {type(label).__name__} and no label; write OneOf(*labels)"
                )
            if label is UNKNOWN or isinstance(label, OneOf):
                raise ValueError(f"OneOf({', '.join(map(repr, labels))}): {label!r} is not a label")
        self.labels = tuple(dict.fromkeys(labels))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OneOf) and set(self.labels) == set(other.labels)

    def __hash__(self) -> int:
        return hash((OneOf, frozenset(self.labels)))

    # Between UNKNOWN and all labels, since scikit-learn sorts labels when it makes folds.

    def __lt__(self, other: object) -> bool:
        if isinstance(other, OneOf):
            return sorted(map(repr, self.labels)) < sorted(map(repr, other.labels))
        return other is not UNKNOWN

    def __gt__(self, other: object) -> bool:
        return other < self if isinstance(other, OneOf) else other is UNKNOWN

    def __repr__(self) -> str:
        return f"OneOf({', '.join(map(repr, self.labels))})"

    def __reduce__(self) -> Any:
        return OneOf, self.labels


_KINDS: Final = frozenset({_Unknown, OneOf})


def is_partial(labels: Iterable[Any]) -> bool:
    """Whether some of the labels of an output are UNKNOWN or OneOf several.

    >>> is_partial(["a", "b"]), is_partial(["a", UNKNOWN])
    (False, True)
    """
    return not _KINDS.isdisjoint(map(type, labels))


def told_parts(true: Sequence[Any], predicted: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Labels of the parts of which something is known. A prediction that a OneOf allows is the true label there.

    >>> told_parts(["a", UNKNOWN, OneOf("a", "b")], ["a", "a", "b"])
    (['a', 'b'], ['a', 'b'])
    """
    told = [(t, p) for t, p in zip(true, predicted) if t is not UNKNOWN]
    right = [p if isinstance(t, OneOf) and p in t.labels else t for t, p in told]
    return right, [p for _, p in told]


@dataclass(frozen=True)
class Annotation:
    """What is known of the outputs of a batch, one number per code.

    Parameters
    ----------
    codes : ndarray of int32, shape (n_codes,)
        ``0..n_kinds - 1``: this code. ``n_kinds + k``: one of those that row k of ``sets`` allows. -1: any code.
    sets : ndarray of bool, shape (n_sets, n_kinds), or None
        None: there are no sets, and codes are not numbered up to a number of kinds.
    pairs : Pairs, optional
        Allowed codes of pairs of parts (:mod:`palmette.data.linked`).

    Examples
    --------
    >>> some = Annotation(np.array([1, -1, 3]), np.array([[True, False, True]]))
    >>> some.possible().astype(int)
    array([[0, 1, 0],
           [1, 1, 1],
           [1, 0, 1]])
    """

    codes: np.ndarray
    sets: Any = None
    pairs: Any = None  # Pairs

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: slice | np.ndarray) -> Annotation:
        pairs = None if self.pairs is None else self.pairs.take(rows, len(self))
        return Annotation(self.codes[rows], self.sets, pairs)

    @property
    def n_kinds(self) -> int:
        """Number of codes that a part may have."""
        return self.sets.shape[1]

    @property
    def plain(self) -> Known:
        """The codes alone where that is all: a structure may know codes and -1, and no annotations."""
        some = self.pairs is not None or (self.sets is not None and len(self.sets))
        return self if some else self.codes

    @property
    def known(self) -> np.ndarray:
        """The codes, -1 where more than one is possible."""
        if self.sets is None:
            return self.codes
        return np.where(self.codes < self.n_kinds, self.codes, UNKNOWN_CODE).astype(np.int32)

    def readings(self) -> Iterator[np.ndarray]:
        """Codes, -1 where unknown, so often that each of those that a set or a pair allows occurs at its parts.

        >>> some = Annotation(np.array([1, -1, 3]), np.array([[True, False, True]]))
        >>> [codes.tolist() for codes in some.readings()]
        [[1, -1, 0], [1, -1, 2]]
        """
        yield from self._readings_of_sets()
        if self.pairs is not None:
            yield from self.pairs.readings(self.known, self.possible())

    def _readings_of_sets(self) -> Iterator[np.ndarray]:
        if self.sets is None or not len(self.sets):
            yield self.known
            return
        most = int(self.sets.sum(axis=1).max())
        single = np.broadcast_to(np.arange(self.n_kinds)[:, None], (self.n_kinds, most))
        several = np.array([np.resize(np.flatnonzero(own), most) for own in self.sets], np.int64).reshape(
            -1, most
        )
        table = np.concatenate([single, several, np.full((1, most), UNKNOWN_CODE)])
        for k in range(most):
            yield table[self.codes, k].astype(np.int32)

    def possible(self) -> np.ndarray:
        """Which codes each part may have, bool (n_codes, n_kinds)."""
        return self._rows(np.eye(self.n_kinds, dtype=bool), self.sets, True)

    def least(self, table: np.ndarray) -> np.ndarray:
        """``min table[i]`` over the codes i that are possible, by columns: shape (n_codes, n_kinds)."""
        least = [table[own].min(axis=0) for own in self.sets] or np.empty((0, table.shape[1]))
        return self._rows(table, least, table.min(axis=0))

    def _rows(self, single: np.ndarray, several: Any, unknown: Any) -> np.ndarray:
        last = np.broadcast_to(unknown, single[:1].shape)  # which the code -1 finds
        return np.concatenate([single, np.asarray(several, single.dtype), last])[self.codes]


class AnnotationCounts(NamedTuple):
    """How much of the outputs given to ``fit`` was annotated."""

    known: int  # parts with one code
    one_of: int  # parts with one of several
    unknown: int  # parts without annotation
    n_samples: int
    n_empty: int  # samples without any annotation: they are kept, and teach nothing by themselves
    pairs: int = 0  # edges with allowed labels; not counted if all parts of all samples are known


def counts_of(annotation: Annotation, offsets: np.ndarray) -> AnnotationCounts:
    """How much of the samples with these offsets of codes is annotated.

    >>> counts_of(Annotation(np.array([0, -1, -1]), np.empty((0, 2), bool)), np.array([0, 2, 3]))
    AnnotationCounts(known=1, one_of=0, unknown=2, n_samples=2, n_empty=1, pairs=0)
    """
    unknown, n_known = annotation.codes == UNKNOWN_CODE, int(np.sum(annotation.known != UNKNOWN_CODE))
    said, n_pairs = ~unknown, 0
    if annotation.pairs is not None:
        n_pairs = len(annotation.pairs)
        said[annotation.pairs.places[:, 0]] = True
    before = np.concatenate([[0], np.cumsum(said)])
    n_empty = int(np.sum(before[offsets[1:]] == before[offsets[:-1]]))
    n_unknown = int(unknown.sum())
    n_several = len(unknown) - n_known - n_unknown
    return AnnotationCounts(n_known, n_several, n_unknown, len(offsets) - 1, n_empty, n_pairs)


Known: TypeAlias = np.ndarray | Annotation
"""What is known of outputs: their codes (-1: any), or an annotation."""


def pairs_of(annotation: Known) -> Any:
    """The allowed codes of pairs of parts in an annotation (Pairs), None if there are none."""
    return annotation.pairs if isinstance(annotation, Annotation) else None


def possible_codes(annotation: Known, n_kinds: int) -> np.ndarray:
    """Which codes each part may have, bool (n_codes, n_kinds); of plain codes -1 is any.

    >>> possible_codes(np.array([1, -1]), 2).astype(int)
    array([[0, 1],
           [1, 1]])
    """
    if not isinstance(annotation, Annotation):
        annotation = Annotation(np.asarray(annotation), np.empty((0, n_kinds), bool))
    return annotation.possible()


def confusion_costs(table: np.ndarray, annotation: Known) -> np.ndarray:
    """What each code costs at each part, shape (n_codes, n_kinds): nothing where it is possible.

    >>> confusion_costs(1.0 - np.eye(3), Annotation(np.array([0, 3, -1]), np.array([[True, False, True]])))
    array([[0., 1., 1.],
           [0., 1., 0.],
           [0., 0., 0.]])
    """
    if isinstance(annotation, Annotation):
        return annotation.least(table)
    costs = table[annotation]
    costs[np.asarray(annotation) < 0] = 0.0
    return costs
