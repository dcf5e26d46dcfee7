"""The two collections of WebKB as graphs of pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from palmette.apps.webgraph import Collection, School, Site, build_school, merge_edges
from palmette.apps.webgraph.school import OTHER

CLASSES = ("course", "faculty", "project", "student")
"""Classes of pages; all else is ``"other"``."""


def load_schools(names: Sequence[str] = ("cornell", "texas", "washington", "wisconsin")) -> list[School]:
    """Read the pages of schools of ``webkb-cmu``; staff and departments count as other."""
    from palmette.datasets import load_webkb_cmu

    data: Any = load_webkb_cmu(names)
    schools = []
    for name in names:
        rows = np.flatnonzero(data.schools == name)
        labels = [data.target[i] if data.target[i] in CLASSES else OTHER for i in rows]
        schools.append(build_school(name, [data.data[i] for i in rows], [data.urls[i] for i in rows], labels))
    return schools


def linqs_collection() -> Collection:
    """The graphs of ``webkb-linqs``: 1,703 words, links."""
    from palmette.datasets import load_webkb_linqs

    data: Any = load_webkb_linqs()
    sites = []
    for name, rows, labels, links in zip(data.schools, data.data, data.target, data.links):
        words = [{str(k) for k in row.indices} for row in rows]
        edges = merge_edges(len(labels), links)
        sites.append(Site(name, words, labels, edges.pairs, edges.features))
    return Collection(tuple(sites))
