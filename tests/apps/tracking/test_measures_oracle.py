"""Measures of lineages against traccuracy and py-ctcmetrics, which live in an environment of their own.

``PALMETTE_TRACCURACY`` is the path of a Python that has both: their requirements are none of palmette's.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

from palmette.apps.tracking.matching import same_detections
from palmette.apps.tracking.measures import evaluate_lineage
from palmette.datasets import make_cells
from palmette.structures.tracking.lineage import Lineage

PYTHON = os.environ.get("PALMETTE_TRACCURACY", "")
SCRIPT = Path(__file__).parents[2] / "helpers" / "traccuracy_oracle.py"
TOLERANCE = 2

pytestmark = pytest.mark.skipif(
    not PYTHON, reason="set PALMETTE_TRACCURACY to a Python with traccuracy and py-ctcmetrics"
)


def graph(lineage):
    tracks = lineage.tracks()
    label = np.zeros(len(lineage), int)
    for track in tracks:
        label[list(track.nodes)] = track.label
    return {
        "frame": lineage.frame.tolist(),
        "label": label.tolist(),
        "edges": lineage.edges.tolist(),
        "tracks": [[t.label, t.begin, t.end, t.parent] for t in tracks],
    }


def ask(cases):
    """The answers of the other libraries to (true, predicted, matching); track files hold no merges and no gaps."""
    asked = []
    for true, predicted, matching in cases:
        simple = all(
            g.n_parents.max(initial=0) <= 1 and (np.diff(g.frame[g.edges], axis=1) == 1).all()
            for g in (true, predicted)
        )
        asked.append(
            {
                "true": graph(true),
                "predicted": graph(predicted),
                "matching": np.asarray(matching).tolist(),
                "tolerance": TOLERANCE,
                "has_tracks": bool(simple),
            }
        )
    done = subprocess.run([PYTHON, str(SCRIPT)], input=json.dumps(asked), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def agree(case, answer, divisions=True):
    """Compare all that the libraries define alike; returns what was compared."""
    true, predicted, matching = case
    ours = [evaluate_lineage(true, predicted, matching, tolerance=k) for k in range(TOLERANCE + 1)]
    errors, compared = ours[0].errors, []
    if "ctcmetrics" in answer:
        theirs = answer["ctcmetrics"]
        for name in ("NS", "FN", "FP", "ED", "EA", "EC"):
            assert getattr(errors, name.lower()) == theirs[name], name
        for name in ("AOGM", "TRA", "DET", "LNK"):
            assert getattr(errors, name.lower()) == pytest.approx(theirs[name], abs=1e-12)
        assert ours[0].tracks.f1 == pytest.approx(theirs["CT"])
        if divisions:
            for report, (tp, fp, fn) in zip(ours, theirs["divisions"]):
                d = report.divisions
                assert (d.correct, d.predicted - d.correct, d.true - d.correct) == (tp, fp, fn)
        compared.append("ctcmetrics")
    theirs = answer["traccuracy"]
    times = np.bincount(np.asarray(matching)[:, 1])
    several = int((times > 1).sum())  # traccuracy counts one split for three cells in one, the challenge two
    assert (several, errors.fn, errors.fp) == tuple(theirs[f"{n}_nodes"] for n in ("ns", "fn", "fp"))
    assert (errors.ed, errors.ea, errors.ec) == tuple(theirs[f"{n}_edges"] for n in ("fp", "fn", "ws"))
    if several == errors.ns:
        for name in ("AOGM", "TRA", "DET", "LNK"):
            assert getattr(errors, name.lower()) == pytest.approx(theirs[name], abs=1e-12)
        compared.append("traccuracy")
    if "divisions" in theirs:
        links = ours[0].links
        assert links.correct == theirs["True Positive Edges"]
        assert links.predicted - links.correct == theirs["False Positive Edges"]
        assert links.f1 == pytest.approx(theirs["Edge F1"])
        if divisions:
            for k, report in enumerate(ours):
                want = theirs["divisions"][f"Frame Buffer {k}"]
                d = report.divisions
                assert (d.true, d.predicted) == (
                    want["Total GT Divisions"],
                    want["Total Predicted Divisions"],
                )
                assert d.correct == want["True Positive Divisions"]
                if d.correct:
                    assert d.f1 == pytest.approx(want["Division F1"])
            compared.append("divisions")
    return compared


def nearest(position, frame, reach):
    """Every detection is linked to the nearest one of the frame before, which has at most two children."""
    edges, order = [], np.argsort(frame, kind="stable")
    groups = {int(t): order[frame[order] == t] for t in np.unique(frame)}
    for t, rows in groups.items():
        before = groups.get(t - 1)
        if before is None:
            continue
        distance, at = cKDTree(position[before]).query(position[rows])
        used = dict.fromkeys(before.tolist(), 0)
        for k in np.argsort(distance):
            parent = int(before[at[k]])
            if distance[k] < reach and used[parent] < 2:
                used[parent] += 1
                edges.append((parent, int(rows[k])))
    return np.array(edges).reshape(-1, 2)


def spoilt(lineage, rng, *, drop_nodes=0.02, drop_links=0.03, swap=0.02):
    """Without some detections and links, and with some links led to another child; and its matching."""
    keep = np.flatnonzero(rng.random(len(lineage)) >= drop_nodes)
    new = np.full(len(lineage), -1)
    new[keep] = np.arange(len(keep))
    edges = new[lineage.edges]
    edges = edges[(edges >= 0).all(axis=1)]
    edges = edges[rng.random(len(edges)) >= drop_links]
    for k in np.flatnonzero(rng.random(len(edges)) < swap):
        same = np.flatnonzero(lineage.frame[keep][edges[:, 1]] == lineage.frame[keep][edges[k, 1]])
        other = rng.choice(same)
        edges[[k, other], 1] = edges[[other, k], 1]
    edges = np.unique(edges, axis=0)
    return Lineage(lineage.frame[keep], lineage.id[keep], edges), np.stack(
        [keep, np.arange(len(keep))], axis=1
    )


# ------------------------------------------------------------------------------------------ simulated movies


def test_simulated_movies_with_mistakes():
    cases = []
    for seed in range(6):
        movie = make_cells(30, 30, cycle=15, random_state=seed)
        cases.append((movie.cells, *spoilt(movie.cells, np.random.default_rng(seed))))
        frame = movie.lineage.frame
        place = np.concatenate([f.position for f in movie.frames])
        predicted = Lineage(frame, movie.lineage.id, nearest(place, frame, 30.0))
        cases.append((movie.cells, predicted, movie.matching))
    compared = [agree(case, answer) for case, answer in zip(cases, ask(cases))]
    assert all(names == ["ctcmetrics", "traccuracy", "divisions"] for names in compared)
    assert all(evaluate_lineage(*case).divisions.true > 20 for case in cases)


def test_simulated_movies_with_errors_of_the_segmentation():
    cases = []
    for seed in range(4):
        movie = make_cells(
            30, 30, cycle=15, p_miss=0.03, p_false=0.03, p_split=0.03, p_merge=0.3, random_state=seed
        )
        cases.append((movie.cells, movie.lineage, movie.matching))  # merges: no track file holds them
        place = np.concatenate([f.position for f in movie.frames])
        predicted = Lineage(movie.lineage.frame, movie.lineage.id, nearest(place, movie.lineage.frame, 30.0))
        cases.append((movie.cells, predicted, movie.matching))
    compared = [agree(case, answer, divisions=False) for case, answer in zip(cases, ask(cases))]
    assert compared == [["traccuracy"], ["ctcmetrics", "traccuracy"]] * 4
    assert all(evaluate_lineage(*case).errors.ns > 0 for case in cases)


def dividing_at(frame, last=9):
    """A cell of id 1 that divides into 2 and 3, which are there from `frame` on."""
    nodes = [(t, 1) for t in range(frame)] + [(t, i) for t in range(frame, last) for i in (2, 3)]
    links = [((t, 1), (t + 1, 1)) for t in range(frame - 1)] + [((frame - 1, 1), (frame, i)) for i in (2, 3)]
    links += [((t, i), (t + 1, i)) for t in range(frame, last - 1) for i in (2, 3)]
    return Lineage.from_links(nodes, links)


def test_divisions_in_a_wrong_frame():
    """The prediction finds both daughters some frames before they are there, or one cell so many frames longer."""
    shifts, cases = (1, 2, 3), []
    for shift in shifts:
        late, early = dividing_at(4), dividing_at(4 - shift)
        cases.append((late, early, same_detections(late, early)))
        cases.append((early, late, same_detections(early, late)))
    for k, (case, answer) in enumerate(zip(cases, ask(cases))):
        assert "divisions" in agree(case, answer)
        found = [evaluate_lineage(*case, tolerance=k).divisions.correct for k in range(TOLERANCE + 1)]
        assert found == [int(tolerance >= shifts[k // 2]) for tolerance in range(TOLERANCE + 1)]


# -------------------------------------------------------------------------------------------------- HeLa 01


def rows_of(name):
    folder = Path(os.environ.get("PALMETTE_DATA", "")) / "fluo-n2dl-hela"
    if not folder.is_dir():  # no mark "data": where data is required, the other libraries need not be there
        pytest.skip("needs the folder fluo-n2dl-hela in PALMETTE_DATA")
    with gzip.open(folder / name, "rt") as file:
        return [row for row in csv.DictReader(file) if row.get("seq", "01") == "01"]


@pytest.fixture(scope="module")
def hela():
    """The lineage of movie 01, with positions and labels of its tracks."""
    rows = rows_of("detections.csv.gz")
    place = {row["det_id"]: k for k, row in enumerate(rows)}
    edges = [(place[r["det_from"]], place[r["det_to"]]) for r in rows_of("links.csv.gz")]
    lineage = Lineage([int(r["frame"]) for r in rows], [int(r["label"]) for r in rows], edges)
    return lineage, np.array([[float(r["y"]), float(r["x"])] for r in rows])


def test_hela_with_mistakes(hela):
    lineage, place = hela
    assert (len(lineage), len(lineage.edges)) == (8639, 8562)
    cases = [(lineage, *spoilt(lineage, np.random.default_rng(0)))]
    predicted = Lineage(lineage.frame, lineage.id, nearest(place, lineage.frame, 40.0))
    cases.append((lineage, predicted, np.stack([np.arange(len(lineage))] * 2, axis=1)))
    compared = [agree(case, answer) for case, answer in zip(cases, ask(cases))]
    assert compared == [["ctcmetrics", "traccuracy", "divisions"]] * 2


def test_hela_with_a_real_segmentation(hela):
    lineage, _ = hela
    rows = rows_of("detections_auto.csv.gz")
    frame = np.array([int(r["frame"]) for r in rows])
    place = np.array([[float(r["y"]), float(r["x"])] for r in rows])
    predicted = Lineage(frame, np.arange(len(rows)), nearest(place, frame, 40.0))
    number = {key: k for k, key in enumerate(zip(lineage.frame.tolist(), lineage.id.tolist()))}
    pairs = [
        (number[int(r["frame"]), int(label)], k)
        for k, r in enumerate(rows)
        for label in r["gt_labels"].replace(";", " ").split()
    ]
    case = (lineage, predicted, np.array(pairs))
    (answer,) = ask([case])
    assert "ctcmetrics" in agree(case, answer, divisions=False)
    assert evaluate_lineage(*case).errors.ns > 200
