"""Model files: round trips, atomic writing, and refusal of damaged and hostile files."""

from __future__ import annotations

import errno
import io
import json
import os
import pickle
import stat
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import palmette
from palmette.errors import ModelFileError
from palmette.io import FORMAT, atomic, read_model, write_atomically, write_model

json_values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.text(), st.floats(allow_nan=False, allow_infinity=False)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=8,
)
dtypes = st.one_of(
    st.just(np.dtype(bool)),
    hnp.integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?"),
    hnp.complex_number_dtypes(endianness="?"),
)
arrays = hnp.arrays(dtypes, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
array_names = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,8}", fullmatch=True)


def example() -> bytes:
    file = io.BytesIO()
    write_model(file, "crf", {"l2": 1.0}, {"w": np.arange(1000.0), "mask": np.array([[True, False]])})
    return file.getvalue()


def repacked(changes: dict[str, bytes | None], *, compression: int = zipfile.ZIP_STORED) -> io.BytesIO:
    """The example with members replaced, added, or (None) removed."""
    with zipfile.ZipFile(io.BytesIO(example())) as old:
        members: dict[str, bytes | None] = {name: old.read(name) for name in old.namelist()} | changes
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as new:
        for name, content in members.items():
            if content is not None:
                new.writestr(name, content)
    return file


def with_header(**changes) -> io.BytesIO:
    with zipfile.ZipFile(io.BytesIO(example())) as old:
        header = json.loads(old.read("header.json"))
    return repacked({"header.json": json.dumps(header | changes).encode()})


def npy(array: np.ndarray, *, allow_pickle: bool = False) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=allow_pickle)
    return file.getvalue()


# -------------------------------------------------------------------------------------------- round trips


@given(
    st.text(),
    st.dictionaries(st.text(), json_values, max_size=4),
    st.dictionaries(array_names, arrays, max_size=4),
)
def test_round_trip(kind, header, tables):
    file = io.BytesIO()
    write_model(file, kind, header, tables)
    got_kind, got_header, got = read_model(file)
    assert (got_kind, got_header) == (kind, header)
    assert got.keys() == tables.keys()
    for name, array in tables.items():
        back = got[name]
        assert back.shape == array.shape
        assert back.dtype == array.dtype.newbyteorder("=") and back.dtype.isnative
        assert back.flags.writeable and back.flags.c_contiguous and back.flags.aligned
        np.testing.assert_array_equal(back, array)


def test_path_and_file_object_hold_the_same_bytes(tmp_path):
    for path in (tmp_path / "m.palmette", str(tmp_path / "n.palmette")):
        write_model(path, "crf", {"l2": 1.0}, {"w": np.arange(1000.0), "mask": np.array([[True, False]])})
        assert Path(path).read_bytes() == example()
        assert read_model(path)[0] == "crf"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.palmette", "n.palmette"]


def test_fortran_order_and_strided_arrays(rng):
    w = rng.normal(size=(4, 6))
    file = io.BytesIO()
    write_model(file, "k", {}, {"f": np.asfortranarray(w), "s": w[::2, ::3]})
    got = read_model(file)[2]
    np.testing.assert_array_equal(got["f"], w)
    np.testing.assert_array_equal(got["s"], w[::2, ::3])
    fortran = read_model(repacked({"arrays/w.npy": npy(np.asfortranarray(np.arange(1000.0)))}))[2]["w"]
    np.testing.assert_array_equal(fortran, np.arange(1000.0))


def test_anybody_can_read_it_with_the_standard_library():
    with zipfile.ZipFile(io.BytesIO(example())) as archive:
        assert archive.namelist() == ["header.json", "arrays/w.npy", "arrays/mask.npy"]
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
        header = json.loads(archive.read("header.json"))
        np.testing.assert_array_equal(np.load(io.BytesIO(archive.read("arrays/w.npy"))), np.arange(1000.0))
    assert header["format"] == FORMAT == 2
    assert header["palmette"] == palmette.__version__
    assert header["kind"] == "crf" and header["header"] == {"l2": 1.0}
    assert header["arrays"][1] == {"name": "mask", "dtype": "|b1", "shape": [1, 2]}


def test_numpy_scalars_in_the_header():
    file = io.BytesIO()
    write_model(file, "k", {"max_iter": np.int64(3), "l2": np.float32(0.5), "on": np.True_, "t": (1, 2)}, {})
    assert read_model(file)[1] == {"max_iter": 3, "l2": 0.5, "on": True, "t": [1, 2]}


