"""Feature sets by name: on the command line and in Python, in model files, and as recipes have used them."""

from __future__ import annotations

import json
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline

from palmette import Chain, Perceptron
from palmette.apps.tagging.options import FEATURE_SETS
from palmette.apps.tagging.tagger import Tagger
from palmette.cli import main
from palmette.errors import ModelFileError
from palmette.features import ColumnSentences, FeatureSet, WordClusters, append_clusters, feature_set
from palmette.features.sets import DEFINITIONS
from palmette.features.sets.bio_columns import BioColumns
from palmette.features.sets.counts import counts_from_state, counts_state
from palmette.features.sets.entity_columns import EntityColumns
from palmette.features.template_lines import affixes, cells, grams, template

NAMES = ("Ann", "Bob", "Paris", "Rome")
WORDS = [
    [("In", "IN"), (NAMES[k % 4], "NNP"), ("we", "PRP"), ("met", "VBD"), (f"it-{k}", "NN")] for k in range(12)
]
LABELS = [["B-PP", "B-NP", "B-NP", "B-VP", "B-NP"]] * 12
SPANS = [["O", "B-X", "O", "O", "O"]] * 12
CHARACTERS = [["B", "E", "S", "B", "E"]] * 12


def rows_of(name: str) -> tuple[list[list[tuple[str, ...]]], list[list[str]]]:
    """Sentences with the columns that a set needs, and labels that it can learn."""
    if name == "segmentation":
        return [[(c,) for c in "abcab"] for _ in range(12)], CHARACTERS
    labels = LABELS if name in ("chunking", "pos") else SPANS
    width = len(DEFINITIONS[name].needs)
    return [[token[:width] for token in sentence] for sentence in WORDS], labels


def written(path, X, y=None) -> str:
    lines = [
        [" ".join((*token, *label)) for token, label in zip(x, labels or [()] * len(x))]
        for x, labels in zip(
            X, [None] * len(X) if y is None else [[(label,) for label in each] for each in y]
        )
    ]
    path.write_text("\n\n".join("\n".join(sentence) for sentence in lines) + "\n")
    return str(path)


@pytest.mark.parametrize("name", FEATURE_SETS)
@pytest.mark.parametrize("algorithm", ["crf", "perceptron"])
def test_each_set_trains_and_predicts_on_the_command_line(name, algorithm, tmp_path, capsys):
    X, y = rows_of(name)
    train, raw, model = (
        written(tmp_path / "t", X, y),
        written(tmp_path / "r", X[:2]),
        str(tmp_path / "m.palmette"),
    )
    columns = ",".join([*DEFINITIONS[name].needs, "label"])
    options = ["--features", name, "--columns", columns, "--algorithm", algorithm]
    assert main(["train", train, "--model", model, *options]) == 0
    capsys.readouterr()
    assert main(["predict", "--model", model, raw]) == 0
    out = capsys.readouterr().out
    found = [line.split()[-1] for line in out.split("\n") if line]
    right = np.mean([a == b for a, b in zip(found, [*y[0], *y[1]], strict=True)])
    assert right == 1.0 if algorithm == "crf" else right > 0.7  # the perceptron averages its first steps
    tagger = Tagger.load(model)
    assert tagger.features is not None and tagger.features.name == name
    assert tagger.template.has_edge_features == (algorithm == "perceptron" and bool(DEFINITIONS[name].edges))
    assert main(["inspect", model, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["features"]["name"] == name


def test_tuning_and_more_text_for_clusters(tmp_path, capsys):
    X, y = rows_of("ner")
    train, model = written(tmp_path / "t", X, y), str(tmp_path / "m.palmette")
    text = tmp_path / "text"
    text.write_text(
        "\n".join(" ".join(f"w{chr(97 + k % 26)}{chr(97 + k // 26)}" for k in range(80)) for _ in "abc")
    )
    options = [
        "--features",
        "ner",
        "--clusters",
        "8,16",
        "--cluster-text",
        str(text),
        "--tune",
        "--folds",
        "2",
    ]
    assert main(["train", train, "--model", model, *options]) == 0
    tagger = Tagger.load(model)
    assert tagger.features is not None
    assert tagger.features.column_names_ == ["word", "label", "known", "case", "cluster8", "cluster16"]
    assert "U.cluster8[0]=%x[0,4]" in tagger.template.text and "cluster64" not in tagger.template.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--features", "chunking"], "needs a column 'pos'.*--columns word,pos,label"),
        (["--features", "ner", "--columns", "word,pos,label"], "2 columns, and --columns names 3"),
        (["--features", "ner", "--columns", "word,pos"], "must name one column 'label'"),
        (["--features", "ner", "--columns", "word,la bel"], "'la bel' is none"),
        (["--features", "names"], "'names' is not one of ner, bio-ner"),
        (["--columns", "word,label"], "--columns is for a feature set by name; give --features"),
        (["--edges"], "--edges is for a feature set by name; give --features"),
        (["--features", "ner", "--template", "TEMPLATE"], "--features and --template exclude each other"),
        (["--cluster-text", "TEMPLATE"], "--cluster-text is for word clusters"),
        (["--features", "ner", "--clusters", "256,64"], "the smallest first"),
        (["--features", "segmentation", "--clusters", "64"], "'segmentation' has no word clusters"),
        (["--features", "ner", "--unknown", "?"], "'ner' learns from whole labels"),
        (["--features", "ner", "--edges", "--solver", "dual"], "does not support lines of a template"),
        (["--features", "ner", "--columns", "word,label", "--label-column", "0"], "do not agree"),
    ],
)
def test_settings_that_do_not_fit(options, message, tmp_path, capsys):
    train, file = written(tmp_path / "t", *rows_of("ner")), tmp_path / "template"
    file.write_text("U0:%x[0,0]\nB\n")
    options = [str(file) if option == "TEMPLATE" else option for option in options]
    assert main(["train", train, "--model", str(tmp_path / "m.palmette"), *options]) != 0
    error = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert re.search(message, error), error


