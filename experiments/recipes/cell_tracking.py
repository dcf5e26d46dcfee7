"""Cell tracking: learnt events against nearest neighbours, and three ways to annotate less, on one model.

Movie 01 of Fluo-N2DL-HeLa teaches, movie 02 tests; frames are 8 apart, and a sample is a pair of them. The first table
has the plain comparison. Then pairs are cut into patches, and annotation is saved three times over, each way on top of
the ones before: a fifth of the patches drawn at random; the same number chosen by the model (active); of these only
half the events annotated (partial, the bridge loss); and the same with a simulated movie, whose truth costs nothing
(transfer). The chapter that this follows has them one by one.

The penalty is `l2 = 10` everywhere, that of `rho` ten times as much: nothing is tuned here. Event loss is
`|y sym. diff. y*| / (|y| + |y*|)`. The quick run takes every sixth pair.
"""

import time
import warnings

import numpy as np

from experiments.harness.cells import Pairs, block_interval, differences, event_loss, pairs, tracking
from palmette import SSVM, ActiveLearner, Transfer
from palmette.structures.tracking.patches import cut_into_patches

STEP, SHARE, KNOWN, L2 = 8, 0.2, 0.5, 10.0


def run(context):
    every = 6 if context.quick else 1
    train, test, source = (
        some(pairs(*which, STEP), every) for which in (("hela", "01"), ("hela", "02"), ("sim", "02"))
    )
    source = some(source, 3)
    losses, plain = {}, []

    def note(name, annotated, predicted, seconds):
        counts = differences(test, predicted)
        low, high = block_interval(counts, max(STEP // every, 1))
        losses[name] = event_loss(counts)
        context.log(f"{name}: event loss {losses[name]:.2f} %")
        return [
            name,
            f"{100 * annotated:.0f}",
            f"{losses[name]:.2f}",
            f"{low:.2f} to {high:.2f}",
            f"{seconds:.0f}",
        ]

    plain.append(note("nearest neighbour", 0.0, [nearest(x) for x in test.X], 0.0))
    model, seconds = timed(learner(), train.X, train.Y)
    plain.append(note("learnt from all events", 1.0, model.predict(test.X), seconds))
    header = ["", "events annotated, %", "event loss, %", "95 % interval", "CPU s"]
    context.add_table("Learnt tracking against nearest neighbours", header, plain)

    patches = [patch for x, y in zip(train.X, train.Y) for patch in cut_into_patches(x, y)]
    X, Y = [patch.candidates for patch in patches], [patch.codes.tolist() for patch in patches]
    n_events, rows = sum(map(sum, Y)), []

    def share_of(chosen, known=1.0):
        return known * sum(sum(Y[i]) for i in chosen) / n_events

    drawn = np.random.default_rng(0).permutation(len(X))[: round(SHARE * len(X))].tolist()
    model, seconds = timed(learner(), [X[i] for i in drawn], [Y[i] for i in drawn])
    rows.append(note("patches at random", share_of(drawn), model.predict(test.X), seconds))

    asked = ask(X, Y)
    model, seconds = timed(learner(), [X[i] for i in asked], [Y[i] for i in asked])
    rows.append(note("+ active", share_of(asked), model.predict(test.X), seconds))

    rng = np.random.default_rng(0)
    known = [X[i].annotated([event for event in X[i].events_of(Y[i]) if rng.random() < KNOWN]) for i in asked]
    model, seconds = timed(learner(loss="bridge"), [X[i] for i in asked], known)
    rows.append(note("+ partial", share_of(asked, KNOWN), model.predict(test.X), seconds))

    domains = ["SIM+"] * len(source.X) + ["HeLa"] * len(asked)
    joint = Transfer(learner(loss="bridge"), rho="10x")
    joint, seconds = timed(joint, source.X + [X[i] for i in asked], source.Y + known, domains=domains)
    name = "+ transfer"
    rows.append(note(name, share_of(asked, KNOWN), joint.model_of("HeLa").predict(test.X), seconds))
    context.add_table(f"Annotating less: {SHARE:.0%} of {len(X)} patches", header, rows)

    def draw(figure):
        panel = figure.subplots()
        panel.barh(list(losses), list(losses.values()))
        panel.invert_yaxis()
        panel.set_xlabel("event loss on HeLa 02, %")

    context.add_figure("What each way adds", draw, size=(7, 3.5))
    best = losses["learnt from all events"] / losses["nearest neighbour"]
    context.add_target("event loss, learnt from all events / nearest neighbour", best, "<=", 0.6)
    least = losses["+ partial"] / losses["nearest neighbour"]
    context.add_target("event loss, active and partial / nearest neighbour", least, "<=", 1.0)


def learner(**how):
    return SSVM(tracking(STEP), l2=L2, tol=1e-2, solver="auto" if how else "n_slack", n_jobs=1, **how)


def some(own, every):
    """Every so many-th pair."""
    return Pairs(*(column[::every] for column in own[:3]), [])


def timed(model, X, y, **also):
    """The fitted model, and the CPU seconds that it took."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, **also)
    return model, time.process_time() - start


def ask(X, Y):
    """The patches that the model asks for."""
    active = ActiveLearner(learner(), X, "best_vs_second", random_state=0)
    while (left := round(SHARE * len(X)) - len(active.answers_)) > 0:
        questions = active.query(min(left, max(len(X) // 50, 2)))
        active.tell_all(questions, [Y[q.sample] for q in questions])
    return sorted(active.answers_)


def nearest(candidates):
    """Links by rising distance while both ends are free; all else appears or disappears."""
    codes, free = np.zeros(len(candidates), int), [set(f.ids.tolist()) for f in candidates.frames]
    (moves,) = (block for block in candidates.blocks if block.kind.name == "move")
    early, late = candidates.frames
    far = np.linalg.norm(early.position[moves.before[:, 0]] - late.position[moves.after[:, 0]], axis=1)
    for k in np.argsort(far, kind="stable").tolist():
        a, b = int(early.ids[moves.before[k, 0]]), int(late.ids[moves.after[k, 0]])
        if a in free[0] and b in free[1]:
            codes[candidates.place(("move", (a,), (b,), early.frame))] = 1
            free[0].remove(a)
            free[1].remove(b)
    for kind, k in (("disappear", 0), ("appear", 1)):
        for own in free[k]:
            ends = ((own,), ()) if k == 0 else ((), (own,))
            codes[candidates.place((kind, *ends, early.frame))] = 1
    return codes.tolist()
