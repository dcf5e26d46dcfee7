"""The tagger as a library: train, predict, evaluate, save."""

from __future__ import annotations

import io

import numpy as np
import pytest

from palmette import CRF, Chain, Multiclass, load
from palmette.apps.tagging.columns import ColumnText, read_columns
from palmette.apps.tagging.evaluation import evaluate_labels
from palmette.apps.tagging.held_out import HeldOut
from palmette.apps.tagging.learners import make_learner
from palmette.apps.tagging.tagger import Tagger
from palmette.apps.tagging.templates import Template
from palmette.data.span_checks import check_spans
from palmette.datasets import make_tagging
from palmette.errors import DataFileError, ModelFileError
from palmette.features import WordClusters

WORDS = Template.parse("U0:%x[0,0]\nU1:%x[-1,0]\nB\n")


def column_text(sentences, name="-", **options) -> ColumnText:
    """Sentences of token tuples as a column file."""
    lines = ["".join(" ".join(token) + "\n" for token in sentence) for sentence in sentences]
    return read_columns(name, stream=io.StringIO("\n".join(lines)), **options)


def simulated(n_samples=60, seed=0) -> list[list[tuple[str, str]]]:
    X, Y = make_tagging(n_samples, 3, 30, random_state=seed)
    return [[(token["w"], tag) for token, tag in zip(x, y)] for x, y in zip(X, Y)]


@pytest.fixture(scope="module")
def text():
    return column_text(simulated())


@pytest.fixture(scope="module")
def tagger(text):
    return Tagger.train(text, template=WORDS, n_jobs=1)


def test_learns_what_can_be_learnt(tagger, text):
    assert tagger.evaluate(text).accuracy > 0.9
    assert tagger.seconds.keys() == {"features", "encode", "solve"}


def test_held_out_accuracy_is_told_while_learning(text):
    seen = []
    dev = column_text(simulated(20, seed=1))
    tagger = Tagger.train(text, template=WORDS, dev=dev, watch=lambda step, score: seen.append(score))
    assert seen and all(0 <= score <= 1 for score in seen)
    assert tagger.evaluate(dev).accuracy >= seen[0]


@pytest.mark.parametrize("algorithm", ["crf", "ssvm", "perceptron"])
def test_every_algorithm_survives_saving(text, tmp_path, algorithm):
    tagger = Tagger.train(text, template=WORDS, algorithm=algorithm, tol=1e-2)
    tagger.save(tmp_path / "model")
    again = Tagger.load(tmp_path / "model")
    assert again.predict(text) == tagger.predict(text)
    assert (again.template.text, again.n_columns, again.label_column) == (WORDS.text, 2, 1)


def test_several_files_are_one_long_file(text):
    sentences = simulated()
    parts = [column_text(sentences[:20]), column_text(sentences[20:])]
    whole, joined = (Tagger.train(data, template=WORDS, tol=0.1, n_jobs=1) for data in (text, parts))
    np.testing.assert_array_equal(whole.model.coef_, joined.model.coef_)


def test_the_default_template_is_taken_from_the_columns(text):
    tagger = Tagger.train(text, tol=0.1)
    assert "%x[0,0]" in tagger.template.text and "%x[0,1]" not in tagger.template.text


def test_place_of_the_label_does_not_matter(tagger):
    swapped = column_text([[token[::-1] for token in sentence] for sentence in simulated()])
    template = Template.parse(WORDS.text.replace(",0]", ",1]"))
    other = Tagger.train(swapped, template=template, label_column=0, n_jobs=1)
    assert other.predict(swapped) == tagger.predict(column_text(simulated()))


def test_predicts_with_and_without_the_label(tagger, text):
    bare = [[(word,) for word, _ in sentence] for sentence in simulated()]
    expected = tagger.predict(text)
    assert tagger.predict(text.sentences) == tagger.predict(bare) == expected
    assert tagger.predict(column_text(bare)) == expected
    assert tagger.predict([[], bare[0]]) == [[], expected[0]]