# ------------------------------------------------------------------------------------------------- in Python


def test_names_on_the_command_line_are_those_of_the_definitions():
    assert set(FEATURE_SETS) == set(DEFINITIONS)


def test_a_set_stands_in_a_pipeline_and_takes_words_alone():
    X, y = rows_of("ner")
    words = [[token[0] for token in sentence] for sentence in X]
    model = make_pipeline(feature_set("ner"), Perceptron(Chain())).fit(words, y)
    assert model.predict(words) == model.predict(X) == y


def test_sets_survive_their_state():
    X, y = rows_of("ner")
    features = feature_set(
        "ner", clusters=(3, 5), random_state=4, text=[[f"w{c}" for c in "abcdefgh" * 9]] * 9
    )
    with pytest.raises(ValueError, match="but 60 are needed"):
        features.fit(X, y)
    features = feature_set("bio-ner").fit(X, y)
    for made in (features, feature_set("ner").fit(X, y)):
        again = FeatureSet.from_state(*made.state())
        assert again.template_ == made.template_ and again.column_names_ == made.column_names_
        assert again.transform(X).table.sentences() == made.transform(X).table.sentences()
    header, arrays = feature_set("ner").fit(X, y).state()
    for damaged in (
        {**header, "name": "x"},
        {**header, "makers": [{"kind": "x"}]},
        {**header, "columns": [1]},
    ):
        with pytest.raises(ModelFileError, match="damaged feature set"):
            FeatureSet.from_state(damaged, arrays)
    arrays["0.codes_0"] = arrays["0.codes_0"] + 1000
    with pytest.raises(ModelFileError, match="codes_0 are not those of"):
        FeatureSet.from_state(header, arrays)


def test_columns_must_have_names_that_are_free():
    with pytest.raises(ValueError, match="'stem' cannot be used, the feature set makes"):
        feature_set("bio-ner", ("word", "stem"))
    with pytest.raises(ValueError, match="'word' cannot be used, it is there twice"):
        feature_set("ner", ("word", "word"))
    with pytest.raises(ValueError, match="learns from labels too: give y"):
        feature_set("ner").fit([["a"]])
    with pytest.raises(ValueError, match="tokens have 2 columns, and 1 have names"):
        feature_set("ner").fit(WORDS, SPANS)


# --------------------------------------------------------------------------------------- words seen in names

SENTENCES = st.lists(
    st.lists(
        st.tuples(st.sampled_from(["a", "A", "b", "Bc"]), st.sampled_from(["O", "B-X", "I-X", "B-Y"])),
        min_size=1,
    ),
    min_size=1,
    max_size=12,
)


