"""The journal: everything that was answered is on disk, and a learner that goes on from it is the same one."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from active_pools import pools, words
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from palmette import CRF, UNKNOWN, ActiveLearner, Chain, OneOf
from palmette.errors import DataFileError
from palmette.supervision.state import FREE

X, Y = words(8)
LABELS = ["B", "I", "O"]


def make(path, X=X, **options):
    options = {"unit": "part", "batch_size": 3, "evaluate_share": 0.25, **options}
    return ActiveLearner(CRF(Chain(), l2=0.1, classes=LABELS), X, journal=path, **options)


def snapshot(learner):
    """All that a learner knows."""
    state = learner._state
    return (
        state.status.tolist(), state.outputs, sorted(state.open), state.averages, state.n_queries, state.n_questions,
        state.n_evaluation, state.version, state.refitted, len(state._told),
    )  # fmt: skip


def say(question):
    return [Y[question.sample][t] for t in question.parts]


def same(questions):
    """Questions without NaN, which equals nothing."""
    return [(q.number, q.sample, q.parts, repr(q.score), q.reason, q.evaluation) for q in questions]


class Annotator(RuleBasedStateMachine):
    """Asks, answers and undoes at random; the journal always leads to the same state."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.mkdtemp()
        self.path = Path(self.folder) / "journal.jsonl"
        self.learner = make(self.path)
        self.before = []

    def teardown(self):
        shutil.rmtree(self.folder)

    @rule(n=st.integers(1, 6))
    def ask(self, n):
        free = self.learner._state.status == FREE
        questions = self.learner.query(n)
        assert len({q.number for q in questions}) == len(questions) <= n
        for question in questions:
            at = self.learner._state.offsets[question.sample] + np.array(question.parts)
            assert free[at].all()
            assert question.evaluation == self.learner._reserve.samples[question.sample]
            free[at] = False

    @precondition(lambda self: self.learner.open_questions_)
    @rule(data=st.data())
    def answer(self, data):
        question = data.draw(st.sampled_from(self.learner.open_questions_))
        whole = Y[question.sample]
        kinds = {
            "parts": say(question), "skip": "skip", "whole": whole,
            "partly": [y if t in question.parts[:1] else UNKNOWN for t, y in enumerate(whole)],
            "one of": [OneOf(y, "O") for y in say(question)],
        }  # fmt: skip
        old = self.learner._state.outputs.get(question.sample, [])
        if any(isinstance(label, OneOf) for label in old):
            del kinds["whole"], kinds["partly"]  # which would say more than an earlier answer
        self.before.append(snapshot(self.learner)[:3])
        self.learner.tell(question, kinds[data.draw(st.sampled_from(sorted(kinds)))])
        assert question not in self.learner.open_questions_

    @precondition(lambda self: self.before)
    @rule()
    def undo(self):
        asked = set(self.learner._state.open)
        _, outputs, still_open = self.before.pop()
        self.learner.undo()
        found = snapshot(self.learner)
        assert found[1] == outputs and set(still_open) <= set(found[2]) and asked <= set(found[2])

    @invariant()
    def goes_on_from_the_journal(self):
        other = make(self.path)
        assert snapshot(other) == snapshot(self.learner)
        assert same(other.open_questions_) == same(self.learner.open_questions_)


Annotator.TestCase.settings = settings(
    max_examples=25, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)
TestAnnotator = Annotator.TestCase


def test_a_learner_goes_on_exactly_where_it_was(tmp_path):
    path = tmp_path / "journal.jsonl"
    first = make(path)
    for _ in range(3):
        questions = first.query()
        first.tell_all(questions, list(map(say, questions)))
    shutil.copy(path, tmp_path / "copy.jsonl")
    other = make(tmp_path / "copy.jsonl")
    np.testing.assert_array_equal(other.model_.coef_, first.model_.coef_)
    assert same(other.query()) == same(first.query())
    assert other.averages_ == first.averages_
    first.finish()
    assert isinstance(make(path).model_, CRF)


