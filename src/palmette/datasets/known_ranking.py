"""Entry of the data set for ranking documents."""

from __future__ import annotations

from palmette.datasets.entry import Dataset, Source, Url, text_source

_META = "https://raw.githubusercontent.com/meta-toolkit/meta/ca344dfe6a7bace9b818a6ad4f764c1ad581cf99/data/OHSUMED"
_PUBLISHED_AS = {
    "querylevelnorm": "QueryLevelNorm/Fold{}/test.txt",
    "featurenull": "Feature-null/Fold{}/testset.txt",
}
_FOLD_TESTED_ON = {"S1": 2, "S2": 3, "S3": 4, "S4": 5, "S5": 1}
_CONTENTS = {
    ("querylevelnorm", "S1"): ("77db6790a7023ed6d9bd2b9b2fa8528e1d82aa7e896863d3ed844f635870fbe2", 1_265_289),
    ("querylevelnorm", "S2"): ("935539d33380570cdee765e38f8c2796cb4c04d01a50e50374e8bc7d45872571", 1_515_567),
    ("querylevelnorm", "S3"): ("1d1ff784d9fdc4cd491a0d70fdd4dfb1adada943a0eb2e3954d74187158160da", 1_760_432),
    ("querylevelnorm", "S4"): ("49975c7319672e4fba82d00c69911b8514752bb2610077a5f432d7efc2fa5fc0", 1_743_137),
    ("querylevelnorm", "S5"): ("526f9158b85fb9b6446f9c87e1ccc428f7e54d639800e108c091cb70706a88e6", 1_667_895),
    ("featurenull", "S1"): ("4b396d6a5bddf4998bc34bd00127bdf08ebe947fbe9a2f07bf52dee8043102a4", 1_443_866),
    ("featurenull", "S2"): ("b4e7a49aa489c85f0f57678ea06be74f5157925ae0617a6982de5c5fec6bd216", 1_746_342),
    ("featurenull", "S3"): ("281bf6c3e8e7e81b8517f36f3c808e9db7e30d0d8f42398abe195bd1c30b867a", 2_026_576),
    ("featurenull", "S4"): ("e8812fcdc617fd6435209d5e02fd9107f4d270eaad23993c3cf038f2558e6d1d", 2_008_471),
    ("featurenull", "S5"): ("6dc64d443ef987b4c09cf5a65eddc257a980c47beb2a3caba2055427a58cccfa", 1_924_979),
}


def _source(version: str, part: str) -> Source:
    sha256, size = _CONTENTS[version, part]
    address = f"{_META}/{_PUBLISHED_AS[version].format(_FOLD_TESTED_ON[part])}"
    name = f"ohsumed_{version}_{part}"
    return text_source(f"{version}_{part}", sha256, size, f"{name}.txt", Url(address))


LETOR_OHSUMED = Dataset(
    name="letor-ohsumed",
    task="ranking",
    title="LETOR 3.0 OHSUMED: ranking of medical abstracts",
    description=(
        "106 queries with 16,140 judged documents, 45 features and grades 0 (11,303), 1 (2,585) and 2 (2,252), in\n"
        "five parts S1 to S5 of 21 or 22 queries and five folds: of each, three parts are for training, one for\n"
        "validation and one for testing. querylevelnorm: features scaled to [0, 1] within each query; featurenull:\n"
        "raw values, some of them NULL.\n"
        "Qin, Liu, Xu and Li, LETOR: a benchmark collection for research on learning to rank, 2010; from Hersh et\n"
        "al., OHSUMED, SIGIR 1994."
    ),
    homepage="https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/",
    licence="none stated for the copy; OHSUMED: non-commercial research; not redistributed with palmette",
    sources=tuple(_source(version, part) for version, part in _CONTENTS),
)
