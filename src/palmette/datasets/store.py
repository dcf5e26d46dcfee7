"""Where data sets are: the folder ``PALMETTE_DATA``, then the user's cache, then their public addresses.

Both folders have the same layout, ``<folder>/<data set>/<file>``. Content is checked against its checksum
whenever it is read, wherever it comes from.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from palmette.datasets.decode import DECODE_ERRORS, Decode
from palmette.datasets.download import DOWNLOAD_ERRORS, Progress, download
from palmette.datasets.registry import Dataset, Source, get_dataset
from palmette.errors import DataFileError, DatasetUnavailable
from palmette.io.atomic import write_atomically

PLACES = ("PALMETTE_DATA", "cache", "url")
"""The places where data is looked for, nearest first."""


class Location(NamedTuple):
    """Where a data set is: its folder (None if it has to be downloaded) and the name of the place."""

    path: Path | None
    place: str


def data_dir() -> Path | None:
    """Return the folder named by the environment variable ``PALMETTE_DATA``, None if that is unset or empty."""
    value = os.environ.get("PALMETTE_DATA")
    if not value:
        return None
    path = Path(value).expanduser()
    if not path.is_dir():
        raise ValueError(f"PALMETTE_DATA={value!r} is not a folder; correct it, or unset it to use the cache")
    return path


def cache_dir() -> Path:
    """Return the folder of downloaded data: ``data`` in ``PALMETTE_CACHE`` or in the user's cache folder."""
    import platformdirs

    root = os.environ.get("PALMETTE_CACHE") or platformdirs.user_cache_dir("palmette", appauthor=False)
    return Path(root).expanduser() / "data"


def where(name: str) -> Location:
    """Say where a data set would be loaded from.

    Parameters
    ----------
    name : str

    Returns
    -------
    Location
        ``(path, place)`` with place ``"PALMETTE_DATA"``, ``"cache"`` or ``"url"``; with the last, path is None.
        If the parts of the data set are in different places, that of the farthest part.

    Examples
    --------
    >>> from palmette.datasets import where
    >>> where("conll2000").place in ("PALMETTE_DATA", "cache", "url")
    True
    """
    dataset = get_dataset(name)
    found = [_find(dataset, source) for source in dataset.sources]
    locations = [Location(f.path.parent, f.place) if f else Location(None, "url") for f in found]
    return max(locations, key=lambda location: PLACES.index(location.place))


def fetch(name: str, force: bool = False, *, progress: Progress | None = None, timeout: float = 30.0) -> Path:
    """Make sure that a data set is on this machine, downloading what is missing.

    Parameters
    ----------
    name : str
    force : bool, default=False
        Download to the cache even what is already there or in ``PALMETTE_DATA``.
    progress : callable or None, default=None
        Called as ``progress(address, n_bytes, n_total)``; ``n_total`` is None if the server does not say.
    timeout : float, default=30.0
        Seconds without an answer after which an address is given up.

    Returns
    -------
    Path
        Folder of the data set (with ``force``, the one in the cache).

    Raises
    ------
    DatasetUnavailable
        No address delivers the content, or the cache cannot be written.
    DataFileError
        A file that is already here has a wrong checksum.
    """
    dataset = get_dataset(name)
    for source in dataset.sources:
        _, obstacle = _obtain(dataset, source, force=force, progress=progress, timeout=timeout)
        if obstacle is not None:
            raise DatasetUnavailable(_not_cached(dataset, obstacle)) from obstacle
    location = where(name)
    return cache_dir() / name if force or location.path is None else location.path


def read(name: str, sources: Collection[str]) -> dict[str, bytes]:
    """Return the decoded content of some sources of a data set, downloading and caching what is missing.

    A cache that cannot be written costs a warning and a download next time.
    """
    dataset = get_dataset(name)
    contents, obstacle = {}, None
    for source in dataset.sources:
        if source.name in sources:
            contents[source.name], new_obstacle = _obtain(dataset, source)
            obstacle = obstacle or new_obstacle
    if obstacle is not None:
        warnings.warn(f"{_not_cached(dataset, obstacle)}; until then every load downloads it", stacklevel=3)
    return contents


def _obtain(
    dataset: Dataset,
    source: Source,
    *,
    force: bool = False,
    progress: Progress | None = None,
    timeout: float = 30.0,
) -> tuple[bytes, OSError | None]:
    """Return the content, from the nearest place, and what prevented caching it (None if nothing did)."""
    found = _find(dataset, source)
    if found is not None and not force:
        return _read_file(source, found), None
    content = _download(dataset, source, progress=progress, timeout=timeout)
    try:
        _write(dataset, source, content)
    except OSError as error:
        return content, error
    return content, None


def _not_cached(dataset: Dataset, obstacle: OSError) -> str:
    return (
        f"data set {dataset.name!r} was downloaded but cannot be written to the cache "
        f"{cache_dir() / dataset.name} ({obstacle}); set PALMETTE_CACHE to a folder that you can write to"
    )


class _Found(NamedTuple):
    path: Path
    decode: Decode
    place: str


def _find(dataset: Dataset, source: Source) -> _Found | None:
    for place, folder in _folders():
        for file in source.files:
            path = folder / dataset.name / file.name
            if path.is_file():
                return _Found(path, file.decode, place)
    return None


def _folders() -> Iterator[tuple[str, Path]]:
    given = data_dir()
    if given is not None:
        yield "PALMETTE_DATA", given
    yield "cache", cache_dir()


def _read_file(source: Source, found: _Found) -> bytes:
    try:
        return _decode(source, found.path.read_bytes(), found.decode)
    except _Damaged as error:
        remedy = "replace the file" if found.place == "PALMETTE_DATA" else "delete it, or fetch with force"
        raise DataFileError(f"{found.path}: {error}; {remedy}") from error


class _Damaged(ValueError):
    """Content is not what the registry promises."""


def _decode(source: Source, raw: bytes, decode: Decode) -> bytes:
    try:
        content = decode(raw)
    except DECODE_ERRORS as error:
        raise _Damaged(f"cannot be decoded: {str(error) or type(error).__name__}") from error
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 != source.sha256:
        raise _Damaged(f"wrong SHA-256 of the decoded content: expected {source.sha256}, found {sha256}")
    return content


def _download(dataset: Dataset, source: Source, *, progress: Progress | None, timeout: float) -> bytes:
    failures = []
    for url in source.urls:
        try:
            return _decode(source, download(url.address, timeout=timeout, progress=progress), url.decode)
        except (*DOWNLOAD_ERRORS, _Damaged) as error:
            failures.append(f"  {url.address}: {str(error) or type(error).__name__}")
    names = ", ".join(file.name for file in source.files)
    local = [f"  {place} {folder / dataset.name}: none of {names}" for place, folder in _folders()]
    if data_dir() is None:
        local.insert(0, "  PALMETTE_DATA: not set")
    raise DatasetUnavailable(
        f"data set {dataset.name!r}, part {source.name!r}, is not available. Places searched:\n"
        + "\n".join(local + failures)
        + f"\nConnect to the network and try again, or get the file from {dataset.homepage} and set "
        f"PALMETTE_DATA to a folder that has {dataset.name}/ with one of {names}."
    )


def _write(dataset: Dataset, source: Source, content: bytes) -> None:
    """Write to the cache; a reader sees the whole file or none."""
    folder = cache_dir() / dataset.name
    folder.mkdir(parents=True, exist_ok=True)
    with write_atomically(folder / source.files[0].name) as file:
        file.write(content)
