"""Measurements of label images: against definitions, and as identities."""

from __future__ import annotations

import io

import numpy as np
import pytest

from palmette.apps.tracking import measured
from palmette.datasets import store
from palmette.datasets.fluo_format import read_csv


def by_definition(labels, own, image):
    at = np.argwhere(labels == own)
    pixels = image[labels == own].astype(float)
    return {
        "area": len(at),
        "extent": len(at) / np.prod(np.ptp(at, axis=0) + 1),
        "intensity": pixels.mean() - np.median(image[labels == 0]),
        "int_std": pixels.std(),
        "int_max": pixels.max(),
    }, at


@pytest.mark.parametrize("shape", [(30, 40), (6, 15, 20)])
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint16])
def test_each_object_by_definition(rng, shape, dtype):
    labels = rng.integers(0, 9, shape).astype(dtype) * rng.integers(0, 2, shape).astype(dtype)
    labels[labels == 4] = 0
    image = rng.normal(100, 20, shape)
    cells = measured(labels, image, frame=7)
    assert cells.ids.tolist() == [1, 2, 3, 5, 6, 7, 8] and cells.frame == 7 and cells.shape == shape
    for k, own in enumerate(cells.ids):
        expected, at = by_definition(labels, own, image)
        for name, value in expected.items():
            assert cells.features[name][k] == pytest.approx(value), name
        np.testing.assert_allclose(cells.position[k], at.mean(axis=0))
        np.testing.assert_array_equal(cells.boxes[k], [*at.min(axis=0), *(at.max(axis=0) + 1)])
        variances = np.linalg.eigvalsh(np.cov(at.T, bias=True))
        axes = 2 * np.sqrt((len(shape) + 2) * variances)
        assert cells.features["major"][k] == pytest.approx(axes[-1])
        assert cells.features["minor"][k] == pytest.approx(axes[0])
        assert cells.features["ecc"][k] == pytest.approx(np.sqrt(1 - (axes[0] / axes[-1]) ** 2))
    assert ("orient" in cells.features) == (len(shape) == 2)


def test_axes_of_an_ellipse():
    y, x = np.indices((200, 200)) - 100.0
    angle = 0.4  # from the axis y
    along, across = y * np.cos(angle) + x * np.sin(angle), x * np.cos(angle) - y * np.sin(angle)
    found = measured(((along / 60) ** 2 + (across / 25) ** 2 <= 1).astype(int)).features
    assert found["major"][0] == pytest.approx(120, rel=2e-3)
    assert found["minor"][0] == pytest.approx(50, rel=2e-3)
    assert found["orient"][0] == pytest.approx(angle, abs=2e-3)
    assert found["area"][0] == pytest.approx(np.pi * 60 * 25, rel=2e-3)


def test_an_ellipsoid_has_its_axes():
    z, y, x = np.indices((41, 61, 81)) - np.array([20, 30, 40])[:, None, None, None]
    found = measured(((z / 15) ** 2 + (y / 20) ** 2 + (x / 35) ** 2 <= 1).astype(int)).features
    assert found["major"][0] == pytest.approx(70, rel=1e-2) and found["minor"][0] == pytest.approx(
        30, rel=1e-2
    )


def test_spacing_scales_lengths(rng):
    labels = rng.integers(0, 4, (12, 15))
    plain, scaled = measured(labels), measured(labels, spacing=0.5)
    np.testing.assert_allclose(scaled.position, plain.position / 2)
    np.testing.assert_allclose(scaled.boxes, plain.boxes / 2)
    assert scaled.shape == (6.0, 7.5)
    for name, power in {"area": 2, "major": 1, "minor": 1, "ecc": 0, "orient": 0, "extent": 0}.items():
        np.testing.assert_allclose(scaled.features[name], plain.features[name] / 2**power, err_msg=name)
    stretched = measured(np.eye(9, dtype=int), spacing=[1.0, np.sqrt(3)])
    assert stretched.features["orient"][0] == pytest.approx(np.pi / 3)


def test_labels_may_be_huge_and_few():
    labels = np.zeros((4, 4), np.int64)
    labels[0, 0], labels[2, 1:3] = 10**12, 3
    cells = measured(labels)
    assert cells.ids.tolist() == [3, 10**12] and cells.features["area"].tolist() == [2, 1]


@pytest.mark.parametrize("shape", [(5, 6), (3, 5, 6)])
def test_a_frame_without_objects(shape):
    cells = measured(np.zeros(shape, np.uint16), np.ones(shape), frame=2)
    assert len(cells) == 0 and cells.position.shape == (0, len(shape))
    assert cells.boxes.shape == (0, 2 * len(shape)) and len(cells.features["intensity"]) == 0


def test_a_mask_without_background():
    assert measured(np.ones((3, 3), int), np.full((3, 3), 7.0)).features["intensity"].tolist() == [7.0]


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (np.zeros(4, int), {}, r"frame 3: the label image has shape \(4,\)"),
        (np.zeros((4, 4)), {}, r"frame 3: .* type float64, expected whole numbers"),
        (np.zeros((4, 4), bool), {}, r"frame 3: .* type bool"),
        (np.diag([0, -2]), {}, r"frame 3: the label image is -2 at pixel \(1, 1\)"),
        (np.eye(2, dtype=int), {"image": np.eye(3)}, r"frame 3: the image has shape \(3, 3\), its labels \(2, 2\)"),
        (np.eye(2, dtype=int), {"image": np.diag([1, np.nan])}, r"frame 3: the image is nan at pixel \(1, 1\)"),
        (np.eye(2, dtype=int), {"spacing": (1, 2, 3)}, "one positive number or 2, one for each axis"),
        (np.eye(2, dtype=int), {"spacing": 0}, "one positive number"),
    ],
)  # fmt: skip
def test_bad_input_is_named(labels, options, message):
    with pytest.raises(ValueError, match=message):
        measured(labels, frame=3, **options)


@pytest.mark.data
def test_the_published_table_of_simulated_nuclei():
    contents = store.read("fluo-n2dh-sim", ["detections", "markers"])
    rows = read_csv(contents["detections"])
    with np.load(io.BytesIO(contents["markers"])) as stacks:
        own = {frame: measured(stacks["01"][frame], frame=frame) for frame in (0, 30, 64)}
    n = 0
    for k in range(len(rows["seq"])):
        frame = int(rows["frame"][k])
        if rows["seq"][k] != "01" or frame not in own:
            continue
        place = own[frame].place[int(rows["label"][k])]
        for name, tolerance in {"area": 0, "major": 1e-3, "minor": 1e-3, "ecc": 1e-3, "extent": 1e-3}.items():
            assert own[frame].features[name][place] == pytest.approx(float(rows[name][k]), abs=tolerance)
        n += 1
    assert n == sum(map(len, own.values()))