def test_what_cannot_be_written_is_refused_before_the_file_is_touched(tmp_path):
    path = tmp_path / "m"
    path.write_bytes(b"old")
    with pytest.raises(TypeError, match="array 'w' has dtype object; model files keep booleans and numbers"):
        write_model(path, "k", {}, {"w": np.array([None])})
    with pytest.raises(TypeError, match=r"array 'w' has dtype <U1"):
        write_model(path, "k", {}, {"w": np.array(["a"])})
    for name in ("", "a/b", "../a", "a b", ".a"):
        with pytest.raises(ValueError, match="array name"):
            write_model(path, "k", {}, {name: np.zeros(1)})
    with pytest.raises(TypeError, match="header of a model file must be JSON: set"):
        write_model(path, "k", {"a": {1}}, {})
    with pytest.raises(ValueError, match="header of a model file must be JSON"):
        write_model(path, "k", {"a": float("nan")}, {})
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["m"]


# --------------------------------------------------------------------------------------- damaged, hostile


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.palmette"):
        read_model(tmp_path / "absent.palmette")
    with pytest.raises(IsADirectoryError):
        read_model(tmp_path)


def test_no_zip_at_all(tmp_path):
    for content in (b"", b"hello", b"PK\x03\x04", pickle.dumps({"a": 1})):
        path = tmp_path / "m.palmette"
        path.write_bytes(content)
        with pytest.raises(
            ModelFileError, match=r"m\.palmette: this is not a model file, or it is truncated"
        ):
            read_model(path)


def test_every_truncation_is_refused():
    content = example()
    for size in [*range(0, len(content), 97), len(content) - 1]:
        with pytest.raises(ModelFileError):
            read_model(io.BytesIO(content[:size]))


def test_every_flipped_byte_is_refused_or_harmless():
    """A changed byte never passes silently into the model: it is refused, or is in an unused field."""
    content = example()
    kind, header, tables = read_model(io.BytesIO(content))
    for position in range(0, len(content), 3):
        damaged = bytearray(content)
        damaged[position] ^= 0x5A
        try:
            got = read_model(io.BytesIO(damaged))
        except ModelFileError:
            continue
        assert got[:2] == (kind, header)
        assert all(np.array_equal(got[2][name], tables[name]) for name in tables)


def test_checksums_are_compared():
    content = bytearray(example())
    content[content.index(struct.pack("<d", 500.0))] ^= 1
    with pytest.raises(ModelFileError, match="Bad CRC-32"):
        read_model(io.BytesIO(content))


def test_newer_format():
    with pytest.raises(
        ModelFileError, match=r"format 7 is newer than this palmette reads \(2\): upgrade palmette"
    ):
        read_model(with_header(format=7))
    newer = json.dumps({"format": 7}).encode()
    with pytest.raises(ModelFileError, match="upgrade palmette"):
        read_model(repacked({"header.json": newer, "weights.bin": b"new", "arrays/w.npy": None}))


def test_older_format():
    with pytest.raises(ModelFileError, match=r"format 1 is older than this .* \(2\): train the model again"):
        read_model(with_header(format=1))


@pytest.mark.parametrize("version", [0, -1, "1", None, True, 1.5])
def test_strange_formats(version):
    with pytest.raises(ModelFileError, match="does not say which format"):
        read_model(with_header(format=version))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": 3}, "'kind' must be of type str"),
        ({"header": []}, "'header' must be of type dict"),
        ({"arrays": {}}, "'arrays' must be of type list"),
        ({"arrays": ["w"]}, "does not describe an array"),
        ({"arrays": [{"name": "w"}]}, "does not describe an array"),
        ({"arrays": [{"name": "../w", "dtype": "<f8", "shape": [1]}]}, "not an array name"),
        ({"arrays": [{"name": ["w"], "dtype": "<f8", "shape": [1]}]}, "not an array name"),
        ({"arrays": [{"name": "w", "dtype": "<f8", "shape": [1000]}] * 2}, "occurs twice"),
        ({"arrays": [{"name": "v", "dtype": "<f8", "shape": [1000]}]}, r"arrays/v\.npy is missing"),
        ({"arrays": [{"name": "w", "dtype": "<f8", "shape": [1000]}]}, r"unknown member 'arrays/mask\.npy'"),
    ],
)
def test_headers_of_the_wrong_shape(changes, message):
    with pytest.raises(ModelFileError, match=message):
        read_model(with_header(**changes))


@pytest.mark.parametrize("dtype", ["<f4", "<i8", None, 7])
def test_the_table_must_agree_with_the_arrays(dtype):
    mask = {"name": "mask", "dtype": "|b1", "shape": [1, 2]}
    for entry in ({"dtype": dtype, "shape": [1000]}, {"dtype": "<f8", "shape": [10, 100]}):
        with pytest.raises(ModelFileError, match=r"is float64 of shape \(1000,\), but header.json declares"):
            read_model(with_header(arrays=[{"name": "w", **entry}, mask]))


