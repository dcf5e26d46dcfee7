"""Ask for the labels of single tokens, the most doubtful first, and compare with labelling whole sentences at random.

The truth is known here and plays the annotator. Every answer is written to a journal before the next question.
"""

import tempfile
from pathlib import Path

from palmette import CRF, ActiveLearner, Chain
from palmette.datasets import make_tagging

X, Y = make_tagging(500, n_tags=5, n_words=80, stickiness=0.2, ambiguity=0.05, random_state=0)
X_test, Y_test, X, Y = X[300:], Y[300:], X[:300], Y[:300]
n_tokens = sum(map(len, Y))
model = CRF(Chain(), l2=0.3, classes=[f"T{k}" for k in range(5)])
print(f"all {n_tokens} tokens: accuracy {model.fit(X, Y).score(X_test, Y_test):.3f}")


def annotate(learner, n_rounds):
    """Answer questions by the truth."""
    for _ in range(n_rounds):
        questions = learner.query()
        learner.tell_all(questions, [[Y[q.sample][t] for t in q.parts] for q in questions])
    return learner


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "journal.jsonl"
    options = {"unit": "part", "batch_size": 50, "evaluate_share": 0.1, "journal": path}
    annotate(ActiveLearner(model, X, **options), 10)

    tokens = ActiveLearner(model, X, **options)  # goes on from the journal, as after a crash
    print(f"the journal has {tokens.n_answered_} answers")
    annotate(tokens, 2)
    (question,) = tokens.query(1)
    print(f"next: sentence {question.sample}, token {question.parts[0]}: {question.reason}")
    tokens.tell(question, "skip")
    share = tokens.n_answered_ / n_tokens
    print(f"tokens, {share:.0%} asked: accuracy {tokens.finish().score(X_test, Y_test):.3f}")
    own = tokens.evaluation()
    print(
        f"estimated by {own.n_samples} random sentences of the pool: {own.score:.3f} [{own.low:.3f}, {own.high:.3f}]"
    )

sentences = ActiveLearner(model, X, "random", batch_size=1)
while sentences.n_answered_ < tokens.n_answered_:
    annotate(sentences, 1)
print(f"random sentences, {share:.0%} asked: accuracy {sentences.finish().score(X_test, Y_test):.3f}")
