"""RNA folding: all structures of a sequence without pseudoknots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import Any

import numpy as np

from palmette.contracts.structure import Words
from palmette.contracts.training import Encoded, WeightOptions
from palmette.data.annotation import UNKNOWN_CODE
from palmette.data.samples import Samples
from palmette.errors import warn_caller
from palmette.features.encoded import EncodedInputs
from palmette.registry import register
from palmette.structures.folding.alphabet import reading
from palmette.structures.folding.codec import CLASSES, FoldingCodec, both_ends, structures
from palmette.structures.folding.encoder import RNA, FoldingEncoder
from palmette.structures.folding.layout import LETTERS, MAX_INTERIOR, N_LETTERS
from palmette.structures.folding.losses import PairLoss
from palmette.structures.folding.projection import Projection, project
from palmette.structures.folding.scorer import FoldingScorer
from palmette.structures.folding.sum_answers import SumAnswers

CANONICAL = ("AU", "CG", "GU")


class OutsideModelWarning(UserWarning):
    """References have pairs that the model cannot have; they are dropped for training."""


@register("structure")
class Folding(SumAnswers):
    """The nested base pairs of an RNA sequence, scored by their loops.

    A structure is a set of pairs (i, j) of which no two cross or share a position. Its score is a sum over loops:
    hairpins, stacked pairs, bulges, interior loops, multiloops and the external loop, with the features and the 708
    named weights of CONTRAfold (:mod:`palmette.structures.folding.layout`,
    :func:`~palmette.structures.folding.feature_names.feature_names`). All answers are exact: the best structure (CYK),
    also with a cost per pair and within constraints, k best and suboptimal ones, log-partition and pair probabilities
    (inside-outside), samples, and decoding by maximum expected accuracy.

    Inputs are strings of letters, or :class:`RNA` with evidence. Outputs are dot-bracket strings, lists of pairs, or
    partners of positions (:class:`~palmette.structures.folding.codec.FoldingCodec`). Positions count from 0.

    Parameters
    ----------
    min_hairpin : int, default=3
        Least number of positions between the ends of a pair. CONTRAfold has 0.
    pairs : "canonical", "all", or iterable of str, default="canonical"
        Letters that may pair, in either order: AU, CG and GU; all of A, C, G, U; or those named, ``("AU", "CG")``.
    max_interior : int, default=30
        Most unpaired positions of a bulge or interior loop.
    outside : {"project", "error"}, default="project"
        References that are no structures of the model: for training drop as few pairs as possible and say so, or
        refuse. :meth:`score <palmette.CRF.score>` always uses the full reference.
    beam : int, optional
        Keep only so many of the best spans that end at each position: an approximate search whose time is linear in
        the length. None: exact, at any length that memory has room for.
    memory_limit : float, optional
        Bytes that the tables of one sequence may take; by default half of the memory of the machine.
    alphabet : mapping of str to str, optional
        What further letters are read as (A, C, G, U or N for unknown), in addition to
        :data:`~palmette.structures.folding.alphabet.ALPHABET`: T is U, and IUPAC's ambiguity codes pair with nothing.
    precision : {"double", "single"}, default="double"
        Of the tables. Single precision is faster for long sequences; scores and probabilities then have about six
        digits, and of structures that differ by less any may be the best.

    Examples
    --------
    >>> from palmette import CRF, Folding
    >>> X = ["GGGAAAACCC", "GGCGAAAGCCAA", "AAAAAAAAAA"]
    >>> y = ["(((....)))", "(((....)))..", ".........."]
    >>> model = CRF(Folding(), l2=0.01).fit(X, y)
    >>> model.predict(["AGGGAAAACCCA"])
    ['.(((....))).']
    """

    labelled = False
    folds = True
    default_loss = PairLoss()
    lacks = MappingProxyType(
        {"kernel": "its weights belong to loops, not to features of positions, which a kernel could replace"}
    )
    words = Words("structures", "between letters", "between letters", "")
    part_kinds = MappingProxyType({"codec": ("pairs",), "encoder": ("letters",), "scorer": ("loops",)})

    def __init__(
        self,
        min_hairpin: int = 3,
        pairs: Any = "canonical",
        max_interior: int = MAX_INTERIOR,
        outside: str = "project",
        beam: int | None = None,
        memory_limit: float | None = None,
        alphabet: Mapping[str, str] | None = None,
        precision: str = "double",
    ) -> None:
        self.min_hairpin = min_hairpin
        self.pairs = pairs
        self.max_interior = max_interior
        self.outside = outside
        self.beam = beam
        self.memory_limit = memory_limit
        self.alphabet = alphabet
        self.precision = precision

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """Whether :meth:`best` always finds the best structure: not with a beam."""
        return self.beam is None

    def beamed(self, beam: int) -> Folding:
        """The same with a beam, its width checked."""
        found = copy(self)
        found.beam = beam
        return found.bind(CLASSES)

    # -- the door: what users give and get ----------------------------------------------------------------------

    def can_pair(self) -> np.ndarray:
        """Which letters may pair, bool (5, 5)."""
        table = np.zeros((N_LETTERS, N_LETTERS), bool)
        if isinstance(self.pairs, str) and self.pairs == "all":
            table[: len(LETTERS), : len(LETTERS)] = True
            return table
        named = CANONICAL if isinstance(self.pairs, str) and self.pairs == "canonical" else self.pairs
        if isinstance(named, str) or not isinstance(named, Iterable):
            raise ValueError(
                f"Folding: pairs must be 'canonical', 'all' or a list such as ('AU', 'CG'), got {named!r}"
            )
        for pair in named:
            if not isinstance(pair, str) or len(pair) != 2 or not set(pair) <= set(LETTERS):
                raise ValueError(
                    f"Folding: pairs has {pair!r}; a pair is two of the letters A, C, G, U, such as 'CG'"
                )
            a, b = (LETTERS.index(letter) for letter in pair)
            table[a, b] = table[b, a] = True
        return table

    def bind(self, classes: Sequence[Any]) -> Folding:
        """This structure, its settings checked."""
        self._whole("min_hairpin", 0, None)
        self._whole("max_interior", 0, MAX_INTERIOR)
        if self.beam is not None:
            self._whole("beam", 1, None)
        if self.outside not in ("project", "error"):
            raise ValueError(f"Folding: outside must be 'project' or 'error', got {self.outside!r}")
        if self.memory_limit is not None and not (
            isinstance(self.memory_limit, int | float) and self.memory_limit > 0
        ):
            raise ValueError(f"Folding: memory_limit must be a number of bytes, got {self.memory_limit!r}")
        if self.precision not in ("double", "single"):
            raise ValueError(f"Folding: precision must be 'double' or 'single', got {self.precision!r}")
        self.can_pair(), reading(self.alphabet)
        return self

    def _whole(self, name: str, least: int, most: int | None) -> None:
        value = getattr(self, name)
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not whole or value < least or (most is not None and value > most):
            upto = "" if most is None else f" and at most {most}"
            raise ValueError(
                f"Folding: {name} must be a whole number of at least {least}{upto}, got {value!r}"
            )

    def admit(self, X: Any) -> Any:
        """Sequences as a list of strings and :class:`RNA`; what is encoded stays as it is."""
        if isinstance(X, EncodedInputs):
            return X
        if isinstance(X, str | bytes | RNA) or not isinstance(X, Iterable):
            raise TypeError(f"X must be a list of sequences, got {type(X).__name__}: give [{X!r:.40}]")
        found = []
        for i, x in enumerate(X):
            if not isinstance(x, str | RNA):
                raise TypeError(f"X[{i}] must be a string of letters or RNA(...), got {type(x).__name__}")
            found.append(str(x) if isinstance(x, str) else x)
        return found

    def make_encoder(self, X: Any, *, min_count: int = 1, n_hash: int | None = None) -> FoldingEncoder:
        """The encoder of letters."""
        return FoldingEncoder(self.alphabet)

    def check_encoder(self, encoder: Any) -> None:
        """Raise ValueError for inputs of another structure."""
        if encoder.of != FoldingEncoder.of:
            raise ValueError(f"X was encoded as {encoder.of}, but Folding needs sequences of nucleotides")

    def make_codec(self, y: Any, classes: Any, lengths: np.ndarray) -> FoldingCodec:
        """The codec of structures written like ``y``."""
        if classes is not None:
            raise ValueError(f"classes={classes!r:.60}: structures have no labels; leave classes out")
        return FoldingCodec.from_outputs(y)

    def make_scorer(self, data: Encoded, options: WeightOptions) -> FoldingScorer:
        """The weights of loops, always the same."""
        if options.edge_features is not None:
            raise ValueError("edge_features need the edges of a Chain; Folding has none")
        return FoldingScorer()

    def learnable(self, samples: Samples) -> Samples:
        """The samples with references that are structures of the model; see the parameter ``outside``."""
        found, report = project(self, samples)
        if not report.dropped:
            return samples
        if self.outside == "error":
            first = int(report.samples[0])
            raise ValueError(
                f"y[{first}] is no structure of the model, and so are {len(report.samples) - 1} others: "
                f"{report.letters} pairs of letters that may not pair, {report.close} too close, {report.others} that "
                "cross others or belong to too long interior loops. Correct them, allow more (pairs=, min_hairpin=), "
                "or drop such pairs for training: Folding(outside='project')"
            )
        warn_caller(str(report), OutsideModelWarning)
        return found

    def projected(self, X: Any, y: Any) -> Projection:
        """How many pairs of the references ``y`` of sequences ``X`` are outside of the model.

        >>> Folding().projected(["GAAAAG"], ["(....)"]).letters
        1
        """
        self.bind(CLASSES)
        batch = self.make_encoder(X).transform(self.admit(X))
        codes = FoldingCodec.from_outputs(y).encode_annotation(y, batch.lengths)
        samples = Samples(batch, codes.known, np.ones(len(batch)), None, codes)
        return project(self, samples)[1]

    def code_costs(self, table: np.ndarray) -> np.ndarray:
        """Codes are positions, not labels: there is no table of confusions."""
        raise ValueError(
            "the Hamming loss of labels does not fit structures: use PairLoss(1, 1, relative=False) for pairs, or "
            "PairLoss() for 1 - recall"
        )

    def evaluate(self, sequence: Any, structure: Any, weights: Any = None) -> tuple[float, dict[str, float]]:
        """Score and feature counts of one structure of one sequence, by walking through its loops.

        Parameters
        ----------
        sequence : str or RNA
        structure : dot-bracket string, pairs, or partners
        weights : mapping of str to float, or ndarray of shape (708,), optional
            By name, or in the order of the names; without, the score is 0 but for evidence.

        Returns
        -------
        score : float
        counts : dict of str to float
            How often each named feature counts, where it does.

        Examples
        --------
        >>> score, counts = Folding().evaluate("GGGAAAACCC", "(((....)))", {"base_pair_CG": 1.5})
        >>> score, counts["base_pair_CG"], counts["helix_stacking_CGCG"]
        (4.5, 3.0, 2.0)
        """
        self.bind(CLASSES)
        scorer = FoldingScorer()
        w = np.zeros(scorer.n_params) if weights is None else weights
        w = scorer.weights(w) if isinstance(w, Mapping) else np.asarray(w, float)
        batch = self.make_encoder([sequence]).transform(self.admit([sequence]))
        codes = FoldingCodec().encode_outputs([structure], batch.lengths)
        theta, counts = scorer.score(w, batch), np.zeros(scorer.n_params)
        score = float(self.score(theta, codes)[0])
        scorer.pull_back(self.count(theta, codes), batch, counts)
        return score, {name: n for name, n in scorer.named(counts).items() if n}

    def measure(self, model: Any, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """F1 of pairs: twice the right ones, and all of both sides, against the full references.

        Of a structure that is known in part, predicted pairs of which neither end is known do not count.
        """
        encoded = model.encode(X)
        found = structures(model.predict(encoded), "the predictions")
        lengths = encoded.batch.lengths
        if len(found) != len(y):
            raise ValueError(f"X has {len(found)} sequences, but y has {len(y)} structures")
        mine = model.codec_.encode_annotation(found, lengths).known
        true = both_ends(model.codec_.encode_annotation(y, lengths).known, encoded.batch.offsets)
        at = np.arange(len(mine)) - np.repeat(encoded.batch.offsets[:-1], lengths)
        sample = np.repeat(np.arange(len(lengths)), lengths)
        known = true != UNKNOWN_CODE
        left = mine - 1 > at
        partner = np.where(left, np.arange(len(mine)) + mine - 1 - at, 0)
        counted = left & (known | known[partner])
        right = np.bincount(sample, 2.0 * (left & (mine == true)), len(lengths))
        total = np.bincount(sample, counted.astype(float) + (true - 1 > at), len(lengths))
        return right, total