def test_every_answer_is_on_disk_when_tell_returns(tmp_path):
    """A process that dies without warning right after ``tell`` has lost nothing."""
    code = f"""
import os, sys
sys.path[:0] = {sys.path!r}
from palmette import CRF, ActiveLearner, Chain
X, Y = {X!r}, {Y!r}
model = CRF(Chain(), l2=0.1, classes=["B", "I", "O"])
learner = ActiveLearner(model, X, unit="part", evaluate_share=0.25, journal={str(tmp_path / "journal.jsonl")!r})
for question in learner.query(3)[:2]:
    learner.tell(question, [Y[question.sample][t] for t in question.parts])
os._exit(9)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    learner = make(tmp_path / "journal.jsonl")
    assert learner.n_answered_ == 2 and len(learner.open_questions_) == 1


def test_a_journal_cut_off_anywhere_recovers_every_complete_answer(tmp_path):
    path = tmp_path / "journal.jsonl"
    learner = make(path)
    for question in learner.query(4):
        learner.tell(question, say(question))
    whole = path.read_bytes()
    starts = [k + 1 for k, byte in enumerate(whole) if byte == 10]
    cuts = {*range(starts[0], len(whole), 11), *starts, *(start - 1 for start in starts[1:])}
    for cut in sorted(cuts):
        path.write_bytes(whole[:cut])
        complete = whole[:cut].count(b"\n") - 2
        at_end = cut + 1 in starts  # only the line feed is missing
        broken = cut not in starts and not at_end
        if broken:
            with pytest.warns(UserWarning, match=r"1 of \d+ events of the journal could not be read"):
                other = make(path)
        else:
            other = make(path)
        assert other.n_answered_ == max(complete + at_end, 0)
        if other.open_questions_:  # and it can be gone on with
            other.tell(other.open_questions_[0], say(other.open_questions_[0]))
            assert make(path).n_answered_ == other.n_answered_


def test_a_line_damaged_in_the_middle_costs_that_line_only(tmp_path):
    path = tmp_path / "journal.jsonl"
    learner = make(path)
    for question in learner.query(4):
        learner.tell(question, say(question))
    lines = path.read_text().splitlines()
    lines[3] = lines[3][:-5]
    lines.insert(5, json.dumps({"event": "tell", "questions": [0], "sample": 99, "known": [0], "whole": False,
                                "answer": ["B"]}))  # fmt: skip
    path.write_text("\n".join(lines) + "\n")
    with pytest.warns(UserWarning, match="2 of 6 events"):
        assert make(path).n_answered_ == 3


@pytest.mark.parametrize(
    ("change", "words_"),
    [
        ({"X": X[:-1]}, r"samples is 8 there and 7 here; parts is \d+ there and \d+ here; fingerprint"),
        (
            {"X": [[[*row, "new"] for row in x] for x in X]},
            r"fingerprint is '\w{16}' there and '\w{16}' here",
        ),
        ({"unit": "sample"}, "unit is 'part' there and 'sample' here"),
        ({"random_state": 5}, "seed is 0 there and 5 here"),
        ({"evaluate_share": 0.5}, r"evaluate_share is 0.25 there and 0.5 here"),
    ],
)
def test_a_journal_of_something_else_is_refused(tmp_path, change, words_):
    path = tmp_path / "journal.jsonl"
    make(path).query()
    before = path.read_bytes()
    with pytest.raises(DataFileError, match=rf"journal.jsonl:1: .*{words_}.*name another file"):
        make(path, **change)
    assert path.read_bytes() == before


def test_a_journal_of_other_labels_is_refused(tmp_path):
    path = tmp_path / "journal.jsonl"
    learner = ActiveLearner(CRF(Chain(), classes=["B", "I", "O"]), X, batch_size=1, journal=path)
    (question,) = learner.query()
    learner.tell(question, ["O"] * len(X[question.sample]))
    with pytest.raises(
        DataFileError,
        match=rf"of other labels or rules: the answer about sample {question.sample}: unknown label 'O'",
    ):
        ActiveLearner(CRF(Chain(), classes=["B", "I"]), X, batch_size=1, journal=path)
    more = ActiveLearner(CRF(Chain(), classes=["B", "I", "O", "S"]), X, batch_size=1, journal=path)
    assert more.answers_ == learner.answers_


def test_nothing_happens_if_the_journal_cannot_be_written(tmp_path):
    (tmp_path / "folder").mkdir()
    learner = make(tmp_path / "folder" / "journal")
    question = learner.query()[0]
    before = snapshot(learner)
    shutil.rmtree(tmp_path / "folder")
    for act in (lambda: learner.tell(question, say(question)), learner.query):
        with pytest.raises(FileNotFoundError):
            act()
    assert snapshot(learner) == before


def test_files_that_are_no_journals_are_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("B O\n")
    with pytest.raises(DataFileError, match="not the header of a journal"):
        make(tmp_path / "notes.txt")
    with pytest.raises(ValueError, match="random_state=None draws anew"):
        make(tmp_path / "journal", random_state=None)
    with pytest.raises(FileNotFoundError, match="no folder"):
        make(tmp_path / "no" / "journal")
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        make(tmp_path)


@pytest.mark.parametrize("kind", pools())
def test_answers_of_every_structure_survive(kind, tmp_path):
    pool = pools()[kind]
    one = ActiveLearner(pool.model, pool.X, batch_size=4, journal=tmp_path / "journal")
    questions = one.query()
    one.tell_all(questions, [pool.y[q.sample] for q in questions])
    other = ActiveLearner(pool.model, pool.X, batch_size=4, journal=tmp_path / "journal")
    assert other.answers_ == one.answers_ and len(one.answers_) == 4
    np.testing.assert_array_equal(other.model_.coef_, one.model_.coef_)


def test_a_second_writer_is_refused_before_anything_happens(tmp_path):
    """Two learners that write to one journal do not know of each other's questions."""
    path = tmp_path / "journal.jsonl"
    first, second = make(path), make(path)
    question, *_ = first.query()
    before, content = snapshot(second), path.read_bytes()
    with pytest.raises(
        DataFileError, match=r"another learner writes to it\. Nothing was noted\. Make the learner"
    ):
        second.query()
    assert snapshot(second) == before and path.read_bytes() == content
    first.tell(question, say(question))  # whoever was first goes on
    third = make(path)
    assert snapshot(third) == snapshot(first)
    third.query()
    with pytest.raises(DataFileError, match="one learner write"):
        first.undo()
