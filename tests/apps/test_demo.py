"""The demo: honest data, one seed, a table and a figure."""

from __future__ import annotations

import datetime
import json

import numpy as np
import pytest
from sklearn.datasets import load_digits

from palmette.apps.dates import data, demo, make_dates, run_demo
from palmette.apps.dates.models import Reading, read_dates, readers

READERS = ["kernel SVM", "logistic", "chain CRF", "chain SSVM"]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A small run of the demo; its lines of progress are in ``lines``."""
    lines = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "SIZES", {"train": 30, "dev": 15, "test": 30})
        found = run_demo(tmp_path_factory.mktemp("demo") / "new" / "folder", seed=3, log=lines.append)
    return found, lines


# ---------------------------------------------------------------------------------------------- data


def test_dates_are_days_of_the_calendar():
    (dates,) = make_dates((200,), shares=(1.0,), seed=0)
    for digits in dates.digits:
        day = datetime.datetime.strptime("".join(map(str, digits)), "%Y%m%d").date()
        assert data.FIRST <= day <= data.LAST


def test_same_seed_same_dates():
    first, again, other = (make_dates((5, 5), shares=(0.5, 0.5), seed=seed) for seed in (7, 7, 8))
    for a, b in zip(first, again):
        np.testing.assert_array_equal(a.images, b.images)
        np.testing.assert_array_equal(a.digits, b.digits)
    assert not np.array_equal(first[0].digits, other[0].digits)


def test_parts_share_no_image(monkeypatch):
    monkeypatch.setattr(data, "_damaged", lambda clean, rng: clean)
    source = {image.tobytes(): label for image, label in zip(load_digits().images / 16, load_digits().target)}
    parts = make_dates((150, 80, 80), shares=demo.SHARES, seed=0)
    used = []
    for part in parts:
        images = part.images.reshape(-1, data.SIDE, data.SIDE)
        assert [source[image.tobytes()] for image in images] == part.digits.ravel().tolist()
        used.append({image.tobytes() for image in images})
    assert not (used[0] & used[1] or used[0] & used[2] or used[1] & used[2])


def test_damage_stays_in_range():
    (dates,) = make_dates((50,), shares=(1.0,), seed=0)
    assert dates.images.min() >= 0 and dates.images.max() <= 1


# --------------------------------------------------------------------------------------------- readers


def test_readers_get_equal_information():
    (train,) = make_dates((40,), shares=(1.0,), seed=0)
    found = readers(train, seed=0)
    assert [reader.name for reader in found] == READERS
    assert len({len(reader.penalties) for reader in found}) == 1, "the same effort for all"
    single, crf, ssvm = (reader.inputs(train) for reader in found[1:])
    assert np.array_equal(single, crf) and np.array_equal(crf, ssvm)
    places = [reader.inputs(train)[:, :, -8:] for reader in found]
    assert all(np.array_equal(place[0], np.eye(8)) for place in places)


def test_the_penalty_is_chosen_without_the_test_dates():
    train, dev, test = make_dates((30, 10, 10), shares=demo.SHARES, seed=0)
    reader = readers(train, seed=0)[1]
    plain = read_dates(reader, train, dev, test, log=lambda line: None)
    shuffled = data.Dates(test.images, test.digits[::-1])
    other = read_dates(reader, train, dev, shuffled, log=lambda line: None)
    assert plain.model.l2 == other.model.l2
    np.testing.assert_array_equal(plain.model.coef_, other.model.coef_)


def test_errors():
    wrong = np.zeros((4, 8), bool)
    wrong[1, :2] = True
    reading = Reading(readers(make_dates((40,), shares=(1.0,))[0], seed=0)[0], None, wrong, wrong, 0.0)
    assert (reading.digit_error, reading.date_error) == (2 / 32, 1 / 4)
    assert reading.to_dict()["relative_gap"] is None


# -------------------------------------------------------------------------------------------- the demo


def test_report(report):
    found, lines = report
    record = json.loads(json.dumps(found.to_dict()))
    assert list(record["models"]) == READERS
    assert record["sizes"] == {"train": 30, "dev": 15, "test": 30} and record["seed"] == 3
    assert record["models"]["chain SSVM"]["relative_gap"] >= 0
    assert record["models"]["kernel SVM"]["objective"] is None
    text = found.format()
    assert all(
        name in text for name in [*READERS, "digits wrong", "dates wrong", "relative gap", "dates.png"]
    )
    assert sum("penalties tried" in line for line in lines) == len(READERS)


def test_figure(report):
    found, _ = report
    assert found.figure.name == "dates.png"
    assert found.figure.read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_the_table_is_there(tmp_path, monkeypatch, report):
    found, _ = report
    monkeypatch.setattr(demo, "has_matplotlib", lambda: False)
    monkeypatch.setattr(demo, "read_with_all", lambda parts, seed, log: list(found.readings))
    without = run_demo(tmp_path, log=lambda line: None)
    assert without.figure is None and without.to_dict()["figure"] is None
    assert "chain CRF" in without.format() and "pip install 'palmette[plot]'" in without.format()


def test_the_folder_is_a_file(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(NotADirectoryError, match="it is a file; name a folder"):
        run_demo(tmp_path / "taken")
