"""An aligner of pairs: a model of matches and gaps together with how it decodes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from palmette.apps.aligning.aligned import Aligned
from palmette.apps.aligning.constraints import Constraint
from palmette.apps.aligning.learners import given_weights, make_learner
from palmette.apps.aligning.matrix_files import HALF_BIT, SubstitutionMatrix, read_matrix
from palmette.apps.aligning.parameter_files import (
    from_contralign,
    matrix_weights,
    read_parameters,
    write_parameters,
)
from palmette.apps.aligning.records import PairRecord, SequenceRecord
from palmette.apps.interrupted import handing_over
from palmette.errors import InfeasibleError, ModelFileError
from palmette.structures.alignment.alignment import Alignment
from palmette.structures.alignment.encoder import SequencePair
from palmette.structures.alignment.outputs import Core, matches_of

DECODERS = ("viterbi", "mea")
REFERENCES = ("core", "all")


@dataclass(frozen=True)
class Aligner:
    """Aligns pairs of sequences.

    Made by :meth:`from_matrix`, :meth:`from_parameters`, :meth:`train` or :meth:`load`.

    Parameters
    ----------
    model : CRF, SSVM or Perceptron
        Fitted on an :class:`~palmette.Alignment` structure.
    decode : {"viterbi", "mea"}
        How an alignment is chosen where :meth:`align` is not told: the one of the highest score, or of the highest
        expected number of right matches, with `gamma` also of right gaps.
    gamma : float
        Of the last: more gaps are predicted the larger it is.
    unit : float
        What one unit of a score is in nats, for probabilities: those of alignments are proportional to
        ``exp(unit * score)``.
    seconds : dict of str to float

    Examples
    --------
    >>> aligner = Aligner.from_matrix("BLOSUM62", open=-11, extend=-1)
    >>> print(*aligner.align("MKVLAWFG", "MKVAWFG").rows, sep="\\n")
    MKVLAWFG
    MKV-AWFG
    """

    model: Any
    decode: str = "viterbi"
    gamma: float = 0.0
    unit: float = 1.0
    seconds: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_decoding(self.decode, self.gamma)
        if (
            isinstance(self.unit, bool)
            or not isinstance(self.unit, int | float)
            or not 0 < self.unit < np.inf
        ):
            raise ValueError(f"unit must be a number above 0, got {self.unit!r}")

    # -- making one ---------------------------------------------------------------------------------------------

    @classmethod
    def from_matrix(
        cls,
        matrix: SubstitutionMatrix | str | os.PathLike[str] = "BLOSUM62",
        *,
        open: float = -11.0,
        extend: float = -1.0,
        free_ends: bool = False,
        unit: float = HALF_BIT,
        **settings: Any,
    ) -> Aligner:
        """An aligner with the scores of a substitution matrix and affine costs of gaps.

        Parameters
        ----------
        matrix : path, SubstitutionMatrix or "BLOSUM62"
        open, extend : float
            Scores of the first letter of a gap and of each further one. A gap of l letters scores ``open + (l - 1)
            extend``, as in parasail and Biopython (BLAST's "existence 11, extension 1" is ``open=-12``).
        free_ends : bool, default=False
            Whether gaps at the ends score 0.
        unit : float
            What a unit is in nats; BLOSUM62 is in half bits.
        **settings
            Further ones of :class:`~palmette.Alignment`.
        """
        table = matrix if isinstance(matrix, SubstitutionMatrix) else read_matrix(matrix)
        for name, value in (("open", open), ("extend", extend)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
                raise ValueError(f"{name} must be a finite number, usually below 0, got {value!r}")
        if "features" in settings or settings.get("long_gaps"):
            raise ValueError(
                "a matrix has scores of letters and one kind of gaps: leave features and long_gaps out"
            )
        structure = Alignment(free_ends=free_ends, features=("substitution",), **settings)
        return cls(given_weights(structure, matrix_weights(table, structure, open, extend)), unit=unit)

    @classmethod
    def from_parameters(
        cls, weights: Mapping[str, float] | str | os.PathLike[str], *, decode: str = "mea", **settings: Any
    ) -> Aligner:
        """An aligner with the weights of a parameter file of CONTRAlign, or given by name.

        Parameters
        ----------
        weights : path or dict of str to float
            Names that are missing in a dict are 0.
        decode : str
        **settings
            Of :class:`~palmette.Alignment`; ``long_gaps=True`` by default, as CONTRAlign has two kinds of gaps.
        """
        named = weights if isinstance(weights, Mapping) else read_parameters(weights)
        if "match_to_match" in named:
            named = from_contralign(named)
        return cls(given_weights(Alignment(**{"long_gaps": True, **settings}), named), decode)

    @classmethod
    def train(
        cls,
        pairs: Sequence[PairRecord],
        *,
        algorithm: str = "crf",
        structure: Alignment | None = None,
        start: Mapping[str, float] | None = None,
        references: str = "core",
        decode: str | None = None,
        gamma: float = 0.0,
        **options: Any,
    ) -> Aligner:
        """Learn from pairs with alignments.

        Parameters
        ----------
        pairs : list of PairRecord
            All with alignments.
        algorithm : {"crf", "ssvm", "soft_hinge", "ramp", "perceptron"}
            "soft_hinge" is a likelihood with the loss added to the scores: it finds more core columns than "crf".
        structure : Alignment, optional
        start : dict of str to float, optional
            Weights to start from, such as those of :func:`read_parameters`.
        references : {"core", "all"}
            ``"core"``: of references that have core columns only these are known, and the rest is left open; ``"all"``:
            all columns and gaps are taken as they are.
        decode : str, optional
            How the aligner decodes; by default "mea" for "crf" and "soft_hinge", which have probabilities,
            else "viterbi".
        gamma : float
        **options
            Of the learner: ``l2``, ``missed`` and ``false`` (what wrong matches cost, for "ssvm", "soft_hinge" and
            "ramp"), ``solver``, ``tol``, ``max_iter``, ``n_jobs``, ``random_state``, ``callbacks``.

        Raises
        ------
        TrainingInterrupted
            After Ctrl-C, a KeyboardInterrupt whose ``application`` is the aligner with the best weights so far.
        """
        if not pairs:
            raise ValueError("there is nothing to learn from: give pairs with alignments")
        if references not in REFERENCES:
            raise ValueError(
                f"references must be one of {', '.join(map(repr, REFERENCES))}, got {references!r}"
            )
        outputs = [output_of(pair, references) for pair in pairs]
        model = make_learner(algorithm, structure or Alignment(), start, **options)
        aligner = cls(model, decode or ("mea" if algorithm in ("crf", "soft_hinge") else "viterbi"), gamma)
        with handing_over(aligner):
            model.fit([(pair.a.sequence, pair.b.sequence) for pair in pairs], outputs)
        return replace(aligner, seconds=dict(model.fit_seconds_))

    # -- aligning -----------------------------------------------------------------------------------------------

    def align(
        self,
        a: str | SequenceRecord | PairRecord | SequencePair,
        b: str | SequenceRecord | None = None,
        *,
        decode: str | None = None,
        gamma: float | None = None,
        constraint: str | Constraint | None = None,
        posteriors: bool = True,
        best: int = 1,
    ) -> Aligned:
        """Align one pair.

        Parameters
        ----------
        a, b : str or SequenceRecord
            Or a pair alone: a PairRecord, or a :class:`~palmette.structures.alignment.encoder.SequencePair`, which has
            tracks, profiles and other features beside the letters.
        decode, gamma : optional
            Those of the aligner by default.
        constraint : str or Constraint, optional
            Such as ``"12=15 a3-"``, positions from 1, see :class:`palmette.apps.aligning.constraints.Constraint`.
        posteriors : bool, default=True
            Whether to compute the probabilities of matches and gaps.
        best : int
            List so many alignments of the highest scores, too, without the one that is returned.

        Returns
        -------
        Aligned

        Raises
        ------
        ValueError
            A letter outside of the alphabet, an empty sequence, a constraint that cannot be met.
        TooLarge
            The tables of the pair do not fit into memory.
        """
        decode, gamma = decode or self.decode, self.gamma if gamma is None else gamma
        _check_decoding(decode, gamma)
        if isinstance(best, bool) or not isinstance(best, int) or best < 1:
            raise ValueError(f"best must be a number of alignments of at least 1, got {best!r}")
        pair, given = _pair(a, b)
        n, m = len(pair.a), len(pair.b)
        structure: Any = self.model.structure_
        theta = self._potentials([given], pair.name)
        if isinstance(constraint, str):
            constraint = Constraint.parse(constraint)
        kinds = 2 if structure.long_gaps else 1
        within = (
            None if constraint is None else constraint.restriction(n, m, kinds, f"{pair.name}: constraint")
        )
        try:
            codes = self._decoded(structure, theta, within, decode, gamma)
        except InfeasibleError:
            raise InfeasibleError(f"{pair.name}: no alignment satisfies the constraint; relax it") from None
        found = Aligned(
            pair.a.sequence, pair.b.sequence, _matches(codes),
            float(structure.score(theta, codes)[0]), pair.name, (pair.a.name, pair.b.name), unit=self.unit,
        )  # fmt: skip
        if posteriors:
            found = replace(found, **self._posteriors(structure, theta, within, n))
        if best > 1:
            ranked = structure.k_best(theta, best, within=within)[0]
            others = [(_matches(each), float(score)) for each, score in ranked]
            known = found.matches.tolist()
            found = replace(
                found,
                alternatives=tuple(each for each in others if each[0].tolist() != known)[: best - 1],
            )
        return found

    def _potentials(self, pairs: list[Any], name: str) -> Any:
        try:
            batch = self.model.encoder_.transform(pairs)
        except (ValueError, TypeError) as error:
            error.args = (f"{name}: {str(error).replace('X[0]', 'the pair')}", *error.args[1:])
            raise
        return self.model.scorer_.score(self.model.coef_, batch)

    def _decoded(self, structure: Any, theta: Any, within: Any, decode: str, gamma: float) -> np.ndarray:
        if decode == "viterbi":
            return structure.best(theta, within=within).codes
        return structure.min_risk(_scaled(theta, self.unit), gamma, within=within).codes

    def _posteriors(self, structure: Any, theta: Any, within: Any, n: int) -> dict[str, Any]:
        """Probabilities under ``exp(unit * score)``."""
        theta = _scaled(theta, self.unit)
        parts = structure.marginals(theta, within=within)
        gaps = np.clip(parts.gaps.sum(axis=0), 0.0, 1.0)
        return {
            "posteriors": np.clip(parts.of(0), 0.0, 1.0), "gaps_a": gaps[:n], "gaps_b": gaps[n:],
            "log_partition": float(structure.log_partition(theta, within=within)[0]),
        }  # fmt: skip

    def align_all(
        self,
        pairs: Iterable[PairRecord | SequencePair | tuple[str, str]],
        *,
        n_jobs: int | None = None,
        **options: Any,
    ) -> Iterator[Aligned]:
        """Align many pairs in threads, in their order; options are those of :meth:`align`.

        ``n_jobs=None`` is one thread per core.
        """
        from concurrent.futures import ThreadPoolExecutor

        def one(pair: Any) -> Aligned:
            return self.align(*pair, **options) if isinstance(pair, tuple) else self.align(pair, **options)

        with ThreadPoolExecutor(n_jobs or os.cpu_count() or 1) as threads:
            yield from threads.map(one, pairs)

    # -- files --------------------------------------------------------------------------------------------------

    @property
    def weights(self) -> dict[str, float]:
        """The weights by name."""
        return self.model.scorer_.named(self.model.coef_)

    def write_parameters(self, path: str | os.PathLike[str]) -> None:
        """Write the weights as a parameter file."""
        write_parameters(path, self.weights)

    def save(self, path: str | os.PathLike[str], **about: Any) -> None:
        """Write the aligner to one file; `about` are JSON values to keep in it, such as where the data is from."""
        extra = {
            "task": "alignment", "decode": self.decode, "gamma": self.gamma, "unit": self.unit, "about": about,
        }  # fmt: skip
        self.model.save(path, extra=extra)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Aligner:
        """Read an aligner; other model files are refused (`palmette.load` reads them)."""
        from palmette.estimators import load

        return cls.from_model(load(path), os.fspath(path))

    @classmethod
    def from_model(cls, model: Any, source: str) -> Aligner:
        """Return the aligner whose model was loaded from the file `source`."""
        extra = getattr(model, "extra_", None)
        if not isinstance(extra, dict) or extra.get("task") != "alignment":
            raise ModelFileError(
                f"{source}: this {type(model).__name__} does not align pairs: neither 'palmette train --task "
                "alignment' nor Aligner.save wrote it; read it in Python with palmette.load"
            )
        try:
            if not isinstance(model.structure, Alignment):
                raise ValueError(f"its structure is {type(model.structure).__name__}")
            return cls(model, extra.get("decode", "viterbi"), extra.get("gamma", 0.0), extra.get("unit", 1.0))
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"{source}: the aligner is damaged ({error})") from error


def output_of(pair: PairRecord, references: str) -> Any:
    """An alignment as learners take it: all of it, or its core columns."""
    if pair.matches is None:
        raise ValueError(f"{pair.source or pair.name}: {pair.name!r} has no alignment to learn from")
    if pair.whole or references == "all":
        return pair.matches
    return Core(pair.core_matches.tolist())


def _pair(a: Any, b: Any) -> tuple[PairRecord, Any]:
    """A pair with names, and what the encoder takes."""
    if b is None:
        if isinstance(a, PairRecord):
            return a, (a.a.sequence, a.b.sequence)
        if isinstance(a, SequencePair):
            return PairRecord(SequenceRecord("a", a.a), SequenceRecord("b", a.b), name="the pair"), a
        raise TypeError(f"give two sequences, or a PairRecord or SequencePair; got {type(a).__name__} alone")
    records = []
    for each, name in ((a, "a"), (b, "b")):
        if not isinstance(each, str | SequenceRecord):
            raise TypeError(f"{name} must be a string or SequenceRecord, got {type(each).__name__}")
        records.append(each if isinstance(each, SequenceRecord) else SequenceRecord(name, each))
    own = PairRecord(records[0], records[1], name="" if isinstance(a, SequenceRecord) else "the pair")
    return own, (records[0].sequence, records[1].sequence)


def _matches(codes: np.ndarray) -> np.ndarray:
    return np.array(matches_of(codes), np.int64).reshape(-1, 2)


def _scaled(theta: Any, unit: float) -> Any:
    """Potentials in nats."""
    if unit == 1.0:
        return theta
    parts = ("substitution", "unit", "open", "extend", "change", "cells")
    return replace(theta, **{
        name: None if getattr(theta, name) is None else unit * getattr(theta, name) for name in parts
    })  # fmt: skip


def _check_decoding(decode: Any, gamma: Any) -> None:
    if decode not in DECODERS:
        raise ValueError(f"decode must be one of {', '.join(map(repr, DECODERS))}, got {decode!r}")
    if isinstance(gamma, bool) or not isinstance(gamma, int | float) or not 0.0 <= gamma < np.inf:
        raise ValueError(f"gamma must be a number of at least 0, got {gamma!r}")
