"""The container of model files: one zip with a JSON header and ``.npy`` arrays, and never a pickle.

Layout of format 2, all members stored uncompressed::

    header.json          {"format": 2, "palmette": version, "kind": ..., "arrays": [...], "header": {...}}
    arrays/<name>.npy    one for each entry {"name", "dtype", "shape"} of "arrays"

A model file of a stranger is safe to open: nothing in it is executed, no name in it becomes a path, and no
declared size is believed that the file itself does not have.
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from palmette.errors import ModelFileError
from palmette.io.atomic import write_atomically
from palmette.io.npy import check_dtype, read_array, write_array

FORMAT = 2  # 1 had flat parameters and no groups of kinds
_HEADER = "header.json"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*")
_BROKEN = (struct.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError, OverflowError)
_BIG = 1 << 30  # members above this get 64-bit sizes


def write_model(
    path: str | os.PathLike[str] | BinaryIO, kind: str, header: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Write a model file; equal contents give equal bytes.

    Parameters
    ----------
    path : path or binary file object
        A file at `path` is replaced only when the new one is complete.
    kind : str
        What the file holds, such as the class of the model.
    header : dict of JSON values
        NumPy scalars are welcome; tuples come back as lists; NaN and infinity are refused.
    arrays : dict of arrays of booleans or numbers
        Names consist of letters, digits, ``_``, ``.`` and ``-``.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> write_model(file, "example", {"l2": 1.0}, {"w": np.arange(3.0)})
    >>> read_model(file)
    ('example', {'l2': 1.0}, {'w': array([0., 1., 2.])})
    """
    tables = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    for name, array in tables.items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"array name {name!r}: use letters, digits, '_', '.' and '-'")
        try:
            check_dtype(array.dtype)
        except ValueError as error:
            raise TypeError(f"array {name!r} {error}") from None
    text = _header_text(kind, header, tables)
    if hasattr(path, "write"):
        _write_zip(path, text, tables)  # type: ignore[arg-type]
    else:
        with write_atomically(path) as file:
            _write_zip(file, text, tables)


def _header_text(kind: str, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    from palmette import __version__  # not at the top: the package may be importing this module right now

    table = [{"name": n, "dtype": a.dtype.str, "shape": list(a.shape)} for n, a in arrays.items()]
    content: dict[str, Any] = {"format": FORMAT, "palmette": __version__, "kind": kind}
    content |= {"arrays": table, "header": dict(header)}
    try:
        return json.dumps(content, indent=1, allow_nan=False, default=_plain).encode("ascii")
    except (TypeError, ValueError) as error:
        raise type(error)(f"the header of a model file must be JSON: {error}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} {value!r:.60} is not a JSON value")


def _write_zip(file: BinaryIO, text: bytes, arrays: Mapping[str, np.ndarray]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER), text)
        for name, array in arrays.items():
            with archive.open(
                zipfile.ZipInfo(f"arrays/{name}.npy"), "w", force_zip64=array.nbytes > _BIG
            ) as member:
                write_array(member, array)  # type: ignore[arg-type]


def read_model(path: str | os.PathLike[str] | BinaryIO) -> tuple[str, dict[str, Any], dict[str, np.ndarray]]:
    """Read a model file.

    Returns
    -------
    kind : str
    header : dict
    arrays : dict of arrays
        Writeable, in C order and native byte order.

    Raises
    ------
    FileNotFoundError
        If there is no file at `path`.
    ModelFileError
        If the file is damaged, unsafe, or of another format.
    """
    if hasattr(path, "read"):
        return _read(path, getattr(path, "name", "the model file"))  # type: ignore[arg-type]
    with open(path, "rb") as file:
        return _read(file, os.fspath(path))


def _read(file: BinaryIO, name: Any) -> tuple[str, dict[str, Any], dict[str, np.ndarray]]:
    try:
        size = file.seek(0, os.SEEK_END)
        with zipfile.ZipFile(file) as archive:
            content = _read_header(archive, size)
            members = _safe_members(archive, content["arrays"], size)
            arrays = {entry["name"]: _read_member(archive, entry, members) for entry in content["arrays"]}
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from None
    except zipfile.BadZipFile as error:
        raise ModelFileError(
            f"{name}: this is not a model file, or it is truncated or damaged ({error})"
        ) from error
    except _BROKEN as error:
        raise ModelFileError(f"{name}: the file is damaged ({type(error).__name__}: {error})") from error
    return content["kind"], content["header"], arrays


