"""Networks of an inference competition in an archive with a file for each, decoded to one canonical file.

The canonical file begins with a line for each member, ends them with an empty line, and goes on with the members::

    n_bytes name
    ...

    members as they are, one after the other

Members are sorted by name: ``<instance>.uai``, ``.uai.evid`` and, with published results, ``.uai.MAR`` and ``.uai.PR``.
"""

from __future__ import annotations

import io
import re
import tarfile

from palmette.datasets.decode import LIMIT

_MEMBER = re.compile(r"(?:^|/)(mar_pr|MAR|PR|map|MAP)/(([A-Za-z]+)_(\d+)\.uai(?:\.evid|\.MAR|\.PR)?)$")
_MAP = {
    "Promedas": range(11, 72),
    "Segmentation": range(11, 21),
    "Grids": range(18, 31),
    "ImageAlignment": (12,),
    "ProteinFolding": (15,),
    "wcsp": (13,),
}


def parse(content: bytes) -> dict[str, str]:
    """Members by name.

    >>> parse(b"3 a.uai\\n2 b.uai\\n\\nonetw")
    {'a.uai': 'one', 'b.uai': 'tw'}
    """
    head, _, rest = content.partition(b"\n\n")
    members, start = {}, 0
    for line in head.decode("ascii").split("\n"):
        size, name = line.split(" ", 1)
        members[name] = rest[start : start + int(size)].decode("ascii")
        start += int(size)
    return members


def from_tar(raw: bytes, part: str) -> bytes:
    """Convert an archive with the folders of the competition, or of this data set; ``part`` is "mar_pr" or "map".

    ``mar_pr`` are the instances with published marginals and partition function, but for the large ``relational`` ones;
    ``map`` a choice of 87.
    """
    folders = ("mar_pr", "MAR", "PR") if part == "mar_pr" else ("map", "MAP")
    found: dict[str, bytes] = {}
    size = 0
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        for member in archive:  # in their order: to go back would unpack from the start
            match = _MEMBER.search(member.name)
            if match is None or match[1] not in folders or not member.isfile() or member.size > LIMIT:
                continue
            if match[3] == "relational" or (part == "map" and int(match[4]) not in _MAP.get(match[3], ())):
                continue
            stream = archive.extractfile(member)
            if stream is not None:
                found[match[2]] = stream.read()
                size += member.size
            if size > LIMIT:
                raise ValueError(f"it unpacks to more than {LIMIT:,} bytes")
    suffixes = (".evid", ".MAR", ".PR") if part == "mar_pr" else (".evid",)
    whole = [n for n in found if n.endswith(".uai") and all(n + suffix in found for suffix in suffixes)]
    if not whole:
        raise LookupError(f"the archive has no instance of {part} (a .uai file with {', '.join(suffixes)})")
    names = sorted(name + suffix for name in whole for suffix in ("", *suffixes))
    head = "".join(f"{len(found[name])} {name}\n" for name in names)
    return head.encode("ascii") + b"\n" + b"".join(found[name] for name in names)