@given(SENTENCES, st.integers(1, 4))
def test_training_sentences_are_read_with_the_counts_of_others(sentences, n_folds):
    X = [[(word,) for word, _ in sentence] for sentence in sentences]
    y = [[label for _, label in sentence] for sentence in sentences]
    maker = EntityColumns(n_folds)
    made = maker.fit_transform(X, y)
    assert maker.transform(X) == EntityColumns().fit(X, y).transform(X)
    bounds = [len(X) * k // n_folds for k in range(n_folds + 1)]
    for a, b in zip(bounds, bounds[1:]):
        assert made[a:b] == EntityColumns().fit(X[:a] + X[b:], y[:a] + y[b:]).transform(X[a:b])


@given(st.dictionaries(st.tuples(st.text(max_size=3), st.text("ab")), st.integers(0, 9)))
def test_counts_survive_their_state(counts):
    assert counts_from_state(counts_state(Counter(counts)), 2) == Counter(counts)


# ------------------------------------------------------------------ the rows that recipes had, by numbers of columns

PAIRS = [f"{cells(0)}/{cells(row, column=1)}" for row in (-1, 0, 1)]
PAIRS += [f"{cells(row)}/{cells(0, column=1)}" for row in (-1, 1)]


def with_cluster(column: int) -> list[str]:
    near = ((-1, 0), (0, -1), (0, 0), (0, 1), (1, 0))
    pairs = [f"{cells(row, column=column)}/{cells(tag, column=1)}" for row, tag in near]
    return [*grams(column, (1, 2), reach=1), *pairs]


CHUNKING = template(
    [
        *grams(), cells(-1, 0), cells(0, 1), *grams(reach=1, macro="X"), *grams(1, reach=3), *grams(1, (2, 3, 4)),
        *PAIRS, *affixes("P", (2, 3)), *affixes("S", (1, 2, 3, 4)), *affixes("S", (2, 3), -1),
        *affixes("S", (2, 3), 1), cells(0, macro="h"), *grams(reach=1, macro="H"), *with_cluster(2), *with_cluster(3),
    ],
    [cells(0, column=1), cells(-1, 0, column=1)],
)  # fmt: skip
BIOLOGY = template(
    [
        *grams(), *grams(0, (1, 2), macro="X"), *affixes("P", range(2, 6)), *affixes("S", range(2, 6)),
        *affixes("S", (3, 4), -1), *affixes("S", (3, 4), 1), *grams(0, (1, 2), reach=1, macro="h"),
        *grams(0, (1, 2, 3), macro="H"), *grams(1, (1, 2, 3)), *grams(2, (1, 2), reach=1), *grams(3, (1, 2), reach=1),
        *grams(4, (1, 2, 3), reach=1), *grams(5, (1, 2, 3)), *grams(6, (1, 2)), *grams(7),
    ],
    [cells(0, column=1), cells(-1, column=1), cells(0, macro="H"), cells(0, column=6), cells(-1, column=6)],
)  # fmt: skip


def test_rows_are_those_of_the_templates_by_number():
    random = np.random.default_rng(0)
    tags = np.array(["NN", "DT", "VB"])
    spelt = [f"{'wWv'[k % 3]}{'abcdefghij'[k % 10] * (1 + k // 10)}-x" for k in range(120)]
    X = [
        [(spelt[k], str(tags[k % 3])) for k in drawn]
        for drawn in random.integers(120, size=(150, 9)).tolist()
    ]
    words = [[token[:1] for token in sentence] for sentence in X]
    learner = Perceptron(Chain())
    sizes = WordClusters((8, 16), n_components=50, random_state=3)
    found = feature_set(
        "chunking", ("word", "pos"), clusters=(8, 16), edges=True, random_state=3
    ).fit_transform(X)
    expected = ColumnSentences(append_clusters(X, sizes.fit(words)), CHUNKING)
    assert_same_rows(learner.encode(found), learner.encode(expected))

    sizes = WordClusters((8, 16, 32), n_components=60, random_state=3).fit(words)
    found = feature_set("bio-ner", clusters=(8, 16, 32), edges=True, random_state=3).fit_transform(words)
    expected = ColumnSentences(append_clusters(BioColumns().transform(words), sizes), BIOLOGY)
    assert_same_rows(learner.encode(found), learner.encode(expected))


def assert_same_rows(a, b) -> None:
    np.testing.assert_array_equal(a.batch.rows.indptr, b.batch.rows.indptr)
    np.testing.assert_array_equal(a.batch.rows.indices, b.batch.rows.indices)
