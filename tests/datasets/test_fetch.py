"""Where data comes from: PALMETTE_DATA, the cache, and downloads from a local HTTP server."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import functools
import gzip
import hashlib
import io
import lzma
import os
import ssl
import subprocess
import threading
import warnings
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from palmette.datasets import decode as decode_module
from palmette.datasets import download as download_module
from palmette.datasets import fetch, load_conll2000, load_ocr_letters, where
from palmette.datasets.decode import gunzip, unxz, unzip
from palmette.datasets.download import download
from palmette.datasets.ocr_format import from_letter_data_gz
from palmette.datasets.registry import REGISTRY, Url
from palmette.datasets.store import cache_dir
from palmette.errors import DataFileError, DatasetUnavailable
from palmette.io import atomic as atomic_module

TEXT = {
    "train": b"He PRP B-NP\nsleeps VBZ B-VP\n\n# # B-NP\n5 CD I-NP\n\n",
    "test": b"Go VB B-VP\n\n",
}


class Handler(BaseHTTPRequestHandler):
    """Answers from ``server.pages``: path to (status, body, announced length or None)."""

    def do_GET(self):
        self.server.requests.append(self.path)
        self.server.agents.append(self.headers["User-Agent"])
        status, body, length = self.server.pages.get(self.path, (404, b"none", 4))
        self.send_response(status)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(monkeypatch):
    """A web server on this machine, with no page at first."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        httpd.pages, httpd.requests, httpd.agents = {}, [], []
        httpd.address = f"http://127.0.0.1:{httpd.server_port}"
        httpd.serve = lambda path, body, status=200: httpd.pages.update({path: (status, body, len(body))})
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield httpd
        httpd.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, and no PALMETTE_DATA."""
    monkeypatch.delenv("PALMETTE_DATA", raising=False)
    monkeypatch.setenv("PALMETTE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "data"


@pytest.fixture
def conll(server, cache, monkeypatch):
    """The data set conll2000 with small texts, served from this machine."""
    dataset = REGISTRY["conll2000"]
    sources = tuple(
        dataclasses.replace(
            source,
            sha256=hashlib.sha256(TEXT[source.name]).hexdigest(),
            urls=(Url(f"{server.address}/{source.name}.txt.gz", gunzip),),
        )
        for source in dataset.sources
    )
    monkeypatch.setitem(REGISTRY, "conll2000", dataclasses.replace(dataset, sources=sources))
    for name, text in TEXT.items():
        server.serve(f"/{name}.txt.gz", gzip.compress(text))


@pytest.fixture
def data(tmp_path, monkeypatch):
    """An empty folder named by PALMETTE_DATA."""
    folder = tmp_path / "given"
    (folder / "conll2000").mkdir(parents=True)
    monkeypatch.setenv("PALMETTE_DATA", str(folder))
    return folder / "conll2000"


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


# ------------------------------------------------------------------------------------------ it works


def test_download_then_cache(conll, server, cache):
    assert where("conll2000") == (None, "url")
    first = load_conll2000("all")
    assert first.data == [[("He", "PRP"), ("sleeps", "VBZ")], [("#", "#"), ("5", "CD")], [("Go", "VB")]]
    assert first.target == [["B-NP", "B-VP"], ["B-NP", "I-NP"], ["B-VP"]]
    assert first.groups.tolist() == ["train", "train", "test"]
    assert server.requests == ["/train.txt.gz", "/test.txt.gz"]
    assert all(agent.startswith("palmette/") for agent in server.agents)
    assert files(cache) == ["conll2000/test.txt", "conll2000/train.txt"]
    assert where("conll2000") == (cache / "conll2000", "cache")

    second = load_conll2000("all")
    assert (second.data, second.target) == (first.data, first.target)
    assert len(server.requests) == 2, "the second load makes no request"


def test_only_what_is_asked_for_is_downloaded(conll, server, cache):
    load_conll2000("test")
    assert server.requests == ["/test.txt.gz"]
    assert where("conll2000") == (None, "url"), "one part is still far"


def test_fetch(conll, server, cache):
    steps = []
    assert fetch("conll2000", progress=lambda *step: steps.append(step)) == cache / "conll2000"
    assert {address for address, _, _ in steps} == {f"{server.address}/{name}.txt.gz" for name in TEXT}
    assert all(0 < done <= total for _, done, total in steps) and steps[-1][1] == steps[-1][2]
    assert fetch("conll2000") == cache / "conll2000" and len(server.requests) == 2
    assert fetch("conll2000", force=True) == cache / "conll2000" and len(server.requests) == 4


def test_palmette_data_is_nearest(conll, server, cache, data):
    (data / "train.txt.xz").write_bytes(lzma.compress(TEXT["train"]))
    assert len(load_conll2000("train").data) == 2 and server.requests == []
    assert where("conll2000").place == "url"
    load_conll2000("all")
    assert server.requests == ["/test.txt.gz"] and where("conll2000") == (cache / "conll2000", "cache")
    (data / "test.txt.gz").write_bytes(gzip.compress(TEXT["test"]))
    assert where("conll2000") == (data, "PALMETTE_DATA") and fetch("conll2000") == data
    assert len(server.requests) == 1


def test_second_address_is_used_if_the_first_fails(conll, server, cache, monkeypatch):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as z:
        z.writestr("corpus/train.txt", TEXT["train"])
    server.serve("/corpus.zip", archive.getvalue())
    dataset = REGISTRY["conll2000"]
    source = dataclasses.replace(
        dataset.sources[0],
        urls=(
            Url(f"{server.address}/gone.gz", gunzip),
            Url(f"{server.address}/corpus.zip", functools.partial(unzip, member="corpus/train.txt")),
        ),
    )
    monkeypatch.setitem(REGISTRY, "conll2000", dataclasses.replace(dataset, sources=(source,)))
    assert len(load_conll2000().data) == 2
    assert server.requests == ["/gone.gz", "/corpus.zip"]


def test_the_original_format_of_the_letters_is_downloaded_and_converted(server, cache, monkeypatch):
    pixels = "\t".join(["0"] * 127 + ["1"])
    original = f"1\tn\t2\t1\t1\t4\t{pixels}\t\n2\to\t-1\t1\t2\t4\t{pixels}\t\n".encode()
    server.serve("/letter.data.gz", gzip.compress(original))
    content = f"4 no {('0' * 31 + '1') * 2}\n".encode()
    dataset = REGISTRY["ocr-letters"]
    source = dataclasses.replace(
        dataset.sources[0],
        sha256=hashlib.sha256(content).hexdigest(),
        urls=(Url(f"{server.address}/letter.data.gz", from_letter_data_gz),),
    )
    monkeypatch.setitem(REGISTRY, "ocr-letters", dataclasses.replace(dataset, sources=(source,)))
    for _ in range(2):
        words = load_ocr_letters()
        assert words.target == [["n", "o"]] and words.folds.tolist() == [4]
        assert words.data[0].shape == (2, 128) and words.data[0].sum(axis=0)[127] == 2
    assert (cache / "ocr-letters" / "ocr_letters.txt").read_bytes() == content
    assert server.requests == ["/letter.data.gz"]


def test_default_cache_is_the_users(monkeypatch):
    platformdirs = pytest.importorskip("platformdirs")
    monkeypatch.delenv("PALMETTE_CACHE", raising=False)
    assert str(cache_dir()).startswith(platformdirs.user_cache_dir("palmette", appauthor=False))
    assert cache_dir().name == "data"


# ------------------------------------------------------------------------------------------ it fails


def refuse_and_keep_nothing(cache, match):
    for act in (load_conll2000, lambda: fetch("conll2000")):
        with pytest.raises(DatasetUnavailable, match=match) as caught:
            act()
        assert files(cache) == []
    return str(caught.value)


def test_missing_page_lists_the_places(conll, server, cache):
    server.pages.clear()
    message = refuse_and_keep_nothing(cache, "HTTP Error 404")
    assert "data set 'conll2000', part 'train'" in message
    assert "PALMETTE_DATA: not set" in message
    assert f"cache {cache / 'conll2000'}: none of train.txt, train.txt.xz, train.txt.gz" in message
    assert f"{server.address}/train.txt.gz: HTTP Error 404" in message
    assert "set PALMETTE_DATA to a folder that has conll2000/" in message


def test_missing_page_lists_a_given_folder_too(conll, server, data):
    server.pages.clear()
    with pytest.raises(DatasetUnavailable, match="HTTP Error 404") as caught:
        load_conll2000()
    assert f"PALMETTE_DATA {data}: none of train.txt" in str(caught.value)


def test_no_connection(conll, server, cache, monkeypatch):
    dataset = REGISTRY["conll2000"]
    source = dataclasses.replace(dataset.sources[0], urls=(Url("http://127.0.0.1:1/train.txt", gunzip),))
    monkeypatch.setitem(REGISTRY, "conll2000", dataclasses.replace(dataset, sources=(source,)))
    refuse_and_keep_nothing(cache, "http://127.0.0.1:1/train.txt: ")


def test_wrong_checksum_is_not_kept(conll, server, cache):
    server.serve("/train.txt.gz", gzip.compress(b"other text\n"))
    found = hashlib.sha256(b"other text\n").hexdigest()
    expected = REGISTRY["conll2000"].sources[0].sha256
    refuse_and_keep_nothing(
        cache, f"wrong SHA-256 of the decoded content: expected {expected}, found {found}"
    )


def test_truncated_body_is_not_kept(conll, server, cache):
    body = gzip.compress(TEXT["train"])
    server.pages["/train.txt.gz"] = (200, body[:-5], len(body))
    refuse_and_keep_nothing(cache, f"the connection ended after {len(body) - 5} of {len(body)} bytes")


def test_truncated_body_of_unknown_length_is_not_kept(conll, server, cache):
    server.pages["/train.txt.gz"] = (200, gzip.compress(TEXT["train"])[:-5], None)
    refuse_and_keep_nothing(cache, "cannot be decoded: Compressed file ended")


def test_body_that_is_no_archive(conll, server, cache):
    server.serve("/train.txt.gz", b"<html>moved</html>")
    refuse_and_keep_nothing(cache, "cannot be decoded: Not a gzipped file")


def test_timeout(server):
    release = threading.Event()
    server.pages = type("Slow", (), {"get": lambda self, *_: (release.wait(10), (200, b"", 0))[1]})()
    try:
        with pytest.raises(TimeoutError):
            download(f"{server.address}/slow", timeout=0.1)
    finally:
        release.set()


def test_endless_bodies_are_refused(server, monkeypatch):
    monkeypatch.setattr(download_module, "LIMIT", 100)
    monkeypatch.setattr(decode_module, "LIMIT", 100)
    server.serve("/large", b"0" * 101)
    with pytest.raises(OSError, match="longer than 100 bytes"):
        download(f"{server.address}/large")
    for decode, bomb in ((gunzip, gzip.compress(b"0" * 101)), (unxz, lzma.compress(b"0" * 101))):
        with pytest.raises(ValueError, match="more than 100 bytes"):
            decode(bomb)


def test_damaged_file_in_palmette_data_names_file_and_sums(conll, server, data):
    (data / "train.txt").write_bytes(b"other text\n")
    expected, found = REGISTRY["conll2000"].sources[0].sha256, hashlib.sha256(b"other text\n").hexdigest()
    for act in (load_conll2000, lambda: fetch("conll2000")):
        with pytest.raises(
            DataFileError, match=f"expected {expected}, found {found}; replace the file"
        ) as caught:
            act()
        assert str(caught.value).startswith(f"{data / 'train.txt'}: wrong SHA-256")
    assert server.requests == [], "no other place is tried silently"


def test_file_in_palmette_data_that_cannot_be_unpacked(conll, data):
    (data / "train.txt.xz").write_bytes(lzma.compress(TEXT["train"])[:-5])
    with pytest.raises(DataFileError, match=r"train\.txt\.xz: cannot be decoded: .*; replace the file"):
        load_conll2000()


def test_damaged_cache_is_repaired_by_force(conll, server, cache):
    path = fetch("conll2000") / "train.txt"
    path.write_bytes(b"other text\n")
    with pytest.raises(DataFileError, match="delete it, or fetch with force"):
        load_conll2000()
    fetch("conll2000", force=True)
    assert path.read_bytes() == TEXT["train"] and len(load_conll2000().data) == 2


def test_palmette_data_must_be_a_folder(conll, tmp_path, monkeypatch):
    monkeypatch.setenv("PALMETTE_DATA", str(tmp_path / "nowhere"))
    for act in (load_conll2000, lambda: where("conll2000"), lambda: fetch("conll2000")):
        with pytest.raises(ValueError, match=r"PALMETTE_DATA='.*nowhere' is not a folder"):
            act()


def test_unknown_name():
    for act in (where, fetch):
        with pytest.raises(ValueError, match="unknown data set 'mnist'"):
            act("mnist")


# ------------------------------------------------------------------------------------------ read-only cache


def file_in_the_way(cache, monkeypatch):
    cache.parent.parent.mkdir(exist_ok=True)
    cache.parent.write_text("not a folder")


def read_only_file_system(cache, monkeypatch):
    def refuse(*arguments, **options):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(atomic_module, "_temporary_file", refuse)


def read_only_folder(cache, monkeypatch):
    cache.mkdir(parents=True)
    cache.chmod(0o555)
    if os.access(cache, os.W_OK):
        pytest.skip("this user may write to read-only folders")


def full_disk(cache, monkeypatch):
    def refuse(source, target):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", refuse)


@pytest.mark.parametrize("obstacle", [file_in_the_way, read_only_file_system, read_only_folder, full_disk])
def test_read_only_cache_costs_one_warning(conll, server, cache, monkeypatch, obstacle):
    obstacle(cache, monkeypatch)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert len(load_conll2000("all").data) == 3
    ours = [warning for warning in caught if issubclass(warning.category, UserWarning)]
    assert len(ours) == 1 and ours[0].filename == __file__
    assert "cannot be written to the cache" in str(ours[0].message)
    assert "set PALMETTE_CACHE" in str(ours[0].message)
    assert files(cache) == [] and where("conll2000").place == "url"
    with pytest.raises(DatasetUnavailable, match=r"cannot be written to the cache .* set PALMETTE_CACHE"):
        fetch("conll2000")


# ------------------------------------------------------------------------------- redirections and time


def redirecting(server, path, target):
    """Let the server answer a path with a redirection."""
    handler = server.RequestHandlerClass

    class Redirecting(handler):
        def do_GET(self):
            if self.path != path:
                return super().do_GET()
            self.send_response(302)
            self.send_header("Location", target)
            self.send_header("Content-Length", "0")
            self.end_headers()

    server.RequestHandlerClass = Redirecting


def test_redirections_are_followed(server):
    server.serve("/there", b"content")
    redirecting(server, "/here", "/there")
    assert download(f"{server.address}/here") == b"content"


@pytest.mark.parametrize("target", ["ftp://127.0.0.1/x", "file:///etc/hostname", "data:text/plain,x"])
def test_redirections_never_leave_the_web(server, target):
    redirecting(server, "/here", target)
    with pytest.raises(OSError, match=r"redirects to|not allowed|ftp"):
        download(f"{server.address}/here")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A key and a certificate for this machine, made now."""
    folder = tmp_path_factory.mktemp("tls")
    key, crt = folder / "key.pem", folder / "crt.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(crt)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no openssl to make a certificate")
    return key, crt


