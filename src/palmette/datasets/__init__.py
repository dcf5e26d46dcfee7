"""Data sets: loaders of public ones, and simulators."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from palmette.datasets.alignments import load_alignment_parameters, load_alignments
    from palmette.datasets.cells import make_cells, stream_cells
    from palmette.datasets.conll import load_conll2000
    from palmette.datasets.enzymes import load_enzymes
    from palmette.datasets.fluo import load_fluo
    from palmette.datasets.hapt import load_hapt
    from palmette.datasets.jnlpba import load_jnlpba
    from palmette.datasets.letor_ohsumed import load_letor_ohsumed
    from palmette.datasets.linqs import load_webkb_linqs
    from palmette.datasets.ocr import load_ocr_letters
    from palmette.datasets.registry import Dataset, Source, get_dataset, list_datasets
    from palmette.datasets.rna import load_rna, load_rna_parameters
    from palmette.datasets.segmentation import load_cws_pd199801, load_cws_udc
    from palmette.datasets.simulate import make_chains, make_tagging
    from palmette.datasets.snakes import load_snakes
    from palmette.datasets.statlog import load_statlog
    from palmette.datasets.store import fetch, where
    from palmette.datasets.tagged import load_brown, load_masc, load_ptb_sample, load_ud_ewt
    from palmette.datasets.uai2014 import load_uai2014
    from palmette.datasets.webkb import load_webkb_cmu
    from palmette.datasets.wnut17 import load_wnut17

__all__ = [
    "Dataset",
    "Source",
    "fetch",
    "get_dataset",
    "list_datasets",
    "load_alignment_parameters",
    "load_alignments",
    "load_brown",
    "load_conll2000",
    "load_cws_pd199801",
    "load_cws_udc",
    "load_enzymes",
    "load_fluo",
    "load_hapt",
    "load_jnlpba",
    "load_letor_ohsumed",
    "load_masc",
    "load_ocr_letters",
    "load_ptb_sample",
    "load_rna",
    "load_rna_parameters",
    "load_snakes",
    "load_statlog",
    "load_uai2014",
    "load_ud_ewt",
    "load_webkb_cmu",
    "load_webkb_linqs",
    "load_wnut17",
    "make_cells",
    "make_chains",
    "make_tagging",
    "stream_cells",
    "where",
]

_NAMES_OF = {
    "alignments": "load_alignment_parameters load_alignments",
    "cells": "make_cells stream_cells",
    "conll": "load_conll2000",
    "enzymes": "load_enzymes",
    "fluo": "load_fluo",
    "hapt": "load_hapt",
    "jnlpba": "load_jnlpba",
    "letor_ohsumed": "load_letor_ohsumed",
    "linqs": "load_webkb_linqs",
    "ocr": "load_ocr_letters",
    "registry": "Dataset Source get_dataset list_datasets",
    "rna": "load_rna load_rna_parameters",
    "segmentation": "load_cws_pd199801 load_cws_udc",
    "simulate": "make_chains make_tagging",
    "snakes": "load_snakes",
    "statlog": "load_statlog",
    "store": "fetch where",
    "tagged": "load_brown load_masc load_ptb_sample load_ud_ewt",
    "uai2014": "load_uai2014",
    "webkb": "load_webkb_cmu",
    "wnut17": "load_wnut17",
}
_MODULE_OF = {name: module for module, names in _NAMES_OF.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import the public names on first use: to list data sets needs no scikit-learn."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
