"""Exact inference on networks of the UAI 2014 competition, and the speed of maximisation against toulbar2.

`mar_pr`: log-partition and all marginals of 137 networks with evidence by a junction tree, exactly, or a refusal by
width before anything is allocated. The log-partition is compared with `log10Z_exact` of the reference (relative
difference), the published one (six digits) and the published marginals (absolute difference, six digits); the best
assignment of the same networks with the exact optimum of the reference, where that is known.

`map`: the best assignment of 87 networks with evidence, 60 seconds each, as `palmette infer --task map --time-limit 60`
answers it. A solved instance is one that is proven optimal; values and bounds are compared with the reference (75
proven optima, elsewhere lower bounds). toulbar2 (a Debian package) solves the same files in the same run with its
defaults.

Seconds are CPU time of one thread: parsing, reduction by evidence, the search for an elimination order and inference;
of toulbar2 the whole process. Compilation is not in it. `PALMETTE_BENCH_MEMORY` is the limit in GB, half of RAM by
default.
"""

import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from functools import lru_cache
from pathlib import Path

from experiments.harness import Study, StudyTable
from experiments.harness.tables import grouped

SUMS = {
    "Alchemy": (11,),
    "CSP": range(11, 14),
    "DBN": range(11, 17),
    "Grids": range(11, 19),
    "ObjectDetection": range(11, 76),
    "Pedigree": range(11, 14),
    "Promedus": range(11, 39),
    "Segmentation": range(11, 17),
    "linkage": range(11, 28),
}
MAXIMA = {
    "Grids": range(18, 31),
    "ImageAlignment": (12,),
    "Promedas": range(11, 72),
    "ProteinFolding": (15,),
    "Segmentation": range(11, 21),
    "wcsp": (13,),
}
TIME_LIMIT = 60.0
# log2_clique of the reference up to which all must be exact, and how many those are
NARROW, N_NARROW = 24.0, 55
LOG_Z, PUBLISHED, MARGINAL, MAXIMUM = 1e-8, 1e-5, 1e-6, 1e-6  # relative, relative, absolute, absolute


def points():
    parts = (("mar_pr", SUMS), ("map", MAXIMA))
    return [
        {"part": part, "family": family, "name": f"{family}_{n}.uai"}
        for part, families in parts
        for family, numbers in families.items()
        for n in numbers
    ]


@lru_cache(maxsize=2)
def instances(part):
    from palmette.datasets import load_uai2014

    found = load_uai2014(part).instances
    if any(instance.reference is None for instance in found.values()):
        raise ValueError(
            "this benchmark needs uai2014/reference.json.xz in PALMETTE_DATA, beside the archives"
        )
    return found


@lru_cache(maxsize=1)
def memory_limit():
    """Bytes; the kernels are compiled here, so that no run pays for it."""
    import numpy as np

    from palmette.inference import FactorGraph
    from palmette.inference.answers import answer

    small = FactorGraph.from_tables(
        [2, 2, 2], [((0, 1), np.eye(2)), ((1, 2), np.eye(2)), ((2, 0), -np.eye(2))]
    )
    for task in ("map", "mar", "pr"):
        answer(small, task)
    given = os.environ.get("PALMETTE_BENCH_MEMORY")
    return None if given is None else float(given) * 2**30


def run(point):
    instance, limit = instances(point["part"])[point["name"]], memory_limit()
    return (sums if point["part"] == "mar_pr" else maximum)(instance, limit)


def sums(instance, limit):
    import numpy as np

    from palmette.errors import TooWide
    from palmette.inference.answers import answer

    reference = instance.reference
    begin = time.process_time()
    graph, constant = instance.conditioned()
    try:
        found = answer(graph, "mar", memory_limit=limit)
    except TooWide as refusal:
        seconds = time.process_time() - begin
        size = {"log2_size": refusal.log2_size, "log2_clique": reference["log2_clique"]}
        return {"status": "refused", "seconds": seconds, **size}
    seconds = time.process_time() - begin
    marginals, log10_z = instance.published(graph)
    value = (found.value + constant) / np.log(10.0)
    outcome = {
        "status": "exact",
        "seconds": seconds,
        "log2_clique": reference["log2_clique"],
        "published": abs(value - log10_z) / abs(log10_z),
        "marginals": float(np.abs(found.marginals - marginals).max()),
    }
    if reference["log10Z_exact"] is not None:
        outcome["log_z"] = abs(value - reference["log10Z_exact"]) / abs(reference["log10Z_exact"])
    if reference["ln_map_exact"] is not None:
        best = answer(graph, "map", method="junction_tree", memory_limit=limit)
        outcome["maximum"] = abs(best.value + constant - reference["ln_map_exact"])
    return outcome


def maximum(instance, limit):
    from palmette.inference.answers import answer

    begin, clock = time.process_time(), time.perf_counter()
    graph, constant = instance.conditioned()
    found = answer(graph, "map", memory_limit=limit, time_limit=TIME_LIMIT)
    seconds, wall = time.process_time() - begin, time.perf_counter() - clock
    best, reference = found.value + constant, instance.reference["ln_map"]
    scored = graph.score(found.codes) + constant if found.codes is not None else best
    return {
        "status": "exact" if found.exact else "bounded",
        "method": found.method,
        "seconds": seconds,
        "wall": wall,
        "proven": bool(instance.reference["proven"]),
        "below": reference - best,  # of the reference: positive where ours is worse
        "bound_above": found.bound + constant - reference,  # negative where our bound is wrong
        "score_off": abs(scored - best),
        "toulbar2": toulbar2(instance),
    }


