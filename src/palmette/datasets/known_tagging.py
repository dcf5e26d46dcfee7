"""Entries of the data sets for chunks, entities and parts of speech."""

from __future__ import annotations

from functools import partial

from palmette.datasets.decode import Decode, gunzip, untar, unzip
from palmette.datasets.entry import Dataset, File, Source, Url, text_files, text_source
from palmette.datasets.tagged_format import from_brown_zip, from_masc_zip, from_treebank_zip

_JNLPBA = "http://www.nactem.ac.uk/GENIA/current/Shared-tasks/JNLPBA"
_NLTK = "https://raw.githubusercontent.com/nltk/nltk_data/5db857e6f7df11eabb5e5665836db9ec8df07e28/packages/corpora"
_WNUT17 = (
    "https://raw.githubusercontent.com/leondz/emerging_entities_17/e52a2d2a71ac1a051ca2d532eef28653c5c02603"
)
_EWT = "https://raw.githubusercontent.com/UniversalDependencies/UD_English-EWT"


def _conll2000_source(name: str, sha256: str, size: int) -> Source:
    text = f"{name}.txt"
    return text_source(
        name, sha256, size, text,
        Url(f"https://www.clips.uantwerpen.be/conll2000/chunking/{text}.gz", gunzip),
        Url(f"http://www.cnts.ua.ac.be/conll2000/chunking/{text}.gz", gunzip),
        Url(f"{_NLTK}/conll2000.zip", partial(unzip, member=f"conll2000/{text}")),
    )  # fmt: skip


CONLL2000 = Dataset(
    name="conll2000",
    task="tagging",
    title="CoNLL-2000: text chunking",
    description=(
        "Words of the Wall Street Journal with part-of-speech tags (by a tagger) and chunk labels (IOB2).\n"
        "train: sections 15-18, 8,936 sentences, 211,727 tokens, 22 chunk labels; test: section 20, 2,012\n"
        "sentences, 47,377 tokens, 19 chunk labels, of which I-LST does not occur in train.\n"
        "Tjong Kim Sang and Buchholz, Introduction to the CoNLL-2000 shared task: chunking, CoNLL-2000."
    ),
    homepage="https://www.clips.uantwerpen.be/conll2000/chunking/",
    licence="none stated; text derived from the Penn Treebank (c) LDC; not redistributed with palmette",
    sources=(
        _conll2000_source(
            "train", "82033cd7a72b209923a98007793e8f9de3abc1c8b79d646c50648eb949b87cea", 2_842_164
        ),
        _conll2000_source(
            "test", "73b7b1e565fa75a1e22fe52ecdf41b6624d6f59dacb591d44252bf4d692b1628", 639_396
        ),
    ),
)


def _jnlpba_source(name: str, sha256: str, size: int, text: str, archive: str) -> Source:
    return text_source(name, sha256, size, text, Url(f"{_JNLPBA}/{archive}", partial(untar, member=text)))


JNLPBA = Dataset(
    name="jnlpba",
    task="tagging",
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
        _jnlpba_source(
            "train", "ba0d64663077e5d15313e7a653744ed9bda8d0b1437da47e2908e85c0980e0c9", 4_918_036,
            "Genia4ERtask2.iob2", "Train/Genia4ERtraining.tar.gz",
        ),
        _jnlpba_source(
            "test", "4334602737eef0aa3a91c8d5b5122f23447baa85c276c27385f921cb228a1e7c", 999_303,
            "Genia4EReval2.iob2", "Evaluation/Genia4ERtest.tar.gz",
        ),
    ),
)  # fmt: skip


def _ewt_source(name: str, sha256: str, size: int) -> Source:
    text = f"en_ewt-ud-{name}.conllu"
    commits = "r2.16", "15d613d8447b3478787d4c278730a1e48a945efb"
    return text_source(name, sha256, size, text, *(Url(f"{_EWT}/{commit}/{text}") for commit in commits))