@pytest.mark.parametrize("text", [b"", b"{", b"[1]", b"3", b"\xff\xfe", b"[" * 100_000])
def test_headers_that_are_not_json(text):
    with pytest.raises(ModelFileError, match=r"not JSON|does not say which format"):
        read_model(repacked({"header.json": text}))


def test_members():
    with pytest.raises(ModelFileError, match=r"it has no header\.json"):
        read_model(repacked({"header.json": None}))
    with pytest.raises(ModelFileError, match=r"arrays/w\.npy is missing"):
        read_model(repacked({"arrays/w.npy": None}))
    for name in ("evil.py", "../../evil", "/etc/passwd", "arrays/../w.npy", "arrays/x.npy", "C:\\x"):
        with pytest.raises(ModelFileError, match="unknown member"):
            read_model(repacked({name: b"x"}))


def test_members_that_occur_twice():
    file = repacked({})
    with zipfile.ZipFile(file, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("arrays/w.npy", npy(np.zeros(1000)))
    with pytest.raises(ModelFileError, match="occurs twice"):
        read_model(file)


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compressed_members(compression):
    with pytest.raises(ModelFileError, match="is compressed, which model files never are"):
        read_model(repacked({}, compression=compression))


def test_zip_bombs():
    bomb = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(example())) as old, zipfile.ZipFile(bomb, "w") as new:
        new.writestr("header.json", old.read("header.json"))
        new.writestr("arrays/mask.npy", old.read("arrays/mask.npy"))
        new.writestr("arrays/w.npy", bytes(50_000_000), zipfile.ZIP_DEFLATED)
    with pytest.raises(ModelFileError, match=r"'arrays/w\.npy' is compressed"):
        read_model(bomb)


def test_declared_sizes_larger_than_the_file():
    content = bytearray(example())
    start = content.rindex(b"PK\x01\x02", 0, content.rindex(b"arrays/w.npy"))  # entry of the directory
    content[start + 20 : start + 28] = struct.pack("<II", 2_000_000_000, 2_000_000_000)
    with pytest.raises(ModelFileError, match=r"declares 2000000000 bytes, but the file has \d+"):
        read_model(io.BytesIO(content))


def test_members_that_share_their_bytes():
    """Overlapping members would let a small file fill the memory."""
    with zipfile.ZipFile(io.BytesIO(example())) as archive:
        header = json.loads(archive.read("header.json"))
    names = [f"w{i}" for i in range(50)]
    table = [{"name": name, "dtype": "<f8", "shape": [1000]} for name in names]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("header.json", json.dumps(header | {"arrays": table}))
        archive.writestr("arrays/w0.npy", npy(np.arange(1000.0)))
        for name in names[1:]:
            clone = zipfile.ZipInfo(f"arrays/{name}.npy")
            first = archive.getinfo("arrays/w0.npy")
            for field in ("CRC", "compress_size", "file_size", "header_offset"):
                setattr(clone, field, getattr(first, field))
            archive.filelist.append(clone)
            archive.NameToInfo[clone.filename] = clone
    with pytest.raises(ModelFileError, match="more bytes than the file has"):
        read_model(file)


def npy_header(descr: str, shape: str, data: bytes = b"") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (
            npy(np.array([{"a": 1}]), allow_pickle=True),
            "has dtype object; model files keep booleans and numbers",
        ),
        (npy(np.array(["text"])), "has dtype <U4"),
        (npy(np.zeros(2, [("a", "f8")])), "does not describe itself as a plain array"),
        (
            npy_header("'<f8'", "(1000000000000,)", bytes(8)),
            r"declares shape \(1000000000000,\).* has 8 bytes",
        ),
        (npy_header("'<f8'", "(-1,)", bytes(8)), "does not describe itself"),
        (npy_header("'<f8'", "(" + "1, " * 40 + ")", bytes(8)), "has 40 dimensions"),
        (npy_header("'<f8'", "(" + "(" * 5000 + ")", bytes(8)), "does not describe itself"),
        (npy_header("'<f3'", "(1,)", bytes(8)), "unknown dtype"),
        (npy_header("'<f8'", "(-1, -1)", bytes(8)), "does not describe itself"),
        (npy_header("'<f8'", "(2,)", bytes(24)), "declares shape"),
        (npy_header("'<f8'", "'x'", bytes(8)), "damaged or unsafe"),
        (npy_header("'nonsense'", "(1,)", bytes(8)), "damaged or unsafe"),
        (npy_header("__import__('os').abort()", "(1,)", bytes(8)), "damaged or unsafe"),
        (npy_header("'|b1'", "(2,)", b"\x01\x02"), "boolean, but has bytes other than 0 and 1"),
        (b"\x93NUMPY\x03\x00" + bytes(100), "does not start as an array of npy version 1"),
        (b"\x93NUMPY\x01\x00\xff\xff{", "damaged or unsafe"),
        (b"not an array", "damaged or unsafe"),
        (b"", "damaged or unsafe"),
    ],
)
def test_members_that_are_no_arrays_of_numbers(member, message):
    with pytest.raises(ModelFileError, match=r"the model file: the array 'w' is damaged or unsafe") as caught:
        read_model(repacked({"arrays/w.npy": member}))
    caught.match(message)


