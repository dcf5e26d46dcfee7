"""Entries of the data sets for entities and parts of speech."""

from __future__ import annotations

from functools import partial

from palmette.datasets.decode import plain, untar
from palmette.datasets.entry import Dataset, File, Source, Url, text_files
from palmette.datasets.tagged_format import from_brown_zip, from_masc_zip, from_treebank_zip

_JNLPBA = "http://www.nactem.ac.uk/GENIA/current/Shared-tasks/JNLPBA"
_NLTK = "https://raw.githubusercontent.com/nltk/nltk_data/5db857e6f7df11eabb5e5665836db9ec8df07e28/packages/corpora"
_EWT = "https://raw.githubusercontent.com/UniversalDependencies/UD_English-EWT"

JNLPBA = Dataset(
    name="jnlpba",
    title="JNLPBA 2004: entities in biomedical abstracts",
    description=(
        "Words of MEDLINE abstracts with labels (IOB2) of five kinds of entities: protein, DNA, RNA, cell_type,\n"
        "cell_line. train: 2,000 abstracts, 18,546 sentences, 492,551 tokens, 51,301 entities; test: 404\n"
        "abstracts, 3,856 sentences, 101,039 tokens, 8,662 entities.\n"
        "Kim et al., Introduction to the bio-entity recognition task at JNLPBA, 2004."
    ),
    homepage="http://www.nactem.ac.uk/GENIA/current/Shared-tasks/JNLPBA/",
    licence="GENIA Project License (annotation CC BY 3.0; abstracts from PubMed with NLM's disclaimer)",
    sources=(
        Source(
            name="train",
            sha256="ba0d64663077e5d15313e7a653744ed9bda8d0b1437da47e2908e85c0980e0c9",
            size=4_918_036,
            files=text_files("Genia4ERtask2.iob2"),
            urls=(
                Url(f"{_JNLPBA}/Train/Genia4ERtraining.tar.gz", partial(untar, member="Genia4ERtask2.iob2")),
            ),
        ),
        Source(
            name="test",
            sha256="4334602737eef0aa3a91c8d5b5122f23447baa85c276c27385f921cb228a1e7c",
            size=999_303,
            files=text_files("Genia4EReval2.iob2"),
            urls=(
                Url(f"{_JNLPBA}/Evaluation/Genia4ERtest.tar.gz", partial(untar, member="Genia4EReval2.iob2")),
            ),
        ),
    ),
)


def _ewt_source(name: str, sha256: str, size: int) -> Source:
    text = f"en_ewt-ud-{name}.conllu"
    return Source(
        name=name,
        sha256=sha256,
        size=size,
        files=text_files(text),
        urls=(
            Url(f"{_EWT}/r2.16/{text}", plain),
            Url(f"{_EWT}/15d613d8447b3478787d4c278730a1e48a945efb/{text}", plain),
        ),
    )


UD_EWT = Dataset(
    name="ud-ewt",
    title="Universal Dependencies English EWT 2.16: parts of speech of web text",
    description=(
        "Words of weblogs, newsgroups, e-mails, reviews and answers with universal (UPOS) and Penn (XPOS) tags.\n"
        "train 12,544 sentences, 204,577 words; dev 2,001 / 25,147; test 2,077 / 25,094.\n"
        "Silveira et al., A gold standard dependency corpus for English, LREC 2014."
    ),
    homepage="https://universaldependencies.org/treebanks/en_ewt/",
    licence="CC BY-SA 4.0",
    sources=(
        _ewt_source("train", "3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b", 14_203_025),
        _ewt_source("dev", "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6", 1_805_545),
        _ewt_source("test", "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd", 1_804_515),
    ),
)

BROWN = Dataset(
    name="brown",
    title="Brown corpus: parts of speech of American English of 1961",
    description=(
        "500 files of 15 categories, 57,340 sentences, 1,161,192 tokens, 472 tags; 104 base tags are left without\n"
        "the marks of foreign words (fw-), titles (-tl), headlines (-hl), cited words (-nc) and of a second part\n"
        "(+...). No split is published; here, by the number of the file modulo 10, 9 is test and 8 development.\n"
        "Francis and Kucera, Brown corpus manual, 1964, revised 1979."
    ),
    homepage="http://www.hit.uib.no/icame/brown/bcm.html",
    licence="may be used for non-commercial purposes; redistribution permitted",
    sources=(
        Source(
            name="all",
            sha256="5e803d428592eee726ac50f17227b5efc01591859e1ef65a0949d66694ace888",
            size=11_919_743,
            files=(*text_files("brown.pos.tsv"), File("brown.zip", from_brown_zip)),
            urls=(Url(f"{_NLTK}/brown.zip", from_brown_zip),),
        ),
    ),
)

MASC = Dataset(
    name="masc",
    title="MASC: parts of speech of open American English",
    description=(
        "392 files of speech and writing with Penn tags, 34,530 sentences, 592,447 tokens, 59 tags (the rare ones\n"
        "are noise). No split is published; here, by the number of the file modulo 10, 9 is test and 8\n"
        "development.\n"
        "Ide et al., The Manually Annotated Sub-Corpus, ACL 2010."
    ),
    homepage="http://www.anc.org/data/masc/",
    licence="linguistic education, research and development, also commercial",
    sources=(
        Source(
            name="all",
            sha256="30ddfe3f420d789332f5b9b2f28ff57d6a60facc9e1bc11af6e6ddc13a0a8b7a",
            size=6_066_510,
            files=(*text_files("masc.pos.tsv"), File("masc_tagged.zip", from_masc_zip)),
            urls=(Url(f"{_NLTK}/masc_tagged.zip", from_masc_zip),),
        ),
    ),
)

PTB_SAMPLE = Dataset(
    name="ptb-sample",
    title="Penn Treebank sample: parts of speech of the Wall Street Journal",
    description=(
        "Files wsj_0001 to wsj_0199: 3,914 sentences, 94,084 tokens without traces, 45 tags. No split is published;\n"
        "here files 0160 to 0199 are test.\n"
        "Marcus, Santorini and Marcinkiewicz, Building a large annotated corpus of English, CL 19(2), 1993."
    ),
    homepage="https://www.nltk.org/nltk_data/",
    licence="fragment of the Penn Treebank, (c) LDC 1995, for non-commercial use only",
    sources=(
        Source(
            name="all",
            sha256="abe7063a72d7035b2577f5ff321f84850626d9a8bf390574fafecbfda380c29f",
            size=895_962,
            files=(*text_files("wsj_0001-0199.pos.tsv"), File("treebank.zip", from_treebank_zip)),
            urls=(Url(f"{_NLTK}/treebank.zip", from_treebank_zip),),
        ),
    ),
)
