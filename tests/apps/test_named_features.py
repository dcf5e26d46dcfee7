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

from palmette import CRF, Chain, Perceptron
from palmette.apps.tagging.columns import read_columns
from palmette.apps.tagging.named_features import folds_apart
from palmette.apps.tagging.options import FEATURE_SETS
from palmette.apps.tagging.tagger import Tagger
from palmette.cli import main
from palmette.errors import ModelFileError
from palmette.estimators.folds import splits_of
from palmette.features import ColumnSentences, FeatureSet, WordClusters, append_clusters, feature_set
from palmette.features.column_table import ColumnTable
from palmette.features.sets import DEFINITIONS
from palmette.features.sets.bio_columns import BioColumns
from palmette.features.sets.counts import counts_from_state, counts_state
from palmette.features.sets.entity_columns import EntityColumns
from palmette.features.sets.segmentation_columns import LexiconColumns
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
    assert tagger.features.column_names_ == ["word", "label", "known", "case", "coarse", "medium"]
    assert tagger.features.clusters == (8, 16) and tagger.features.makers_[1].clusters_.n_clusters == (8, 16)
    assert "U.coarse[0]=%x[0,4]" in tagger.template.text and "fine" not in tagger.template.text


def test_what_is_read_is_told(tmp_path, capsys):
    """Columns that the set ignores are not named; those of clusters come with their numbers."""
    X = [[(word, "x", tag) for word, tag in sentence] for sentence in WORDS]
    train, model = written(tmp_path / "t", X, SPANS), str(tmp_path / "m.palmette")
    text = tmp_path / "text"
    text.write_text(
        "\n".join(" ".join(f"w{chr(97 + k % 26)}{chr(97 + k // 26)}" for k in range(80)) for _ in "abc")
    )
    options = ["--features", "ner", "--columns", "word,other,pos,label", "--cluster-text", str(text)]
    assert main(["train", train, "--model", model, *options]) == 0
    told = "feature set  ner, of word, pos, known, case, coarse (64 clusters)"
    assert told in capsys.readouterr().out
    assert main(["inspect", model]) == 0
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    "options",
    [
        ["--features", "chunking", "--columns", "word,label"],
        ["--features", "ner", "--columns", "word,known,label"],
        ["--features", "ner", "--clusters", "256,64"],
    ],
)
def test_settings_are_checked_before_files_are_read(options, tmp_path, capsys):
    path = tmp_path / "broken"
    path.write_bytes(b"\xff\n")
    assert main(["train", str(path), "--model", str(tmp_path / "m.palmette"), *options]) != 0
    assert "feature set" in (error := capsys.readouterr().err) or "clusters" in error


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
        (["--features", "segmentation", "--cluster-text", "TEMPLATE"], "'segmentation' has no word clusters"),
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
    arrays["0.codes"] = arrays["0.codes"] + 1000
    with pytest.raises(ModelFileError, match=r"codes\[0\] is 1000, out of range"):
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


@given(st.dictionaries(st.lists(st.text(max_size=3), max_size=3).map(tuple), st.integers(0, 9)))
def test_counts_survive_their_state(counts):
    assert counts_from_state(counts_state(Counter(counts))) == Counter(counts)


def test_counts_of_pairs_are_pairs():
    with pytest.raises(ValueError, match=r"lengths\[0\] is 1, out of range"):
        counts_from_state(counts_state(Counter({("a",): 1})), 2)


@pytest.mark.parametrize("name", ["lower", "upper"])
def test_labels_may_be_called_like_anything(name):
    """A word's type and the way it is written do not mix, whatever types are called."""
    X, y = [[("a",), ("Bob",)], [("a",), ("Bob",)]], [[name, "O"], ["O", "O"]]
    made = EntityColumns().fit(X, y).transform(X)
    renamed = [[label.replace(name, "B-PER") for label in labels] for labels in y]
    expected = EntityColumns().fit(X, renamed).transform(X)
    assert made == [[(w, kind.replace("PER", name), case) for w, kind, case in line] for line in expected]