def _read_header(archive: zipfile.ZipFile, size: int) -> dict[str, Any]:
    """The header of a file of a format that we read, with its parts of the right types."""
    if _HEADER not in archive.namelist():
        raise ModelFileError(f"this zip is not a model file: it has no {_HEADER}")
    _check_member(archive.getinfo(_HEADER), size)
    try:
        content = json.loads(archive.read(_HEADER), parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{_HEADER} is not JSON ({error})") from None
    version = content.get("format") if isinstance(content, dict) else None
    if type(version) is not int or version < 1:
        raise ModelFileError(f"{_HEADER} does not say which format it has")
    if version > FORMAT:
        raise ModelFileError(
            f"format {version} is newer than this palmette reads ({FORMAT}): upgrade palmette"
        )
    if version < FORMAT:
        raise ModelFileError(
            f"format {version} is older than this palmette reads ({FORMAT}): train the model again, or load it by the "
            "palmette that wrote it"
        )
    for key, kind in {"kind": str, "header": dict, "arrays": list}.items():
        if not isinstance(content.get(key), kind):
            raise ModelFileError(f"{_HEADER} is damaged: {key!r} must be of type {kind.__name__}")
    for entry in content["arrays"]:
        if not (isinstance(entry, dict) and entry.keys() == {"name", "dtype", "shape"}):
            raise ModelFileError(f"{_HEADER} is damaged: {entry!r:.60} does not describe an array")
        if not (isinstance(entry["name"], str) and _NAME.fullmatch(entry["name"])):
            raise ModelFileError(
                f"{_HEADER} names an array {entry['name']!r:.60}, which is not an array name"
            )
    return content


def _finite(text: str) -> float:
    """A number of the header; NaN and infinity are never written, and 1e999 would be read as infinity."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a finite number")
    return value


def _safe_members(
    archive: zipfile.ZipFile, table: list[dict[str, Any]], size: int
) -> dict[str, zipfile.ZipInfo]:
    """The members by name, after checking that they are those of the table and not larger than the file."""
    infos = archive.infolist()
    members = {info.filename: info for info in infos}
    expected = [_HEADER, *(f"arrays/{entry['name']}.npy" for entry in table)]
    if len(set(expected)) != len(expected) or len(members) != len(infos):
        raise ModelFileError("a member occurs twice")
    for name in expected:
        if name not in members:
            raise ModelFileError(f"the member {name} is missing")
    for name, info in members.items():
        if name not in expected:
            raise ModelFileError(
                f"unknown member {name!r:.80}; model files hold {_HEADER} and its arrays only"
            )
        _check_member(info, size)
    if sum(info.file_size for info in infos) > size:
        raise ModelFileError(f"the members declare more bytes than the file has ({size})")
    return members


def _check_member(info: zipfile.ZipInfo, size: int) -> None:
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        raise ModelFileError(f"the member {info.filename!r:.80} is compressed, which model files never are")
    if info.flag_bits & 0x1:
        raise ModelFileError(f"the member {info.filename!r:.80} is encrypted, which model files never are")
    if info.file_size > size:
        raise ModelFileError(
            f"the member {info.filename!r:.80} declares {info.file_size} bytes, but the file has {size}"
        )


def _read_member(
    archive: zipfile.ZipFile, entry: dict[str, Any], members: dict[str, zipfile.ZipInfo]
) -> np.ndarray:
    info = members[f"arrays/{entry['name']}.npy"]
    with archive.open(info) as member:
        try:
            array = read_array(member, info.file_size)
        except ValueError as error:
            raise ModelFileError(f"the array {entry['name']!r} is damaged or unsafe: {error}") from None
    same_type = str(entry["dtype"])[1:] == array.dtype.str[1:]  # the first character is the byte order
    if not same_type or list(array.shape) != entry["shape"]:
        raise ModelFileError(
            f"the array {entry['name']!r} is {array.dtype} of shape {array.shape}, but {_HEADER} declares "
            f"{entry['dtype']!r:.20} of shape {entry['shape']!r:.60}"
        )
    return array
