"""Entries of the data sets for protein alignment."""

from __future__ import annotations

from palmette.datasets.entry import Dataset, Source, text_source

_BY_HAND = (
    "The files have no public address and are to be put there by hand (plain, .gz or .xz): {name}.pairs.afa, two\n"
    "FASTA entries of one line for each pair, '>pair|name|A' and '>pair|name|B', gaps '-', core columns in upper\n"
    "case; and {name}.index.tsv, tab-separated with a header line, columns pair, group, nameA, nameB,\n"
    "pid_core and others."
)
_EDGAR = "R. C. Edgar's bench1.0, which says that only columns of two upper-case letters are meant for assessment.\n"


def _sources(name: str, pairs: tuple[str, int], index: tuple[str, int]) -> tuple[Source, ...]:
    return (
        text_source("pairs", *pairs, f"{name}.pairs.afa"),
        text_source("index", *index, f"{name}.index.tsv"),
    )


ALN_PREFAB = Dataset(
    name="aln-prefab4",
    task="alignment",
    title="PREFAB 4: pairs of proteins aligned by their structures",
    description=(
        "1,681 pairs of 52 to 1,016 letters, 305,511 core columns, mean identity 26 %. 1,791 chains, many of them in\n"
        "several pairs. Edgar, MUSCLE, Nucleic Acids Research 2004; "
        + _EDGAR
        + _BY_HAND.format(name="prefab4")
    ),
    homepage="http://www.drive5.com/muscle/prefab.htm",
    licence="none stated",
    sources=_sources(
        "prefab4",
        ("246fa55b911bdc9863b6991f293a49db3c0dff240b15673eb4a46b23965f755e", 1_006_546),
        ("c6ebd9106bf7557eae0070d43894210ba561c3553239de91a7fa090183be045f", 106_881),
    ),
)

ALN_HOMSTRAD = Dataset(
    name="aln-homstrad",
    task="alignment",
    title="HOMSTRAD: pairs of homologous proteins aligned by their structures",
    description=(
        "1,835 pairs, at most 3 of each of 1,031 families, 14 to 898 letters, 364,992 columns, all of them core\n"
        "columns; mean identity 39 %. Mizuguchi, Deane, Blundell and Overington, Protein Science 1998.\n"
        + _BY_HAND.format(name="homstrad")
        + "\nhomstrad.features.tsv has the secondary structure (H helix, E strand, P positive phi, C coil) and the\n"
        "accessibility (T, F) of every residue: columns family, name, sequence, secondary_structure and\n"
        "solvent_accessible."
    ),
    homepage="http://www-cryst.bioc.cam.ac.uk/homstrad/",
    licence="none stated",
    sources=(
        *_sources(
            "homstrad",
            ("175ca2929b9456e4adae94c4d8c211d2892f06a9decbe8bd32a1092f417f7ffa", 941_010),
            ("e666019f0f01a253b8ee7dd322f81754591d87e76755ef71d120c89a71f73712", 113_004),
        ),
        text_source(
            "features", "a9c0f7cbff23bfe7c6f0e8ad71a571f3fbab010703b0a393dcd9e19e38854e28", 2_264_394,
            "homstrad.features.tsv",
        ),
    ),
)  # fmt: skip

ALN_OX = Dataset(
    name="aln-ox",
    task="alignment",
    title="OXBench: pairs of proteins aligned by their structures",
    description=(
        "1,185 pairs of 395 families, 42 to 544 letters, 125,370 core columns, mean identity 56 %: an easy set.\n"
        "Raghava et al., BMC Bioinformatics 2003; " + _EDGAR + _BY_HAND.format(name="ox")
    ),
    homepage="http://www.drive5.com/bench",
    licence="none stated",
    sources=_sources(
        "ox",
        ("dba89d782e927ab4bd5708dd008e4b3eaa5929cfffe8fd126c8125852115ec4e", 412_196),
        ("3f067142509e1cfbd781a4b65e0c0bbfbd7669c7cf09426f83c4429b72b695f9", 85_986),
    ),
)

ALN_BALI3 = Dataset(
    name="aln-bali3",
    task="alignment",
    title="BAliBASE 3: pairs of proteins of its multiple alignments",
    description=(
        "1,158 pairs of 386 families, 43 to 7,923 letters, 151,161 core columns, mean identity 37 %; not all\n"
        "references are structures. Thompson et al., Proteins 2005; " + _EDGAR + _BY_HAND.format(name="bali3")
    ),
    homepage="http://www.drive5.com/bench",
    licence="none stated",
    sources=_sources(
        "bali3",
        ("df708d23d416334cb6594277cf5db2edcbb07faa9790cfaa3f4523f795985928", 996_582),
        ("34cb1e48b118ca2191ac05cf1a10ca28b6b30298f2649bc212bce2ef8f357a18", 79_820),
    ),
)