def test_probabilities_are_the_marginals_of_the_labels(tagger, text):
    labels, probabilities = tagger.predict_with_probability(text)
    assert labels == tagger.predict(text)
    tables = tagger.model.predict_marginals(WORDS.apply(text.sentences))
    classes = list(tagger.model.classes_)
    for ys, ps, table in zip(labels, probabilities, tables):
        np.testing.assert_array_equal(ps, table[np.arange(len(ys)), [classes.index(y) for y in ys]])


def test_nbest_begins_with_the_prediction(tagger, text):
    for best, outputs in zip(tagger.predict(text), tagger.predict_nbest(text, 3)):
        scores = [score for _, score in outputs]
        assert outputs[0][0] == best
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(labels) for labels, _ in outputs}) == len(outputs)


def test_without_transitions_tokens_are_labelled_on_their_own(text):
    template = Template.parse(WORDS.text.replace("B\n", ""))
    tagger = Tagger.train(text, template=template, tol=1e-6)
    assert not tagger.model.transitions_.any()
    attributes, labels = template.apply(text.sentences), text.labels()
    items = [token for sentence in attributes for token in sentence]
    classifier = CRF(Multiclass(), tol=1e-6).fit(items, [label for sentence in labels for label in sentence])
    assert tagger.model.objective_ == pytest.approx(classifier.objective_, rel=1e-5)
    flat = [label for sentence in tagger.predict(text) for label in sentence]
    assert flat == classifier.predict(items).tolist()


def test_labels_that_training_never_had_are_wrong(tagger):
    evaluation = tagger.evaluate(column_text([[("w1", "NEW"), ("w2", "NEW")]]))
    assert (evaluation.accuracy, evaluation.report.tokens) == (0.0, 2)


def test_evaluation_of_chunks():
    true, predicted = [["B-NP", "I-NP", "O"], ["B-VP"]], [["B-NP", "O", "O"], ["B-VP"]]
    evaluation = evaluate_labels(true, predicted)
    assert evaluation.f1 == 0.5
    assert evaluation.sentence_accuracy == 0.5
    assert evaluation.to_dict()["chunks"]["by_type"]["VP"]["f1"] == 1.0
    assert "FB1:  50.00" in evaluation.format()
    assert evaluate_labels([["A"]], [["A"]]).to_dict()["chunks"] is None


# ------------------------------------------------------------------------------------------------- bad input


def test_a_template_that_reads_a_missing_column(text):
    with pytest.raises(DataFileError, match=r"template:1: 'U0:%x\[0,5\]' reads column 5, but the data has 2"):
        Tagger.train(text, template=Template.parse("U0:%x[0,5]"))


def test_a_template_that_reads_the_label(text):
    with pytest.raises(DataFileError, match=r"reads column 1, which holds the label"):
        Tagger.train(text, template=Template.parse("U0:%x[0,1]"))


def test_files_with_different_columns(text):
    with pytest.raises(DataFileError, match=r"<stdin>:1: 3 columns, but <stdin> has 2 columns; give files"):
        Tagger.train([text, column_text([[("a", "b", "c")]])])


def test_no_data_and_no_columns_beside_the_label():
    with pytest.raises(ValueError, match="no data to learn from"):
        Tagger.train([])
    with pytest.raises(DataFileError, match="<stdin>:1: only one column"):
        Tagger.train(column_text([[("a",)]]))
    with pytest.raises(DataFileError, match="it seems to have commas: replace them by tabs"):
        Tagger.train(column_text([[("the,D",)], [("cat,N",)]]))


def test_tokens_of_the_wrong_width(tagger):
    with pytest.raises(
        ValueError, match=r"sentence 1, token 0: expected a tuple of 2 columns .* found \('a',"
    ):
        tagger.predict([[("a",)], [("a", "b", "c")]])
    with pytest.raises(ValueError, match=r"sentence 0, token 0: .* found 'the'"):
        tagger.predict([["the", "cat"]])
    with pytest.raises(DataFileError, match="<stdin>:1: expected 2 columns as in training, with the label"):
        tagger.evaluate(column_text([[("a",)]]))


