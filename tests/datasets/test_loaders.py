"""Loaders of the data sets for sequence labelling: on small texts of the same form, and on the real ones."""

from __future__ import annotations

import io
import lzma
import tarfile
import zipfile
from collections import Counter
from functools import cache

import numpy as np
import pytest

from palmette.data import check_spans, detect_encoding, join_words
from palmette.datasets import (
    hapt_format,
    load_brown,
    load_conll2000,
    load_cws_pd199801,
    load_cws_udc,
    load_hapt,
    load_jnlpba,
    load_masc,
    load_ptb_sample,
    load_ud_ewt,
    load_wnut17,
    store,
    tagged_format,
)
from palmette.datasets.decode import untar, unzip
from palmette.datasets.hapt_features import FEATURE_NAMES, RATE, WIDTH, window_features, window_starts

LOADERS = [
    load_brown,
    load_conll2000,
    load_cws_pd199801,
    load_cws_udc,
    load_hapt,
    load_jnlpba,
    load_masc,
    load_ptb_sample,
    load_ud_ewt,
    load_wnut17,
]


@pytest.fixture
def contents(monkeypatch):
    """What the store returns instead of real files: a dict from source to content, to be filled."""
    given = {}
    monkeypatch.setattr(store, "read", lambda name, sources: {s: given[s] for s in given if s in sources})
    return given


def zipped(files) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tarred(files, mode="w:xz") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize("subset", ["valid", None, 3])
def test_bad_subset_is_refused_before_anything_is_read(load, subset, contents):
    with pytest.raises(ValueError, match="subset must be one of 'train', 'fit', 'dev', 'test', 'all', got"):
        load(subset)


# ------------------------------------------------------------------------------------------ small texts


def test_development_part_of_conll2000_is_the_last_tenth(contents):
    contents["train"] = "\n\n".join(f"w{i} NN B-NP" for i in range(20)).encode() + b"\n\n"
    contents["test"] = b"z NN O\n\n"
    assert load_conll2000("dev").data == [[("w18", "NN")], [("w19", "NN")]]
    assert len(load_conll2000("fit").data) == 18 and len(load_conll2000("train").data) == 20
    everything = load_conll2000("all")
    assert Counter(everything.groups.tolist()) == {"train": 20, "test": 1}
    assert everything.target_names == ["B-NP", "O"] and everything.feature_names == ["word", "pos"]


def test_lines_of_tabs_separate_sentences_of_wnut17(contents):
    contents["train"] = b"Empire\tB-location\nState\tI-location\n\t\nok\tO\n\n\n"
    contents["dev"] = "ça\tO\n".encode()
    train = load_wnut17("fit")
    assert train.data == [[("Empire",), ("State",)], [("ok",)]] and train.feature_names == ["word"]
    assert train.target == [["B-location", "I-location"], ["O"]]
    assert load_wnut17("dev", return_X_y=True) == ([[("ça",)]], [["O"]])


def test_development_part_of_jnlpba_is_whole_abstracts(contents):
    abstracts = [f"###MEDLINE:{i}\n\nIL-{i}\tB-protein\n2\tI-protein\n\nis\tO\n\n" for i in range(10)]
    contents["train"] = "".join(abstracts).encode()
    dev, fit = load_jnlpba("dev"), load_jnlpba("fit")
    assert dev.data == [[("IL-9",), ("2",)], [("is",)]] and dev.documents == ["9", "9"]
    assert dev.target == [["B-protein", "I-protein"], ["O"]]
    assert set(fit.documents) == set("012345678") and len(fit.data) == 18
    assert load_jnlpba("fit", return_X_y=True) == (fit.data, fit.target)


EWT = """# newdoc id = a
# sent_id = a-1
1-2\tIt's\t_\t_\t_\t_\t_\t_\t_\t_
1\tIt\tit\tPRON\tPRP\t_\t_\t_\t_\t_
2\t's\tbe\tAUX\tVBZ\t_\t_\t_\t_\t_
2.1\tgone\t_\tVERB\tVBN\t_\t_\t_\t_\t_

# sent_id = a-2
1\t#\t#\tSYM\t$\t_\t_\t_\t_\t_

"""


