"""What a model answers for a block of samples, where the samples are: functions that an executor can take anywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from palmette.contracts.executor import State
from palmette.contracts.structure import Structure
from palmette.data.batch import Batch
from palmette.estimators.training import numbering, without_empty
from palmette.executors.shards import cut
from palmette.objectives.risk import rows_a_block

Answer = Callable[..., Any]  # of a structure, potentials and more; module-level
Own = Callable[[slice, slice], tuple[Any, ...]]  # of the samples and of the rows of a block


class Scored(NamedTuple):
    """What potentials are made from."""

    scorer: Any
    coef: np.ndarray

    def for_many_rows(self, n_rows: int) -> Scored:
        """The same for so many rows in several blocks: some scorers are worth preparing then."""
        prepare = getattr(self.scorer, "for_many_rows", None)
        return self if prepare is None else self._replace(scorer=prepare(self.coef, n_rows))


class Block(NamedTuple):
    """Some samples, their numbers in X, and what else belongs to them."""

    batch: Batch
    places: np.ndarray
    own: tuple[Any, ...]


def blocks_of(scored: Scored, batch: Batch, places: np.ndarray, own: Own | None = None) -> list[Block]:
    """Samples in blocks whose tables stay in the cache; ``own(samples, rows)`` is what else belongs to them."""
    if not len(batch):
        return []
    blocks = []
    for a, b in cut(batch.offsets, max(1, batch.n_rows // rows_a_block(scored.scorer))):
        rows = slice(int(batch.offsets[a]), int(batch.offsets[b]))
        blocks.append(Block(batch.slice(a, b), places[a:b], () if own is None else own(slice(a, b), rows)))
    return blocks


def with_codes(structure: Structure, batch: Batch, codes: np.ndarray) -> Own:
    """What gives every block of samples the codes of their outputs."""
    places = structure.output_offsets(batch)
    return lambda samples, _: (codes[places[samples.start] : places[samples.stop]],)


def answer_block(
    block: Block, state: State, structure: Structure, scored: Scored, answer: Answer, *arguments: Any
) -> Any:
    """The answer for a block."""
    with numbering(block.places):
        theta = scored.scorer.score(scored.coef, block.batch)
        return answer(structure, theta, *block.own, *arguments)


def answer_piece(
    X: Any, state: State, structure: Structure, encoder: Any, scored: Scored, answer: Answer, *arguments: Any
) -> tuple[list[Any], np.ndarray, np.ndarray]:
    """The answers for inputs that are encoded here, and the numbers of rows and of codes of the samples."""
    whole = encoder.transform(structure.admit(X), allow_empty=True)
    batch, keep = without_empty(whole)
    blocks = blocks_of(scored, batch, np.flatnonzero(keep))
    found = [answer_block(block, {}, structure, scored, answer, *arguments) for block in blocks]
    return found, whole.lengths, np.diff(structure.output_offsets(whole))


def best_codes(structure: Structure, theta: Any) -> np.ndarray:
    """Codes of the best outputs."""
    return structure.best(theta).codes


def best_values(structure: Structure, theta: Any) -> np.ndarray:
    """Scores of the best outputs."""
    return structure.best(theta).values


def k_best(structure: Structure, theta: Any, n: int) -> list[Any]:
    """The n best outputs of every sample."""
    return structure.k_best(theta, n)


def marginals(structure: Structure, theta: Any) -> np.ndarray:
    """Probabilities of labels at positions."""
    return structure.position_marginals(theta)


def node_scores(structure: Structure, theta: Any) -> np.ndarray:
    """Scores of labels at positions."""
    return theta.node


def log_proba(structure: Structure, theta: Any, codes: np.ndarray) -> np.ndarray:
    """Log-probabilities of given outputs."""
    return structure.log_proba(theta, codes)
