"""Download of one address into memory."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from palmette import __version__
from palmette.datasets.decode import LIMIT

Progress = Callable[[str, int, int | None], object]
"""Called as ``progress(address, bytes so far, bytes in all or None)``."""

DOWNLOAD_ERRORS = (OSError, HTTPException)
"""What :func:`download` raises when the download fails."""

TIME_LIMIT = 1800.0  # seconds for one address: the largest body that is taken comes at 150 kB/s
_CHUNK = 2**16
_logger = logging.getLogger(__name__)


def download(
    address: str, *, timeout: float = 30.0, time_limit: float = TIME_LIMIT, progress: Progress | None = None
) -> bytes:
    """Return the body behind an address, complete or not at all.

    Parameters
    ----------
    address : str
        Redirections are followed, but never from https to anything else.
    timeout : float, default=30.0
        Seconds without an answer after which the attempt is given up.
    time_limit : float, default=1800.0
        Seconds for the whole download, redirections included, however the answer trickles in.
    progress : callable or None, default=None
        Called as ``progress(address, n_bytes, n_total)`` after every piece; ``n_total`` is None if the server
        does not say.

    Raises
    ------
    OSError or http.client.HTTPException
        No connection, an error status, a body that is too long or shorter than announced, no end in time.
    """
    _logger.info("downloading %s", address)
    request = Request(address, headers={"User-Agent": f"palmette/{__version__}"})
    body = bytearray()
    with _watched(address, time_limit) as opener, opener.open(request, timeout=timeout) as response:
        announced = response.headers.get("Content-Length", "")
        total = int(announced) if announced.isdigit() else None
        while piece := response.read1(_CHUNK):
            body += piece
            if len(body) > LIMIT:
                raise OSError(f"the answer is longer than {LIMIT:,} bytes")
            if progress is not None:
                progress(address, len(body), total)
    if total is not None and len(body) != total:
        raise OSError(f"the connection ended after {len(body):,} of {total:,} bytes")
    _logger.info("downloaded %s: %d bytes", address, len(body))
    return bytes(body)


class _NeverLessSecure(HTTPRedirectHandler):
    """Follows redirections, but neither away from https nor to anything but the web."""

    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: str) -> Any:
        """The request for the new address, or an error."""
        old, new = urlsplit(req.full_url).scheme, urlsplit(newurl).scheme
        if new != "https" and (new != "http" or old == "https"):
            raise URLError(f"{req.full_url} redirects to {newurl}, which leaves {old}: refused")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@contextmanager
def _watched(address: str, time_limit: float) -> Iterator[Any]:
    """An opener all of whose connections are cut at the time limit; a timeout alone starts anew with every byte."""
    connections: list[socket.socket] = []
    over = threading.Event()

    def cut() -> None:
        over.set()
        for each in list(connections):
            with suppress(OSError):  # ended already
                each.shutdown(socket.SHUT_RDWR)

    def connecting(kind: Any) -> Any:
        """A kind of connection that can be cut from the first byte on, that of a handshake or a proxy included."""

        class Connection(kind):
            def __init__(self, *arguments: Any, **options: Any) -> None:
                super().__init__(*arguments, **options)
                self._create_connection = self._kept

            def _kept(self, *arguments: Any) -> socket.socket:
                found = socket.create_connection(*arguments)
                connections.append(found.dup())  # encryption takes the socket itself away
                if over.is_set():
                    cut()
                return found

        return Connection

    class Plain(HTTPHandler):
        def http_open(self, req: Any) -> Any:
            return self.do_open(connecting(HTTPConnection), req)

    class Secure(HTTPSHandler):
        def https_open(self, req: Any) -> Any:
            return self.do_open(connecting(HTTPSConnection), req, context=self._context)  # type: ignore[attr-defined]

    watch = threading.Timer(time_limit, cut)
    watch.daemon = True
    watch.start()
    try:
        yield build_opener(Plain, Secure, _NeverLessSecure)
    except Exception as error:
        if not over.is_set():
            raise
        raise TimeoutError(_late(address, time_limit)) from error
    finally:
        watch.cancel()
        for each in connections:
            each.close()
    if over.is_set():  # a body of unknown length seems to end where it was cut
        raise TimeoutError(_late(address, time_limit))


def _late(address: str, time_limit: float) -> str:
    return f"{address} was not complete after {time_limit:g} seconds"
