"""Damages model files in every way that it can think of, reads them, and asks the models.

``python tests/fuzz_models.py SHARE SEED FOLDER [KIND ...]``: what share of all cases is tried (1 for all), and a folder
in which the sound files are kept.

Run as a process of its own: a crash shall be seen as a crash. Before each case its name is written to standard error,
so that the last line names the culprit. Permitted are a ModelFileError, an answer, and scores that overflow in a model
whose numbers became huge. The report on standard output is JSON: counts, and every case that ended otherwise.
"""

from __future__ import annotations

import copy
import io
import json
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from model_zoo import Kind, kinds, saved

import palmette
from palmette.errors import ModelFileError
from palmette.io import read_model, write_model

HUGE = 2**62
# What a sound model may say too: huge numbers overflow, and other inputs than ours were learnt from.
HARMLESS = {
    "NaN or infinite": "overflow",
    **dict.fromkeys(
        (
            "occur in the training data", "memory_limit", "no output satisfies", "position_weights", "as in training",
            "all graphs must have the nodes and edges of the first", "no candidate has as many symbols",
        ),
        "other inputs",
    ),
}  # fmt: skip
PERMITTED = ("refused", "answered", "unwritable", *HARMLESS.values())
Damage = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def placed(array: np.ndarray, rng: np.random.Generator, value: Any) -> np.ndarray:
    out = array.copy().astype(
        np.result_type(array.dtype, np.min_scalar_type(value)) if array.dtype.kind == "b" else array.dtype
    )
    if out.size:
        with np.errstate(all="ignore"):
            out.flat[rng.integers(out.size)] = np.array(value).astype(out.dtype)
    return out


DAMAGES: dict[str, Damage] = {
    "float64": lambda a, rng: a.astype(np.float64),
    "float32": lambda a, rng: a.astype(np.float32),
    "int64": lambda a, rng: np.nan_to_num(a).astype(np.int64),
    "int32": lambda a, rng: np.nan_to_num(a).astype(np.int32),
    "uint8": lambda a, rng: np.nan_to_num(a).astype(np.int64).astype(np.uint8),
    "bool": lambda a, rng: a.astype(bool),
    "complex": lambda a, rng: a.astype(complex),
    "truncated": lambda a, rng: a[:-1] if a.ndim else a,
    "halved": lambda a, rng: a[: len(a) // 2] if a.ndim else a,
    "empty": lambda a, rng: a[:0] if a.ndim else a,
    "extended": lambda a, rng: np.concatenate([a, a[-1:]]) if a.ndim else a,
    "doubled": lambda a, rng: np.concatenate([a, a]) if a.ndim else a,
    "row": lambda a, rng: a[None],
    "column": lambda a, rng: a[..., None],
    "scalar": lambda a, rng: a.ravel()[0] if a.size else np.zeros((), a.dtype),
    "transposed": lambda a, rng: np.ascontiguousarray(a.T) if a.ndim > 1 else a[::-1],
    "shuffled": lambda a, rng: rng.permutation(a) if a.ndim else a,
    "sorted": lambda a, rng: np.sort(a, axis=0) if a.ndim else a,
    "zeroed": lambda a, rng: np.zeros_like(a),
    "ones": lambda a, rng: np.ones_like(a),
    "constant": lambda a, rng: np.full_like(a, 7),
    "negative": lambda a, rng: placed(a, rng, -1),
    "far negative": lambda a, rng: placed(a, rng, -(2**40) if a.dtype.itemsize == 8 else -(2**30)),
    "huge": lambda a, rng: placed(a, rng, HUGE if a.dtype.itemsize == 8 else 2**31 - 1),
    "large": lambda a, rng: placed(a, rng, 100_000 if a.dtype.itemsize > 1 else 255),
    "plus one": lambda a, rng: (a + np.ones(1, a.dtype).sum(dtype=a.dtype)).astype(a.dtype),
    "wild inside": lambda a, rng: wild_inside(a),
    "nan": lambda a, rng: placed(a.astype(float), rng, np.nan),
    "inf": lambda a, rng: placed(a.astype(float), rng, np.inf),
    "other numbers": lambda a, rng: rng.permutation(a.ravel()).reshape(a.shape),
}


def wild_inside(array: np.ndarray) -> np.ndarray:
    """Pointers that begin and end in 0, which SciPy takes for an empty matrix, and are wild in between."""
    out = array.copy()
    if out.ndim == 1 and len(out) > 2 and out.dtype.kind in "iu":
        out[1:-1] = min(2**30, np.iinfo(out.dtype).max)
        out[-1] = 0
    return out


VALUES = [
    None, True, False, -1, 0, 1, 3, 1000, 2**31, HUGE, 10**40, 0.5, 1e300, "", "x", "names", [], [1], [[1, 2], [3]],
    [None], {}, {"options": []}, {"object": "Chain", "options": []}, {"object": "Chain", "options": {}},
    {"array": [[1]]}, {"list": 3}, {"number": "nan"}, {"number": "inf"}, {"mapping": [[], []]}, {"labels": []},
    {"function": "f"},
]  # fmt: skip


def places(value: Any, at: tuple = ()) -> Iterator[tuple]:
    """Where something stands in a header."""
    if at:
        yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*at, key))