@pytest.mark.parametrize(
    "algorithm, options, message",
    [
        ("svm", {}, "algorithm='svm' is unknown; choose one of crf, ssvm, perceptron"),
        ("crf", {"l2": -1.0}, "l2 must be a finite number >= 0, got -1.0"),
        ("crf", {"l1": float("nan")}, "l1 must be a finite number >= 0, got nan"),
        (
            "crf",
            {"solver": "frank_wolfe"},
            "solver='frank_wolfe' does not support crf; choose",
        ),
        ("ssvm", {"max_iter": 0}, "max_iter must be at least 1, got 0"),
        ("ssvm", {"n_jobs": 0}, "n_jobs must be a number of threads"),
        ("perceptron", {"l2": 1.0}, "l2=1.0: the perceptron has no penalty"),
        ("perceptron", {"random_state": -1}, "the seed must be from 0 to"),
        (
            "perceptron",
            {"solver": "lbfgs"},
            "solver='lbfgs' does not support perceptron; choose one of perceptron",
        ),
        ("crf", {"min_count": 0}, "min_count must be an integer of at least 1"),
        ("crf", {"n_hash": -5}, "n_hash must be an integer from 1"),
        ("crf", {"l2": "2"}, "l2 must be a finite number >= 0, got '2'"),
        ("crf", {"max_iter": "9"}, "max_iter must be at least 1, got '9'"),
        ("crf", {"n_jobs": 1.5}, "n_jobs must be a number of threads, or -1 for all cores, got 1.5"),
        ("crf", {"random_state": "0"}, "the seed must be from 0 to 4294967295, got '0'"),
        ("crf", {"foo": 1}, "crf has no option 'foo'; it has: C, callbacks, "),
        ("perceptron", {"C": 1.0}, "perceptron has no option 'C'"),
        ("crf", {"structure": Multiclass()}, r"structure must be a Chain, got Multiclass\(\)"),
        ("crf", {"structure": Chain(order=3)}, "the order of a chain must be 1 or 2, got 3"),
    ],
)
def test_bad_options(algorithm, options, message):
    with pytest.raises(ValueError, match=message):
        make_learner(algorithm, **options)


def test_the_structure_is_a_choice(text, tmp_path):
    tagger = Tagger.train(text, template=WORDS, structure=Chain(order=2), tol=0.1)
    assert len(tagger.model.scorer_.triples)
    tagger.save(tmp_path / "model")
    again = Tagger.load(tmp_path / "model")
    assert again.model.structure.order == 2 and again.predict(text) == tagger.predict(text)


def test_labels_can_be_constrained_to_valid_spans(tmp_path):
    text = column_text(chunked(20))
    tagger = Tagger.train(text, template=CHUNKS, encoding="iobes", constrained=True, tol=0.1)
    tagger.save(tmp_path / "model")
    for each in (tagger, Tagger.load(tmp_path / "model")):
        assert each.model.structure.allowed == "IOBES"
        # nothing that it knows says where chunks end, so that only the constraint keeps labels valid
        labels = each.model.predict(each.columns([[("Nmid0", "")] * 4, [("Vmid1", "")]]))
        check_spans(labels, "IOBES")
    assert Tagger.train(text, template=CHUNKS, constrained=True, tol=0.1).model.structure.allowed == "IOB2"
    gap = column_text([[("a", "B-N"), ("b", "O"), ("b", "I-N")]])
    with pytest.raises(DataFileError, match=r"<stdin>:3: .*not valid in IOB2.*--invalid repair"):
        Tagger.train(gap, template=CHUNKS, constrained=True)
    with pytest.raises(ValueError, match=r"constrained sets what Chain.* has set already"):
        Tagger.train(text, template=CHUNKS, constrained=True, structure=Chain(allowed="IOB2"))


def test_a_model_that_is_no_tagger(tmp_path):
    CRF(Multiclass()).fit([[0.0], [1.0]], [0, 1]).save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="this CRF is not a tagger"):
        Tagger.load(tmp_path / "model")


