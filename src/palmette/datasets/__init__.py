"""Data sets: loaders of public ones, and simulators."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from palmette.datasets.conll import load_conll2000
    from palmette.datasets.hapt import load_hapt
    from palmette.datasets.jnlpba import load_jnlpba
    from palmette.datasets.letor_ohsumed import load_letor_ohsumed
    from palmette.datasets.linqs import load_webkb_linqs
    from palmette.datasets.ocr import load_ocr_letters
    from palmette.datasets.registry import Dataset, Source, get_dataset, list_datasets
    from palmette.datasets.segmentation import load_cws_pd199801, load_cws_udc
    from palmette.datasets.simulate import make_chains, make_tagging
    from palmette.datasets.snakes import load_snakes
    from palmette.datasets.statlog import load_statlog
    from palmette.datasets.store import fetch, where
    from palmette.datasets.tagged import load_brown, load_masc, load_ptb_sample, load_ud_ewt
    from palmette.datasets.uai2014 import load_uai2014
    from palmette.datasets.webkb import load_webkb_cmu

__all__ = [
    "Dataset",
    "Source",
    "fetch",
    "get_dataset",
    "list_datasets",
    "load_brown",
    "load_conll2000",
    "load_cws_pd199801",
    "load_cws_udc",
    "load_hapt",
    "load_jnlpba",
    "load_letor_ohsumed",
    "load_masc",
    "load_ocr_letters",
    "load_ptb_sample",
    "load_snakes",
    "load_statlog",
    "load_uai2014",
    "load_ud_ewt",
    "load_webkb_cmu",
    "load_webkb_linqs",
    "make_chains",
    "make_tagging",
    "where",
]

_MODULE_OF = {
    "Dataset": "registry",
    "Source": "registry",
    "fetch": "store",
    "get_dataset": "registry",
    "list_datasets": "registry",
    "load_brown": "tagged",
    "load_conll2000": "conll",
    "load_cws_pd199801": "segmentation",
    "load_cws_udc": "segmentation",
    "load_hapt": "hapt",
    "load_jnlpba": "jnlpba",
    "load_letor_ohsumed": "letor_ohsumed",
    "load_masc": "tagged",
    "load_ocr_letters": "ocr",
    "load_ptb_sample": "tagged",
    "load_snakes": "snakes",
    "load_statlog": "statlog",
    "load_uai2014": "uai2014",
    "load_ud_ewt": "tagged",
    "load_webkb_cmu": "webkb",
    "load_webkb_linqs": "linqs",
    "make_chains": "simulate",
    "make_tagging": "simulate",
    "where": "store",
}


def __getattr__(name: str) -> Any:
    """Import the public names on first use: to list data sets needs no scikit-learn."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