def changed(header: dict, at: tuple, value: Any) -> dict:
    """The header with another value at a place, or (``...``) with none."""
    out = copy.deepcopy(header)
    inner: Any = out
    for key in at[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[at[-1]]
    else:
        inner[at[-1]] = value
    return out


def cases(kind: str, header: dict, arrays: dict, rng: np.random.Generator) -> list[tuple[str, Callable]]:
    """Name and content of every damaged file."""
    found: list[tuple[str, Callable]] = []
    for name, array in arrays.items():
        for title, damage in DAMAGES.items():
            found.append(
                (
                    f"{name}: {title}",
                    lambda n=name, a=array, d=damage: (kind, header, {**arrays, n: d(a, rng)}),
                )
            )
        found.append(
            (f"{name}: missing", lambda n=name: (kind, header, {k: a for k, a in arrays.items() if k != n}))
        )
    for at in places(header):
        for value in (..., *VALUES):
            text = "missing" if value is ... else repr(value)
            found.append(
                (
                    f"{'/'.join(map(str, at))}: {text}",
                    lambda p=at, v=value: (kind, changed(header, p, v), arrays),
                )
            )
    for other in ("CRF", "SSVM", "Perceptron", "PlackettLuce", "Nothing"):
        found.append((f"kind: {other}", lambda o=other: (o, header, arrays)))
    return found


def outcome(content: tuple, kind: Kind) -> str:
    """What became of a damaged file; anything but what is permitted is a failure."""
    file = io.BytesIO()
    try:
        write_model(file, *content)
    except (TypeError, ValueError):
        return "unwritable"
    try:
        model = palmette.load(file, **kind.given)
    except ModelFileError as error:
        return "refused" if str(error) else "a refusal without a word"
    except BaseException as error:
        if "was fitted without" in str(error):
            return "other inputs"
        return f"load: {type(error).__name__}: {error}\n{traceback.format_exc(limit=-4)}"
    try:
        kind.ask(model)
    except ModelFileError:
        return "refused"
    except ValueError as error:
        for words, harmless in HARMLESS.items():
            if words in str(error):
                return harmless
        return f"ask: ValueError: {error}\n{traceback.format_exc(limit=-4)}"
    except BaseException as error:
        return f"ask: {type(error).__name__}: {error}\n{traceback.format_exc(limit=-4)}"
    return "answered"


def main(share: float, seed: int, folder: Path, names: list[str]) -> None:
    """Try a share of all cases, or those of some kinds of models; sound files are kept in a folder."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    limit_memory()
    counts: dict[str, int] = {}
    failures = []
    for name, kind in kinds().items():
        if names and name not in names:
            continue
        rng = np.random.default_rng([seed, len(name)])
        file = folder / f"{name}.palmette"
        if not file.exists():
            file.write_bytes(saved(kind))
        content = read_model(file)
        assert outcome(content, kind) == "answered", f"the sound model {name!r}: {outcome(content, kind)}"
        for title, make in cases(*content, rng):
            if rng.random() >= share:
                continue
            print(f"{name} | {title}", file=sys.stderr, flush=True)
            found = outcome(make(), kind)
            word = found if found in PERMITTED else "failed"
            counts[word] = counts.get(word, 0) + 1
            if word == "failed":
                failures.append([name, title, found])
    print(json.dumps({"counts": counts, "failures": failures}))


def limit_memory() -> None:
    """No case may take gigabytes."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
