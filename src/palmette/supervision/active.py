"""Active learning: which samples, parts or patches of a pool to ask an annotator for."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from palmette.contracts.structure import can
from palmette.data.sequences import listed, n_items
from palmette.errors import DataFileError, warn_caller
from palmette.estimators.training import seed_of
from palmette.features.encoded import EncodedInputs
from palmette.supervision.answers import Door
from palmette.supervision.doubts import Doubts, pool_doubts
from palmette.supervision.evaluation import Evaluation, Reserve, evaluate
from palmette.supervision.journal import Journal, fingerprint
from palmette.supervision.questions import Question
from palmette.supervision.selection import by_mmr, by_spread, by_uncertainty, squared_lengths, unit_vectors
from palmette.supervision.state import ANSWERED, FREE, State
from palmette.supervision.stopping import StoppingRule
from palmette.supervision.strategies import Random, Strategy, resolve_strategy
from palmette.supervision.units import UNITS, make_units
from palmette.supervision.updates import UPDATES, check_model, trained

COLD_STARTS = ("random", "diverse")
# Units that a diverse batch is chosen from: so many times its size, and at least so many.
CANDIDATES, FEWEST_CANDIDATES = 10, 100


class ActiveLearner:
    r"""Asks for the labels that help a model most: Algorithm 1.2 of structured active learning, on any structure.

    Each round asks for the units of the pool of which the model is most uncertain, ``argmax_u q(u, w)``, and learns
    from all answers so far. Between queries that is a perceptron; the learner given as ``model`` is fitted now and then
    (``refit_every``) and at the end (:meth:`finish`). Every update starts anew, so that a model is a function of the
    answers alone: undoing an answer and going on from a journal give exactly the same models.

    Parameters
    ----------
    model : CRF, SSVM, Perceptron, ...
        What is wanted in the end. It is cloned, never changed. Its ``classes`` are the labels that answers may have; if
        it has none, those that occur in answers.
    pool : inputs as for ``fit``, or what ``model.encode`` returned
    strategy : str, Strategy or callable, default="best_vs_second"
        "random", "scoring", "best_vs_worst", "best_vs_second", "token_entropy", "least_confidence",
        "expected_model_change" or "expected_prediction_change" (:mod:`palmette.supervision.strategies` has the
        formulas), or ``function(model, encoded_pool)``, which returns a number for every sample, and for every part
        unless ``unit="sample"``; higher ones are asked first.
    unit : {"sample", "part", "patch"}, default="sample"
        What a question is about: a whole output; one label of it (a token, a node, a document); or a patch of
        neighbouring ones, whose uncertainty is the mean over its parts. Answers to parts are partial annotation.
    patch_size : int, default=5
        Parts of a patch at most. On graphs patches are connected; 2 asks for pairs of neighbours.
    batch_size : int, default=10
        Questions of a query.
    diversity : float, default=0.0
        Weight ``d`` of diversity in a batch, from 0 to below 1. Units are chosen one after the other by
        ``argmax_u (1 - d) q(u) / max q - d max_{v chosen} cos(x_u, x_v)``, where ``x_u`` is the sum of feature rows.
    cold_start : {"random", "diverse"}, default="random"
        The first query, before there is a model: at random, or each unit as far from the others as possible:
        ``argmax_u min_{v chosen} (1 - cos(x_u, x_v))``.
    update : {"perceptron", "refit"}, default="perceptron"
        What is trained before each query: a perceptron, or ``model`` itself.
    passes : int, default=3
        Epochs of the perceptron.
    refit_every : int, optional
        Train ``model`` instead of the perceptron before every so many-th query.
    evaluate_share : float, default=0.0
        Share of the questions that evaluate the model, and of the samples that are kept apart for them. These samples
        and questions are drawn at random and never trained on: scores on chosen items are biased.
    stopping : StoppingRule, optional
        When :meth:`should_stop` says so; by default ``StoppingRule(window=80, tol=1e-4, trim=0.1)``.
    journal : path, optional
        A file in which every question and answer is noted before the call returns. If it is there already, the learner
        goes on from it.
    random_state : int, RandomState or None, default=0
        Seed of the reserve, of random and diverse starts and of ties; a journal needs one.

    Attributes
    ----------
    model_ : learner
        The model of the answers so far; trained when it is asked for.
    averages_ : list of float
        The average uncertainty of what was not answered, at every query that had a model.
    open_questions_ : list of Question
        Asked and not answered; they are not asked again.
    answers_ : dict
        What is known of the outputs to train on, by sample, with ``UNKNOWN`` where nothing is.
    n_answered_ : int
        Parts that were answered, those for evaluation included.
    pool_ : EncodedInputs
        The pool as models take it.
    stopped_ : bool
        What :meth:`should_stop` says.

    Examples
    --------
    >>> from palmette import CRF, ActiveLearner, Chain
    >>> X = [[["the"], ["dog"]], [["a"], ["dog"], ["barks"]], [["dogs"], ["bark"]], [["the"], ["cat"], ["barks"]]]
    >>> true = [["D", "N"], ["D", "N", "V"], ["N", "V"], ["D", "N", "V"]]
    >>> learner = ActiveLearner(CRF(Chain(), l2=0.1, classes=["D", "N", "V"]), X, batch_size=1)
    >>> for _ in range(3):
    ...     for question in learner.query():
    ...         learner.tell(question, true[question.sample])
    >>> len(learner.answers_), learner.finish().predict([[["the"], ["dog"], ["barks"]]])
    (3, [['D', 'N', 'V']])
    """

    def __init__(
        self,
        model: Any,
        pool: Any,
        strategy: str | Strategy | Callable[..., Any] = "best_vs_second",
        unit: str = "sample",
        *,
        patch_size: int = 5,
        batch_size: int = 10,
        diversity: float = 0.0,
        cold_start: str = "random",
        update: str = "perceptron",
        passes: int = 3,
        refit_every: int | None = None,
        evaluate_share: float = 0.0,
        stopping: StoppingRule | None = None,
        journal: str | os.PathLike[str] | None = None,
        random_state: Any = 0,
    ) -> None:
        _check_choices(unit=(unit, UNITS), cold_start=(cold_start, COLD_STARTS), update=(update, UPDATES))
        _check_counts(
            patch_size=patch_size,
            batch_size=batch_size,
            passes=passes,
            refit_every=1 if refit_every is None else refit_every,
        )
        _check_shares(diversity=diversity, evaluate_share=evaluate_share)
        if stopping is not None and not isinstance(stopping, StoppingRule):
            raise TypeError(f"ActiveLearner: stopping must be a StoppingRule(...), got {stopping!r:.60}")
        check_model(model, unit)
        self.model, self.unit, self.batch_size, self.diversity = model, unit, batch_size, diversity
        self.cold_start, self.update, self.passes, self.refit_every = cold_start, update, passes, refit_every
        self.evaluate_share, self.stopping = evaluate_share, StoppingRule() if stopping is None else stopping
        self.strategy = resolve_strategy(strategy)
        self.strategy.check(model.structure, unit)
        if journal is not None and random_state is None:
            raise ValueError("random_state=None draws anew each time, and a journal goes on: give a number")
        pool = listed(pool)
        if not n_items(pool):
            raise ValueError("pool is empty: there is nothing to ask; give at least one sample")
        self._encoded = model.encode(pool)
        self._batch, structure = self._encoded.batch, model.structure
        self._units = make_units(structure, self._batch, unit, patch_size)
        self._state = State(self._units.offsets, structure.layout == "items")
        self._door = Door(model, self._encoded, self._state)
        self._seed = seed_of(random_state)
        self._squares = squared_lengths(self._batch)
        self._reserve = Reserve(self._units, len(self._batch), evaluate_share, self._seed)
        self._models: dict[tuple[int, str], Any] = {}
        self._journal = None if journal is None else self._opened(journal, patch_size)

    # -- asking -------------------------------------------------------------------------------------------------

    def query(self, n: int | None = None) -> list[Question]:
        """The next questions, most uncertain first, then those for evaluation; fewer where fewer are left.

        A part that was answered, skipped or asked is not asked again. Before the first answer units are chosen by
        ``cold_start``. A query draws ``round(evaluate_share * questions so far)`` questions for evaluation in all.
        """
        n = self.batch_size if n is None else n
        _check_counts(n=n)
        state = self._state
        rng = np.random.default_rng([self._seed, 1, state.n_queries])
        wanted = round(self.evaluate_share * (state.n_questions + n)) - state.n_evaluation
        drawn = [
            (*self._question(unit, float("nan"), "drawn at random, for evaluation only"), True)
            for unit in self._reserve.next(min(wanted, n), state.status == FREE)
        ]
        units, average = self._askable(), None
        if not self._labelled():
            chosen = self._cold(units, n - len(drawn), rng)
            found = [self._question(unit, float("nan"), f"{self.cold_start} start") for unit in chosen]
        elif isinstance(self.strategy, Random):
            chosen = rng.permutation(units)[: n - len(drawn)].tolist()
            found = [self._question(unit, float("nan"), "drawn at random") for unit in chosen]
        else:
            doubts = pool_doubts(
                self.strategy, self.model_, self._encoded, self._units, state, units, self._squares
            )
            if len(units) and state.averaged != state.version:  # a query without new answers says nothing new
                average = float(doubts.scores.mean())
            found = [
                self._question(int(units[k]), float(doubts.scores[k]), doubts.reason(k))
                for k in self._chosen(units, doubts, n - len(drawn), rng).tolist()
            ]
        first = state.n_questions
        questions = [Question(first + k, *asked) for k, asked in enumerate([*found, *drawn])]
        asked = [question.as_event() for question in questions]
        self._note({"event": "ask", "questions": asked, "average": average})
        state.ask(questions, average)
        return questions

    def tell(self, question: Question | int, answer: Any) -> None:
        """Note the answer to a question, or to all open questions about the sample with this index.

        Parameters
        ----------
        question : Question or int
        answer : list of labels, label or "skip"
            The labels of the parts asked for, or of the whole sample as ``fit`` takes it; a single label for a single
            part. ``UNKNOWN`` marks what the annotator does not know, ``OneOf(...)`` several possible labels; neither is
            asked again. "skip" answers nothing. More may be answered than was asked.
        """
        self.tell_all([question], [answer])

    def tell_all(self, questions: Sequence[Question | int], answers: Sequence[Any]) -> None:
        """Note several answers; if one of them is wrong, none is kept."""
        if len(questions) != len(answers):
            raise ValueError(f"{len(answers)} answers to {len(questions)} questions: give one for each")
        asked = [self._door.asked(question) for question in questions]
        numbers = [question.number for own in asked for question in own]
        if len(set(numbers)) < len(numbers):
            raise ValueError("questions has one question twice: give one answer for each")
        told = self._door.check(asked, answers)
        self._note(*[one.as_event() for one in told])
        for one in told:
            self._state.tell(one)

    def undo(self) -> list[Question]:
        """Take the last answer back; its questions are open again, and are returned."""
        if not self._state.n_told:
            raise ValueError("there is no answer to undo")
        self._note({"event": "undo"})
        told = self._state.undo()
        return [self._state.open[number] for number in told.questions if number in self._state.open]

    # -- learning -----------------------------------------------------------------------------------------------

    @property
    def model_(self) -> Any:
        """The model of the answers so far."""
        if not self._labelled():
            raise NotFittedError(
                "there is no answer to learn from yet: tell() the answers to the questions of query()"
            )
        return self._trained(self._kind())

    def finish(self) -> Any:
        """Fit ``model`` itself to all answers; it is ``model_`` until the next answer, and is returned."""
        if self._labelled():
            self._note({"event": "finish"})
            self._state.finish()
        return self.model_

    def predict(self, X: Any) -> Any:
        """What the model of the answers so far predicts."""
        return self.model_.predict(X)

    def evaluation(self, level: float = 0.95) -> Evaluation:
        """The score of ``model_`` on the answers that were drawn at random for it, with its interval.

        Returns
        -------
        Evaluation
            ``score, low, high, level, n_samples, weight``.
        """
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, got {level!r}")
        samples = [i for i in sorted(self._state.outputs) if self._reserve.samples[i]]
        if not samples:
            raise ValueError(
                "no question for evaluation was answered yet: use ActiveLearner(evaluate_share=0.1), and answer the "
                "questions whose `evaluation` is true"
            )
        return evaluate(self.model_, self._encoded[samples], [self._state.outputs[i] for i in samples], level)

    def should_stop(self) -> bool:
        """Whether the rule of ``stopping`` is met, or nothing is left to ask."""
        return self.stopping.stops(self.averages_) or not len(self._askable())

    stopped_ = property(should_stop)

    @property
    def pool_(self) -> EncodedInputs:
        """The pool, encoded."""
        return self._encoded

    @property
    def averages_(self) -> list[float]:
        """The average uncertainty at every query that had a model."""
        return list(self._state.averages)

    @property
    def open_questions_(self) -> list[Question]:
        """Questions without an answer."""
        return list(self._state.open.values())

    @property
    def answers_(self) -> dict[int, Any]:
        """What is known of the outputs to train on, by sample."""
        return {i: self._state.outputs[i] for i in self._labelled()}

    @property
    def n_answered_(self) -> int:
        """Parts that were answered."""
        return int(np.count_nonzero(self._state.status == ANSWERED))

    # -- inside: which questions --------------------------------------------------------------------------------

    def _askable(self) -> np.ndarray:
        """Units to learn from that have a free part."""
        free = np.zeros(len(self._units), bool)
        free[self._units.of_part[self._state.status == FREE]] = True
        return np.flatnonzero(free & ~self._reserve.samples[self._units.sample])

    def _question(self, unit: int, score: float, reason: str) -> tuple[Any, ...]:
        parts, sample = self._units.parts(unit), int(self._units.sample[unit])
        free = parts[self._state.status[parts] == FREE] - self._state.offsets[sample]
        return sample, tuple(free.tolist()), score, reason

    def _cold(self, units: np.ndarray, n: int, rng: np.random.Generator) -> list[int]:
        n = min(n, len(units))
        if self.cold_start == "random" or n < 2:
            return rng.choice(units, n, replace=False).tolist()
        some = rng.permutation(units)[: max(CANDIDATES * n, FEWEST_CANDIDATES)]
        return some[by_spread(unit_vectors(self._batch, self._units, some), n, 0)].tolist()

    def _chosen(self, units: np.ndarray, doubts: Doubts, n: int, rng: np.random.Generator) -> np.ndarray:
        if not self.diversity or n < 2:
            return by_uncertainty(doubts.keys, n, rng)
        few = by_uncertainty(doubts.keys, max(CANDIDATES * n, FEWEST_CANDIDATES), rng)
        vectors = unit_vectors(self._batch, self._units, units[few])
        return few[by_mmr(doubts.scores[few], vectors, n, self.diversity)]

    # -- inside: models and journal -----------------------------------------------------------------------------

    def _labelled(self) -> list[int]:
        return [i for i in sorted(self._state.outputs) if not self._reserve.samples[i]]

    def _kind(self) -> str:
        """What the model is now: the perceptron or the learner itself."""
        state = self._state
        now_and_then = (
            self.refit_every is not None and len(state.averages) % self.refit_every == self.refit_every - 1
        )
        wanted = self.update == "refit" or state.refitted == state.version or now_and_then
        return "refit" if wanted else "perceptron"

    def _trained(self, kind: str) -> Any:
        key = self._state.version, kind
        if key not in self._models:
            samples = self._labelled()
            outputs = [self._state.outputs[i] for i in samples]
            self._models = {key: trained(self.model, kind, self.passes, self._encoded[samples], outputs)}
        return self._models[key]

    def _opened(self, path: str | os.PathLike[str], patch_size: int) -> Journal:
        """The journal, after what it holds already was applied."""
        names, structure = self._encoded.encoder.feature_names, self.model.structure
        links = structure.links(self._batch) if can(structure, "links") else None
        header = {
            "samples": len(self._batch),
            "parts": len(self._state.status),
            "fingerprint": fingerprint(self._batch, self._units.offsets, names, links),
            "structure": type(structure).__name__,
            "unit": self.unit,
            "patch_size": patch_size if self.unit == "patch" else None,
            "evaluate_share": self.evaluate_share,
            "seed": self._seed,
        }
        journal = Journal(path, header)
        events = journal.events()
        n_events, n_lost = len(events) + journal.n_lost, journal.n_lost + self._state.replay(events)
        if n_lost:
            warn_caller(
                f"{path}: {n_lost} of {n_events} events of the journal could not be read (it was cut off or damaged) "
                "and are lost; all others are kept",
                UserWarning,
            )
        try:
            self._door.check_kept()
        except ValueError as error:
            raise DataFileError(
                f"{path}: the journal is of other labels or rules: {error} Give the classes and the structure that it "
                "was written with, or name another file for the journal"
            ) from error
        return journal

    def _note(self, *events: dict[str, Any]) -> None:
        """Write events down; before they take effect, so that nothing happens if that fails."""
        if self._journal is not None and events:
            self._journal.append(events)


def _check_choices(**given: tuple[Any, tuple[str, ...]]) -> None:
    for name, (value, choices) in given.items():
        if value not in choices:
            raise ValueError(f"ActiveLearner: {name} must be one of {', '.join(choices)}, got {value!r}")


def _check_counts(**given: Any) -> None:
    for name, value in given.items():
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise ValueError(f"ActiveLearner: {name} must be an integer of at least 1, got {value!r}")


def _check_shares(**given: Any) -> None:
    for name, share in given.items():
        if not isinstance(share, int | float | np.number) or not 0 <= share < 1:
            raise ValueError(f"ActiveLearner: {name} must be from 0 to below 1, got {share!r}")
