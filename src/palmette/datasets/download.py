"""Download of one address into memory."""

from __future__ import annotations

import logging
from collections.abc import Callable
from http.client import HTTPException
from urllib.request import Request, urlopen

from palmette import __version__
from palmette.datasets.decode import LIMIT

Progress = Callable[[str, int, int | None], object]
"""Called as ``progress(address, bytes so far, bytes in all or None)``."""

DOWNLOAD_ERRORS = (OSError, HTTPException)
"""What :func:`download` raises when the address cannot be had."""

_CHUNK = 2**16
_logger = logging.getLogger(__name__)


def download(address: str, *, timeout: float = 30.0, progress: Progress | None = None) -> bytes:
    """Return the body behind an address, complete or not at all.

    Parameters
    ----------
    address : str
    timeout : float, default=30.0
        Seconds without an answer after which the attempt is given up.
    progress : callable or None, default=None
        Called as ``progress(address, n_bytes, n_total)`` after every piece; ``n_total`` is None if the server
        does not say.

    Raises
    ------
    OSError or http.client.HTTPException
        No connection, an error status, a body that is too long or shorter than announced.
    """
    _logger.info("downloading %s", address)
    request = Request(address, headers={"User-Agent": f"palmette/{__version__}"})
    body = bytearray()
    with urlopen(request, timeout=timeout) as response:
        announced = response.headers.get("Content-Length", "")
        total = int(announced) if announced.isdigit() else None
        while piece := response.read(_CHUNK):
            body += piece
            if len(body) > LIMIT:
                raise OSError(f"the answer is longer than {LIMIT:,} bytes")
            if progress is not None:
                progress(address, len(body), total)
    if total is not None and len(body) != total:
        raise OSError(f"the connection ended after {len(body):,} of {total:,} bytes")
    _logger.info("downloaded %s: %d bytes", address, len(body))
    return bytes(body)
