"""A folder of RNA: a model of loops together with how it decodes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from palmette.apps.folding.constraints import make_restriction
from palmette.apps.folding.decoding import (
    DECODERS,
    GAMMA,
    check_decoding,
    check_tuned_folds,
    decoded,
    fit_by_f1,
)
from palmette.apps.folding.learners import given_weights, make_learner
from palmette.apps.folding.parameter_files import read_parameters, write_parameters
from palmette.apps.folding.records import RNARecord
from palmette.apps.interrupted import handing_over
from palmette.apps.tuning import check_tuning
from palmette.errors import InfeasibleError, ModelFileError
from palmette.structures.folding.brackets import Pair, format_brackets, parse_brackets
from palmette.structures.folding.codec import pairs_of
from palmette.structures.folding.encoder import RNA
from palmette.structures.folding.folding import Folding

__all__ = ["DECODERS", "Folded", "Folder"]

MOST = 1000
"""Suboptimal structures at most."""


@dataclass(frozen=True, eq=False)
class Folded:
    """A folded sequence.

    Parameters
    ----------
    sequence : str
    structure : str
        Dot-bracket.
    score : float
        Of the structure, evidence included; that of the best structure is the highest.
    name : str
    probabilities : ndarray of shape (n, n), optional
        Of base pairs: symmetric, positions from 0.
    log_partition : float, optional
        The logarithm of the sum of ``exp(score)`` of all structures.
    alternatives : tuple of (str, float)
        Suboptimal structures and their scores, best first.
    beam : int, optional
        That of the search, which is approximate then: there may be structures with a higher score.
    """

    sequence: str
    structure: str
    score: float
    name: str = ""
    probabilities: np.ndarray | None = None
    log_partition: float | None = None
    alternatives: tuple[tuple[str, float], ...] = ()
    beam: int | None = None

    @property
    def pairs(self) -> list[Pair]:
        """Base pairs (i, j), i < j."""
        return parse_brackets(self.structure)

    @property
    def probability(self) -> float | None:
        """Of the structure as a whole; None unless probabilities were asked for."""
        return None if self.log_partition is None else float(np.exp(self.score - self.log_partition))

    def record(self) -> RNARecord:
        """The same for files."""
        return RNARecord(self.name or "sequence", self.sequence, tuple(self.pairs))

    def to_dict(self, least: float = 1e-3) -> dict[str, Any]:
        """For JSON; of the pair probabilities those of at least `least` as (i, j, p), i < j, from 0."""
        found: dict[str, Any] = {
            "name": self.name, "sequence": self.sequence, "structure": self.structure, "score": self.score,
            "approximate": self.beam is not None,
        }  # fmt: skip
        if self.probabilities is not None:
            upper = np.triu(self.probabilities, 1)
            i, j = np.nonzero(upper >= least)
            found["log_partition"], found["probability"] = self.log_partition, self.probability
            found["pair_probabilities"] = [
                [a, b, round(p, 6)] for a, b, p in zip(i.tolist(), j.tolist(), upper[i, j].tolist())
            ]
        if self.alternatives:
            found["suboptimal"] = [{"structure": each, "score": score} for each, score in self.alternatives]
        return found


@dataclass(frozen=True)
class Folder:
    """Folds sequences of RNA.

    Made by :meth:`train`, :meth:`from_parameters`, :meth:`load` or :meth:`pretrained`.

    Parameters
    ----------
    model : CRF, SSVM or Perceptron
        Fitted on a :class:`~palmette.Folding` structure.
    decode : {"viterbi", "mea", "centroid"}
        How a structure is chosen where :meth:`fold` is not told: the one of the highest score, of the highest expected
        accuracy, or the gamma-centroid.
    gamma : float
        Of the last two: more pairs are predicted the larger it is.
    seconds : dict of str to float

    Examples
    --------
    >>> folder = Folder.from_parameters({"base_pair_CG": 2.0, "helix_stacking_CCGG": 1.0})
    >>> folded = folder.fold("GGGAAAACCC")
    >>> folded.structure
    '(((....)))'
    """

    model: Any
    decode: str = "mea"
    gamma: float = GAMMA
    seconds: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_decoding(self.decode, self.gamma)

    # -- making one ---------------------------------------------------------------------------------------------

    @classmethod
    def from_parameters(
        cls, weights: Mapping[str, float] | str | os.PathLike[str], *, min_hairpin: int = 0, **settings: Any
    ) -> Folder:
        """A folder with the weights of a parameter file of CONTRAfold or EternaFold, or given by name.

        Parameters
        ----------
        weights : path or dict of str to float
            Names that are missing in a dict are 0.
        min_hairpin : int, default=0
            As CONTRAfold has it.
        **settings
            Further ones of :class:`~palmette.Folding`.
        """
        named = weights if isinstance(weights, Mapping) else read_parameters(weights)
        return cls(given_weights(Folding(min_hairpin=min_hairpin, **settings), named))

    @classmethod
    def pretrained(cls) -> Folder:
        """The folder that comes with the package: a CRF, trained on 1,359 sequences of Rfam (CC0)."""
        from palmette.apps.folding.pretrained import load_pretrained

        return load_pretrained()

    @classmethod
    def train(
        cls,
        records: Sequence[RNARecord],
        *,
        algorithm: str = "crf",
        structure: Folding | None = None,
        start: Mapping[str, float] | None = None,
        decode: str | None = None,
        gamma: float = GAMMA,
        tune: str | int | None = None,
        dev: Sequence[RNARecord] = (),
        **options: Any,
    ) -> Folder:
        """Learn from sequences with structures.

        Parameters
        ----------
        records : list of RNARecord
            All with structures.
        algorithm : {"crf", "ssvm", "ramp", "perceptron"}
        structure : Folding, optional
        start : dict of str to float, optional
            Weights to start from, such as those of :func:`read_parameters`.
        decode : str, optional
            How the folder decodes; by default "mea" for a CRF, whose probabilities are meant, else "viterbi".
        gamma : float
        tune : "dev" or int, optional
            Choose ``l2`` by the mean F1 of pairs, decoded as the folder does, on the records of `dev`, or on so many
            folds of the records: of whole families where the files name them (Stockholm), since relatives fold alike.
            ``model.cv_scores_`` has the curve.
        dev : list of RNARecord
        **options
            Of the learner: ``l2``, ``missed`` and ``false`` (what wrong pairs cost, for "ssvm" and "ramp"), ``solver``,
            ``tol``, ``max_iter``, ``n_jobs``, ``random_state``, ``callbacks``.

        Raises
        ------
        TrainingInterrupted
            After Ctrl-C, a KeyboardInterrupt whose ``application`` is the folder with the best weights so far.
        """
        if not records:
            raise ValueError("there is nothing to learn from: give sequences with structures")
        for record in (*records, *dev):
            if record.pairs is None:
                raise ValueError(
                    f"{record.source or record.name}: {record.name!r} has no structure to learn from"
                )
        model = make_learner(algorithm, structure or Folding(), start, **options)
        check_tuning(model, tune, bool(dev))
        check_tuned_folds(records, tune)
        folder = cls(model, decode or ("mea" if algorithm == "crf" else "viterbi"), gamma)
        with handing_over(folder):
            if tune is None:
                model.fit([each.sequence for each in records], [each.structure for each in records])
            else:
                fit_by_f1(model, records, tune, dev, folder.decode, gamma)
        return replace(folder, seconds=dict(model.fit_seconds_))

    # -- folding ------------------------------------------------------------------------------------------------

    def fold(
        self,
        sequence: str | RNA | RNARecord,
        *,
        decode: str | None = None,
        gamma: float | None = None,
        constraint: str | None = None,
        probabilities: bool | None = None,
        suboptimal: float | None = None,
        most: int = MOST,
        beam: int | None = None,
    ) -> Folded:
        """Fold one sequence.

        Parameters
        ----------
        sequence : str, RNA or RNARecord
            :class:`~palmette.structures.folding.encoder.RNA` has soft evidence beside the letters.
        decode, gamma : optional
            Those of the folder by default.
        constraint : str, optional
            A character for each position, see :func:`palmette.apps.folding.constraints.make_restriction`.
        probabilities : bool, optional
            Whether to compute the probabilities of pairs; by default unless there is a beam.
        suboptimal : float, optional
            Also list the structures whose score is at most so much below the best one.
        most : int
            So many of these at most.
        beam : int, optional
            Search approximately, in time and memory linear in the length, with so many spans kept at each position:
            for sequences that are too long for the exact search. The structure is that of a high score ("viterbi");
            there are no probabilities and no suboptimal structures.

        Returns
        -------
        Folded

        Raises
        ------
        ValueError
            A letter outside of the alphabet, a constraint that cannot be met.
        TooLarge
            The tables of the sequence do not fit into memory.
        """
        if beam is not None and (probabilities or suboptimal is not None or decode not in (None, "viterbi")):
            raise ValueError(
                f"beam={beam} searches for one structure of a high score: use decode='viterbi', and neither "
                "probabilities nor suboptimal, or leave beam out"
            )
        decode = decode or (self.decode if beam is None else "viterbi")
        gamma = self.gamma if gamma is None else gamma
        check_decoding(decode, gamma)
        if suboptimal is not None and not suboptimal >= 0.0:
            raise ValueError(f"suboptimal must be at least 0, got {suboptimal!r}")
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            raise ValueError(f"most must be a number of structures of at least 1, got {most!r}")
        name = sequence.name if isinstance(sequence, RNARecord) else ""
        given: Any = sequence.sequence if isinstance(sequence, RNARecord) else sequence
        letters = str(given)
        if not letters:
            raise ValueError(f"{name or 'the sequence'} is empty: give at least one letter")
        structure: Any = self.model.structure_
        if beam is not None:
            structure = structure.beamed(beam)
        batch = self.model.encoder_.transform([given])
        theta = self.model.scorer_.score(self.model.coef_, batch)
        within = None if constraint is None else make_restriction(constraint, letters, structure)
        try:
            codes = decoded(structure, theta, within, decode, gamma)
        except InfeasibleError:
            raise InfeasibleError(
                f"{name or 'the sequence'}: no structure satisfies the constraint {constraint!r:.60}; its pairs leave "
                "no partner for positions that must be paired, or a loop that is too long; relax it"
            ) from None
        table = log_z = None
        if probabilities or (probabilities is None and structure.exact):
            parts = structure.marginals(theta, within=within)
            table = np.clip(parts.pairs.reshape(len(letters), len(letters)), 0.0, 1.0)
            log_z = float(structure.log_partition(theta, within=within)[0])
        others: tuple[tuple[str, float], ...] = ()
        if suboptimal is not None:
            found = structure.suboptimal(theta, suboptimal, most=most, within=within)[0]
            others = tuple((_text(each), float(value)) for each, value in found)
        score = float(structure.score(theta, codes)[0])
        return Folded(letters, _text(codes), score, name, table, log_z, others, structure.beam)

    def fold_all(
        self, sequences: Iterable[str | RNA | RNARecord], *, n_jobs: int | None = None, **options: Any
    ) -> Iterator[Folded]:
        """Fold many sequences in threads, in their order; options are those of :meth:`fold`.

        ``n_jobs=None`` is one thread per core.
        """
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(n_jobs or os.cpu_count() or 1) as threads:
            yield from threads.map(lambda each: self.fold(each, **options), sequences)

    # -- files --------------------------------------------------------------------------------------------------

    @property
    def weights(self) -> dict[str, float]:
        """The weights by name."""
        return self.model.scorer_.named(self.model.coef_)

    def write_parameters(self, path: str | os.PathLike[str]) -> None:
        """Write the weights as a parameter file of CONTRAfold."""
        write_parameters(path, self.weights)

    def save(self, path: str | os.PathLike[str], **about: Any) -> None:
        """Write the folder to one file; `about` are JSON values to keep in it, such as where the data is from."""
        self.model.save(
            path, extra={"task": "folding", "decode": self.decode, "gamma": self.gamma, "about": about}
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Folder:
        """Read a folder; other model files are refused (`palmette.load` reads them)."""
        from palmette.estimators import load

        return cls.from_model(load(path), os.fspath(path))

    @classmethod
    def from_model(cls, model: Any, source: str) -> Folder:
        """Return the folder whose model was loaded from the file `source`."""
        extra = getattr(model, "extra_", None)
        if not isinstance(extra, dict) or extra.get("task") != "folding":
            raise ModelFileError(
                f"{source}: this {type(model).__name__} does not fold RNA: neither 'palmette train --task folding' nor "
                "Folder.save wrote it; read it in Python with palmette.load"
            )
        try:
            if not isinstance(model.structure, Folding):
                raise ValueError(f"its structure is {type(model.structure).__name__}")
            return cls(model, extra.get("decode", "mea"), extra.get("gamma", GAMMA))
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"{source}: the folder is damaged ({error})") from error


def _text(codes: np.ndarray) -> str:
    return format_brackets(pairs_of(codes), len(codes))
