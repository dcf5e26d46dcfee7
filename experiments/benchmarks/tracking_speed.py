"""Tracking cells: seconds for a movie, palmette against laptrack; learning; a long movie in little memory.

`track` is HeLa 02 whole: 92 frames of true detections (25,420), frame by frame, by `Tracker.track`. palmette proposes
candidate events between frames, measures and scores them, and solves each pair exactly with a model learnt on HeLa 01;
laptrack links positions, then closes divisions over the movie, with the cutoffs that the benchmark `tracking` chose on
HeLa 01. `learn` is `SSVM(Tracking(...))` on 90 pairs of HeLa 01 to a relative gap of 1e-2. `long movie` is palmette's
alone: 1,441 simulated frames of about 500 cells, which come one by one; the simulation is not timed. Everything in one
thread, integer programs by SciPy's HiGHS; kernels are compiled before. The extra `[track]` (tifffile, geff) reads and
writes files and has no part in this: figures with it and without it are the same.
"""

from experiments.harness import Benchmark, Side, Target, now, palmette_side

CELLS, FRAMES = 500, 1441
LINK, SPLIT = 27.0, 27.0  # pixels: what the benchmark `tracking` chose on HeLa 01 at step 1


def movie(run):
    from palmette.datasets import load_fluo

    found = load_fluo("hela", "02")
    run.sizes["frames"], run.sizes["detections"] = len(found.frames), sum(map(len, found.frames))
    return found


def agreement(run, found, links):
    """Share of links that are right, and of true links that are found."""
    true = {(found.lineage.id[a], found.lineage.id[b]) for a, b in found.lineage.edges.tolist()}
    run.figures["F1 of links"] = 2.0 * len(true & links) / (len(true) + len(links))


def keys(frame, before, after):
    """Links from a frame to the next as numbers: sets of tuples would take more memory than tracking does."""
    return (frame.astype("int64") << 40) + (before << 20) + after


def stream():
    from palmette.datasets import stream_cells

    return stream_cells(CELLS, FRAMES, max_cells=CELLS, random_state=0)


def timed(frames, aside, true):
    """The frames, with the time that making them takes put aside, and their true links noted."""
    start = now()
    for frame in frames:
        true.append(keys(*frame.links.T))
        spent = now() - start
        aside[0] += spent.wall
        aside[1] += spent.cpu
        yield frame
        start = now()


def palmette(run):
    import numpy as np

    from experiments.harness.cells import pairs, tracking
    from experiments.harness.measure import peak_memory_mb
    from palmette import SSVM
    from palmette.apps.tracking import Tracker
    from palmette.apps.tracking.movies import shared_measurements
    from palmette.datasets import make_cells

    structure, known = tracking(1), pairs("hela", "01", 1)
    model = SSVM(structure, l2=10.0, solver="n_slack", tol=1e-2, n_jobs=1)
    with run.phase("compile"):
        model.fit(known.X[:3], known.Y[:3]).predict(known.X[:1])
        Tracker(model, shared_measurements([(known.X[0].frames, None)])).track(known.X[0].frames)
    with run.phase("learn"):
        model.fit(known.X[:90], known.Y[:90])
    run.figures["learn, CPU s"] = run.phases["learn"].cpu
    run.figures["learn, reason"] = model.result_.reason
    found = movie(run)
    tracker = Tracker(model, shared_measurements([(found.frames, found.lineage)]))
    with run.phase("track"):
        lineage = tracker.track(found.frames).lineage
    agreement(run, found, {(lineage.id[a], lineage.id[b]) for a, b in lineage.edges.tolist()})

    some = make_cells(100, 30, random_state=1)
    tracker = Tracker.train([(some.frames, some.lineage)], n_jobs=1)
    true, aside, start = [], [0.0, 0.0], now()
    lineage = tracker.track(frame.detections for frame in timed(stream(), aside, true)).lineage
    spent = now() - start
    run.add_phase("long movie", spent.wall - aside[0], spent.cpu - aside[1])
    own = keys(lineage.frame[lineage.edges[:, 0]], *lineage.id[lineage.edges].T)
    right, n_true = len(np.intersect1d(own, np.concatenate(true))), sum(map(len, true))
    run.figures["long movie, detections"] = len(lineage)
    run.figures["long movie, F1 of links"] = 2.0 * right / (n_true + len(own))
    run.figures["long movie, minutes"] = run.phases["long movie"].wall / 60.0
    run.figures["peak memory, MB"] = peak_memory_mb()


def laptrack(run):
    from laptrack import LapTrack

    found = movie(run)
    with run.phase("track"):
        tracker = LapTrack(cutoff=LINK**2, splitting_cutoff=SPLIT**2, gap_closing_cutoff=False)
        tree = tracker.predict([frame.position for frame in found.frames], split_merge_validation=False)
    ids = [frame.ids.tolist() for frame in found.frames]
    agreement(run, found, {(ids[t][a], ids[u][b]) for (t, a), (u, b) in tree.edges})


BENCHMARK = Benchmark(
    name="tracking_speed",
    doc=__doc__,
    main_phase="track",
    sides={
        "palmette": palmette_side(palmette),
        "laptrack": Side(laptrack, imports=("laptrack",), package="laptrack"),
    },
    targets=[
        Target("track cpu ratio", "<=", 0.5, peer="laptrack"),
        Target("learn, CPU s", "<=", 10.0),
        Target("long movie, minutes", "<=", 10.0),
        Target("peak memory, MB", "<=", 2048.0),
    ],
)
