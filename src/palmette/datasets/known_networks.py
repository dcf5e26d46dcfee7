"""Entries of the data sets of whole networks, on which inference is compared."""

from __future__ import annotations

from functools import partial

from palmette.datasets import uai_format
from palmette.datasets.decode import plain
from palmette.datasets.entry import Dataset, File, Source, Url

_REPOSITORY = "https://codeload.github.com/mroavi/uai/tar.gz/22005844423f5bca62798548df808cc418fc0d7d"


def _source(name: str, sha256: str, size: int) -> Source:
    from_tar = partial(uai_format.from_tar, part=name)
    files = File(f"uai2014_{name}.networks", plain), File(f"uai2014_{name}.tar.xz", from_tar)
    return Source(name, sha256, size, files, (Url(_REPOSITORY, from_tar),))


UAI2014 = Dataset(
    name="uai2014",
    task="inference",
    title="Networks of the UAI 2014 inference competition",
    description=(
        "mar_pr: 137 networks with evidence, published marginals and partition function (Alchemy 1, CSP 3, DBN 6,\n"
        "Grids 8, ObjectDetection 65, Pedigree 3, Promedus 28, Segmentation 6, linkage 17); map: 87 networks with\n"
        "evidence, to be maximised (Promedas 61, Segmentation 10, Grids 13, ImageAlignment, ProteinFolding, wcsp)."
    ),
    homepage="https://github.com/mroavi/uai",
    licence="none stated there; the same mar_pr networks under MIT at github.com/dechterlab/uai-competitions",
    sources=(
        _source("mar_pr", "b001140ca26b3c446d26ca1c469cfd66e74c8178809ff3264a1d4564bffd8a4b", 22_969_861),
        _source("map", "0be5cdecd1afc52d125bfe7c4225c951c81b7610dc444a2f6c2a838a78f66fc7", 26_506_742),
    ),
)
