"""Entries of the data sets for RNA folding."""

from __future__ import annotations

from palmette.datasets.entry import Dataset, Source, Url, text_source

_BY_HAND = (
    "The tables have no public address and are to be put there by hand: {files} (plain, .gz or .xz), tab-separated\n"
    "with a header line; sequence in upper case with U, structure in nested dot-bracket, further columns {columns}."
)
_COLUMNS = (
    "family, family_id,\nss_evidence, clan, type, name, length, n_pairs, n_noncanonical, n_cons_pairs_missing,\n"
    "n_pairs_dropped_hairpin_lt3, n_cons_pk_pairs_dropped, n_ambiguous, best_in_family"
)
_PROJECTED = (
    "The consensus structure of each family is projected on its sequences: pairs with a gap at an end, pseudoknots\n"
    "and pairs closer than 4 positions are left out; such labels are noisy. "
)
_SHORT = "family,\nname, length, n_pairs, n_noncanonical, n_pk_pairs_removed"

RNA_CONTRAFOLD151 = Dataset(
    name="rna-contrafold151",
    task="folding",
    title="S-151Rfam: CONTRAfold's RNA sequences",
    description=(
        "151 sequences of as many families of Rfam 7.0 with published structures, 23 to 568 letters, 4,928 pairs, all\n"
        "canonical. Do, Woods and Batzoglou, CONTRAfold, Bioinformatics 2006; the version of Andronescu et al.\n"
        + _BY_HAND.format(files="S-151Rfam.tsv", columns=_SHORT)
    ),
    homepage="http://www.rnasoft.ca/CG/",
    licence="none stated; Rfam is CC0",
    sources=(
        text_source("table", "9efe5b4bbff7eef4dd25f33dea2e2121fa6990934a75defcd02353d7c00e1ecf", 45_848,
                    "S-151Rfam.tsv"),
    ),
)  # fmt: skip

RNA_RFAM14 = Dataset(
    name="rna-rfam14.2-seed",
    task="folding",
    title="Rfam 14.2: seed sequences with the structures of their families",
    description=(
        "60,633 sequences of 2,642 families, 20 to 499 letters, 1,584,956 pairs. bench1359: 1,359 of them, at most 3\n"
        "of a family with a published structure, 628 families, 36,552 pairs, 1,036 of them non-canonical.\n"
        + _PROJECTED
        + "Kalvari et al., Rfam 14, Nucleic Acids Research 2021.\n"
        + _BY_HAND.format(files="rfam14.2_seed.tsv and\nrfam14.2_published_bench1359.tsv", columns=_COLUMNS)
    ),
    homepage="https://rfam.org",
    licence="CC0 (Rfam)",
    sources=(
        text_source("bench1359", "bce0ee590c39ed769b2fccbc3d88754a8ab4b05d8839195ab45d6590b824c472", 438_928,
                    "rfam14.2_published_bench1359.tsv"),
        text_source("seed", "cef9bc32d34f1ab508a9bc11ec452c95654a4b0b2cf6b8049f19920a087a7876", 19_291_479,
                    "rfam14.2_seed.tsv"),
    ),
)  # fmt: skip

RNA_RFAM5 = Dataset(
    name="rna-rfam5-seed",
    task="folding",
    title="Rfam 5: seed sequences with the structures of their families",
    description=(
        "5,124 sequences of 176 families, 26 to 500 letters, 169,130 pairs.\n"
        + _PROJECTED
        + "Griffiths-Jones et al., Rfam, Nucleic Acids Research 2003.\n"
        + _BY_HAND.format(files="rfam5_seed.tsv", columns=_COLUMNS)
    ),
    homepage="https://rfam.org",
    licence="CC0 (Rfam)",
    sources=(
        text_source("seed", "c65d6c3201d7b2b629a65f3d2768bfc7be0f53c0ce60eec80a8ee131cb13b150", 1_798_408,
                    "rfam5_seed.tsv"),
    ),
)  # fmt: skip

RNA_S_PROCESSED = Dataset(
    name="rna-sprocessed-tes",
    task="folding",
    title="S-Processed: test part, RNA sequences of 13 types",
    description=(
        "974 sequences of RNA STRAND, 10 to 689 letters, longer ones cut into pieces; 52,222 pairs, all canonical.\n"
        "The family is the type of RNA. Andronescu et al., Computational approaches for RNA energy parameter\n"
        "estimation, RNA 2010.\n" + _BY_HAND.format(files="S-Processed-TES.tsv", columns=_SHORT)
    ),
    homepage="http://www.rnasoft.ca/CG/",
    licence="none stated",
    sources=(
        text_source("table", "34897010cd4fd34e1526e8b24b4acb2db1c58767c659693005f0c212bdbde35e", 418_250,
                    "S-Processed-TES.tsv"),
    ),
)  # fmt: skip

_CONTRAFOLD_SE = (
    "https://raw.githubusercontent.com/csfoo/contrafold-se/64f01d52f8fcba2b88c0011d56360554b9a95012/src/"
)
_ETERNAFOLD = "https://raw.githubusercontent.com/eternagame/EternaFold/f77216d82595040f64412b3920bdf4cb32f4a8a6/parameters/"
_CONTRALIGN = (
    "https://raw.githubusercontent.com/heartsh/contralign-fixed/33a369de80288493d6a5a021426349db7d4b0223/"
)


def _parameters(name: str, sha256: str, size: int, file: str, folder: str) -> Source:
    return text_source(name, sha256, size, file, Url(folder + file))


RNA_PARAMETERS = Dataset(
    name="anchors-params",
    task="folding, alignment",
    title="Published parameters of CONTRAfold, EternaFold and CONTRAlign",
    description=(
        "Files of 708 names and values. contrafold: canonical pairs only; contrafold-noncomplementary: all pairs;\n"
        "eternafold: trained on the data of Eterna, too. contralign: 362 names and values for pairs of proteins.\n"
        "Do, Woods and Batzoglou, CONTRAfold, Bioinformatics 2006; Wayment-Steele et al., RNA secondary structure\n"
        "packages evaluated and improved by high-throughput experiments, Nature Methods 2022; Do, Gross and\n"
        "Batzoglou, CONTRAlign: discriminative training for protein sequence alignment, RECOMB 2006."
    ),
    homepage="https://github.com/eternagame/EternaFold",
    licence=(
        "BSD-3-Clause style; of EternaFold see its homepage for commercial use; of CONTRAlign none stated; not "
        "redistributed with palmette"
    ),
    sources=(
        _parameters("contrafold", "eb318ecb1b19c74733dde379e3378fb76bafc8b6c5c911a46c43586d9767859c", 21_032,
                    "contrafold.params.complementary", _CONTRAFOLD_SE),
        _parameters("contrafold-noncomplementary", "ef4a833ac659451042dd124bd6429bd82f63af81af31628e0f81650d692bc7c8",
                    25_517, "contrafold.params.noncomplementary", _CONTRAFOLD_SE),
        _parameters("eternafold", "1421e89cc8df24b53a320eff6c72b8acfdb2771faba29ab9c798f7bdfc853a8a", 21_074,
                    "EternaFoldParams.v1", _ETERNAFOLD),
        _parameters("contralign", "93ada9c111ea761fd12428c2f3199a3afce93c6cbd29e2a9f7905bc93c156d35", 9_305,
                    "contralign.params.protein", _CONTRALIGN),
    ),
)  # fmt: skip