def toulbar2(instance):
    """CPU seconds to a proven optimum; -1 if there is none in time, None without the program."""
    program = shutil.which("toulbar2")
    if program is None:
        print("toulbar2 is not installed (a Debian package): its side is left out", file=sys.stderr)
        return None
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "model.uai", Path(folder) / "model.uai.evid"
        files[0].write_text(instance.model)
        files[1].write_text(instance.evidence)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [program, *map(str, files), f"-timer={int(TIME_LIMIT)}"]
        said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds if re.search(r"^Optimum:", said, re.MULTILINE) else -1.0


# --------------------------------------------------------------------------------------------------- tables


def summarise(records):
    return [*sum_tables(of_part(records, "mar_pr")), *maximum_tables(of_part(records, "map"))]


def of_part(records, part):
    return [r for r in records if r["part"] == part]


def families(records):
    return [*((family, own) for (family,), own in grouped(records, "family").items()), ("all", records)]


def narrow(records):
    return [r for r in records if r["log2_clique"] <= NARROW]


def worst(records, name):
    values = [r[name] for r in records if name in r]
    return f"{max(values):.1e} ({len(values)})" if values else ""


def sum_tables(records):
    if not records:
        return []
    rows = []
    for family, group in [*families(records), (f"log2_clique <= {NARROW:g}", narrow(records))]:
        exact = [r for r in group if r["status"] == "exact"]
        row = [str(len(group)), str(len(exact)), str(len(group) - len(exact))]
        row += [worst(exact, name) for name in ("log_z", "published", "marginals", "maximum")]
        slowest = max((r["seconds"] for r in exact), default=0.0)
        rows.append([family, *row, f"{sum(r['seconds'] for r in group):.1f}", f"{slowest:.1f}"])
    header = ["family", "tried", "exact", "refused", "log Z exact", "log Z published", "marginals", "maximum"]
    title = "Sums: largest differences from the references (number compared)"
    return [StudyTable(title, [*header, "CPU s", "slowest"], rows)]


def maximum_tables(records):
    if not records:
        return []
    rows = []
    for family, group in families(records):
        solved = [r for r in group if r["status"] == "exact"]
        equal = [r for r in solved if r["proven"] and abs(r["below"]) <= MAXIMUM]
        proven = sum(r["proven"] for r in group)
        row = [str(len(group)), str(proven), str(len(solved)), str(len(equal))]
        row += [str(len(which(group))) for which in (better_values, wrong_values, wrong_bounds)]
        peer = [r for r in group if (r["toulbar2"] or -1.0) >= 0]
        both = [r for r in solved if r in peer]
        ours, theirs = (sum(r[name] for r in both) for name in ("seconds", "toulbar2"))
        ratio = [f"{ours:.1f}", f"{theirs:.1f}", f"{ours / theirs:.2g}"] if both and theirs else ["", "", ""]
        rows.append([family, *row, str(len(peer)), *ratio])
    header = ["family", "tried", "proven by others", "solved", "equal", "better"]
    header += ["wrong values", "wrong bounds"]
    peer = ["solved by toulbar2", "CPU s", "its CPU s", "ratio"]
    methods = grouped(records, "method", "status")
    by_method = [
        [f"{method}, {status}", str(len(group)), f"{max(r['wall'] for r in group):.1f}"]
        for (method, status), group in sorted(methods.items())
    ]
    return [
        StudyTable(f"Maxima in {TIME_LIMIT:g} s; seconds of those that both solve", [*header, *peer], rows),
        StudyTable("Methods of the maxima", ["method", "instances", "slowest, wall s"], by_method),
    ]


def wrong_values(records):
    """Called optimal below a known value, or not what the assignment scores."""
    return [
        r for r in records if (r["status"] == "exact" and r["below"] > MAXIMUM) or r["score_off"] > MAXIMUM
    ]


def better_values(records):
    """Above a value that the reference calls optimal: the score of the assignment proves that it was not."""
    return [r for r in records if r["proven"] and r["below"] < -MAXIMUM and r["score_off"] <= MAXIMUM]


def wrong_bounds(records):
    return [r for r in records if r["bound_above"] < -MAXIMUM]


def missed(records):
    done, maxima = of_part(records, "mar_pr"), of_part(records, "map")
    found = []
    exact = [r for r in narrow(done) if r["status"] == "exact"]
    if len(exact) < N_NARROW:
        found.append(
            f"{len(exact)} of {N_NARROW} instances with log2_clique <= {NARROW:g} were tried exactly"
        )
    limits = {"log_z": LOG_Z, "published": PUBLISHED, "marginals": MARGINAL, "maximum": MAXIMUM}
    for record in done:
        for name, limit in limits.items():
            if record.get(name, 0.0) > limit:
                found.append(f"{record['name']}: {name} differs by {record[name]:.2g}, more than {limit:g}")
    found += [f"{r['name']}: a wrong maximum" for r in wrong_values(maxima)]
    found += [f"{r['name']}: a wrong bound" for r in wrong_bounds(maxima)]
    if len(records) < len(points()):
        found.append(f"{len(points()) - len(records)} runs have not been made")
    return found


def line(point):
    """When commits are compared: sums and maxima of a family together, since most instances take milliseconds."""
    return f"{point['part']} {point['family']}"


BENCHMARK = Study("uai", __doc__, points(), run, summarise, missed=missed, line=line)
