"""How a structure is chosen from the scores of a sequence, and how well that does on held-out sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from palmette.apps.folding.evaluation import evaluate_folds
from palmette.apps.folding.records import RNARecord
from palmette.apps.tuning import check_folds, fit_tuned
from palmette.estimators.folds import Part
from palmette.features.encoded import EncodedInputs
from palmette.structures.folding.brackets import parse_brackets
from palmette.structures.folding.codec import pairs_of

DECODERS = ("viterbi", "mea", "centroid")
GAMMA = 4.0
CHUNK = 50  # sequences decoded at once: tables of pair probabilities are large


def check_decoding(decode: Any, gamma: Any) -> None:
    """Refuse an unknown way to decode."""
    if decode not in DECODERS:
        raise ValueError(f"decode must be one of {', '.join(map(repr, DECODERS))}, got {decode!r}")
    if isinstance(gamma, bool) or not isinstance(gamma, int | float) or not 0.0 <= gamma < np.inf:
        raise ValueError(f"gamma must be a number of at least 0, got {gamma!r}")


def decoded(structure: Any, theta: Any, within: Any, decode: str, gamma: float) -> np.ndarray:
    """Codes of the structure with the highest score, expected accuracy, or of the gamma-centroid."""
    if decode == "viterbi":
        return structure.best(theta, within=within).codes
    return structure.min_risk(theta, gamma, kind=decode, within=within).codes


def families(records: Sequence[RNARecord]) -> np.ndarray | None:
    """The family or alignment of each record as a number, of its own where its file names none; None if none does."""
    if not any(record.group for record in records):
        return None
    names = [record.group or f"record {k}" for k, record in enumerate(records)]
    return np.unique(names, return_inverse=True)[1]


def check_tuned_folds(records: Sequence[RNARecord], tune: str | int | None, name: str = "tune") -> None:
    """Refuse more folds than there are families or, where files name none, sequences."""
    groups = families(records)
    if groups is None:
        check_folds(tune, len(records), "sequences", name)
    else:
        check_folds(tune, int(groups.max()) + 1, "families", name)


def fit_by_f1(
    model: Any,
    records: Sequence[RNARecord],
    tune: str | int,
    dev: Sequence[RNARecord],
    decode: str,
    gamma: float,
) -> None:
    """Fit with the penalty of the highest mean F1 on ``dev`` or on folds, decoded as the folder does.

    Folds are of whole families where the files name them (Stockholm): relatives fold alike.
    """

    def f1(fitted: Any, X: EncodedInputs, y: Any) -> float:
        found = []
        for start in range(0, len(X), CHUNK):
            batch = X[start : start + CHUNK].batch
            theta = fitted.scorer_.score(fitted.coef_, batch)
            codes = decoded(fitted.structure_, theta, None, decode, gamma)
            found += [pairs_of(codes[a:b]) for a, b in zip(batch.offsets[:-1], batch.offsets[1:])]
        return evaluate_folds([parse_brackets(each) for each in y], found).f1

    encoded = model.encode([record.sequence for record in records])
    train = Part(encoded, [record.structure for record in records], None)
    if tune == "dev":
        inputs = encoded.encoder.transform([record.sequence for record in dev])
        held = Part(EncodedInputs(inputs, encoded.encoder), [record.structure for record in dev], None)
        fit_tuned(model, train, held=held, score=f1)
    else:
        fit_tuned(model, train, n_folds=int(tune), groups=families(records), score=f1)
