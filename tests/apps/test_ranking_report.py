"""The page about a ranker: what it shows, and what a comparison says."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import numpy as np
import pytest

from palmette.apps.ranking import report_on_scores
from palmette.cli import main
from palmette.data import read_letor, write_letor


def graded(n, seed=0):
    rng = np.random.default_rng(seed)
    X = [rng.uniform(size=(14, 3)) for _ in range(n)]
    return X, [np.digitize(x @ [1.0, 0.5, 0.0] + rng.normal(0, 0.1, 14), [0.9, 1.2]) for x in X]


@pytest.fixture
def queries(tmp_path):
    X, y = graded(8)
    y[3] = np.zeros(14, int)
    write_letor(tmp_path / "test.txt", X, y)
    text = (tmp_path / "test.txt").read_text().splitlines()
    (tmp_path / "test.txt").write_text("".join(f"{line} # doc <{i}>\n" for i, line in enumerate(text)))
    return read_letor(tmp_path / "test.txt")


class Balanced(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_shows_the_worst_queries_with_their_documents(queries):
    scores = [grades.astype(float) for grades in queries.y]
    scores[5] = -scores[5]
    report = report_on_scores(queries, scores, weights=[("feature 1", 2.0), ("feature 2", -0.5)])
    page = report.html()
    reader = Balanced()
    reader.feed(page)
    assert reader.open == []
    worst = next(part for part in report.parts() if part.title == "Worst queries").html()
    assert f"Query {queries.ids[5]}" in worst and worst.count("<h3>") == 1
    assert f"Query {queries.ids[3]}" not in worst, "without relevant documents no order is a mistake"
    assert "doc &lt;" in worst and "doc <" not in worst
    assert "1 queries without relevant" in page and "feature 2" in page
    assert report.comparison_record() is None


def test_a_comparison_is_that_of_paired_queries(queries):
    rng = np.random.default_rng(1)
    right = [grades.astype(float) for grades in queries.y]
    chance = [rng.normal(size=len(grades)) for grades in queries.y]
    better = report_on_scores(queries, right, baseline=chance)
    worse = report_on_scores(queries, chance, baseline=right)
    for name, found in better.comparisons.items():
        mean = better.intervals[name].score - worse.intervals[name].score
        assert found.difference == pytest.approx(mean) and found.low <= mean <= found.high
        assert worse.comparisons[name].difference == pytest.approx(-found.difference)
    assert better.comparisons["NDCG@10"].low > 0
    same = report_on_scores(queries, right, baseline=right)
    assert all(each.difference == 0 and each.p_value == 1 for each in same.comparisons.values())
    assert "0 queries better, 0 worse, 8 equal" in same.html()


def test_the_command_writes_it(tmp_path, capsys, queries):
    write_letor(tmp_path / "train.txt", *graded(12, 1))
    train, test, page = (str(tmp_path / name) for name in ("train.txt", "test.txt", "page.html"))
    models = [str(tmp_path / name) for name in ("a.palmette", "b.palmette")]
    for model, l2 in zip(models, ("1", "100")):
        assert main(["train", train, "--task", "ranking", "--l2", l2, "--model", model]) == 0
    capsys.readouterr()
    arguments = ["evaluate", "--model", models[0], test, "--baseline", models[1]]
    assert main([*arguments, "--report", page, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["report"] == page and set(record["comparison"]) >= {"NDCG@10", "MAP"}
    assert (
        "b.palmette" in (tmp_path / "page.html").read_text()
        and "Strongest features" in (tmp_path / "page.html").read_text()
    )
    assert main(arguments) == 0
    assert "minus" in capsys.readouterr().out
    assert main(["evaluate", "--model", models[0], "-", "--baseline", models[1]]) == 2
    assert main(["evaluate", "--model", models[0], test, "--report", "page.txt"]) == 2
