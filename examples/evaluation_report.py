"""Look at a tagger as a person would: scores with intervals, why a label won, and a page about its errors.

Give a file name to keep the page; it is written to a temporary folder otherwise.
"""

import sys
import tempfile
from pathlib import Path

from palmette import CRF, Chain
from palmette.apps.tagging.report import report_on_model
from palmette.datasets import make_tagging
from palmette.inspection import NamedWeights, explain

X, Y = make_tagging(400, n_tags=5, n_words=300, stickiness=0.2, ambiguity=0.1, random_state=0)
model = CRF(Chain(), l2=0.3).fit(X[:300], Y[:300])
X_test, Y_test = X[300:], Y[300:]
words = [[token["w"] for token in sentence] for sentence in X_test]

report = report_on_model(model, X_test, Y_test, words=words, title="A tagger of simulated sentences")
for name, interval in report.scores.headline.items():
    print(f"{name}: {interval}")

# The sentence whose predicted tags beat the true ones by most: which features made the model so sure?
worst = report.cases[0]
wrong = next(t for t, (true, given) in enumerate(zip(worst.true, worst.predicted)) if true != given)
contest = explain(model, X_test[worst.index], truth=Y_test[worst.index]).contests[wrong]
print(f"\nwhy {worst.words[wrong]!r} is {contest.label}, not {contest.rival}:")
for term in contest.terms[:4]:
    print(f"  {term.contribution:+.3f}  {term.name or term.kind}")
print(f"  {contest.margin:+.3f}  all {len(contest.terms)} terms, the lead of its score")

print("\nfeatures that speak for T0:", ", ".join(w.feature for w in NamedWeights(model).of_label("T0", 3)[0]))

page = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "report.html"
report.write(page)
print(f"page: {page} ({page.stat().st_size // 1000} kB, nothing else needed to read it)")
