"""Reader of CRFsuite's model files, so that models trained with it can still be used.

All numbers are little-endian. A header of twelve 4-byte fields gives the places of the parts: the features (type,
source, target: 4 bytes each; weight: 8), and for labels and attributes a table of strings each, a block that has a
list of the places of its records (number, length, text ending in 0) by number.
"""

from __future__ import annotations

import os
import struct

import numpy as np

from palmette.contracts.solver import Result, Step
from palmette.data.checks import check_codes
from palmette.data.labels import LabelCodec
from palmette.errors import ModelFileError
from palmette.estimators.crf import CRF
from palmette.estimators.settings import Encoding
from palmette.features.names import NamesEncoder
from palmette.structures import Chain
from palmette.structures.positions.linear_scorer import LinearScorer

MAGIC = b"lCRF"
_FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
_STATE, _TRANSITION = 0, 1


def is_crfsuite_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file starts as CRFsuite's models do."""
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def read_crfsuite_model(path: str | os.PathLike[str]) -> CRF:
    """A CRFsuite model as a fitted :class:`palmette.CRF`; its objective is not in the file, hence NaN."""
    with open(path, "rb") as file:
        content = file.read()
    try:
        return _model(content)
    except (struct.error, ValueError, IndexError, OverflowError) as error:
        raise ModelFileError(f"{os.fspath(path)}: the CRFsuite model is damaged ({error})") from None


def _model(content: bytes) -> CRF:
    _, _, kind, version, _, n_labels, n_attributes, *places = struct.unpack_from("<4sI4s9I", content)
    if kind != b"FOMC":
        raise ValueError(f"its type is {kind!r}, and only first-order chains (FOMC) are known")
    if version != 100:
        raise ValueError(f"its version is {version}, and only 100 is known")
    _check_magic(content, places[0], b"FEAT")
    _, _, n_features = struct.unpack_from("<4sII", content, places[0])
    features = np.frombuffer(content, _FEATURE, n_features, places[0] + 12)
    labels = _strings(content, places[1], n_labels)
    names = _strings(content, places[2], n_attributes)
    for what, given in (("label", labels), ("attribute", names)):
        if len(set(given)) != len(given):
            raise ValueError(f"it has the same {what} twice")
    states = features[features["type"] == _STATE]
    edges = features[features["type"] == _TRANSITION]
    if len(states) + len(edges) != n_features:
        raise ValueError("it has features that are neither of states nor of transitions")
    if not np.all(np.isfinite(features["weight"])):
        raise ValueError("it has weights that are not finite")
    check_codes("source of states", states["source"], n_attributes)
    check_codes("source of transitions", edges["source"], n_labels)
    check_codes("target", features["target"], n_labels)
    states = states[np.lexsort((states["target"], states["source"]))]
    edges = edges[np.lexsort((edges["target"], edges["source"]))]
    ptr = np.concatenate([[0], np.cumsum(np.bincount(states["source"], minlength=n_attributes))])
    model = CRF(Chain(), encoding=Encoding(states="observed", transitions="observed"), fit_intercept=False)
    model.codec_ = LabelCodec(labels)
    model.encoder_ = NamesEncoder("sequences", names)
    model.scorer_ = LinearScorer(
        n_columns=n_attributes, n_labels=n_labels, ptr=ptr.astype(np.int64), label=states["target"].astype(np.int32),
        pairs=edges["source"].astype(np.int64) * n_labels + edges["target"], intercept=False, has_edges=True,
    )  # fmt: skip
    model.scorer_.check()
    model.coef_ = np.concatenate([states["weight"], edges["weight"]])
    step = Step(0, 0.0, 0.0, float("nan"), float("nan"))
    model.result_ = Result(model.coef_, step, (step,), False, "read from a CRFsuite model")
    model.objective_, model.n_iter_ = step.primal, 0
    return model


def _strings(content: bytes, start: int, n: int) -> list[str]:
    """The strings of a table by number."""
    _check_magic(content, start, b"CQDB")
    _, _, _, _, n_places, place = struct.unpack_from("<4s5I", content, start)
    if n_places != n:
        raise ValueError(f"a table of strings has {n_places} entries, expected {n}")
    found, n_bytes = [], 0
    for i, at in enumerate(struct.unpack_from(f"<{n}I", content, start + place)):
        number, length = struct.unpack_from("<II", content, start + at)
        n_bytes += length  # strings that overlap would let a small file fill the memory
        text = content[start + at + 8 : start + at + 8 + length]
        if number != i or len(text) != length or not text.endswith(b"\0") or n_bytes > len(content):
            raise ValueError(f"string {i} of a table is broken")
        found.append(text[:-1].decode("utf-8"))
    return found


def _check_magic(content: bytes, place: int, magic: bytes) -> None:
    if content[place : place + len(magic)] != magic:
        raise ValueError(f"there is no {magic.decode()} at byte {place}")
