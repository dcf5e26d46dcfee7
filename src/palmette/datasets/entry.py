"""What palmette knows of a data set: files, public addresses, checksums, licence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from palmette.datasets.decode import Decode, gunzip, plain, unxz


class File(NamedTuple):
    """A file name under which a source may lie in a local folder, and its decoder."""

    name: str
    decode: Decode


def text_files(name: str) -> tuple[File, ...]:
    """A text as it is, or compressed.

    >>> [file.name for file in text_files("train.txt")]
    ['train.txt', 'train.txt.xz', 'train.txt.gz']
    """
    return File(name, plain), File(f"{name}.xz", unxz), File(f"{name}.gz", gunzip)


class Url(NamedTuple):
    """A public address of a source and its decoder; ``tried`` says whether it is known to have worked."""

    address: str
    decode: Decode = plain
    tried: bool = False


@dataclass(frozen=True)
class Source:
    """One part of a data set.

    Attributes
    ----------
    name : str
    sha256 : str
        Checksum of the decoded content.
    size : int
        Bytes of the decoded content.
    files : tuple of File
        Accepted files, in the order they are looked for. The first holds the decoded content itself and is
        the one written to the cache.
    urls : tuple of Url
        In the order they are tried.
    """

    name: str
    sha256: str
    size: int
    files: tuple[File, ...]
    urls: tuple[Url, ...]


def text_source(name: str, sha256: str, size: int, file: str, *urls: Url) -> Source:
    """A source that is one text."""
    return Source(name, sha256, size, text_files(file), urls)


@dataclass(frozen=True)
class Dataset:
    """A data set.

    Attributes
    ----------
    name : str
        Also the name of its folder in ``PALMETTE_DATA`` and in the cache.
    task : str
        What it is for, in a word: where there is one, the task of the command line.
    title : str
    description : str
    homepage : str
    licence : str
    sources : tuple of Source
    """

    name: str
    task: str
    title: str
    description: str
    homepage: str
    licence: str
    sources: tuple[Source, ...]

    @property
    def size(self) -> int:
        """Bytes of decoded content."""
        return sum(source.size for source in self.sources)

    @property
    def urls(self) -> tuple[Url, ...]:
        """Public addresses of all sources."""
        return tuple(url for source in self.sources for url in source.urls)

    @property
    def tried(self) -> bool:
        """Whether every source has a public address that is known to have worked."""
        return all(any(url.tried for url in source.urls) for source in self.sources)

    @property
    def DESCR(self) -> str:
        """Description for people, as in the bunches of scikit-learn."""
        return (
            f"{self.title}\n\n{self.description}\n\nHome page: {self.homepage}\nLicence: {self.licence}\n"
            + "".join(f"SHA-256 of {source.name}, decoded: {source.sha256}\n" for source in self.sources)
        )
