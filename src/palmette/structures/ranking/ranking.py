"""Orders of documents: queries whose documents are ranked by scores."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from palmette.contracts.structure import Best, Structure, Words
from palmette.contracts.training import Encoded, WeightOptions
from palmette.data.annotation import UNKNOWN, Known
from palmette.errors import InfeasibleError, MissingCapability, warn_caller
from palmette.features.choose_encoder import admitted
from palmette.features.encoded import EncodedInputs
from palmette.metrics.ranking import has_ungraded, ndcg
from palmette.registry import register
from palmette.structures.ranking.codec import RANK_BITS, RankingCodec, annotated_grades, grades_of, ranks_of
from palmette.structures.ranking.first_weights import first_weights
from palmette.structures.ranking.gains import ranked, sort_keys
from palmette.structures.ranking.position_weights import discounts
from palmette.structures.ranking.scorer import RankingScorer
from palmette.structures.ranking.search import sorted_rankings
from palmette.structures.ranking.tables import RankingCost, RankingRestriction, RankingTables, out_of_order

_PERMANENT = (
    "Summing over all rankings is intractable (a permanent): use palmette.PlackettLuce, the probabilistic model of "
    "rankings, or SSVM(loss='hinge') or Perceptron, which need no sums."
)


@register("structure")
class Ranking(Structure):
    """Rankings of the documents of a query; the score of one is ``f(pi) = sum_d s_d c_{rank(d)}``.

    A sample is a query, a row of its table is a document with the score ``s_d = <w, x_d>``, and ``c`` are weights of
    ranks that do not increase, so the best ranking is the documents sorted by score. Outputs are given to ``fit`` as
    grades of relevance, one integer of at least 0 per document, and ``predict`` returns for each query its documents
    (numbers from 0), best first. ``SSVM(Ranking(), loss="ramp")`` with the NDCG loss is the learner to start from.

    Parameters
    ----------
    position_weights : float, str, array or callable, default=0.25
        The weights c of the ranks r = 1, 2, ...:

        * a number p: ``c_r = r^-p``;
        * ``"letor"`` (or ``"dcg"``): ``1 / max(1, log2 r)``, and ``"standard"``: ``1 / log2(1 + r)``, the discounts of
          :class:`~palmette.losses.NDCG`; with the same one, and no cut-off, its augmented maximum is a sort;
        * an array by rank, at least as long as the largest query;
        * a function of the array of ranks 1..n.

        They must be positive, must not increase, and must not all be equal.
    ties : {"given", "best"}, default="given"
        Documents of equal grade can be in any order. "given" treats the order in which they are given as the true one;
        with "best" the truth is the one of the equally good orders that the model prefers, and the hinge loss becomes
        ``min over y'' of max_y [f(y) + D(y)] - f(y'')``, which is not convex.

    Notes
    -----
    Among equally good rankings, documents of higher score come first, then earlier ones. Summing over rankings is
    intractable (a permanent), so ``CRF`` refuses this structure; :class:`palmette.PlackettLuce` has probabilities.

    Examples
    --------
    >>> from palmette import SSVM, Ranking
    >>> X = [np.array([[0.0], [2.0], [1.0]]), np.array([[1.0], [3.0]])]
    >>> y = [[0, 2, 1], [0, 1]]
    >>> [order.tolist() for order in SSVM(Ranking(), C=10.0, task_loss="ndcg").fit(X, y).predict(X)]
    [[1, 2, 0], [1, 0]]

    With explicit scores:

    >>> theta = RankingTables(np.array([1.0, 3.0, 2.0]), np.array([0, 3]))
    >>> Ranking().best(theta).codes  # ranks
    array([2, 0, 1], dtype=int32)
    """

    labelled = False  # documents have grades, which nobody needs to declare
    compares_rows = True
    determined = False
    default_loss = "ndcg"
    usual_share = 1.0  # by measurement (benchmarks/defaults.py): the loss of a query speaks of many documents
    words = Words(
        "orders", "within a query", "within a query",
        "PlackettLuce() or loss='ramp', which do not collapse to 0 on overlapping documents, or a smaller l2",
    )  # fmt: skip
    # What is missing, and why; said by whoever needs it.
    lacks = dict.fromkeys(
        ("expectation", "log_partition", "marginals", "entropy", "sample", "log_proba", "min_risk"),
        _PERMANENT,
    )

    part_kinds = MappingProxyType({"codec": ("ranking",), "scorer": ("ranking",)})

    def __init__(self, position_weights: Any = 0.25, ties: str = "given") -> None:
        self.position_weights = position_weights
        self.ties = ties

    def weights(self, n: int) -> np.ndarray:
        """The weights of the ranks 1..n.

        >>> Ranking(1.0).weights(3)
        array([1.        , 0.5       , 0.33333333])
        """
        return discounts(self.position_weights, n, "position_weights")

    # -- the door: what users give and get ----------------------------------------------------------------------

    def check_model(self, encoder: Any, weights: Any, codec: Any) -> None:
        """Raise ValueError unless the position weights make sense."""
        self.weights(1)

    def bind(self, classes: Sequence[Any]) -> Ranking:
        """This structure, its settings checked."""
        if self.ties not in ("given", "best"):
            raise ValueError(f"Ranking: ties must be 'given' or 'best', got {self.ties!r}")
        if not callable(self.position_weights) and np.ndim(self.position_weights) == 0:
            self.weights(2)
        return self

    def adds(self, other: Structure) -> bool:
        """Whether the other structure weighs ranks alike, so that scores of documents may be added."""
        if not isinstance(other, Ranking):
            return False
        mine, theirs = self.position_weights, other.position_weights
        return mine is theirs or bool(np.array_equal(mine, theirs))

    def admit(self, X: Any) -> Any:
        """Inputs as encoders take them; one table for all queries is refused."""
        found = admitted(X, "sequences")
        if len(getattr(found, "shape", ())) == 2 and not isinstance(found, EncodedInputs):
            raise ValueError(
                f"X is one table of shape {X.shape}, but a Ranking needs one for each query: use X, y, ids = "
                "palmette.structures.by_query(X, y, qid), with qid = np.repeat(np.arange(len(sizes)), sizes) if you "
                "have sizes"
            )
        return found

    def make_codec(self, y: Any, classes: Any, lengths: np.ndarray) -> RankingCodec:
        """The codec of grades; there are no labels to declare."""
        if classes is not None:
            raise ValueError(
                f"classes={classes!r:.60}: a Ranking has grades of relevance and no labels; leave it out"
            )
        self.bind(())
        weights = self.weights(int(np.max(lengths, initial=1)))  # an array may be too short
        if len(weights) > 1 and weights[0] == weights[-1]:
            raise ValueError(
                f"position_weights={self.position_weights!r:.60} are {weights[0]:g} at all ranks 1..{len(weights)} of "
                "the largest query, so that all orders score the same: use decreasing weights, such as 0.25"
            )
        return RankingCodec()

    def make_scorer(self, data: Encoded, options: WeightOptions) -> RankingScorer:
        """One weight per feature."""
        if options.fit_intercept is True:
            raise ValueError(
                "fit_intercept=True: an intercept adds the same to all documents of a query and changes no order; "
                "leave it at 'auto'"
            )
        if options.edge_features is not None:
            raise ValueError("edge_features need the edges of a Chain; Ranking has none")
        return RankingScorer.for_columns(data.samples.batch.n_columns)

    def check_outputs(self, codes: np.ndarray, offsets: np.ndarray, batch: Any = None) -> None:
        """Warn of queries whose grades distinguish no two documents; they are kept."""
        grades, lengths = grades_of(codes), np.diff(offsets)
        single = lengths == 1
        alike = (
            np.maximum.reduceat(grades, offsets[:-1]) == np.minimum.reduceat(grades, offsets[:-1])
        ) & ~single
        if not (single | alike).any():
            return
        nothing = alike & (np.maximum.reduceat(grades, offsets[:-1]) == 0)
        kinds = [
            f"{int(which.sum())} {text}"
            for which, text in (
                (single, "with a single document"),
                (nothing, "without a relevant document"),
                (alike & ~nothing, "with equal relevance everywhere"),
            )
            if which.any()
        ]
        given = (
            ' With ties="given" the hinge takes the order in which their documents are given for the true one.'
            if self.ties == "given"
            else ""
        )
        warn_caller(
            f"The loss of {int((single | alike).sum())} of {len(lengths)} queries is 0 for every order, since their "
            f"grades distinguish no two documents ({', '.join(kinds)}; the first is query "
            f"{int(np.flatnonzero(single | alike)[0])}). They are kept.{given}",
            UserWarning,
        )

    def code_costs(self, table: np.ndarray) -> np.ndarray:
        """Refused: a ranking has no labels that could be confused."""
        raise MissingCapability(
            "Hamming loss counts wrong labels, and a Ranking has none: use task_loss='ndcg', 'map', 'precision' or "
            "'pairwise'"
        )

    def measure(self, model: Any, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """NDCG of each query over all ranks, as :func:`palmette.metrics.ndcg` computes it; ``score`` is its mean.

        Documents of unknown grade are left out, and so are queries that have no others.
        """
        scores = model.row_scores(X)
        graded = np.array([not has_ungraded(own) or any(g is not UNKNOWN for g in own) for own in y], bool)
        if len(y) != len(scores) or graded.all():
            values = ndcg(y, scores, per_query=True)
            return values, np.ones(len(values))
        values, some = np.zeros(len(scores)), np.flatnonzero(graded)
        if len(some):
            values[some] = ndcg([y[i] for i in some], [scores[i] for i in some], per_query=True)
        return values, graded.astype(float)

    # -- best ---------------------------------------------------------------------------------------------------

    def best(
        self,
        theta: RankingTables,
        *,
        cost: RankingCost | None = None,
        within: RankingRestriction | None = None,
    ) -> Best:
        """Highest-scoring ranking of every query, as ranks from 0; values include the cost.

        Without ``within``, and without a cost or with one whose ``discount`` is proportional to the weights of ranks,
        this is a sort; else a linear assignment, O(documents^3).
        """
        return self._extreme(theta, cost, within, 1.0)

    def worst(self, theta: Any, *, cost: Any = None, within: Any = None) -> Best:
        """Lowest-scoring ranking of every query; values include the cost."""
        return self._extreme(theta, cost, within, -1.0)

    def _extreme(self, theta: Any, cost: Any, within: Any, sign: Any) -> Best:
        self._check(theta, cost, within)
        position = self.weights(theta.longest)
        keys = sort_keys(theta, cost, within, position)
        if sign > 0 and cost is None and within is not None and within.allowed is None:
            found = self._by_grades(theta, within, position)
            if found is not None:
                return Best(found, self.score(theta, found))
        if keys is not None:
            from palmette.structures.ranking.kernels.sort import sort_samples

            ranks = np.empty(len(theta.node), np.int32)
            sort_samples(sign * keys, theta.node, position, theta.offsets, ranks)
        else:
            ranks = self._assigned(theta, cost, within, position, sign)
        return Best(ranks, self.score(theta, ranks, cost=cost))

    def _assigned(self, theta: Any, cost: Any, within: Any, position: Any, sign: Any) -> np.ndarray:
        ranks = np.empty(len(theta.node), np.int32)
        for s, (lo, hi) in enumerate(_bounds(theta)):
            found = ranked(theta, cost, within, position, lo, hi, sign, 1)
            if not found:
                raise _infeasible(s, hi - lo)
            ranks[lo:hi] = found[0][0]
        return ranks

    def _by_grades(
        self, theta: RankingTables, within: RankingRestriction, position: np.ndarray
    ) -> np.ndarray | None:
        """The best ranks that agree with known grades, or contradict them, without a search; None if it takes one."""
        agrees, grades = within.agrees, within.contradicts
        known = agrees if grades is None else grades
        if (agrees is None) == (grades is None) or known is None or np.any(known < 0):
            return None
        sample = np.repeat(np.arange(len(theta)), np.diff(theta.offsets))
        ranks = np.empty(len(theta.node), np.int32)
        order = np.lexsort((-theta.node, *([] if agrees is None else [-agrees]), sample))
        ranks[order] = _places(theta)
        if grades is None:
            return ranks
        # Sorted by score; where that agrees with the grades, the cheapest exchange of neighbours of different grades.
        for s in np.flatnonzero(~out_of_order(grades, ranks, theta.offsets)).tolist():
            own = order[theta.offsets[s] : theta.offsets[s + 1]]
            differs = np.flatnonzero(np.diff(grades[own]))
            if not len(differs):
                raise _infeasible(s, len(own))
            lost = np.diff(theta.node[own])[differs] * np.diff(position[: len(own)])[differs]
            r = int(differs[len(lost) - 1 - np.argmin(lost[::-1])])
            ranks[own[r]], ranks[own[r + 1]] = r + 1, r
        return ranks

    def k_best(
        self, theta: Any, k: int, *, cost: Any = None, within: Any = None
    ) -> list[list[tuple[np.ndarray, float]]]:
        """The k best distinct rankings of every query, best first; fewer where fewer exist.

        By exchanges of neighbours in the sorted order; with a cost or restriction by Murty's method on assignments.

        Returns
        -------
        list of list of (codes, value)
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}")
        self._check(theta, cost, within)
        position = self.weights(theta.longest)
        found = []
        for s, (lo, hi) in enumerate(_bounds(theta)):
            score = theta.node[lo:hi]
            if cost is None and within is None:
                orders: Any = sorted_rankings(score, position, k)
            else:
                orders = ranked(theta, cost, within, position, lo, hi, 1.0, k)
            own = [(ranks.astype(np.int32), value) for ranks, value in orders]
            if not own:
                raise _infeasible(s, hi - lo)
            found.append(own)
        return found

    def best_equivalent(self, theta: RankingTables, true: np.ndarray) -> Best:
        """The highest-scoring of the orders that are best for the grades of ``true``: by grade, then by score.

        The codes keep the grades.
        """
        true = self._codes(theta, true)
        grades = grades_of(true)
        order = np.lexsort((-theta.node, -grades, np.repeat(np.arange(len(theta)), np.diff(theta.offsets))))
        codes = np.empty(len(true), np.int32)
        codes[order] = _places(theta)
        codes |= grades << RANK_BITS
        return Best(codes, self.score(theta, codes))

    # -- given --------------------------------------------------------------------------------------------------

    def score(self, theta: Any, codes: Any, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """Score plus cost of given rankings; -inf for one that the restriction forbids."""
        from palmette.structures.ranking.kernels.given import ranking_scores

        self._check(theta, cost, within)
        ranks = ranks_of(self._codes(theta, codes))
        position, rows = self.weights(theta.longest), np.arange(len(ranks))
        values = np.empty(len(theta))
        ranking_scores(theta.node, position, theta.offsets, ranks, values)
        if cost is not None:
            own = np.zeros(len(ranks))
            if cost.gain is not None:
                own += cost.gain * cost.discount[ranks]
            if cost.table is not None:
                own += cost.table[rows, ranks]
            added = np.empty(len(theta))
            ranking_scores(own, np.ones(len(position)), theta.offsets, ranks, added)
            values += added
        if within is not None and len(values):
            if within.allowed is not None:
                allowed = np.asarray(within.allowed)[rows, ranks]
                values[~np.logical_and.reduceat(allowed, theta.offsets[:-1])] = -np.inf
            if within.agrees is not None:
                values[out_of_order(within.agrees, ranks, theta.offsets)] = -np.inf
            if within.contradicts is not None:
                values[~out_of_order(within.contradicts, ranks, theta.offsets)] = -np.inf
        return values

    # -- annotations --------------------------------------------------------------------------------------------

    def agreeing(self, theta: RankingTables, codes: Known) -> RankingRestriction:
        """The restriction to rankings in the order of the grades of ``codes``; -1 where a document has none.

        >>> theta = RankingTables(np.array([1.0, 3.0, 2.0]), np.array([0, 3]))
        >>> grades = np.array([1, 0, -1]) << 20  # the first document before the second
        >>> [ranks.tolist() for ranks, _ in Ranking().k_best(theta, 9, within=Ranking().agreeing(theta, grades))[0]]
        [[1, 2, 0], [0, 1, 2], [0, 2, 1]]
        """
        return RankingRestriction(agrees=annotated_grades(codes))

    def contradicting(self, theta: RankingTables, codes: Known) -> RankingRestriction:
        """The restriction to rankings with some document before one of a higher grade."""
        return RankingRestriction(contradicts=annotated_grades(codes))

    def contradicts(self, theta: RankingTables, annotation: Known, codes: np.ndarray) -> np.ndarray:
        """Whether given rankings are out of the order of the grades of an annotation, bool (n_samples,)."""
        return out_of_order(annotated_grades(annotation), ranks_of(np.asarray(codes)), theta.offsets)

    def count(
        self, theta: Any, codes: Any, *, weight: Any = None, into: RankingTables | None = None
    ) -> RankingTables:
        """Weights of the ranks of all documents, each query's times its ``weight``; added to ``into`` if given."""
        from palmette.structures.ranking.kernels.given import add_ranking_counts

        theta.check()
        ranks = ranks_of(self._codes(theta, codes))
        if weight is None:
            weight = np.ones(len(theta))
        weight = np.ascontiguousarray(weight, float)
        if weight.shape != (len(theta),):
            raise ValueError(f"weight has shape {weight.shape}, expected one per sample, {(len(theta),)}")
        if into is None:
            into = theta.zeros()
        elif into.shapes != theta.shapes:
            raise ValueError(f"into has scores of shapes {into.shapes}, expected {theta.shapes}")
        add_ranking_counts(self.weights(theta.longest), theta.offsets, ranks, weight, into.node)
        return into

    def first_weights(self, scorer: Any, samples: Any) -> np.ndarray:
        """Features of the best minus those of the worst ranking, their mean over queries: a start for the ramp loss."""
        return first_weights(self, scorer, samples)

    # -- inside -------------------------------------------------------------------------------------------------

    def _check(self, theta: RankingTables, cost: Any, within: Any) -> None:
        if not isinstance(theta, RankingTables):
            raise TypeError(f"theta must be RankingTables, got {type(theta).__name__}")
        theta.check()
        for name, given, kind in (("cost", cost, RankingCost), ("within", within, RankingRestriction)):
            if given is not None:
                if not isinstance(given, kind):
                    raise TypeError(f"{name} must be a {kind.__name__}, got {type(given).__name__}")
                given.check(theta)

    def _codes(self, theta: RankingTables, codes: Any) -> np.ndarray:
        from palmette.structures.ranking.kernels.given import first_flaw

        codes = np.ascontiguousarray(codes, np.int32)
        if codes.shape != theta.node.shape:
            raise ValueError(f"codes have shape {codes.shape}, expected one per document, {theta.node.shape}")
        ranks = ranks_of(codes)
        row = int(first_flaw(ranks, theta.offsets)) if len(codes) else -1
        if row >= 0:
            sample = int(np.searchsorted(theta.offsets, row, side="right")) - 1
            n = int(theta.offsets[sample + 1] - theta.offsets[sample])
            raise ValueError(
                f"sample {sample}, document {row - theta.offsets[sample]}: its rank {ranks[row]} is taken or not in "
                f"0..{n - 1}; a ranking gives every document a different rank"
            )
        return codes


def _bounds(theta: Any) -> list[tuple[int, int]]:
    return list(zip(theta.offsets[:-1].tolist(), theta.offsets[1:].tolist()))


def _places(theta: RankingTables) -> np.ndarray:
    """The number of every row in its sample."""
    return np.arange(len(theta.node)) - np.repeat(theta.offsets[:-1], np.diff(theta.offsets))


def _infeasible(sample: int, n: int) -> InfeasibleError:
    text = f"sample {sample} ({n} documents): no ranking satisfies the restriction"
    return InfeasibleError(f"{text}; allow more ranks of its documents", sample)
