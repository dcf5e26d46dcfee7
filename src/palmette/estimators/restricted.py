"""Prediction within a restriction: one for all samples, one for each, or a list of allowed outputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from palmette.contracts.structure import Allowed, Structure
from palmette.data.batch import Batch
from palmette.errors import InfeasibleError
from palmette.estimators.training import numbering, without_empty
from palmette.objectives.risk import ROWS_A_BLOCK


def best_within(model: Any, X: Any, within: Any) -> tuple[np.ndarray, np.ndarray]:
    """Codes of the best allowed output of every sample, and the offsets of the samples, empty ones included."""
    whole = model._transform(X)
    batch, keep = without_empty(whole)
    if isinstance(within, Allowed):
        codes = _of_all(model, batch, within, np.flatnonzero(keep))
    elif isinstance(within, str | bytes) or not isinstance(within, Iterable):
        raise TypeError(
            f"within must be a list of allowed outputs, a Restriction of all rows of X, or a list with one per sample; "
            f"got {type(within).__name__}: {within!r:.60}"
        )
    else:
        given, places = list(within), np.flatnonzero(keep)
        if any(isinstance(each, Allowed) for each in given):
            codes = _of_each(model, batch, given, places, len(keep))
        else:
            codes = _among(model, batch, given, places)
    return codes, model.structure_.output_offsets(whole)


def _of_all(model: Any, batch: Batch, within: Any, places: np.ndarray) -> np.ndarray:
    """One restriction speaks of all rows, so that they are answered together."""
    if not len(batch):
        return np.empty(0, np.int32)
    with model.structure_.telling(), numbering(places):
        return model.structure_.best(model.scorer_.score(model.coef_, batch), within=within).codes


def _of_each(model: Any, batch: Batch, given: list[Any], places: np.ndarray, n_samples: int) -> np.ndarray:
    """A restriction, or None, for every sample of ``X``; ``places`` are the numbers of those in ``batch``."""
    if len(given) != n_samples:
        raise ValueError(
            f"within has {len(given)} entries, but X has {n_samples} samples: give one Restriction (or None) for each"
        )
    for i, each in enumerate(given):
        if each is not None and not isinstance(each, Allowed):
            raise TypeError(
                f"within[{i}] is {each!r:.60}, and other entries are restrictions: give a Restriction or None for "
                "each sample, or allowed outputs only"
            )

    answers = model._run(
        batch, places, _best_of_each, own=lambda some, _: (places[some], [given[i] for i in places[some]])
    )
    return np.concatenate([np.empty(0, np.int32), *answers])


def _best_of_each(structure: Structure, theta: Any, places: np.ndarray, given: list[Any]) -> np.ndarray:
    return np.concatenate(
        [_best_of_one(structure, theta, s, *each) for s, each in enumerate(zip(places, given))]
    )


def _best_of_one(structure: Structure, theta: Any, s: int, place: int, within: Any) -> np.ndarray:
    try:
        return structure.best(theta.take(np.array([s])), within=within).codes
    except InfeasibleError as error:
        size = len_of(structure, theta, s)
        raise InfeasibleError(
            f"sample {place} ({size} positions): no output satisfies within[{place}]; allow more there"
        ) from error
    except (TypeError, ValueError) as error:
        raise type(error)(f"within[{place}]: {error}") from error


def _among(model: Any, batch: Batch, given: list[Any], places: np.ndarray) -> np.ndarray:
    """The best of given outputs, each scored.

    Those of the wrong length, and those with labels that the model does not know, cannot be outputs of a sample.
    """
    if not given:
        raise ValueError(
            "within is empty: give at least one allowed output, or leave it out to allow all of them"
        )
    if model.structure.layout == "items":
        codes = model.codec_.encode_items(given, where="within")
        found, unknown = {1: codes[:, None]}, {}
    else:
        found, unknown = model.codec_.encode_allowed(
            given, np.unique(np.diff(model.structure_.output_offsets(batch))).tolist()
        )
    for codes in found.values():
        if np.any(codes < 0):
            raise ValueError("within has an output with UNKNOWN in it: allowed outputs are whole ones")
    # In the order of codes, so that the first of equally good ones is the one that all answers prefer.
    found = {n: np.unique(codes, axis=0) for n, codes in found.items()}

    answers = model._run(
        batch, places, _best_among, found, unknown, len(given), own=lambda some, _: (places[some],)
    )
    return np.concatenate([np.empty(0, np.int32), *answers])


def _best_among(
    structure: Structure,
    theta: Any,
    places: np.ndarray,
    found: dict[int, np.ndarray],
    unknown: dict[int, list[Any]],
    n_given: int,
) -> np.ndarray:
    """Of every sample the best of the candidates that have its length."""
    codes = []
    for s, place in enumerate(places):
        n = len_of(structure, theta, s)
        candidates = found.get(n, np.empty((0, n), np.int32))
        values = _scores(structure, theta, s, candidates)
        if not np.any(values > -np.inf):
            strange = unknown.get(n, [])
            why = "is possible here" if len(values) or strange else "has this length"
            if strange:
                shown = ", ".join(f"{y!r:.60}" for y in strange[:3]) + (", ..." if len(strange) > 3 else "")
                why += f" (passed over for labels that the model does not know: {shown})"
            raise InfeasibleError(
                f"sample {place} ({n} positions): none of the {n_given} outputs of within {why}; add one that fits, "
                "or predict this sample without within"
            )
        codes.append(candidates[int(np.argmax(values))])
    return np.concatenate(codes)


def _scores(structure: Structure, theta: Any, s: int, candidates: np.ndarray) -> np.ndarray:
    """Scores of candidates for sample s, copies of its potentials being made for some of them at a time."""
    step = max(1, ROWS_A_BLOCK // max(1, candidates.shape[1]))
    parts = [candidates[a : a + step] for a in range(0, len(candidates), step)]
    scores = [
        structure.score(theta.take(np.full(len(part), s)), np.ascontiguousarray(part.ravel()))
        for part in parts
    ]
    return np.concatenate([np.empty(0), *scores])


def len_of(structure: Structure, theta: Any, s: int) -> int:
    """Codes of one sample."""
    return int(np.diff(structure.output_offsets(theta)[s : s + 2])[0])
