"""The evaluation report: its numbers are those of the metrics, and no value becomes markup."""

from __future__ import annotations

import io
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette import CRF, SSVM, Chain, Multiclass, Perceptron, SemiMarkov
from palmette.apps.tagging.columns import read_columns
from palmette.apps.tagging.report import report_on_labels, report_on_model, report_on_tagger
from palmette.apps.tagging.report.confidence import calibration_error, confidence_of
from palmette.apps.tagging.report.confusion import commonest_mistakes, span_confusion, token_confusion
from palmette.apps.tagging.report.show_cases import NOT_CALIBRATED
from palmette.apps.tagging.tagger import Tagger
from palmette.cli import main
from palmette.data.spans import convert_spans
from palmette.datasets import make_tagging
from palmette.features.templates import Template
from palmette.metrics import bootstrap_interval, chunk_report, tally_accuracy, tally_chunks
from palmette.page import page, table, tag
from palmette.recipes import run_recipe

VOID = {"meta", "br", "img", "link", "input"}
EVIL = "</td><script>alert(1)</script>\"'&amp;"


class Page(HTMLParser):
    """A page taken apart: its elements must close in order, and its tables become lists of texts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.names: list[str] = []
        self.attributes: list[dict] = []
        self.tables: list[list[list[str]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, name, attributes):
        self.names.append(name)
        self.attributes.append(dict(attributes))
        if name not in VOID:
            self.open.append(name)
        if name == "table":
            self.tables.append([])
        elif name == "tr":
            self.tables[-1].append([])
        elif name in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, text):
        if "style" not in self.open:
            self.texts.append(text)
        if "td" in self.open or "th" in self.open:
            self.tables[-1][-1][-1] += text

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def table_of(self, *header: str) -> list[list[str]]:
        """Body of the table that begins with these columns."""
        (found,) = [rows for rows in self.tables if rows[0][: len(header)] == list(header)]
        return found[1:]


def number(text: str) -> float:
    return float(text.replace(",", ""))


def chunk_labels(rng, n, evil=False):
    """Random labels of chunks, some of which are errors of the other labelling."""
    types = ["NP", "VP", EVIL if evil else "PP"]
    labels = ["O"] + [f"{place}-{kind}" for kind in types for place in "BI"]
    true = [[str(rng.choice(labels)) for _ in range(rng.integers(1, 12))] for _ in range(n)]
    flip = [
        [str(rng.choice(labels)) if rng.random() < 0.2 else label for label in labels_] for labels_ in true
    ]
    return true, flip


@pytest.fixture(scope="module")
def tagging():
    """Simulated sentences with chunk labels."""
    X, Y = make_tagging(150, 3, 60, stickiness=0.2, ambiguity=0.3, random_state=0)
    chunk = {"T0": "B-NP", "T1": "I-NP", "T2": "O"}
    return X, [[chunk[tag] for tag in y] for y in Y], [[token["w"] for token in x] for x in X]


MODELS = {
    "crf": CRF(Chain(), l2=0.1),
    "ssvm": SSVM(Chain(), l2=0.5, tol=1e-2),
    "perceptron": Perceptron(Chain(), max_iter=2),
}


@pytest.fixture(scope="module")
def reports(tagging):
    X, Y, words = tagging
    return {
        name: report_on_model(
            model.fit(X[:100], Y[:100]), X[100:], Y[100:], words=words[100:], title=name, worst=5
        )
        for name, model in MODELS.items()
    }


# -------------------------------------------------------------------------------------------- the elements


@given(text=st.text(st.characters(exclude_characters="\r\x00", exclude_categories=["Cs"])))
def test_any_text_comes_out_as_it_went_in(text):
    found = Page(page("t", tag("p", text, title=text), table([text], [[text]])))
    assert found.texts.count(text) >= 3 or not text
    assert {"title": text} in found.attributes
    assert found.tables == [[[text], [text]]]
    assert "script" not in found.names


# --------------------------------------------------------------------------------------------- the confusion


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_span_is_counted_once(seed):
    true, predicted = chunk_labels(np.random.default_rng(seed), 8)
    confusion, report = span_confusion(true, predicted), chunk_report(true, predicted)
    assert sorted(confusion.types) == sorted(report.by_type)
    for k, kind in enumerate(confusion.types):
        counts = report.by_type[kind]
        assert confusion.same[k].sum() + confusion.true[k].sum() == counts.gold
        assert confusion.same[:, k].sum() + confusion.predicted[k].sum() == counts.predicted
        assert confusion.same[k, k] == counts.correct


def test_fates_of_spans():
    true = [["B-A", "I-A", "O", "B-B", "I-B", "O", "B-C"]]
    predicted = [["B-A", "O", "O", "B-A", "I-A", "O", "O"]]
    confusion = span_confusion(true, predicted)
    assert confusion.types == ("A", "B", "C")
    assert confusion.true.tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 1]]
    assert confusion.same.tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]
    other = span_confusion([["B-A", "I-A"]], [["B-B", "O"]])
    assert other.true.tolist() == [[0, 1, 0], [0, 0, 0]] and other.predicted.tolist() == [
        [0, 0, 0],
        [0, 1, 0],
    ]


@pytest.mark.parametrize("most", [2, 25])
def test_token_confusion_keeps_all_tokens(rng, most):
    true, predicted = chunk_labels(rng, 20)
    labels, counts = token_confusion(true, predicted, most)
    flat = [(a, b) for pair in zip(true, predicted) for a, b in zip(*pair)]
    assert counts.sum() == len(flat) and len(labels) == min(most + 1, 7)
    for i, a in enumerate(labels[:most]):
        for j, b in enumerate(labels[:most]):
            assert counts[i, j] == flat.count((a, b))


def test_mistakes_add_up(rng):
    true, predicted = chunk_labels(rng, 30)
    words = [[f"w{t % 4}" for t in range(len(labels))] for labels in true]
    mistakes = commonest_mistakes(words, true, predicted, top=1000)
    assert sum(m.count for m in mistakes) == sum(
        a != b for pair in zip(true, predicted) for a, b in zip(*pair)
    )
    assert [m.count for m in mistakes] == sorted((m.count for m in mistakes), reverse=True)
    assert all(sum(n for _, n in m.words) == m.count for m in mistakes)


# ------------------------------------------------------------------------------------------------- numbers


def test_numbers_are_those_of_the_metrics(reports):
    report = reports["crf"]
    found = Page(report.html())
    expected = {
        "F1": tally_chunks(report.true, report.predicted),
        "precision": tally_chunks(report.true, report.predicted, "precision"),
        "recall": tally_chunks(report.true, report.predicted, "recall"),
        "token accuracy": tally_accuracy(report.true, report.predicted),
    }
    for name, tally in expected.items():
        interval = bootstrap_interval(tally, n_resamples=2000)
        low, high = f"{100 * interval.low:.2f}", f"{100 * interval.high:.2f}"
        assert f"{name}{100 * tally.score:.2f}[{low}, {high}]" in found.text
    counts = chunk_report(report.true, report.predicted)
    rows = found.table_of("type", "true", "predicted")
    assert [row[0] for row in rows] == list(counts.by_type)
    for row in rows:
        own = counts.by_type[row[0]]
        assert [number(cell) for cell in row[1:4]] == [own.gold, own.predicted, own.correct]
        ratios = [own.precision, own.recall, own.f1]
        assert row[4:7] == [f"{100 * ratio:.2f}" for ratio in ratios]
    spans = found.table_of("true ╲ predicted", "NP", "boundary")
    assert number(spans[0][-1]) == sum(number(cell or "0") for cell in spans[0][1:-1]) == counts.overall.gold
    tokens = found.table_of("true ╲ predicted", "B-NP", "I-NP", "O", "all")
    assert sum(number(row[-1]) for row in tokens) == counts.tokens
    assert sum(number(row[1 + i] or "0") for i, row in enumerate(tokens)) == counts.correct_tokens


def test_labels_that_are_no_chunks():
    found = Page(report_on_labels([["A", "B"], ["B"]], [["A", "A"], ["B"]], words=[["x", "y"], ["z"]]).html())
    rows = found.table_of("label", "true", "predicted", "correct")
    assert [row[:4] for row in rows] == [["B", "2", "1", "1"], ["A", "1", "2", "1"]]
    assert "Confusion of chunks" not in found.text and "token accuracy66.67" in found.text


def test_confidence_is_that_of_the_model(tagging):
    X, Y, _ = tagging
    model = CRF(Chain(), l2=0.1).fit(X[:60], Y[:60])
    predicted = model.predict(X[100:])
    true = [["never"] + list(Y[100][1:]), *Y[101:]]
    sure = confidence_of(model, model.encode(X[100:]), true, predicted)
    for marginals, labels, p in zip(model.predict_marginals(X[100:]), predicted, sure.predicted):
        codes = [list(model.classes_).index(label) for label in labels]
        assert p == pytest.approx(marginals[np.arange(len(labels)), codes])
    assert sure.log_true[0] == -np.inf and sure.true[0][0] == 0.0
    assert sure.log_true[1:] == pytest.approx(model.log_proba(X[101:], true[1:]))
    assert np.all(sure.lead[1:] >= -1e-9)
    right = [[a == b for a, b in zip(*pair)] for pair in zip(true, predicted)]
    bins = sure.bins(right)
    assert sum(n for *_, n in bins) == sum(map(len, true))
    assert sum(share * n for _, share, n in bins) == pytest.approx(sum(map(sum, right)))
    assert 0 <= calibration_error(bins) <= 1


@pytest.mark.parametrize("name", MODELS)
def test_worst_sentences(reports, name):
    report = reports[name]
    assert report.cases and report.confidence is not None
    leads = [case.lead for case in report.cases]
    assert leads == sorted(leads, reverse=True)
    wrong = [t != p for t, p in zip(report.true, report.predicted)]
    assert max(lead for lead, w in zip(report.confidence.lead, wrong) if w) == leads[0]
    for case in report.cases:
        assert case.n_wrong > 0
        assert sum(term.contribution for term in case.reasons) == pytest.approx(case.lead, abs=1e-8)
    found = Page(report.html())
    assert ("wrong" in report.html()) and (NOT_CALIBRATED in found.text) is (name != "crf")
    assert found.text.count("why the prediction won") == len(report.cases)


def test_learning_and_weights(reports):
    for name, report in reports.items():
        found = Page(report.html())
        text = found.text
        result = report.model.result_
        assert f"{result.primal:.6g}" in text
        assert ("is proven to be within" in text) is (name != "perceptron")
        assert ("No bound on the distance" in text) is (name == "perceptron")
        transitions = found.table_of("from ╲ to", "B-NP", "I-NP", "O")
        shown = [[float(cell or 0) for cell in row[1:]] for row in transitions]
        assert np.abs(np.array(shown) - report.model.transitions_).max() <= 0.05 + 1e-9


def test_all_right():
    report = report_on_labels([["B-A"]], [["B-A"]])
    assert "No label is wrong." in Page(report.html()).text and report.cases == ()


def test_same_input_same_page(reports, tagging):
    X, Y, words = tagging
    again = report_on_model(MODELS["crf"], X[100:], Y[100:], words=words[100:], title="crf", worst=5)
    assert again.html() == reports["crf"].html()


# ------------------------------------------------------------------------------------------------ the page


@pytest.mark.parametrize("name", MODELS)
def test_page_stands_alone(reports, name):
    text = reports[name].html()
    found = Page(text)
    assert {"script", "link", "iframe", "object"}.isdisjoint(found.names)
    assert "@import" not in text and "url(" not in text
    anchors = {a["id"] for a in found.attributes if a.get("id")}
    for attributes in found.attributes:
        assert attributes.get("href", "#")[0] == "#" and "src" not in attributes
        if "href" in attributes:
            assert attributes["href"][1:] in anchors
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in found.attributes
    assert "prefers-color-scheme: dark" in text


def test_values_never_become_markup(rng):
    true, predicted = chunk_labels(rng, 40, evil=True)
    words = [[EVIL] * len(labels) for labels in true]
    X = [[{"w": f"{EVIL}{t % 3}"} for t in range(len(labels))] for labels in true]
    model = CRF(Chain(), l2=1.0).fit(X, predicted)
    report = report_on_model(
        model, X, true, words=words, title=EVIL, source=EVIL, place=lambda i: f"{EVIL}:{i}"
    )
    report = type(report)(**{**vars(report), "template": EVIL})
    found = Page(report.html())
    assert "script" not in found.names
    for shown in (EVIL, f"B-{EVIL}", f"w:{EVIL}0"):
        assert shown in found.text


def test_unknown_labels_are_named(tagging):
    X, Y, _ = tagging
    model = CRF(Chain(), l2=1.0).fit(X[:50], Y[:50])
    strange = [["B-ODD", *y[1:]] for y in Y[100:]]
    report = report_on_model(model, X[100:], strange)
    text = Page(report.html()).text
    assert "B-ODD: labels of the data that the model does not have" in text
    assert "the model cannot give the true labels" in text


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: report_on_labels([], []), "no sentences"),
        (lambda: report_on_labels([["A"]], [["A"]], words=[["x", "y"]]), "one word for each label"),
        (lambda: report_on_model(CRF(Multiclass()).fit([[0.0], [1.0]], [0, 1]), [[0.0]], [0]), "use Chain()"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


def test_a_tagger_with_another_encoding_of_spans(tagging):
    """The page scores the labels of the file; probabilities and reasons are of the labels that the model learnt."""
    X, Y, _ = tagging
    valid = convert_spans(Y, "IOB2", "IOB2", invalid="repair")
    lines = ["".join(f"{t['w']} {label}\n" for t, label in zip(x, y)) for x, y in zip(X, valid)]
    train, test = (
        read_columns("-", stream=io.StringIO("\n".join(part))) for part in (lines[:100], lines[100:])
    )
    tagger = Tagger.train(train, template=Template.parse("U0:%x[0,0]\nB\n"), encoding="IOBES", l2=0.3)
    report = report_on_tagger(tagger, test, worst=3)
    assert report.evaluation == tagger.evaluate(test)
    assert {label for labels in report.true for label in labels} == {"B-NP", "I-NP", "O"}
    assert {"S-NP", "E-NP"} <= set(report.label_counts)
    for case in report.cases:
        assert sum(term.contribution for term in case.reasons) == pytest.approx(case.lead, abs=1e-8)
    text = Page(report.html()).text
    assert "labels of the data that the model does not have" not in text and "S-NP" in text


def test_segments(tagging):
    X, Y, words = tagging
    iob = convert_spans(Y, "IOB2", "IOB2", invalid="repair")
    model = CRF(SemiMarkov(20), l2=1.0, tol=1e-2).fit(X[:40], iob[:40])
    report = report_on_model(model, X[100:], iob[100:], words=words[100:])
    titles = [part.title for part in report.parts()]
    assert "Confusion of chunks" in titles and "Learning" in titles and "Confidence" not in titles
    assert "does not have" not in Page(report.html()).text


# -------------------------------------------------------------------------------------- command and recipes


@pytest.fixture
def files(tagging, tmp_path, monkeypatch):
    X, Y, _ = tagging
    lines = ["".join(f"{t['w']} {tag}\n" for t, tag in zip(x, y)) for x, y in zip(X, Y)]
    (tmp_path / "train.txt").write_text("\n".join(lines[:100]))
    (tmp_path / "test.txt").write_text("\n".join(lines[100:]))
    (tmp_path / "template").write_text("U0:%x[0,0]\nB\n")
    monkeypatch.chdir(tmp_path)
    assert main(["train", "train.txt", "--model", "m", "--template", "template", "--jobs", "1"]) == 0
    return tmp_path


def test_evaluate_writes_the_page(files, capsys):
    capsys.readouterr()
    assert main(["evaluate", "--model", "m", "test.txt", "--report", "r.html", "--json"]) == 0
    out, err = capsys.readouterr()
    record = json.loads(out)
    assert record["report"] == "r.html" and err == "report: r.html\n"
    text = Page((files / "r.html").read_text(encoding="utf-8")).text
    assert f"F1{100 * record['chunks']['overall']['f1']:.2f}" in text
    assert "m on test.txt" in text and "test.txt:" in text and "U0:%x[0,0]" in text
    assert main(["evaluate", "--model", "m", "test.txt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {**record, "report": None}
    assert main(["predict", "--model", "m", "test.txt", "--output", "tagged.txt"]) == 0
    assert main(["evaluate", "tagged.txt", "--report", "other.html"]) == 0
    other = Page((files / "other.html").read_text(encoding="utf-8")).text
    assert f"F1{100 * record['chunks']['overall']['f1']:.2f}" in other and "Strongest features" not in other


@pytest.mark.parametrize(
    "name, message", [("r.txt", "ends in .html, got r.txt"), ("no/r.html", "cannot write")]
)
def test_evaluate_refuses_bad_names_first(files, capsys, name, message):
    assert main(["evaluate", "--model", "m", "test.txt", "--report", name]) == 2
    out, err = capsys.readouterr()
    assert out == "" or "F1" not in out
    assert message in err


RECIPE = '''"""Two taggers."""

from palmette.apps.tagging.report import report_on_labels

def run(context):
    context.add_table("Errors", ["learner", "error"], [["<CRF>", 0.25]])
    for name in ("first", "second"):
        context.add_evaluation(report_on_labels([["A", "B"]], [["A", "A"]], title=f"The {name} <tagger>"))
'''


def test_recipes_hold_evaluations(tmp_path, monkeypatch):
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "two.py").write_text(RECIPE)
    monkeypatch.chdir(tmp_path)
    report = run_recipe("two")
    for name in ("r.html", "r.md"):
        report.write_report(tmp_path / name)
    found = Page((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert found.text.count("The first <tagger>") == 1 and "The second <tagger>" in found.text
    anchors = [a["id"] for a in found.attributes if a.get("id")]
    assert len(anchors) == len(set(anchors)) and "evaluation-2-scores" in anchors
    markdown = (tmp_path / "r.md").read_text(encoding="utf-8")
    assert "## The first <tagger>" in markdown and "accuracy:  50.00% (1 of 2 tokens)" in markdown


@pytest.mark.data
def test_conll2000_report():
    from palmette.datasets import load_conll2000

    bunch = load_conll2000("train")
    X = [[[f"w={word}", f"t={pos}"] for word, pos in sentence] for sentence in bunch.data[:400]]
    model = Perceptron(Chain(), max_iter=3).fit(X[:300], bunch.target[:300])
    words = [[word for word, _ in sentence] for sentence in bunch.data[300:400]]
    report = report_on_model(model, X[300:], bunch.target[300:400], words=words)
    found = Page(report.html())
    assert f"F1{100 * report.evaluation.f1:.2f}" in found.text
