"""Pairwise global alignment of sequences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from palmette.contracts.structure import Best, Words
from palmette.contracts.training import Encoded, WeightOptions
from palmette.data.annotation import UNKNOWN_CODE, Known
from palmette.features.encoded import EncodedInputs
from palmette.registry import register
from palmette.structures.alignment.alphabet import letters_of, reading
from palmette.structures.alignment.batch import AlignmentBatch
from palmette.structures.alignment.codec import AlignmentCodec
from palmette.structures.alignment.encoder import AlignmentEncoder, as_pair
from palmette.structures.alignment.feature_names import GROUPS
from palmette.structures.alignment.first_weights import first_weights
from palmette.structures.alignment.losses import ColumnLoss
from palmette.structures.alignment.outputs import match_codes, matches_of, read_outputs
from palmette.structures.alignment.scorer import AlignmentScorer
from palmette.structures.alignment.sum_answers import SumAnswers
from palmette.structures.alignment.tables import AlignmentTables


@register("structure")
class Alignment(SumAnswers):
    """All global alignments of two sequences, with affine scores of gaps.

    An alignment is a set of matches (i, j) that increase in both sequences. All other positions are against gaps. Its
    score is a sum over matches and runs of gaps: of the letters that match, of the letters against gaps, of the first
    and of each further position of a run, which may depend on the place of the gap. A run of l positions scores
    ``open + (l - 1) extend``, so what other aligners call "open 11, extend 1" is ``open = -11, extend = -1``. All
    answers are exact: the best alignment, also with a cost per match and within constraints, k best and suboptimal
    ones, log-partition and match probabilities, samples, and decoding by expected accuracy.

    Inputs are pairs of strings, or :class:`SequencePair` with tracks, profiles and features. Outputs are pairs of rows
    with gaps, lists of matches, :class:`Core` columns of which alone something is known, or the partners of all
    positions. Positions count from 0.

    Parameters
    ----------
    alphabet : str, default="protein"
        ``"protein"``, ``"dna"``, ``"rna"``, or letters of your own.
    features : "all" or list of str, default="all"
        Which weights there are beside those of a match and of opening and extending a gap: ``"substitution"`` of pairs
        of letters, ``"classes"`` of pairs of classes of amino acids, ``"insertions"`` of letters against gaps,
        ``"hydropathy"`` of hydrophilic residues around a gap, ``"ends"`` of gaps before and after a whole sequence.
    long_gaps : bool, default=False
        Whether there is a second kind of gap with weights of its own, which long gaps may take.
    free_ends : bool, default=False
        Whether opening and extending gaps before and after a whole sequence scores nothing. Weights of letters against
        gaps still count: leave out ``"insertions"`` if ends are to be wholly free.
    core : {"case", "all"}, default="case"
        Of references that are rows, columns of two upper-case letters are known, and nothing else; a pair without
        any lower-case letter is known wholly. ``"all"``: case means nothing, everything is known.
    ties : {"given", "best"}, default="given"
        ``"best"``: of the alignments that agree with a reference the one that scores best now is the truth. The
        hinge of an SSVM needs it where references are known in part.
    tracks : str, default=""
        Values of a track that every position has beside its letter, such as ``"HEC"``.
    letters : mapping of str to str, optional
        What further letters are read as.
    memory_limit : float, optional
        Bytes that the tables of one pair may take; by default half of the memory of the machine.
    precision : {"double", "single"}, default="double"
        Of the tables of fast kernels. Single precision is faster; scores and probabilities then have about six digits,
        and of alignments that differ by less any may be the best.

    Examples
    --------
    >>> from palmette import CRF, Alignment
    >>> X = [("ACDEFG", "ACEFG"), ("HIKLM", "HIKLM"), ("NPQRST", "NPQST")]
    >>> y = [("ACDEFG", "AC-EFG"), ("HIKLM", "HIKLM"), ("NPQRST", "NPQ-ST")]
    >>> model = CRF(Alignment(), l2=0.01).fit(X, y)
    >>> model.predict([("ACDFG", "ACFG")])
    [[(0, 0), (1, 1), (3, 2), (4, 3)]]
    """

    labelled = False
    aligns = True
    default_loss = ColumnLoss()
    lacks = MappingProxyType(
        {
            "kernel": "its weights belong to columns, not to features of positions, which a kernel could replace"
        }
    )
    words = Words("alignments", "between letters", "between letters", "")
    part_kinds = MappingProxyType({"codec": ("matches",), "encoder": ("pairs",), "scorer": ("columns",)})

    def __init__(
        self,
        alphabet: str = "protein",
        features: Any = "all",
        long_gaps: bool = False,
        free_ends: bool = False,
        core: str = "case",
        ties: str = "given",
        tracks: str = "",
        letters: Mapping[str, str] | None = None,
        memory_limit: float | None = None,
        precision: str = "double",
    ) -> None:
        self.alphabet = alphabet
        self.features = features
        self.long_gaps = long_gaps
        self.free_ends = free_ends
        self.core = core
        self.ties = ties
        self.tracks = tracks
        self.letters = letters
        self.memory_limit = memory_limit
        self.precision = precision

    @property
    def determined(self) -> bool:  # type: ignore[override]
        """Whether only one alignment agrees with a reference: not if gaps may be of two kinds."""
        return not self.long_gaps

    # -- the door: what users give and get ----------------------------------------------------------------------

    def bind(self, classes: Sequence[Any]) -> Alignment:
        """This structure, its settings checked."""
        for name, values in (
            ("core", ("case", "all")),
            ("ties", ("best", "given")),
            ("precision", ("double", "single")),
        ):
            if getattr(self, name) not in values:
                raise ValueError(
                    f"Alignment: {name} must be {' or '.join(map(repr, values))}, got {getattr(self, name)!r}"
                )
        for name in ("long_gaps", "free_ends"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"Alignment: {name} must be True or False, got {getattr(self, name)!r}")
        self._groups()
        if not isinstance(self.tracks, str) or len(set(self.tracks)) < len(self.tracks):
            raise ValueError(
                f"Alignment: tracks must be a string of different values such as 'HEC', got {self.tracks!r}"
            )
        if self.memory_limit is not None and not (
            isinstance(self.memory_limit, int | float) and self.memory_limit > 0
        ):
            raise ValueError(f"Alignment: memory_limit must be a number of bytes, got {self.memory_limit!r}")
        reading(self.alphabet, self.letters)
        return self

    def admit(self, X: Any) -> Any:
        """Pairs as a list of :class:`SequencePair`; what is encoded stays as it is."""
        if isinstance(X, EncodedInputs):
            return X
        if isinstance(X, str | bytes) or not isinstance(X, Iterable):
            raise TypeError(
                f"X must be a list of pairs of sequences, got {type(X).__name__}: give [('ACDE', 'ADE')]"
            )
        return [as_pair(x, f"X[{i}]") for i, x in enumerate(X)]

    def admit_outputs(self, y: Any, batch: AlignmentBatch) -> list[Any]:
        """Alignments in a form that the codec takes, compared with the sequences that they are about."""
        table = reading(self.alphabet, self.letters)
        return read_outputs(y, batch, table, max(len(self.tracks), 1), self.core)

    def make_encoder(self, X: Any, *, min_count: int = 1, n_hash: int | None = None) -> AlignmentEncoder:
        """The encoder of pairs."""
        self.bind(())
        return AlignmentEncoder(self.alphabet, self.letters, self.tracks)

    def check_encoder(self, encoder: Any) -> None:
        """Raise ValueError for inputs of another structure."""
        if encoder.of != AlignmentEncoder.of:
            raise ValueError(f"X was encoded as {encoder.of}, but Alignment needs pairs of sequences")

    def make_codec(self, y: Any, classes: Any, lengths: np.ndarray) -> AlignmentCodec:
        """The codec of alignments written like ``y``."""
        if classes is not None:
            raise ValueError(f"classes={classes!r:.60}: alignments have no labels; leave classes out")
        return AlignmentCodec.from_outputs(y, bool(self.long_gaps))

    def make_scorer(self, data: Encoded, options: WeightOptions) -> AlignmentScorer:
        """The weights of the chosen features."""
        if options.edge_features is not None:
            raise ValueError("edge_features need the edges of a Chain; Alignment has none")
        encoder: Any = data.encoder
        return self.scorer(encoder.n_profile, encoder.n_cells)

    def scorer(self, n_profile: int = 0, n_cells: int = 0) -> AlignmentScorer:
        """The scorer of the chosen features, with so many columns of profiles and features of cells.

        >>> Alignment("dna", features=("substitution",)).scorer().names[:2]
        ('match', 'match_AA')
        """
        letters, flags = letters_of(self.alphabet), (bool(self.long_gaps), bool(self.free_ends))
        return AlignmentScorer(letters, self.tracks, self._groups(), *flags, n_profile, n_cells)

    def _groups(self) -> tuple[str, ...]:
        """The chosen groups of features, in their order."""
        chosen = GROUPS if isinstance(self.features, str) and self.features == "all" else self.features
        if isinstance(chosen, str) or not isinstance(chosen, Iterable) or not set(chosen) <= set(GROUPS):
            raise ValueError(
                f"Alignment: features must be 'all' or some of {', '.join(map(repr, GROUPS))}, got {chosen!r}"
            )
        return tuple(own for own in GROUPS if own in set(chosen))

    def check_outputs(self, codes: np.ndarray, offsets: np.ndarray, batch: Any = None) -> None:
        """Raise ValueError at the first reference that is no alignment: matches that cross or are not mutual."""
        if batch is None:
            return
        splits, lengths = batch.splits, np.diff(offsets)
        for s, (lo, n) in enumerate(zip(offsets.tolist(), splits.tolist())):
            own = codes[lo : lo + int(lengths[s])]
            self._check_reference(own, n, int(lengths[s]) - n, s)

    def _check_reference(self, codes: np.ndarray, n: int, m: int, s: int) -> None:
        """Known codes of one reference must go together."""
        long = n + m + 1
        for which, (mine, other, size) in enumerate(((codes[:n], codes[n:], m), (codes[n:], codes[:n], n))):
            at = np.flatnonzero((mine > 0) & (mine != long))
            beyond = at[mine[at] > size]
            if len(beyond):
                t = int(beyond[0])
                raise ValueError(
                    f"y[{s}] matches position {t} of the {('first', 'second')[which]} sequence with {mine[t] - 1}, but "
                    f"the other has {size} positions"
                )
            back = other[mine[at] - 1]
            bad = at[(back != UNKNOWN_CODE) & (back != at + 1)]
            if len(bad):
                t = int(bad[0])
                raise ValueError(
                    f"y[{s}] matches position {t} of the {('first', 'second')[which]} sequence with {mine[t] - 1}, "
                    "which has another partner or a gap"
                )
            turned = np.flatnonzero(np.diff(mine[at]) <= 0)
            if len(turned):
                t, u = (int(at[turned[0] + k]) for k in (0, 1))
                raise ValueError(
                    f"y[{s}] matches positions {t} and {u} of the {('first', 'second')[which]} sequence with "
                    f"{mine[t] - 1} and {mine[u] - 1}: matches must increase in both sequences"
                )

    def code_costs(self, table: np.ndarray) -> np.ndarray:
        """Codes are positions, not labels: there is no table of confusions."""
        raise ValueError(
            "the Hamming loss of labels does not fit alignments: use ColumnLoss() for 1 - recall, or ColumnLoss(1, 1)"
        )

    def best_equivalent(self, theta: AlignmentTables, true: Known) -> Best:
        """The highest-scoring of the alignments that agree with what is known of the true one."""
        return self.best_agreeing(theta, true)

    def first_weights(self, scorer: AlignmentScorer, samples: Any) -> np.ndarray:
        """Log-odds of letters in known matches, and usual scores of gaps: a start for losses that are not convex."""
        return first_weights(scorer, samples)

    def evaluate(self, pair: Any, alignment: Any, weights: Any = None) -> tuple[float, dict[str, float]]:
        """Score and feature counts of one alignment of one pair.

        Parameters
        ----------
        pair : (str, str) or SequencePair
        alignment : rows, matches, or partners
        weights : mapping of str to float, or ndarray, optional
            By name, or in the order of the names; without, the score is 0 but for given scores of cells.

        Returns
        -------
        score : float
        counts : dict of str to float
            How often each named feature counts, where it does.

        Examples
        --------
        >>> score, counts = Alignment().evaluate(("ACD", "AD"), ("ACD", "A-D"), {"match": 1.0, "match_to_insert": -3.0})
        >>> score, counts["match_AA"], counts["insert_C"]
        (-1.0, 1.0, 1.0)
        """
        self.bind(())
        encoder = self.make_encoder([pair])
        batch = encoder.fit_transform(self.admit([pair]))
        scorer = self.scorer(encoder.n_profile, encoder.n_cells)
        w = np.zeros(scorer.n_params) if weights is None else weights
        w = scorer.weights(w) if isinstance(w, Mapping) else np.asarray(w, float)
        given = self.admit_outputs([alignment], batch)
        codes = AlignmentCodec().encode_outputs(given, batch.lengths)
        theta, counts = scorer.score(w, batch), np.zeros(scorer.n_params)
        score = float(self.score(theta, codes)[0])
        scorer.pull_back(self.count(theta, codes), batch, counts)
        return score, {name: n for name, n in scorer.named(counts).items() if n}

    def measure(self, model: Any, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Recall of known columns: how many of the known matches are found, and how many there are."""
        encoded = model.encode(X)
        batch, found = encoded.batch, model.predict(encoded)
        if len(found) != len(y):
            raise ValueError(f"X has {len(found)} pairs, but y has {len(y)} alignments")
        true = AlignmentCodec().encode_annotation(self.admit_outputs(y, batch), batch.lengths).known
        right, known = np.zeros(len(batch)), np.zeros(len(batch))
        for s, (lo, n, length) in enumerate(
            zip(batch.offsets.tolist(), batch.splits.tolist(), batch.lengths.tolist())
        ):
            mine = found[s]
            if model.codec_.form == "partners":
                mine = matches_of(np.array(mine) + 1)
            codes = match_codes(mine, n, length - n, f"prediction {s}")
            own = true[lo : lo + n]
            matched = own > 0
            known[s] = matched.sum()
            right[s] = (codes[:n] == own)[matched].sum()
        return right, known