UD_EWT = Dataset(
    name="ud-ewt",
    task="tagging",
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


def _nltk_sources(sha256: str, size: int, text: str, archive: str, decode: Decode) -> tuple[Source, ...]:
    files = (*text_files(text), File(archive, decode))
    return (Source("all", sha256, size, files, (Url(f"{_NLTK}/{archive}", decode),)),)


BROWN = Dataset(
    name="brown",
    task="tagging",
    title="Brown corpus: parts of speech of American English of 1961",
    description=(
        "500 files of 15 categories, 57,340 sentences, 1,161,192 tokens, 472 tags; 104 base tags are left without\n"
        "the marks of foreign words (fw-), titles (-tl), headlines (-hl), cited words (-nc) and of a second part\n"
        "(+...). No split is published; here, by the number of the file modulo 10, 9 is test and 8 development.\n"
        "Francis and Kucera, Brown corpus manual, 1964, revised 1979."
    ),
    homepage="http://www.hit.uib.no/icame/brown/bcm.html",
    licence="may be used for non-commercial purposes; redistribution permitted",
    sources=_nltk_sources(
        "5e803d428592eee726ac50f17227b5efc01591859e1ef65a0949d66694ace888",
        11_919_743,
        "brown.pos.tsv",
        "brown.zip",
        from_brown_zip,
    ),
)

MASC = Dataset(
    name="masc",
    task="tagging",
    title="MASC: parts of speech of open American English",
    description=(
        "392 files of speech and writing with Penn tags, 34,530 sentences, 592,447 tokens, 59 tags (the rare ones\n"
        "are noise). No split is published; here, by the number of the file modulo 10, 9 is test and 8\n"
        "development.\n"
        "Ide et al., The Manually Annotated Sub-Corpus, ACL 2010."
    ),
    homepage="http://www.anc.org/data/masc/",
    licence="linguistic education, research and development, also commercial",
    sources=_nltk_sources(
        "30ddfe3f420d789332f5b9b2f28ff57d6a60facc9e1bc11af6e6ddc13a0a8b7a",
        6_066_510,
        "masc.pos.tsv",
        "masc_tagged.zip",
        from_masc_zip,
    ),
)

PTB_SAMPLE = Dataset(
    name="ptb-sample",
    task="tagging",
    title="Penn Treebank sample: parts of speech of the Wall Street Journal",
    description=(
        "Files wsj_0001 to wsj_0199: 3,914 sentences, 94,084 tokens without traces, 45 tags. No split is published;\n"
        "here files 0160 to 0199 are test.\n"
        "Marcus, Santorini and Marcinkiewicz, Building a large annotated corpus of English, CL 19(2), 1993."
    ),
    homepage="https://www.nltk.org/nltk_data/",
    licence="fragment of the Penn Treebank, (c) LDC 1995, for non-commercial use only",
    sources=_nltk_sources(
        "abe7063a72d7035b2577f5ff321f84850626d9a8bf390574fafecbfda380c29f",
        895_962,
        "wsj_0001-0199.pos.tsv",
        "treebank.zip",
        from_treebank_zip,
    ),
)


def _wnut17_source(name: str, sha256: str, size: int, original: str) -> Source:
    return text_source(name, sha256, size, f"{name}.conll", Url(f"{_WNUT17}/{original}"))


WNUT17 = Dataset(
    name="wnut17",
    task="tagging",
    title="WNUT 2017: novel and emerging entities in social media",
    description=(
        "Words of posts with labels (IOB2) of six kinds of entities: person, location, corporation, product,\n"
        "creative-work, group. train: 3,394 sentences, 62,730 tokens, 1,975 entities; dev: 1,009 sentences, 15,733\n"
        "tokens, 836 entities; test: 1,287 sentences, 23,394 tokens, 1,079 entities. Few names occur in two parts.\n"
        "Derczynski et al., Results of the WNUT2017 shared task on novel and emerging entity recognition, 2017."
    ),
    homepage="https://noisy-text.github.io/2017/emerging-rare-entities.html",
    licence="CC BY 4.0",
    sources=(
        _wnut17_source(
            "train", "731820e13f71af324c6b55a1575ec2ce59fbaa2a0806f8f0400b98d56cd6a7a5", 493_781,
            "wnut17train.conll",
        ),
        _wnut17_source(
            "dev", "e053b752b8155113ca66e7db08af5f2f5f43ab993694e4774f1ec5bad42312d8", 114_749,
            "emerging.dev.conll",
        ),
        _wnut17_source(
            "test", "2aa79b764e56ec9264a1b30fdd9b70195bd00ff400b62edd8f399d5f13c178f0", 192_425,
            "emerging.test.annotated",
        ),
    ),
)  # fmt: skip