def test_universal_dependencies_without_multiword_tokens_and_empty_nodes(contents):
    contents.update(train=EWT.encode(), dev=EWT.encode(), test=EWT.replace("= a\n", "= blog-7\n").encode())
    bunch = load_ud_ewt("all")
    assert bunch.data[:2] == [[("It",), ("'s",)], [("#",)]] and bunch.target[:2] == [["PRP", "VBZ"], ["$"]]
    assert bunch.genres == ["a"] * 4 + ["blog"] * 2
    assert bunch.documents == ["a"] * 4 + ["blog-7"] * 2 and bunch.groups.tolist() == [
        "train",
        "train",
        "dev",
        "dev",
        "test",
        "test",
    ]
    assert load_ud_ewt("test", tags="upos").target == [["PRON", "AUX"], ["SYM"]]
    assert load_ud_ewt("fit").data == load_ud_ewt("train").data
    with pytest.raises(ValueError, match="tags must be 'xpos' or 'upos', got 'pos'"):
        load_ud_ewt(tags="pos")


def test_brown_is_split_by_files_and_has_base_tags(contents):
    files = [f"# file = ca{i:02} category = news\nIl{i}\tfw-at-tl\nwasn't\tbedz*\n\n" for i in range(1, 21)]
    contents["all"] = "".join(files).encode()
    assert load_brown("test").documents == ["ca10", "ca20"] and load_brown("dev").documents == [
        "ca09",
        "ca19",
    ]
    assert len(load_brown("train").data) == 16
    assert load_brown("test").target == [["at", "bedz*"]] * 2
    assert load_brown("test", base_tags=False).target_names == ["bedz*", "fw-at-tl"]


def test_masc_without_empty_words_and_sentences(contents):
    sentence = "# file = written/a.txt\n\t-\nso\tRB\n\n"
    contents["all"] = (sentence + "# file = written/a.txt\n\n" + sentence).encode()
    assert load_masc().data == [[("so",)], [("so",)]]


def test_test_files_of_the_treebank_sample(contents):
    contents["all"] = "".join(f"# file = wsj_0{i}\nw{i}\tNN\n\n" for i in range(140, 170)).encode()
    assert load_ptb_sample("test").documents == [f"wsj_0{i}" for i in range(160, 170)]
    assert load_ptb_sample("dev").documents == ["wsj_0158", "wsj_0159"]


def test_words_become_labelled_characters(contents):
    contents["train"] = "１９９８年/t  ，/w  Ａ股/n\n".encode() * 10
    contents["test"] = "1998年  ，  Ａ股  \r\n\r\n3.5  \r\n".encode()
    train, test = load_cws_pd199801(), load_cws_pd199801("test", encoding="BMES6")
    assert train.words[0] == test.words[0] == ["1998年", "，", "A股"] and test.words[1:] == [["3.5"]]
    assert train.target[0] == list("BMMMESBE") and test.target[1] == ["B", "B2", "E"]
    assert train.data[0][0] == ("1",) and len(load_cws_pd199801("dev").data) == 1
    assert load_cws_pd199801(normalize_widths=False).words[0][0] == "１９９８年"
    with pytest.raises(ValueError, match="unknown span encoding 'BIES'"):
        load_cws_pd199801(encoding="BIES")


def test_words_of_a_treebank(contents):
    contents["dev"] = "1\t同样\t_\tADV\tRB\t_\t3\ta\t_\t_\n2\t,\t_\tPUNCT\t,\t_\t3\ta\t_\t_\n\n".encode()
    bunch = load_cws_udc("dev")
    assert bunch.words == [["同样", ","]] and bunch.target == [["B", "E", "S"]]
    assert bunch.feature_names == ["character"]


# ------------------------------------------------------------------------------------------ archives


def test_brown_archive():
    files = {
        "brown/cats.txt": "ca01 news\ncb01 editorial\n",
        "brown/README": "BROWN",
        "brown/cb01": "\n\n\tNo/at 1/2/cd\n",
        "brown/ca01": "\n\tThe/at jury/nn\t./.\n\n\n",
    }
    text = tagged_format.from_brown_zip(zipped(files))
    assert text == (
        b"# file = ca01 category = news\nThe\tat\njury\tnn\n.\t.\n\n"
        b"# file = cb01 category = editorial\nNo\tat\n1/2\tcd\n\n"
    )


