"""Measures of lineages by traccuracy and py-ctcmetrics: run by a Python that has them, it reads and writes JSON.

Knows nothing of palmette. A case has graphs ``true`` and ``predicted`` (``frame``, ``label`` of the track, ``edges``,
``tracks`` with rows label, begin, end, parent), pairs ``matching``, and ``tolerance``.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings

import networkx as nx
import numpy as np
from ctc_metrics.metrics.biological.bc import raw_division_metrics
from ctc_metrics.metrics.biological.ct import ct
from ctc_metrics.metrics.technical.det import det
from ctc_metrics.metrics.technical.lnk import lnk
from ctc_metrics.metrics.technical.tra import tra
from ctc_metrics.utils.representations import count_acyclic_graph_correction_operations
from traccuracy import TrackingGraph
from traccuracy.matchers import Matched
from traccuracy.metrics import BasicMetrics, CTCMetrics, DivisionMetrics


def by_traccuracy(case):
    graphs = []
    for name in ("true", "predicted"):
        graph = nx.DiGraph()
        for k, frame in enumerate(case[name]["frame"]):
            graph.add_node(k, t=frame, segmentation_id=k + 1, x=0, y=0)
        graph.add_edges_from(map(tuple, case[name]["edges"]))
        graphs.append(TrackingGraph(graph, location_keys=("y", "x"), validate=False))
    pairs = [tuple(pair) for pair in case["matching"]]

    def matched():
        return Matched(*graphs, pairs, {})

    found = CTCMetrics()._compute(matched())
    if len({b for _, b in pairs}) == len(pairs):
        found |= BasicMetrics()._compute(matched())
        found["divisions"] = DivisionMetrics(case["tolerance"])._compute(matched())
    return found


def by_ctcmetrics(case):
    labels, mapped, tracks = {}, {"true": {}, "predicted": {}}, {}
    last = max(max(case[name]["frame"]) for name in ("true", "predicted"))
    for name in ("true", "predicted"):
        labels[name] = [[] for _ in range(last + 1)]
        for frame, label in zip(case[name]["frame"], case[name]["label"]):
            labels[name][frame].append(label)
        labels[name] = [sorted(found) for found in labels[name]]  # as np.unique gives them
        tracks[name] = np.array(case[name]["tracks"], int).reshape(-1, 4)
        mapped[name] = [[] for _ in range(last + 1)]
    for a, b in case["matching"]:
        frame = case["true"]["frame"][a]
        mapped["true"][frame].append(case["true"]["label"][a])
        mapped["predicted"][frame].append(case["predicted"]["label"][b])
    both = (mapped["true"], mapped["predicted"])
    stats = count_acyclic_graph_correction_operations(
        tracks["true"], tracks["predicted"], labels["true"], labels["predicted"], *both
    )
    found = {name: int(stats[name]) for name in ("NS", "FN", "FP", "ED", "EA", "EC")}
    score, cost, _ = tra(**stats)
    found |= {"AOGM": cost, "TRA": score, "DET": det(**stats), "LNK": lnk(**stats)}
    found["CT"] = ct(tracks["predicted"], tracks["true"], labels["true"], *both)
    found["divisions"] = [
        raw_division_metrics(tracks["predicted"], tracks["true"], *both, i)
        for i in range(case["tolerance"] + 1)
    ]
    return found


def plain(value):
    return value.item() if isinstance(value, np.generic) else str(value)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    answers = []
    for case in json.load(sys.stdin):
        answer = {"traccuracy": by_traccuracy(case)}
        if case["has_tracks"]:
            answer["ctcmetrics"] = by_ctcmetrics(case)
        answers.append(answer)
    json.dump(answers, sys.stdout, default=plain)