@pytest.mark.parametrize("change", [{"template": "?"}, {"n_columns": "x"}, {"label_column": 0}])
def test_a_damaged_tagger(tagger, tmp_path, change):
    tagger.save(tmp_path / "model")
    model = load(tmp_path / "model")
    model.save(tmp_path / "model", extra=model.extra_ | change)
    with pytest.raises(ModelFileError, match="model: the tagger is damaged"):
        Tagger.load(tmp_path / "model")


@pytest.mark.data
def test_a_slice_of_conll2000():
    from palmette.datasets import load_conll2000

    bunch = load_conll2000("train")
    pairs = zip(bunch.data[:1000], bunch.target[:1000])
    sentences = [[(*token, label) for token, label in zip(x, y)] for x, y in pairs]
    tagger = Tagger.train(column_text(sentences[:800]), tol=1e-3)
    evaluation = tagger.evaluate(column_text(sentences[800:]))
    assert evaluation.accuracy > 0.93
    assert evaluation.f1 > 0.89


# ------------------------------------------------------- span encodings, clusters, label pairs, small models

CHUNKS = Template.parse("U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[1,0]\nB\n")


def chunked(n_samples=40, seed=0, start="B") -> list[list[tuple[str, str]]]:
    """Words whose first letter says the type of their chunk, if any; chunks of one to three words."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(n_samples):
        sentence = []
        for _ in range(rng.integers(1, 5)):
            kind = ["N", "V", ""][rng.integers(3)]
            size = rng.integers(1, 4)
            for t in range(size):
                place = "first" if t == 0 else "last" if t == size - 1 else "mid"
                label = "O" if not kind else f"{start if t == 0 else 'I'}-{kind}"
                sentence.append((f"{kind or 'o'}{place}{rng.integers(3)}", label))
        out.append(sentence)
    return out


@pytest.mark.parametrize("encoding", ["iobes", "IOB1", "bilou"])
def test_spans_are_learned_in_another_encoding_and_predicted_in_their_own(encoding, tmp_path):
    text = column_text(chunked())
    tagger = Tagger.train(text, template=CHUNKS, encoding=encoding, tol=1e-3)
    assert (tagger.spans.own, tagger.spans.inner) == ("IOB2", encoding.upper())
    letters = {label[0] for label in tagger.model.classes_}
    assert letters <= {"iobes": set("BIESO"), "IOB1": set("BIO"), "bilou": set("BILUO")}[encoding]
    assert letters != set("BIO") or encoding == "IOB1"
    predicted = tagger.predict(text)
    assert {label[0] for labels in predicted for label in labels} == set("BIO")
    # in IOB1 the letter depends on the chunk before, which needs more data than this
    assert tagger.evaluate(text).f1 > (0.7 if encoding == "IOB1" else 0.95)
    tagger.save(tmp_path / "model")
    again = Tagger.load(tmp_path / "model")
    assert again.spans == tagger.spans and again.predict(text) == predicted
    assert [outputs[0][0] for outputs in again.predict_nbest(text, 2)] == predicted
    assert again.predict_with_probability(text)[0] == predicted


def test_held_out_labels_are_in_the_encoding_of_the_model(monkeypatch):
    seen = []

    class Spy(HeldOut):
        def __init__(self, inputs, labels, watch):
            super().__init__(inputs, labels, watch)
            seen.append((len(inputs), {label[0] for y in labels for label in y}))

    monkeypatch.setattr("palmette.apps.tagging.tagger.HeldOut", Spy)
    dev = column_text(chunked(20, seed=1))
    options = {"encoding": "iobes", "dev": dev, "watch": lambda step, score: None, "tol": 1e-2}
    Tagger.train(column_text(chunked()), template=CHUNKS, **options)
    assert seen == [(20, set("BIESO"))]


def test_gaps_in_spans_are_refused_by_line_or_repaired():
    sentences = chunked()
    sentences[3] = [("ofirst0", "O"), ("Nfirst0", "I-N")]
    text = column_text(sentences)
    place = sum(map(len, sentences[:3])) + 3 + 2  # tokens and blank lines before it, and one word
    for options in ({"invalid": "raise"}, {"encoding": "iobes"}):
        with pytest.raises(DataFileError, match=rf"<stdin>:{place}: .*'I-N' after 'O' is not valid in IOB2"):
            Tagger.train(text, template=CHUNKS, **options)
    tagger = Tagger.train(text, template=CHUNKS, invalid="repair", tol=1e-2)
    assert tagger.labels_for_model(text)[3] == ["O", "B-N"]
    assert Tagger.train(text, template=CHUNKS, tol=1e-2).spans is None  # as they are
    with pytest.raises(ValueError, match="invalid='drop' is unknown"):
        Tagger.train(text, template=CHUNKS, invalid="drop")
    with pytest.raises(ValueError, match="unknown span encoding 'IOX'"):
        Tagger.train(text, template=CHUNKS, encoding="iox")
    with pytest.raises(ValueError, match=r"<stdin>: .*no span encoding"):
        Tagger.train(column_text(simulated()), template=WORDS, encoding="iobes")


def test_clusters_are_columns_of_the_template(tmp_path):
    text = column_text(chunked())
    clusters = WordClusters((3, 5), n_components=4).fit(text.table.column(0))
    tagger = Tagger.train(text, clusters=clusters, tol=1e-2)
    assert tagger.clusters is clusters
    assert "%x[0,2]" in tagger.template.text and "%x[0,3]" in tagger.template.text
    assert tagger.columns(text).n_columns == 4
    assert any(name.startswith("U71-3:") for name in tagger.model.encoder_.feature_names)
    tagger.save(tmp_path / "model")
    again = Tagger.load(tmp_path / "model")
    assert again.predict(text) == tagger.predict(text)
    assert again.predict([[("Nfirst0", "?")], []]) == tagger.predict([[("Nfirst0",)], []])
    template = Template.parse("U0:%x[0,2]\nB")
    small = Tagger.train(text, template=template, clusters=clusters, tol=1e-2)
    assert small.model.encoder_.n_columns == 3
    with pytest.raises(DataFileError, match="reads column 2, but the data has 2 columns"):
        Tagger.train(text, template=template)
    with pytest.raises(ValueError, match="different words occur at least"):
        Tagger.train(text, clusters=64)


def test_lines_with_b_are_features_of_label_pairs(text, tmp_path):
    template = Template.parse("U0:%x[0,0]\nB1:%x[0,0]\nB")
    tagger = Tagger.train(text, template=template, tol=1e-3)
    assert tagger.model.edge_features == ["B"]
    names = tagger.model.encoder_.feature_names
    columns = {names[c] for c in np.unique(tagger.model.scorer_.edge_coordinates()[0])}
    assert columns and all(name.startswith("B1:") for name in columns)
    assert not any(names[c].startswith("B") for c in np.unique(tagger.model.scorer_.coordinates()[0]))
    tagger.save(tmp_path / "model")
    assert Tagger.load(tmp_path / "model").predict(text) == tagger.predict(text)


def test_small_models(text, tmp_path):
    sizes = {}
    for name, options in {"plain": {}, "pruned": {"prune": True}}.items():
        tagger = Tagger.train(text, template=WORDS, l1=1.0, tol=1e-3, **options)
        tagger.save(tmp_path / name)
        sizes[name] = (tmp_path / name).stat().st_size, tagger.predict(text)
    assert sizes["pruned"][0] < sizes["plain"][0] and sizes["pruned"][1] == sizes["plain"][1]
    plain, rare = (Tagger.train(text, template=WORDS, min_count=n, tol=1e-2) for n in (1, 5))
    assert rare.model.encoder_.n_columns < plain.model.encoder_.n_columns
    hashed = Tagger.train(text, template=WORDS, n_hash=64, tol=1e-2)
    assert hashed.model.encoder_.n_columns == 64 and hashed.evaluate(text).accuracy > 0.5