# ------------------------------------------------------------------------------------------- labels and settings


@pytest.mark.parametrize("name", ["ner", "segmentation"])
def test_labels_must_fit_the_sentences(name):
    X, y = rows_of(name)
    features = feature_set(name)
    for bad, error, message in (
        (y[:5], ValueError, "12 sentences, and y has labels of 5"),
        ([*y[:3], y[3][:4], *y[4:]], ValueError, "sentence 3 has 5 tokens and 4 labels"),
        ([*y[:3], "OOOOO", *y[4:]], TypeError, "sentence 3: labels must be a list of strings, got 'OOOOO'"),
        ([*y[:3], [*y[3][:4], None], *y[4:]], TypeError, "sentence 3, token 4: .*got None"),
        ([*y[:3], [7, *y[3][1:]], *y[4:]], TypeError, "sentence 3, token 0: .*got 7"),
    ):
        for fit in (features.fit, features.fit_transform):
            with pytest.raises(error, match=message):
                fit(X, bad)
    features.fit(np.array(X), np.array(y))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"columns": ("word", "la bel")}, "names of letters, digits and _ such as"),
        ({"columns": ("word", "a,b")}, "names of letters, digits and _ such as"),
        ({"columns": ("word", "")}, "names of letters, digits and _ such as"),
        ({"columns": "word"}, "names of letters, digits and _ such as"),
        ({"columns": ("word", "coarse")}, "'coarse' cannot be used, the feature set makes"),
        ({"columns": ("word", "fine"), "clusters": None}, "'fine' cannot be used, the feature set makes"),
        ({"random_state": None}, "random_state must be a whole number from 0 to .*, got None"),
        ({"random_state": True}, "random_state must be a whole number"),
        ({"random_state": -1}, "random_state must be a whole number"),
        ({"clusters": 0}, "clusters must be 'auto', None, or numbers such as"),
        ({"clusters": True}, "clusters must be 'auto', None, or numbers such as"),
        ({"clusters": "64"}, "clusters must be 'auto', None, or numbers such as"),
        ({"clusters": (8, 16.5)}, "clusters must be 'auto', None, or numbers such as"),
        ({"clusters": WordClusters(8)}, "clusters must be 'auto', None, or numbers such as"),
        ({"clusters": (1, 2, 3, 4)}, "at most 3 numbers, the smallest first"),
        ({"clusters": (8, 8)}, "at most 3 numbers, the smallest first"),
    ],
)
def test_settings_are_checked_before_anything_is_learnt(settings, message):
    with pytest.raises(ValueError, match=message):
        feature_set("ner", **settings)


@pytest.mark.parametrize(
    ("clusters", "kept", "columns"),
    [
        (None, None, []),
        ("auto", "auto", ["coarse"]),
        (np.int64(3), (3,), ["coarse"]),
        ([np.int32(3), 5], (3, 5), ["coarse", "medium"]),
    ],
)
def test_settings_survive_the_state(clusters, kept, columns):
    X, y = rows_of("pos")
    text = [["w" + "abcdefgh"[(k + i) % 8] * (1 + i % 9) for i in range(72)] for k in range(9)]
    features = feature_set("pos", clusters=clusters, random_state=np.int64(4), text=text).fit(X, y)
    header, arrays = features.state()
    again = FeatureSet.from_state(json.loads(json.dumps(header)), arrays)
    assert (again.clusters, again.random_state) == (kept, 4)
    assert again.column_names_ == features.column_names_ == ["word", *columns]
    assert again.transform(X).table.sentences() == features.transform(X).table.sentences()