def test_redirections_never_leave_https(server, certificate, monkeypatch):
    """From https to https is followed; from https to http is refused, and nobody asks there."""
    key, crt = certificate
    monkeypatch.setenv("SSL_CERT_FILE", str(crt))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(crt, key)
    server.serve("/plain", b"changed on the way")

    class Secure(Handler):
        def do_GET(self):
            if self.path == "/end":
                self.send_response(200)
                self.send_header("Content-Length", "3")
                self.end_headers()
                self.wfile.write(b"end")
                return
            self.send_response(302)
            self.send_header("Location", "/end" if self.path == "/safe" else f"{server.address}/plain")
            self.send_header("Content-Length", "0")
            self.end_headers()

    with ThreadingHTTPServer(("127.0.0.1", 0), Secure) as secure:
        secure.socket = context.wrap_socket(secure.socket, server_side=True)
        thread = threading.Thread(target=secure.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        address = f"https://127.0.0.1:{secure.server_port}"
        assert download(f"{address}/safe") == b"end"
        with pytest.raises(OSError, match=r"redirects to http://.*/plain, which leaves https: refused"):
            download(f"{address}/unsafe")
        secure.shutdown()
        thread.join()
    assert server.requests == []


@pytest.mark.parametrize("part", ["head", "body", "body of unknown length"])
def test_an_answer_that_trickles_in_meets_the_time_limit(server, part):
    """A byte now and then renews the timeout, but not the time limit."""
    over = threading.Event()

    class Trickling(Handler):
        def do_GET(self):
            if part == "head":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Endless: ")
            else:
                self.send_response(200)
                if part == "body":
                    self.send_header("Content-Length", "100000")
                self.end_headers()
            with contextlib.suppress(OSError):
                while not over.wait(0.02):
                    self.wfile.write(b"x")
                    self.wfile.flush()

    server.RequestHandlerClass = Trickling
    try:
        with pytest.raises(TimeoutError, match=r"/slow was not complete after 0\.3 seconds"):
            download(f"{server.address}/slow", timeout=5.0, time_limit=0.3)
    finally:
        over.set()