def test_masc_archive():
    files = {
        "masc_tagged/categories.txt": "x",
        "masc_tagged/written/b.txt": "a_DT _b_NN stray \n\n",
        "masc_tagged/spoken/a.txt": "Hi_UH \n",
    }
    text = tagged_format.from_masc_zip(zipped(files))
    assert text == b"# file = spoken/a.txt\nHi\tUH\n\n# file = written/b.txt\na\tDT\n_b\tNN\n\n"


def test_treebank_archive():
    tree = "\n( (S (NP-SBJ (NNP Mr.) ) (VP (-NONE- *-1) (VBZ is) ) (-LRB- -LRB-) ))\n( (S (NN x) ))"
    text = tagged_format.from_treebank_zip(
        zipped({"treebank/combined/wsj_0001.mrg": tree, "treebank/README": ""})
    )
    assert text == b"# file = wsj_0001\nMr.\tNNP\nis\tVBZ\n-LRB-\t-LRB-\n\n# file = wsj_0001\nx\tNN\n\n"


def test_archives_of_text(tmp_path):
    assert untar(tarred({"a/b.txt": b"text"}, "w:gz"), "a/b.txt") == b"text"
    with pytest.raises(LookupError):
        untar(tarred({"a/b.txt": b"text"}), "b.txt")
    assert unzip(zipped({"b.txt": b"text"}), "b.txt") == b"text"


# ------------------------------------------------------------------------------------------ signals