def test_a_feature_set_brings_its_own_settings(tmp_path):
    class Mine(FeatureSet):
        pass

    texts = read_columns(written(tmp_path / "t", *rows_of("ner")))
    with pytest.raises(ValueError, match="settings of its own: leave edges out"):
        Tagger.train(texts, features=feature_set("ner"), edges=True)
    for edges in (False, True):
        tagger = Tagger.train(texts, features=Mine("ner", edges=edges), l2=0.1)
        assert type(tagger.features) is Mine and tagger.template.has_edge_features == edges
        assert tagger.features.columns == ("word", "label")
    assert not Tagger.train(
        texts, features="ner", edges=False, algorithm="perceptron"
    ).template.has_edge_features
    with pytest.raises(ValueError, match="must name one column 'label'"):
        Tagger.train(texts, features="ner", columns=("word", "tag"))
    with pytest.raises(ValueError, match="clusters must be 'auto', None, or numbers"):
        Tagger.train(texts, features="ner", clusters=WordClusters(8))


# ----------------------------------------------------------------------------------- tokens of several characters


def test_a_token_of_several_characters_counts_as_one():
    """A set that sees a number or a Latin word as one token sees what it would see with one character there."""
    one, y = rows_of("segmentation")
    longer = {"b": "2008", "c": "PKU", "a": ""}
    several = [[(longer.get(c, c),) for (c,) in line] for line in one]
    expected = LexiconColumns().fit_transform(one, y)
    found = LexiconColumns().fit_transform(several, y)
    assert [[cells[1:] for cells in line] for line in found] == [
        [cells[1:] for cells in line] for line in expected
    ]
    (line,) = (
        LexiconColumns()
        .fit([[("我",), ("PKU",), ("大",), ("学",)]], [["S", "B", "M", "E"]])
        .transform([[("PKU",), ("大",), ("学",), ("P",)]])
    )
    assert line == [
        ("PKU", "3", "1", "0"),
        ("大", "1", "1", "3"),
        ("学", "1", "3", "0"),
        ("P", "1", "1", "0"),
    ]
    features = feature_set("segmentation").fit(several, y)
    again = FeatureSet.from_state(*features.state())
    assert again.transform(several).table.sentences() == features.transform(several).table.sentences()


# ---------------------------------------------------------------------------------------- penalties by held-out folds


@pytest.mark.parametrize("name", ["ner", "segmentation"])
def test_folds_know_nothing_of_labels_held_out(name):
    """What a fold's columns say of held-out sentences is what a set learns from the others."""
    X, y = rows_of(name)
    X = [[(word + "x" * (k % 2),) for (word, *_) in sentence] for k, sentence in enumerate(X)]
    table, learner = ColumnTable.from_sentences(X), CRF(Chain(), random_state=3)
    features = feature_set(name)
    features.extended_fit(table, y)
    folds = folds_apart(features, table, y, learner, y, 3)
    splits = splits_of(3, y, None, items=False, random_state=3)
    for (train, held), fold in zip(splits, folds, strict=True):
        alone = feature_set(name)
        inputs = learner.encode(alone.fit_transform([X[i] for i in train], [y[i] for i in train]))
        others = inputs.encoder.transform(alone.transform([X[i] for i in held]).table)
        assert_same_rows(fold.train.X, inputs)
        np.testing.assert_array_equal(fold.held.X.batch.rows.indices, others.rows.indices)
        assert fold.train.y == [y[i] for i in train] and fold.held.y == [y[i] for i in held]


def test_tuning_does_not_believe_labels_held_out(tmp_path):
    """Each word occurs twice: a word whose occurrences are both held out, as every other one, can only be guessed."""
    random = np.random.default_rng(0)
    words = ["".join(letters) for letters in random.choice([*"abcdefgh"], (240, 6)).tolist()]
    X = [[(w,) for w in words[k : k + 4]] for k in range(0, 240, 4)]
    y = [["B-X" if random.random() < 0.5 else "O" for _ in line] for line in X]
    texts = read_columns(written(tmp_path / "t", X + X, y + y))
    tagger = Tagger.train(texts, features="ner", clusters=None, tune=2)
    assert 0.6 < tagger.model.best_score_ < 0.9


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
