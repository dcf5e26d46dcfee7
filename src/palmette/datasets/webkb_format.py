"""Raw web pages in an archive with a file for each, decoded to one canonical file.

The canonical file begins with a line for each page, ends them with an empty line, and goes on with the pages::

    class school n_bytes url
    ...

    pages as they were served, headers of the protocol included, one after the other

Pages are sorted by class, school and name of file. A name has ``^`` where the URL has ``/``; some copies have ``_``
where it has ``:``, so every colon but those after the scheme and before a port is an underscore here.
"""

from __future__ import annotations

import io
import re
import tarfile
from typing import NamedTuple

from palmette.datasets.decode import LIMIT

_MEMBER = re.compile(r"(?:^|/)webkb/([a-z]+)/([a-z]+)/([^/]+)$")
_HOST = re.compile(r"^(\w+?)_//([^/]*?)(?:_(\d*))?(?=/|$)")


class Page(NamedTuple):
    """A page: its class, the university of its server, its address and what the server sent."""

    label: str
    school: str
    url: str
    content: bytes


def parse(content: bytes) -> list[Page]:
    """Read the canonical file.

    >>> one, two = parse(b"course texas 3 http://a/b\\nother misc 2 http://c\\n\\nonetw")
    >>> one, two.content
    (Page(label='course', school='texas', url='http://a/b', content=b'one'), b'tw')
    """
    head, _, rest = content.partition(b"\n\n")
    pages, start = [], 0
    for line in head.decode("utf-8").split("\n"):
        label, school, size, url = line.split(" ", 3)
        pages.append(Page(label, school, url, rest[start : start + int(size)]))
        start += int(size)
    return pages


def from_tar(raw: bytes) -> bytes:
    """Convert a tar archive, compressed or not, with members ``webkb/<class>/<school>/<name>``."""
    found, size = [], 0
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        for member in archive:  # in their order: to go back would unpack from the start
            match = _MEMBER.search(member.name)
            stream = archive.extractfile(member) if match and member.isfile() else None
            if match is None or stream is None:
                continue
            size += member.size
            if size > LIMIT:
                raise ValueError(f"it unpacks to more than {LIMIT:,} bytes")
            label, school, name = match.groups()
            found.append((label, school, name.replace(":", "_"), stream.read()))
    if not found:
        raise ValueError("the archive has no files webkb/<class>/<school>/<name>")
    found.sort(key=lambda page: page[:3])
    lines = (f"{label} {school} {len(page)} {to_url(name)}\n" for label, school, name, page in found)
    return "".join(lines).encode("utf-8") + b"\n" + b"".join(page for *_, page in found)


def to_url(name: str) -> str:
    """The address that the name of a file stands for.

    >>> to_url("http_^^www.cs.wisc.edu_80^~tom_b^index.html"), to_url("http:^^a.edu")
    ('http://www.cs.wisc.edu:80/~tom_b/index.html', 'http://a.edu')
    """

    def restore(match: re.Match[str]) -> str:
        scheme, host, port = match.groups()
        return f"{scheme}://{host}" + (f":{port}" if port else "")

    return _HOST.sub(restore, name.replace(":", "_").replace("^", "/"))
