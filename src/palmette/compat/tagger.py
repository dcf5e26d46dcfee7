"""A model in use: what python-crfsuite's Tagger does, on a model of palmette's."""

from __future__ import annotations

import io
import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from palmette.compat.training import sequence
from palmette.io.model_file import FORMAT


@dataclass(frozen=True)
class ModelInfo:
    """What a model consists of; weights of 0 are left out.

    Attributes
    ----------
    model : palmette.CRF or palmette.Perceptron
    labels, attributes : dict
        Number of every label and attribute, as a string.
    state_features : dict
        ``{(attribute, label): weight}``
    transitions : dict
        ``{(label, next label): weight}``
    """

    model: Any = field(repr=False)
    labels: dict[Any, str]
    attributes: dict[str, str]
    state_features: dict[tuple[str, Any], float]
    transitions: dict[tuple[Any, Any], float]

    @classmethod
    def of(cls, model: Any) -> ModelInfo:
        """Take a fitted chain model apart."""
        scorer, labels = model.scorer_, model.codec_.classes_
        names = model.encoder_.feature_names or [str(i) for i in range(scorer.n_columns)]
        column, label = scorer.coordinates()
        weight = model.coef_[scorer.blocks["node"]]
        there = np.flatnonzero(weight)
        states = {
            (names[a], labels[k]): v
            for a, k, v in zip(column[there].tolist(), label[there].tolist(), weight[there].tolist())
        }
        active = [names[a] for a in np.unique(column[there])]
        pairs = {
            (labels[p // len(labels)], labels[p % len(labels)]): v
            for p, v in zip(scorer.pairs.tolist(), model.coef_[scorer.blocks["edge"]].tolist())
            if v != 0.0
        }
        return cls(model, _numbered(labels), _numbered(active), states, pairs)

    @cached_property
    def header(self) -> dict[str, str]:
        """What kind of file the model is stored in, its size in bytes, and numbers of parts, all as strings."""
        fields = {
            "magic": "palmette",
            "size": model_size(self.model),
            "type": "FOMC",  # CRFsuite's name for chains of first order
            "version": FORMAT,
            "num_features": len(self.state_features) + len(self.transitions),
            "num_labels": len(self.labels),
            "num_attrs": len(self.attributes),
        }
        return {name: str(value) for name, value in fields.items()}


def _numbered(items: Iterable[Any]) -> dict[Any, str]:
    return {item: str(i) for i, item in enumerate(items)}


def model_size(model: Any) -> int:
    """Bytes of a model file of this model."""
    file = io.BytesIO()
    model.save(file)
    return file.getbuffer().nbytes


class Tagger:
    """Labels sequences one at a time: `set` one, then ask.

    Parameters
    ----------
    model : palmette.CRF or palmette.Perceptron
        Fitted on ``Chain()``.

    Examples
    --------
    >>> from palmette.compat import CRF
    >>> tagger = CRF().fit([[["hot"], ["cold"]]], [["out", "in"]]).tagger_
    >>> tagger.tag([["cold"], ["hot"]])
    ['in', 'out']
    >>> round(tagger.marginal("in", 0) + tagger.marginal("out", 0), 6)
    1.0
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._xseq: Any = None
        self._marginals: np.ndarray | None = None

    def labels(self) -> list[Any]:
        """The labels, in order of their first appearance in the training data."""
        return list(self._model.codec_.classes_)

    def set(self, xseq: Any) -> None:
        """Take a sequence, to which the next questions refer."""
        self._xseq, self._marginals = sequence(xseq), None

    def tag(self, xseq: Any = None) -> list[Any]:
        """The best labels of ``xseq``, or of the sequence that was set."""
        if xseq is not None:
            self.set(xseq)
        return list(self._model.predict([self._current()])[0])

    def probability(self, yseq: Any) -> float:
        """Probability of a labeling of the present sequence."""
        return math.exp(self._model.log_proba([self._current()], [yseq])[0])

    def marginal(self, y: Any, pos: int) -> float:
        """Probability of label ``y`` at position ``pos`` (from 0) of the present sequence."""
        labels = self.labels()
        if y not in labels:
            raise ValueError(f"unknown label {y!r}; known labels: {labels}")
        if self._marginals is None:
            self._marginals = self._model.predict_marginals([self._current()])[0]
        if not 0 <= pos < len(self._marginals):
            raise ValueError(f"pos must be in 0..{len(self._marginals) - 1}, got {pos!r}")
        return float(self._marginals[pos, labels.index(y)])

    def info(self) -> ModelInfo:
        """The parts of the model: labels, attributes, weights."""
        return self._info

    @cached_property
    def _info(self) -> ModelInfo:
        return ModelInfo.of(self._model)

    def dump(self, filename: Any = None) -> None:
        """Write the model as text, to a file or to standard output."""
        info = self.info()
        lines = [f"{kind} {name}" for kind in ("labels", "attributes") for name in getattr(info, kind)]
        for kind in ("transitions", "state_features"):
            lines += [f"{kind} {a} --> {b}: {v:.6f}" for (a, b), v in getattr(info, kind).items()]
        if filename is None:
            print("\n".join(lines), file=sys.stdout)
        else:
            with open(filename, "w", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")

    def close(self) -> None:
        """Forget the present sequence; there is no file to close."""
        self._xseq = self._marginals = None

    def _current(self) -> Any:
        if self._xseq is None:
            raise ValueError("there is no sequence yet: call set(xseq) or tag(xseq) first")
        return self._xseq
