"""Labels: any hashable Python objects for users, codes ``0..K-1`` internally."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from palmette.data.annotation import UNKNOWN, UNKNOWN_CODE, Annotation, OneOf
from palmette.data.linked import Linked, coded_pairs
from palmette.data.outside import refuse_masked
from palmette.data.plain_objects import from_json, to_json
from palmette.data.ragged import Ragged, offsets_from_lengths
from palmette.data.sequences import listed
from palmette.errors import ModelFileError
from palmette.registry import register


@register("codec", "labels")
class LabelCodec:
    """Bijection between labels and the codes ``0..K-1``.

    Parameters
    ----------
    classes : iterable of hashable labels
        Code ``k`` stands for the k-th of them. NumPy scalars become plain Python objects. Two labels that are
        equal in Python (``1``, ``1.0`` and ``True``) are refused.

    Attributes
    ----------
    classes_ : tuple
        The labels by code.

    Examples
    --------
    >>> codec = LabelCodec.from_labels([["B", "I", "O"], ["O"]])
    >>> codec.classes_
    ('B', 'I', 'O')
    >>> codec.encode_sequences([["O", "B"], [UNKNOWN]]).values
    array([ 2,  0, -1], dtype=int32)
    >>> codec.decode([2, 0, -1])
    ['O', 'B', UNKNOWN]
    """

    def __init__(self, classes: Iterable[Hashable]) -> None:
        self.classes_: tuple[Any, ...] = tuple(
            _plain(label, f"classes[{k}]") for k, label in enumerate(classes)
        )
        if not self.classes_:
            raise ValueError("there is no label; a model needs at least one")
        self._codes: dict[Any, int] = {}
        for code, label in enumerate(self.classes_):
            if label is UNKNOWN or isinstance(label, OneOf):
                raise ValueError(f"classes[{code}] is {label!r}, which stands for labels and is none itself")
            first = self._codes.setdefault(label, code)
            if first != code:
                raise ValueError(
                    f"classes[{code}] = {label!r} equals classes[{first}] = {self.classes_[first]!r}; "
                    "give each label once"
                )
        self._codes[UNKNOWN] = UNKNOWN_CODE

    @classmethod
    def from_labels(
        cls,
        Y: Iterable[Any],
        classes: Iterable[Hashable] | None = None,
        *,
        layout: str = "sequences",
        where: str = "y",
    ) -> LabelCodec:
        """Codec of the labels that occur in `Y`, or of `classes` if given; `where` is the name of `Y` in messages.

        None is refused, and so are labels that are equal but of different types (``1`` and ``True``), which a dict
        would take for one.

        The order is that of ``sorted``; labels of mixed types are ordered by the name of their type, then
        within it, and labels without an order keep that of their first appearance.

        Parameters
        ----------
        Y : list of label sequences, or for ``layout="items"`` one sequence of labels
        classes : iterable of labels, optional
            Declares the labels; labels absent from `Y` are welcome here, and whether `Y` has others shows when it
            is encoded. Their order is kept, but of ``layout="items"`` they are ordered as above, since scikit-learn
            takes the ``classes_`` of a classifier for sorted.
        """
        nested = [_label_items(Y, where)] if layout == "items" else _label_sequences(Y, where)
        position, n = _position(where, layout), len(nested)
        linked = ((i, y) for i, y in enumerate(nested) if isinstance(y, Linked))
        said = {id(several): (at, several) for i, y in linked for at, _, several in y.said(f"{where}[{i}]")}
        if said:  # their labels are labels, too
            names, sets = zip(*said.values())
            nested = nested + [list(chain(*several.labels)) for several in sets]
            plain, position = position, lambda i, t: plain(i, t) if i < n else names[i - n]
        classes = None if classes is None else list(classes)
        _refuse_confusing(nested, classes or [], position)
        if classes is not None:
            declared = cls(classes)
            return cls(_in_order(list(declared.classes_))) if layout == "items" else declared
        try:
            found = dict.fromkeys(chain.from_iterable(nested))
        except TypeError:
            raise _first_failure(nested, _plain, position) from None
        found.pop(UNKNOWN, None)
        for several in [label for label in found if isinstance(label, OneOf)]:
            del found[several]
            found.update(dict.fromkeys(several.labels))
        if not found:
            raise ValueError(f"{where} has no label at all; give labels, or declare them with classes=...")
        if any(_is_not_finite(label) for label in found):
            raise _first_failure(nested, _plain, position)
        return cls(_in_order([_plain(label) for label in found]))

    def __len__(self) -> int:
        return len(self.classes_)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LabelCodec) and self.classes_ == other.classes_

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"LabelCodec({list(self.classes_)!r})"

    def encode_sequences(self, Y: Iterable[Any], *, where: str = "y") -> Ragged:
        """Codes (int32) of a list of label sequences; `where` is the name of `Y` in messages."""
        nested = _label_sequences(Y, where)
        offsets = offsets_from_lengths([len(labels) for labels in nested])
        return Ragged(self._encode(nested, int(offsets[-1]), _position(where, "sequences")), offsets)

    def encode_outputs(self, Y: Iterable[Any], lengths: Sequence[int] | np.ndarray) -> np.ndarray:
        """Codes (int32) of all positions of outputs of sequences of the given `lengths`: here label sequences."""
        return self.encode_sequences(Y).values

    def encode_annotation(
        self, Y: Iterable[Any], lengths: Sequence[int] | np.ndarray, layout: str = "sequences"
    ) -> Annotation:
        """What outputs with `UNKNOWN` and :class:`~palmette.OneOf` in them say, and :class:`~palmette.Linked` ones.

        >>> LabelCodec("abc").encode_annotation([["a", UNKNOWN, OneOf("b", "c")]], [3])
        Annotation(codes=array([ 0, -1,  3], dtype=int32), sets=array([[False,  True,  True]]), pairs=None)
        """
        nested = [_label_items(Y, "y")] if layout == "items" else listed(Y)
        if any(isinstance(labels, Linked) for labels in nested):
            own = self.encode_annotation(list(map(list, nested)), lengths)
            return replace(own, pairs=coded_pairs(nested, lengths, self._code_of, len(self)))
        if not any(OneOf in set(map(type, labels)) for labels in nested if _may_have_sets(labels)):
            codes = self.encode_items(Y) if layout == "items" else self.encode_outputs(Y, lengths)
            own = codes.max(initial=-1) < len(self)  # codecs of users may have other codes than labels
            return Annotation(codes, np.empty((0, len(self)), bool) if own else None)
        nested = nested if layout == "items" else _label_sequences(Y, "y")
        return self._annotation(nested, _position("y", layout))

    def _annotation(self, nested: list[Any], position: Callable[[int, int], str]) -> Annotation:
        several = {label: None for labels in nested for label in labels if isinstance(label, OneOf)}
        sets, codes = np.zeros((len(several), len(self)), bool), dict(self._codes)
        for k, label in enumerate(several):
            try:
                own = [self._code_of(each, "") for each in label.labels]
            except (ValueError, TypeError):
                raise _first_failure(nested, self._code_of, position) from None
            sets[k, own] = True
            codes[label] = own[0] if len(own) == 1 else len(self) + k
        count = sum(map(len, nested))
        try:
            found = np.fromiter(map(codes.__getitem__, chain.from_iterable(nested)), np.int32, count)
        except (KeyError, TypeError):
            raise _first_failure(nested, self._code_of, position) from None
        return Annotation(found, sets)

    def encode_allowed(
        self, Y: Iterable[Any], lengths: Iterable[int]
    ) -> tuple[dict[int, np.ndarray], dict[int, list[Any]]]:
        """Codes of the outputs among `Y` that sequences of each of the `lengths` can have, one output per row.

        `Y` has outputs as ``predict`` returns them; a string stands for its characters. Outputs with a label that
        this codec does not know cannot be outputs of its model: they come second, by their lengths.

        >>> LabelCodec("abt").encode_allowed(["at", "bat", ["b", "a"], "ax", "x"], [2])
        ({2: array([[0, 2],
               [1, 0]], dtype=int32)}, {2: [['a', 'x']]})
        """
        nested = _label_sequences([list(y) if isinstance(y, str) else y for y in Y], "within")
        known: dict[int, list[Any]] = {n: [] for n in lengths}
        unknown: dict[int, list[Any]] = {n: [] for n in known}
        try:
            for y in nested:
                if len(y) in known:
                    (known if self._codes.keys() >= set(y) else unknown)[len(y)].append(y)
        except TypeError:
            raise _first_failure(nested, _plain, _position("within", "sequences")) from None
        codes = {n: self.encode_sequences(own).values.reshape(len(own), n) for n, own in known.items()}
        return codes, unknown

    def encode_items(self, y: Iterable[Any], *, where: str = "y") -> np.ndarray:
        """Codes (int32) of one sequence of labels."""
        labels = _label_items(y, where)
        return self._encode([labels], len(labels), _position(where, "items"))

    def _encode(self, nested: list[Any], count: int, position: Callable[[int, int], str]) -> np.ndarray:
        try:
            return np.fromiter(map(self._codes.__getitem__, chain.from_iterable(nested)), np.int32, count)
        except (KeyError, TypeError):
            raise _first_failure(nested, self._code_of, position) from None

    def _code_of(self, label: Any, where: str) -> int:
        """The slow twin of ``_codes[label]``, which says what is wrong."""
        if isinstance(label, OneOf):
            return max(self._code_of(each, where) for each in label.labels)
        label = _plain(label, where)
        if label not in self._codes:
            shown = ", ".join(map(repr, self.classes_[:30])) + (", ..." if len(self) > 30 else "")
            raise ValueError(
                f"unknown label {label!r} at {where}; known labels: [{shown}]. "
                "Declare all labels with classes=... when fitting."
            )
        return self._codes[label]

    def positions(self, Y: Any, lengths: Sequence[int] | np.ndarray) -> Sequence[Any]:
        """The parts of given outputs of samples with so many codes, which are right or wrong one by one."""
        return Y

    def decode(self, codes: Sequence[int] | np.ndarray) -> list[Any]:
        """Labels of a sequence of codes; -1 is `UNKNOWN`."""
        codes = np.asarray(codes)
        if codes.size and not (codes.min() >= UNKNOWN_CODE and codes.max() < len(self)):
            raise ValueError(f"codes must be in -1..{len(self) - 1}, got {codes.min()}..{codes.max()}")
        table = [*self.classes_, UNKNOWN]  # table[-1] is UNKNOWN
        return list(map(table.__getitem__, codes.tolist()))

    def decode_sequences(self, codes: Ragged) -> list[list[Any]]:
        """Labels of each item of `codes`, as a list of lists."""
        start, bounds = int(codes.offsets[0]), codes.offsets.tolist()
        flat = self.decode(codes.values[start : bounds[-1]])
        return [flat[a - start : b - start] for a, b in zip(bounds, bounds[1:])]

    def state(self) -> list[Any]:
        """The labels as JSON values, from which `from_state` makes labels of the same types.

        Labels may be str, int, float, bool, None and tuples of these; others raise TypeError.
        """
        return [to_json(label) for label in self.classes_]

    @classmethod
    def from_state(cls, state: Any) -> LabelCodec:
        """Codec from what `state` returned."""
        if not isinstance(state, list):
            raise ModelFileError(f"the labels of a model file must be a list, found {type(state).__name__}")
        try:
            return cls(from_json(value) for value in state)
        except (ValueError, TypeError) as error:
            raise ModelFileError(f"damaged labels in a model file: {error}") from error


def _label_sequences(Y: Any, where: str = "y") -> list[Any]:
    """`Y` as a list of re-readable label sequences; arrays become lists, whose elements hash faster."""
    if isinstance(Y, (str, bytes)) or not isinstance(Y, Iterable):
        raise TypeError(f"{where} must be a list of label sequences, got {type(Y).__name__}: {Y!r:.60}")
    refuse_masked(Y, where)
    nested = [labels.tolist() if isinstance(labels, np.ndarray) else labels for labels in listed(Y)]
    for i, labels in enumerate(nested):
        if isinstance(labels, (str, bytes)):
            raise TypeError(
                f"{where}[{i}] is the string {labels!r:.60}, not a sequence of labels; "
                f"use list({where}[{i}]) if each character is a label"
            )
        if not (isinstance(labels, Iterable) and hasattr(labels, "__len__")):
            remedy = ""
            if labels is UNKNOWN or isinstance(labels, OneOf):
                remedy = f"; if nothing is known of the sample, give [UNKNOWN] * len(X[{i}])"
            raise TypeError(
                f"{where}[{i}] must be a sequence of labels, one per position, got {type(labels).__name__}: "
                f"{labels!r:.60}{remedy}"
            )
    return nested


def _may_have_sets(labels: Any) -> bool:
    """Whether OneOf may be among labels; arrays of texts and numbers have none."""
    return labels.dtype == object if isinstance(labels, np.ndarray) else isinstance(labels, list | tuple)


def _label_items(y: Any, where: str = "y") -> Sequence[Any]:
    if isinstance(y, (str, bytes)) or not isinstance(y, Iterable):
        raise TypeError(f"{where} must be a sequence of labels, got {type(y).__name__}: {y!r:.60}")
    refuse_masked(y, where)
    shape = getattr(y, "shape", (None,))
    if len(shape) != 1:
        raise ValueError(f"{where} must have one dimension (a label per item), got shape {shape}")
    return y.tolist() if isinstance(y, np.ndarray) else listed(y)


def _position(where: str, layout: str) -> Callable[[int, int], str]:
    return (lambda i, t: f"{where}[{t}]") if layout == "items" else (lambda i, t: f"{where}[{i}][{t}]")


def _first_failure(
    nested: Sequence[Any], check: Callable[..., Any], position: Callable[[int, int], str]
) -> Exception:
    """The exception of the first label that is not hashable or that `check` refuses, naming its position."""
    for i, labels in enumerate(nested):
        for t, label in enumerate(labels):
            where = position(i, t)
            try:
                hash(label)
            except TypeError:
                return TypeError(
                    f"the label at {where} is not hashable, a {type(label).__name__}: {label!r:.60}; "
                    "labels are strings, numbers, tuples, ..."
                )
            try:
                check(label, where)
            except (ValueError, TypeError) as error:
                return error
    return TypeError(f"the labels from {position(0, 0)} on cannot be compared with each other")


def _refuse_confusing(nested: Sequence[Any], classes: list[Any], position: Callable[[int, int], str]) -> None:
    """Raise ValueError for None, and for two labels that are equal but of different types, naming both places."""
    kinds = set(map(type, chain(chain.from_iterable(nested), classes))) - {type(UNKNOWN)}
    if len(kinds) < 2 and not kinds & {tuple, type(None)}:
        return  # as nearly always; the rest is slow
    places = chain(
        ((label, position(i, t)) for i, labels in enumerate(nested) for t, label in enumerate(labels)),
        ((label, f"classes[{k}]") for k, label in enumerate(classes)),
    )
    first: dict[Any, tuple[Any, Any, str]] = {}
    for label, where in places:
        if label is None:
            raise ValueError(
                f"the label at {where} is None, which stands for no label: give palmette.UNKNOWN if it is not known, "
                "or give the label a name, such as 'none'"
            )
        try:
            kind, other, there = first.setdefault(label, (_kind(label), label, where))
        except TypeError:
            return  # not hashable, as whoever looks it up will say
        if kind != _kind(label):
            raise ValueError(
                f"the label at {where} is {label!r}, a {type(label).__name__}, and the one at {there} is {other!r}, a "
                f"{type(other).__name__}: Python considers them equal, so that they would be one label; give all "
                "labels the same type"
            )


def _kind(label: Any) -> Any:
    """The type of a label, of NumPy's the plain one; of a tuple those of its parts."""
    if type(label) is tuple:
        return tuple(map(_kind, label))
    return type(label.item()) if isinstance(label, np.generic) else type(label)


def _is_not_finite(label: Any) -> bool:
    if isinstance(label, tuple):
        return any(map(_is_not_finite, label))
    return isinstance(label, (float, np.floating)) and not math.isfinite(label)


def _plain(label: Any, where: str = "y") -> Any:
    """`label` as a plain Python object: ``np.str_('B')`` is ``'B'``."""
    if isinstance(label, np.generic):
        label = label.item()
    elif type(label) is tuple:
        label = tuple(_plain(part, where) for part in label)
    if _is_not_finite(label):
        raise ValueError(
            f"the label at {where} is {label!r}; NaN and infinite labels are refused (palmette.UNKNOWN marks a "
            "missing label)"
        )
    return label


def _in_order(labels: list[Any]) -> list[Any]:
    try:
        return sorted(labels)
    except TypeError:
        by_type: dict[str, list[Any]] = {}
        for label in labels:
            by_type.setdefault(type(label).__name__, []).append(label)
        if len(by_type) == 1:
            return labels  # one type, and it has no order
        return [label for name in sorted(by_type) for label in _in_order(by_type[name])]