def recordings(rng, n_users=20, n_samples=400) -> dict[str, bytes]:
    """Files of some experiments, one a user; the first three quarters of the users are for training."""
    files, labels = {}, []
    for user in range(1, n_users + 1):
        for kind in ("acc", "gyro"):
            text = "\n".join(" ".join(map(str, row)) for row in rng.normal(size=(n_samples, 3)))
            files[f"HAPT/RawData/{kind}_exp{user:02}_user{user:02}.txt"] = text.encode()
        labels += [f"{user} {user} 1 50 150", f"{user} {user} 5 151 200", f"{user} {user} 6 300 400"]
    files["HAPT/RawData/labels.txt"] = "\n".join(labels).encode()
    files["HAPT/Train/subject_id_train.txt"] = "\n".join(
        str(1 + k % (n_users * 3 // 4)) for k in range(50)
    ).encode()
    files["HAPT/Train/y_train.txt"] = b"1\n2\n"
    return files


def test_archives_of_signals_have_one_content(rng):
    files = recordings(rng, n_users=4)
    content = hapt_format.from_tar(tarred(files))
    assert hapt_format.from_tar(lzma.decompress(tarred(files))) == content
    assert hapt_format.from_zip(zipped(files)) == content
    assert hapt_format.from_zip(zipped({"HAPT Data Set.zip": zipped(files), "more.txt": "x"})) == content
    parsed = hapt_format.parse(content)
    assert parsed.experiments == parsed.users == [1, 2, 3, 4] and parsed.train_users == [1, 2, 3]
    assert parsed.labels[:2] == [(1, 1, 49, 150), (1, 5, 150, 200)]
    gyro = np.loadtxt(io.BytesIO(files["HAPT/RawData/gyro_exp03_user03.txt"]))
    np.testing.assert_allclose(parsed.signals[2][:, 3:], gyro, rtol=1e-6)
    del files["HAPT/RawData/gyro_exp02_user02.txt"]
    with pytest.raises(ValueError, match=r"no file RawData/gyro_exp02_user02\.txt"):
        hapt_format.from_zip(zipped(files))


def test_windows_of_activities(rng, contents):
    contents["signals"] = hapt_format.from_tar(tarred(recordings(rng)))
    train = load_hapt()
    # centres are samples 64, 128, 192, 256, 320; the fourth is in no segment and cuts the sequence
    assert train.target[:2] == [["WALKING", "WALKING", "STANDING"], ["LAYING"]]
    assert [x.shape for x in train.data[:2]] == [(3, len(FEATURE_NAMES)), (1, len(FEATURE_NAMES))]
    assert train.users == [u for u in range(1, 16) for _ in range(2)] == train.experiments
    table = np.concatenate(train.data)
    np.testing.assert_allclose(table.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(table.std(axis=0), 1, atol=1e-9)
    assert set(load_hapt("dev").users) == {14, 15} and set(load_hapt("test").users) == set(range(16, 21))
    raw = load_hapt("all", standardize=False)
    signals = hapt_format.parse(contents["signals"]).signals
    np.testing.assert_allclose(raw.data[0], window_features(signals[0], np.array([0, 64, 128])))


def feature(recording, name):
    table = window_features(recording, window_starts(len(recording)))
    return table[:, FEATURE_NAMES.index(name)]


def test_features_are_named_once():
    assert len(set(FEATURE_NAMES)) == len(FEATURE_NAMES)
    assert window_starts(WIDTH).tolist() == [0] and window_starts(WIDTH - 1).size == 0


def test_features_of_a_swing():
    """Gravity along z and a body movement of 2 Hz along x; the phone turns about y with the same frequency."""
    t = np.arange(2000) / RATE
    recording = np.zeros((2000, 6))
    recording[:, 0] = 0.5 * np.sin(2 * np.pi * 2 * t)
    recording[:, 2] = 1.0
    recording[:, 4] = 0.5 * np.cos(2 * np.pi * 2 * t)
    inner = slice(3, -3)  # filters need some time
    np.testing.assert_allclose(feature(recording, "gravity_cos_z")[inner], 1, atol=1e-3)
    np.testing.assert_allclose(feature(recording, "gravity_norm_mean")[inner], 1, atol=1e-3)
    np.testing.assert_allclose(feature(recording, "body_x_std")[inner], 0.5 / np.sqrt(2), rtol=0.02)
    np.testing.assert_allclose(feature(recording, "body_x_peak")[inner], 2, atol=RATE / WIDTH / 2)
    np.testing.assert_allclose(feature(recording, "body_x_max")[inner], 0.5, rtol=0.02)
    np.testing.assert_allclose(feature(recording, "gyro_y_peak")[inner], 2, atol=RATE / WIDTH / 2)
    energy = feature(recording, "body_jerk_x_log_energy")[inner]
    np.testing.assert_allclose(energy, np.log((2 * np.pi * 2 * 0.5) ** 2 / 2), atol=0.05)
    np.testing.assert_allclose(feature(recording, "body_x_mad")[inner], 0.5 / np.sqrt(2), rtol=0.05)


def test_features_tell_turning_from_lying():
    """Gravity goes from z to x within a few seconds: its change shows when."""
    angle = np.clip((np.arange(1500) - 600) / 300, 0, 1) * np.pi / 2
    recording = np.zeros((1500, 6))
    recording[:, 0], recording[:, 2] = np.sin(angle), np.cos(angle)
    change = feature(recording, "gravity_x_change")
    during = (window_starts(1500) > 550) & (window_starts(1500) < 800)
    assert change[during].min() > 0.15 and np.abs(change[:6]).max() < 0.05
    cosine = feature(recording, "gravity_cos_x")
    assert cosine[0] < 0.1 and cosine[-1] > 0.95


def test_correlations_of_axes(rng):
    noise = np.repeat(rng.normal(size=300), 10)
    recording = np.column_stack([noise, -noise, rng.normal(size=3000), np.zeros((3000, 3))])
    assert feature(recording, "body_corr_xy").max() < -0.99
    assert np.abs(feature(recording, "body_corr_xz")).mean() < 0.3
    assert np.isfinite(window_features(np.zeros((300, 6)), window_starts(300))).all()


# ------------------------------------------------------------------------------------------ real data

everything = cache(lambda load: load("all"))


@pytest.mark.data
@pytest.mark.parametrize(
    ("load", "sentences", "tokens", "n_labels"),
    [
        (load_jnlpba, {"train": 18546, "test": 3856}, {"train": 492551, "test": 101039}, 11),
        (
            load_wnut17,
            {"train": 3394, "dev": 1009, "test": 1287},
            {"train": 62730, "dev": 15733, "test": 23394},
            13,
        ),
        (
            load_ud_ewt,
            {"train": 12544, "dev": 2001, "test": 2077},
            {"train": 204577, "dev": 25147, "test": 25094},
            49,
        ),
        (
            load_brown,
            {"train": 46175, "dev": 5523, "test": 5642},
            {"train": 929728, "dev": 115661, "test": 115803},
            104,
        ),
        (
            load_masc,
            {"train": 30318, "dev": 2785, "test": 1427},
            {"train": 510446, "dev": 53607, "test": 28394},
            59,
        ),
        (load_ptb_sample, {"train": 3396, "test": 518}, {"train": 81793, "test": 12291}, 45),
        (load_cws_pd199801, {"train": 19484, "test": 1944}, {"train": 1841657, "test": 172733}, 4),
        (
            load_cws_udc,
            {"train": 3997, "dev": 500, "test": 500},
            {"train": 156360, "dev": 20014, "test": 19212},
            4,
        ),
    ],
)
def test_counts_of_real_sets(load, sentences, tokens, n_labels):
    bunch = everything(load)
    assert Counter(bunch.groups.tolist()) == sentences
    found = Counter()
    for group, data, target in zip(bunch.groups.tolist(), bunch.data, bunch.target):
        assert len(data) == len(target) > 0
        found[group] += len(target)
    assert found == tokens
    assert len(bunch.target_names) == n_labels
    assert {len(token) for token in bunch.data[0]} == {len(bunch.feature_names)}
    assert all(cell for sentence in bunch.data[:2000] for token in sentence for cell in token)


@pytest.mark.data
def test_wnut17_entities():
    bunch = everything(load_wnut17)
    check_spans(bunch.target, "IOB2")
    begun = [group for group, y in zip(bunch.groups, bunch.target) for label in y if label[0] == "B"]
    assert Counter(begun) == {"train": 1975, "dev": 836, "test": 1079}


@pytest.mark.data
def test_jnlpba_entities():
    bunch = everything(load_jnlpba)
    check_spans(bunch.target, "IOB2")
    begun = Counter(
        (group, label[2:])
        for group, labels in zip(bunch.groups.tolist(), bunch.target)
        for label in labels
        if label[0] == "B"
    )
    assert begun["train", "protein"] == 30269 and begun["test", "RNA"] == 118
    assert sum(n for (group, _), n in begun.items() if group == "train") == 51301
    assert sum(n for (group, _), n in begun.items() if group == "test") == 8662
    fit, dev = load_jnlpba("fit"), load_jnlpba("dev")
    assert fit.data + dev.data == bunch.data[:18546] and len(set(dev.documents)) == 200
    assert set(fit.documents).isdisjoint(dev.documents)


@pytest.mark.data
def test_words_of_the_peoples_daily():
    bunch = everything(load_cws_pd199801)
    n_words = {group: 0 for group in ("train", "test")}
    for group, words in zip(bunch.groups.tolist(), bunch.words):
        n_words[group] += len(words)
    assert n_words == {"train": 1121447, "test": 104372}
    last = slice(-100, None)
    characters = ["".join(c for (c,) in line) for line in bunch.data[last]]
    assert join_words(characters, bunch.target[last]) == bunch.words[last]
    known = {word for group, words in zip(bunch.groups, bunch.words) if group == "train" for word in words}
    unknown = sum(word not in known for words in bunch.words[19484:] for word in words)
    assert 0.03 < unknown / 104372 < 0.06  # 0.0575 of the words as they are written
    assert detect_encoding(bunch.target[last]) == "BMES"


@pytest.mark.data
def test_hapt_has_the_published_split():
    bunch = load_hapt("all")
    users = {
        group: {u for u, g in zip(bunch.users, bunch.groups) if g == group} for group in ("train", "test")
    }
    assert users["test"] == {2, 4, 9, 10, 12, 13, 18, 20, 24} and len(users["train"]) == 21
    assert len(set(bunch.experiments)) == 61 and len(bunch.target_names) == 12
    n_windows = sum(map(len, bunch.target))
    assert abs(n_windows - 815614 / 64) < 61, "as many windows as labelled samples, by the step"
    table = np.concatenate(bunch.data)
    assert table.shape == (n_windows, len(bunch.feature_names)) and np.isfinite(table).all()
