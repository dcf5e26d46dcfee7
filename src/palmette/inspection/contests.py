"""An explanation: per position the predicted label, its rival, and the terms of their score difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_WIDEST = 48  # of a padded column; what is longer pushes the rest to the right


@dataclass(frozen=True)
class Term:
    """One summand of the difference of two scores: ``value * (weight - rival_weight)``.

    Parameters
    ----------
    kind : str
        "feature", "bias", "transition" or "edge feature"; of graphs also "factor"; of segments also "begin" and "end"
        (features of the first and last position), "length" and "segment feature".
    position : int
        Where it stands; of a transition or edge feature, its right end.
    name : str
        Of the feature; empty for transitions; the length, or the kind of factor.
    labels, rival_labels : tuple
        The label there in the winning and in the rival output; a pair (or triple) for transitions and edge features;
        empty where an output has nothing there, such as a boundary.
    value : float
        Of the feature; 1 for bias and transitions.
    weight, rival_weight : float
    places : tuple of int
        All positions that it speaks of.
    """

    kind: str
    position: int
    name: str
    labels: tuple[Any, ...]
    rival_labels: tuple[Any, ...]
    value: float
    weight: float
    rival_weight: float
    places: tuple[int, ...] = ()

    @property
    def contribution(self) -> float:
        """What the term adds to the lead of the winner."""
        return self.value * (self.weight - self.rival_weight)

    def to_dict(self) -> dict[str, Any]:
        """All fields and ``contribution``, for JSON; labels as text."""
        labels = {name: list(map(str, getattr(self, name))) for name in ("labels", "rival_labels")}
        return {**vars(self), "places": list(self.places), **labels, "contribution": self.contribution}


@dataclass(frozen=True)
class Contest:
    """Why a label won at one position.

    Parameters
    ----------
    position : int
    label : label
        The predicted one; of a ``SemiMarkov`` the predicted segment ``(start, stop, label)``.
    rival : label or None
        The one it is compared with; None where no other output is possible, the margin then being infinite.
    rival_output : list of labels
        The best whole output with the rival there.
    margin : float
        Score of the predicted output minus that of the rival output; the sum of the contributions of `terms`.
    terms : tuple of Term
        Strongest contribution first.
    probability, rival_probability : float
        Marginals of the two labels (of segments: that the positions have these labels and boundaries) under
        ``p(y) ~ exp f(x, y)``.
    """

    position: int
    label: Any
    rival: Any
    rival_output: list[Any]
    margin: float
    terms: tuple[Term, ...]
    probability: float
    rival_probability: float

    def to_dict(self) -> dict[str, Any]:
        """All fields for JSON; labels as text, ``rival`` None where there is none."""
        return {
            **vars(self),
            "label": str(self.label),
            "rival": None if self.rival is None else str(self.rival),
            "rival_output": [str(label) for label in self.rival_output],
            "terms": [term.to_dict() for term in self.terms],
        }


@dataclass(frozen=True)
class Explanation:
    """Why a model gave one sample the labels that it did.

    Parameters
    ----------
    labels : list of labels
        The predicted output.
    score : float
        Its score ``f(x, y)``.
    log_probability : float
        ``f(x, y) - log Z(x)``.
    calibrated : bool
        Whether probabilities are those of a CRF; of other learners they only rank.
    contests : tuple of Contest
        One per position, or per segment.
    """

    labels: list[Any]
    score: float
    log_probability: float
    calibrated: bool
    contests: tuple[Contest, ...]

    def to_dict(self) -> dict[str, Any]:
        """All fields for JSON; labels as text."""
        contests = [contest.to_dict() for contest in self.contests]
        return {**vars(self), "labels": [str(label) for label in self.labels], "contests": contests}

    def format(
        self, tokens: Sequence[str] | None = None, top: int = 5, truth: Sequence[Any] | None = None
    ) -> str:
        """Plain text: a line per position, and below it the `top` strongest terms and the sum of the others.

        Parameters
        ----------
        tokens : sequence of str, optional
            What to call the positions; their numbers, from 1, by default.
        top : int, default=5
        truth : sequence of labels, optional
            True labels, named where the predicted one differs.
        """
        rows = [place for c in self.contests for term in c.terms for place in (c.position, *term.places)]
        n = max([len(self.labels), *(row + 1 for row in rows), *(c.position + 1 for c in self.contests)])
        words = [f"#{t}" for t in range(1, n + 1)] if tokens is None else list(tokens)
        probability = f"probability {math.exp(self.log_probability):.4g}"
        unsure = "" if self.calibrated else " (not calibrated: the model is not a CRF)"
        blocks = [f"score {self.score:.4f}, {probability}{unsure}"]
        wide = max((len(str(c.label)) + len(_shown(c.rival)) for c in self.contests), default=0) + 6
        longest = max(map(len, words), default=0)
        for contest in self.contests:
            word = words[contest.position].ljust(longest)
            over = f"{contest.label} over {_shown(contest.rival)}".ljust(wide)
            chances = f"p {contest.probability:.3f} : {contest.rival_probability:.3f}"
            true = "" if truth is None else _true(contest, truth)
            head = f"{word}  {over}  by {contest.margin:+.4f}  {chances}{true}"
            blocks.append("\n".join([head, *_lines(contest, top, words)]))
        return "\n\n".join(blocks)


def _true(contest: Contest, truth: Sequence[Any]) -> str:
    """What is true where the prediction is wrong."""
    if isinstance(contest.label, tuple) and len(contest.label) == 3:  # a segment
        return "" if contest.label in truth else "  not a true segment"
    true = truth[contest.position]
    return "" if true == contest.label else f"  true {true}"


def _shown(rival: Any) -> str:
    return "nothing else" if rival is None else str(rival)


def _lines(contest: Contest, top: int, words: Sequence[str]) -> list[str]:
    """The strongest terms, one per line, and the rest in one."""
    shown, rest = contest.terms[:top], contest.terms[top:]
    cells = [describe(term, contest.position, words) for term in shown]
    widths = [min(max(map(len, column)), _WIDEST) for column in zip(*cells)]
    lines = [
        f"  {term.contribution:+9.4f}  " + "  ".join(part.ljust(width) for part, width in zip(parts, widths))
        for term, parts in zip(shown, cells)
    ]
    if rest:
        total = sum(term.contribution for term in rest)
        lines.append(f"  {total:+9.4f}  {len(rest)} more term{'s' if len(rest) > 1 else ''}")
    return [line.rstrip() for line in lines]


def describe(term: Term, position: int, words: Sequence[str]) -> tuple[str, str, str]:
    """A term in words: its name, its weights, and where it stands if that is not `position`.

    Examples
    --------
    >>> term = Term("feature", 1, "w=dog", ("N",), ("V",), 1.0, 2.0, -0.5)
    >>> describe(term, 0, ["the", "dog"])
    ('w=dog', 'N +2, V -0.5', 'at dog')
    >>> describe(Term("transition", 1, "", ("D", "N"), ("D", "V"), 1.0, 1.5, 0.25), 1, ["the", "dog"])
    ('transition', 'D > N +1.5, D > V +0.25', 'from the left')
    """
    name = {"feature": term.name, "edge feature": term.name}.get(
        term.kind, f"{term.kind} {term.name}".strip()
    )
    times = "" if term.value == 1.0 else f" = {term.value:.4g}"
    ours, theirs = (" > ".join(map(str, labels)) or "none" for labels in (term.labels, term.rival_labels))
    weights = f"{ours} {term.weight:+.4g}, {theirs} {term.rival_weight:+.4g}"
    where = f"at {words[term.position]}"
    n = max(len(term.labels), len(term.rival_labels))
    first = term.position - n + 1
    if n == 1 and term.position == position:
        where = ""
    elif n > 1 and term.places and term.places != (*range(first, term.position + 1),):  # of a graph
        others = " and ".join(words[place] for place in term.places if place != position)
        where = f"with {others}" if position in term.places else f"between {others}"
    elif n > 1 and first <= position <= term.position:
        sides = {first: "to the right", term.position: "from the left"}
        where = sides.get(position, "around")
    return f"{name}{times}", weights, where
