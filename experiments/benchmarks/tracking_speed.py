"""Tracking cells: seconds for a movie, palmette against laptrack; learning; a long movie in little memory.

`track` is HeLa 02 whole: 92 frames of true detections (25,420), frame by frame. palmette proposes candidate events
between frames, measures and encodes them, and solves each pair exactly with a model learnt on HeLa 01; laptrack links
positions, then closes divisions over the movie, with the cutoffs that the benchmark `tracking` chose on HeLa 01.
`learn` is `SSVM(Tracking(...))` on 90 pairs of HeLa 01 to a relative gap of 1e-2. `long movie` is palmette's alone:
1,441 simulated frames of about 500 cells, which come one by one; links alone are kept, and the simulation is not timed.
Everything in one thread, integer programs by SciPy's HiGHS; kernels are compiled before.
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


def track(model, structure, early, late):
    """Links between two frames, as pairs of ids."""
    candidates = structure.candidates((early, late))
    events = candidates.events_of(model.predict([candidates])[0])
    return [(a, b) for event in events for a in event.before for b in event.after]


def palmette(run):
    from experiments.harness.cells import pairs, tracking
    from experiments.harness.measure import peak_memory_mb
    from palmette import SSVM, Tracking
    from palmette.datasets import make_cells, stream_cells
    from palmette.structures.tracking.truth import true_codes

    structure, known = tracking(1), pairs("hela", "01", 1)
    model = SSVM(structure, l2=10.0, solver="n_slack", tol=1e-2, n_jobs=1)
    with run.phase("compile"):
        model.fit(known.X[:3], known.Y[:3]).predict(known.X[:1])
    with run.phase("learn"):
        model.fit(known.X[:90], known.Y[:90])
    run.figures["learn, CPU s"] = run.phases["learn"].cpu
    run.figures["learn, reason"] = model.result_.reason
    found = movie(run)
    links = set()
    with run.phase("track"):
        for early, late in zip(found.frames, found.frames[1:]):
            links.update(track(model, structure, early, late))
    agreement(run, found, links)

    structure = Tracking()
    some = make_cells(100, 30, random_state=1)
    X = [structure.candidates(both) for both in zip(some.frames, some.frames[1:])]
    model = SSVM(structure, l2=10.0, solver="n_slack", n_jobs=1)
    model.fit(X, [true_codes(x, some.lineage)[0].tolist() for x in X])
    right, n_links, n_true, n_cells, early = 0, 0, 0, 0, None
    for frame in stream_cells(CELLS, FRAMES, max_cells=CELLS, random_state=0):
        late, start = frame.detections, now()
        n_cells += len(late)
        if early is not None:
            own = track(model, structure, early, late)
            run.add_phase("long movie", *(now() - start))
            true = {(a, b) for t, a, b in frame.links.tolist() if t == early.frame}
            right, n_links, n_true = right + len(true & set(own)), n_links + len(own), n_true + len(true)
        early = late
    run.figures["long movie, detections"] = n_cells
    run.figures["long movie, F1 of links"] = 2.0 * right / (n_links + n_true)
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
