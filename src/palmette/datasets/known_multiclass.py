"""Entry of the data sets for classification."""

from __future__ import annotations

from palmette.datasets import statlog_format
from palmette.datasets.decode import plain
from palmette.datasets.entry import Dataset, File, Source, Url

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_SEGMENT = "https://raw.githubusercontent.com/loremo/AdaBoost/0732aafde4aa10c6e0ae9a8f4554b41240fb688c/data/segment.dat"
_URLS = {
    "letter": (Url(f"{_UCI}/letter-recognition/letter-recognition.data", statlog_format.from_letters),),
    "segment": (Url(_SEGMENT, statlog_format.from_segments),),
}
_CONTENTS = {
    "dna": ("1d76d72374c555efda7a63cc9a5d7453f09b8d7770916ee3c6ce4c00f97dc947", 576_786),
    "letter": ("ac89b083759694ea8790637cf9d0f4d065dda106f4b35a1958ffb4d57913049f", 340_233),
    "satimage": ("275741a6b49cc6c43fafd4f9aaf7b7a59e87d1fa666531d0e02c5311b3815396", 238_303),
    "segment": ("c2a2a9f56a9509489fec6f930c90f7d56f3a06a7d413260a1ad560c6f430d8da", 178_040),
    "shuttle": ("8fad7f54ebbfc97b012ad2bd0ace46e71a60ce107f1e08944bf2ca0307e104d5", 1_102_186),
    "usps": ("80f335623d70ebf549b6adbbbda86c43bdc9dab52acdc9f08bef39b9cdc7cba9", 4_770_033),
}


def _source(name: str) -> Source:
    sha256, size = _CONTENTS[name]
    files = File(f"{name}.table", plain), File(f"{name}.npz", statlog_format.from_npz)
    return Source(name, sha256, size, files, _URLS.get(name, ()))


STATLOG = Dataset(
    name="statlog",
    task="classification",
    title="Statlog and UCI: six sets for classification",
    description=(
        "dna: 3,186 rows of 180 binary columns, 3 classes; letter: 20,000 of 16, 26 classes; satimage: 6,435 of 36,\n"
        "6 classes; segment: 2,310 of 19, 7 classes; shuttle: 58,000 of 9, 7 classes of very different size (78.6 %\n"
        "are in one, 10 rows in another); usps: 9,298 digits of 16 x 16 pixels. Columns are not scaled.\n"
        "letter and segment have addresses with the same content. The others are to be put there by hand: an archive\n"
        "NAME.npz with X (dna and satimage uint8, shuttle int16), y from 0, classes, and n_train where there is an\n"
        "official split (satimage 4,435, shuttle 43,500, usps 7,291); dna, satimage and shuttle as in the R package\n"
        "mlbench, usps (Xq = 1000 (pixel + 1) as int16, y, n_train) as in zip.train and zip.test of Hastie et al.\n"
        "Do, Le, Teo, Chapelle and Smola, Tighter bounds for structured estimation, NIPS 2008, used them."
    ),
    homepage="https://archive.ics.uci.edu",
    licence="UCI: CC BY 4.0; mlbench: GPL-2; usps and the copy of segment: none stated; not redistributed",
    sources=tuple(map(_source, _CONTENTS)),
)