# ----------------------------------------------------------------------------------------- atomic writing


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    for error in (RuntimeError, KeyboardInterrupt):
        with pytest.raises(error), write_atomically(path) as file:
            file.write(b"half of it")
            raise error
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_the_file_appears_only_when_complete(tmp_path):
    path = tmp_path / "a"
    with write_atomically(path) as file:
        file.write(b"new")
        file.flush()
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a"]


def test_a_failing_replace_removes_the_temporary_file(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError("no")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError), write_atomically(tmp_path / "a") as file:
        file.write(b"x")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="permission bits and links of POSIX")
def test_permissions_and_links_are_kept(tmp_path):
    path, link = tmp_path / "a", tmp_path / "link"
    with write_atomically(path) as file:
        file.write(b"x")
    plain = tmp_path / "plain"
    plain.write_bytes(b"x")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    path.chmod(0o640)
    link.symlink_to(path)
    with write_atomically(link) as file:
        file.write(b"y")
    assert link.is_symlink() and path.read_bytes() == b"y"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_targets_that_cannot_be_files(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match=r"there is no folder .*absent"),
        write_atomically(tmp_path / "absent" / "a"),
    ):
        pass
    with pytest.raises(IsADirectoryError, match="it is a folder"), write_atomically(tmp_path):
        pass
    if os.name == "posix":
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        with pytest.raises(OSError, match="not a regular file"), write_atomically(pipe):
            pass
        assert stat.S_ISFIFO(pipe.stat().st_mode)


# ------------------------------------------------------------------------------------- left behind, and full


def left_behind(folder):
    return [name for name in os.listdir(folder) if name.startswith(".palmette")]


WRITER = """
import sys
from palmette.io import write_atomically
with write_atomically(sys.argv[1]) as file:
    file.write(b"half of it")
    file.flush()
    print("writing", flush=True)
    sys.stdin.read()
"""


def test_what_killed_writers_left_behind_is_removed_at_the_next_write(tmp_path):
    """Of the same target only, and never what a living process is writing."""
    path, other = tmp_path / "m.palmette", tmp_path / "other.palmette"

    def start(target):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(target)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert writer.stdout.readline() == "writing\n"
        return writer

    writers = [start(target) for target in (path, path, path, other)]
    for writer in (*writers[:2], writers[3]):
        writer.kill()
        writer.communicate()
    assert len(left_behind(tmp_path)) == 4
    write_model(path, "k", {}, {"w": np.arange(3.0)})
    assert len(left_behind(tmp_path)) == 2, "of the living writer, and for the other target"
    writers[2].communicate("")
    assert writers[2].returncode == 0 and path.read_bytes() == b"half of it"
    write_model(other, "k", {}, {})
    assert left_behind(tmp_path) == []


def test_two_writers_of_one_file_do_not_disturb_each_other(tmp_path):
    with write_atomically(tmp_path / "a") as first:
        first.write(b"first")
        with write_atomically(tmp_path / "a") as second:
            second.write(b"second")
        assert (tmp_path / "a").read_bytes() == b"second"
    assert (tmp_path / "a").read_bytes() == b"first" and os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_full_disk_names_the_file(tmp_path, monkeypatch, step):
    """Neither write nor fsync tells which file was too much."""
    path = tmp_path / "m.palmette"
    path.write_bytes(b"old")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if step == "write":
        monkeypatch.setattr(atomic, "open", lambda name, _: FullFile(name), raising=False)
    else:
        monkeypatch.setattr(os, step, full)
    model = palmette.CRF(palmette.Multiclass()).fit(np.eye(2), [0, 1])
    with pytest.raises(OSError, match=r"No space left on device: '.*m\.palmette'") as caught:
        model.save(path)
    assert caught.value.errno == errno.ENOSPC and caught.value.filename == str(path)
    monkeypatch.undo()
    assert path.read_bytes() == b"old" and left_behind(tmp_path) == []
    model.save(path)
    assert palmette.load(path).predict(np.eye(2)).tolist() == [0, 1], "the model is still there to be saved"


class FullFile(io.FileIO):
    """A file on a full disk."""

    def __init__(self, path):
        super().__init__(path, "w")

    def write(self, _):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
