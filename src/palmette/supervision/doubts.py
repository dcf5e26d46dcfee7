"""How uncertain a model is of what is left of a pool."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from palmette.data import UNKNOWN_CODE, Annotation
from palmette.data.ragged import gather
from palmette.features.encoded import EncodedInputs
from palmette.supervision.state import FREE, State
from palmette.supervision.strategies import Given, Strategy
from palmette.supervision.units import Units


class Doubts(NamedTuple):
    """The uncertainty of some units: ``keys`` to sort by, ``scores`` to report and average."""

    keys: np.ndarray
    scores: np.ndarray
    strategy: Strategy
    unit: str

    def reason(self, k: int) -> str:
        """In words, why the k-th of them is asked."""
        if self.unit == "patch":
            return f"the mean uncertainty of its parts ({self.strategy.name}) is {self.scores[k]:.3g}"
        return self.strategy.reason(float(self.keys[k]), self.unit)


def pool_doubts(
    strategy: Strategy, model: Any, pool: EncodedInputs, units: Units, state: State, wanted: np.ndarray,
    squares: np.ndarray,
) -> Doubts:  # fmt: skip
    """The uncertainty of the units ``wanted``, given what was answered; ``squares`` are the lengths of all rows."""
    if not len(wanted):
        return Doubts(np.empty(0), np.empty(0), strategy, units.kind)
    if isinstance(strategy, Given):
        keys = _given(strategy, model, pool, units, state)
    else:
        keys = _computed(strategy, model, pool, units, state, wanted, squares)
    if units.kind == "patch":
        means = units.mean(strategy.uncertainty(keys), np.flatnonzero(state.status == FREE))[wanted]
        return Doubts(means, means, strategy, units.kind)
    return Doubts(keys[wanted], strategy.uncertainty(keys[wanted]), strategy, units.kind)


def _given(strategy: Given, model: Any, pool: EncodedInputs, units: Units, state: State) -> np.ndarray:
    found = np.asarray(strategy.function(model, pool), float)
    what, n = ("sample", len(pool)) if units.kind == "sample" else ("part", len(state.status))
    if found.shape != (n,):
        raise ValueError(
            f"strategy: the function returned an array of shape {found.shape}, expected ({n},): one number for every "
            f"{what} of the pool"
        )
    if np.isnan(found).any():
        raise ValueError(
            f"strategy: the function returned NaN for {what} {int(np.flatnonzero(np.isnan(found))[0])} of the pool"
        )
    return found


def _computed(
    strategy: Strategy, model: Any, pool: EncodedInputs, units: Units, state: State, wanted: np.ndarray,
    squares: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Keys of all samples or parts of the pool; -inf for those of samples that have nothing left to ask."""
    samples = np.unique(units.sample[wanted])
    whole = len(samples) == len(pool)
    batch = pool.batch if whole else pool.batch.take(samples)
    if not whole:
        squares = squares[gather(pool.batch.offsets, samples)[0]]
    parts, offsets = gather(state.offsets, samples)
    known = _answered(model, state, samples, offsets)

    def own(some: slice, rows: slice) -> tuple[Any, ...]:
        a, b = int(offsets[some.start]), int(offsets[some.stop])
        if known is None or not np.any(known[a:b].codes != UNKNOWN_CODE):
            return None, squares[rows]
        return known[a:b], squares[rows]

    by_sample = units.kind == "sample"
    found = model._run(batch, samples, strategy.samples if by_sample else strategy.parts, own=own)
    keys = np.full(len(pool) if by_sample else len(state.status), -np.inf)
    keys[samples if by_sample else parts] = np.concatenate(found)
    return keys


def _answered(model: Any, state: State, samples: np.ndarray, offsets: np.ndarray) -> Annotation | None:
    """What was answered of the parts of samples, in the codes of the model; None if nothing was."""
    places = [k for k, i in enumerate(samples.tolist()) if i in state.outputs]
    if not places:
        return None
    outputs = [state.outputs[int(samples[k])] for k in places]
    layout = model.structure.layout
    said = model.codec_.encode_annotation(outputs, np.diff(offsets)[places], layout)
    codes = np.full(int(offsets[-1]), UNKNOWN_CODE, np.int32)
    codes[gather(offsets, np.array(places))[0]] = said.codes
    return Annotation(codes, said.sets)
