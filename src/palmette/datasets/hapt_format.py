"""Raw phone signals in archives of many text files, decoded to one canonical file.

The canonical file begins with lines of numbers in ASCII, ends them with an empty line, and goes on with samples::

    experiment user n_samples
    ...
    label experiment activity start stop
    ...
    train user user ...

    acceleration x y z, angular velocity x y z of each sample: float32, little endian

Experiments are in the order of their numbers, labels in that of the original; start is the first sample, from
0, stop the one after the last.
"""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
from typing import NamedTuple

import numpy as np

from palmette.datasets.decode import LIMIT

_USED = re.compile(r"(^|/)(RawData/(acc|gyro)_\w+|RawData/labels|Train/subject_id_train)\.txt$")
_SIGNAL = re.compile(r"RawData/acc_exp(\d+)_user(\d+)\.txt$")


class Recordings(NamedTuple):
    """Parsed canonical file.

    Attributes
    ----------
    experiments, users : list of int
    signals : list of ndarray of float32, shape (n_samples, 6)
        Of each experiment.
    labels : list of (experiment, activity, start, stop)
    train_users : list of int
    """

    experiments: list[int]
    users: list[int]
    signals: list[np.ndarray]
    labels: list[tuple[int, int, int, int]]
    train_users: list[int]


def parse(content: bytes) -> Recordings:
    """Read the canonical file.

    >>> content = b"3 7 1\\nlabel 3 5 0 1\\ntrain 7\\n\\n" + np.arange(6, dtype="<f4").tobytes()
    >>> parse(content)[:2], parse(content).labels, parse(content).signals[0][0, :2]
    (([3], [7]), [(3, 5, 0, 1)], array([0., 1.], dtype=float32))
    """
    head, _, rest = content.partition(b"\n\n")
    lines = [line.split(" ") for line in head.decode("ascii").split("\n")]
    experiments = [tuple(map(int, line)) for line in lines if line[0].isdigit()]
    bounds = np.cumsum([n for _, _, n in experiments])[:-1]
    samples = np.frombuffer(rest, "<f4").reshape(-1, 6)
    return Recordings(
        [experiment for experiment, _, _ in experiments],
        [user for _, user, _ in experiments],
        np.split(samples, bounds),
        [(int(a), int(b), int(c), int(d)) for kind, a, b, c, d in (l for l in lines if l[0] == "label")],
        [int(user) for line in lines if line[0] == "train" for user in line[1:]],
    )


def from_tar(raw: bytes) -> bytes:
    """Convert a tar archive, compressed or not, of the original folders."""
    files, size = {}, 0
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        for member in archive:  # in their order: to go back would unpack from the start
            size += member.size
            _check_size(size)
            stream = archive.extractfile(member) if _USED.search(member.name) else None
            if stream is not None:
                files[member.name] = stream.read()
    return _convert(files)


def from_zip(raw: bytes) -> bytes:
    """Convert the original zip archive, also where it is a member of another."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        _check_size(sum(info.file_size for info in archive.infolist()))
        inner = [name for name in archive.namelist() if name.endswith(".zip")]
        if inner:
            return from_zip(archive.read(inner[0]))
        return _convert({name: archive.read(name) for name in archive.namelist() if _USED.search(name)})


def _check_size(size: int) -> None:
    if size > 2 * LIMIT:  # as text, with the features that are not used, the content is larger
        raise ValueError(f"it unpacks to more than {2 * LIMIT:,} bytes")


def _convert(files: dict[str, bytes]) -> bytes:
    contents = {"/".join(name.split("/")[-2:]): content for name, content in files.items()}

    def numbers(name: str) -> np.ndarray:
        if name not in contents:
            raise ValueError(f"the archive has no file {name}")
        return np.fromstring(contents[name].decode("ascii"), sep=" ")

    found = sorted(
        (int(match[1]), int(match[2]), match[0]) for match in map(_SIGNAL.match, contents) if match
    )
    head, signals = [], []
    for experiment, user, acceleration in found:
        velocity = acceleration.replace("acc_", "gyro_")
        signals.append(np.hstack([numbers(each).reshape(-1, 3) for each in (acceleration, velocity)]))
        head.append(f"{experiment} {user} {len(signals[-1])}")
    for experiment, _, activity, first, last in numbers("RawData/labels.txt").astype(int).reshape(-1, 5):
        head.append(f"label {experiment} {activity} {first - 1} {last}")
    users = np.unique(numbers("Train/subject_id_train.txt").astype(int))
    head.append(f"train {' '.join(map(str, users))}")
    return "\n".join(head).encode("ascii") + b"\n\n" + np.concatenate(signals).astype("<f4").tobytes()
