"""Addresses of pages, brought to one form so that links can be matched with pages."""

from __future__ import annotations

import re
from urllib.parse import unquote, urljoin, urlsplit

_INDEX = re.compile(r"/(index|default|welcome)\.s?html?$")


def normal_url(url: str, base: str = "") -> str | None:
    """One form for all spellings of an address; None if it is none of a page.

    Relative addresses are resolved against `base`. Lower case throughout, no ``www.``, no port 80, no fragment, no
    ``index.html``, no slash at the end, ``%7e`` is ``~``; the scheme is dropped.

    Parameters
    ----------
    url, base : str

    Examples
    --------
    >>> normal_url("HTTP://WWW.CS.Cornell.edu:80/Info/%7Eann/index.html#top")
    'cs.cornell.edu/info/~ann'
    >>> normal_url("../bob/", "http://cs.cornell.edu/info/ann/a.html")
    'cs.cornell.edu/info/bob'
    >>> normal_url("mailto:ann@cs.cornell.edu") is None
    True
    """
    try:
        parts = urlsplit(urljoin(base, url.strip()))
        host, port = parts.hostname, parts.port
    except ValueError:  # brackets or ports that no address has
        return None
    if parts.scheme not in ("http", "https", "ftp", "file") or not host:
        return None
    path = unquote(parts.path, encoding="latin-1").lower()
    path = _INDEX.sub("", re.sub(r"/{2,}", "/", path)).rstrip("/")
    query = f"?{parts.query.lower()}" if parts.query else ""
    return host.removeprefix("www.") + (f":{port}" if port not in (None, 80) else "") + path + query
