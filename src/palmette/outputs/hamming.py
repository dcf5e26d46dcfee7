"""Sequences under the Hamming kernel: the best symbol at every place, for every length."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from palmette.data.checks import check_whole
from palmette.data.sequences import n_items
from palmette.kernels import Hamming, Kernel
from palmette.outputs.base import PreImages
from palmette.outputs.explicit import ExplicitOutputs
from palmette.registry import register


@register("output")
class HammingOutputs(ExplicitOutputs):
    r"""Sequences over the training alphabet; the pre-image is exact.

    With ``s_t = max_c v[t, c]`` the best sequence of length l has the value ``l - 2 (s_1 + ... + s_l)``, so that all
    lengths take one pass. With a blank symbol the places behind the end vote for the length too.

    Parameters
    ----------
    kernel : Hamming, optional
    lengths : {"free", "known"}, default="free"
        Whether a prediction may have any length from the shortest to the longest training output, or has as many
        symbols as its input has rows.

    Examples
    --------
    >>> space = HammingOutputs().fit(["ab", "abb"])
    >>> votes = np.array([[0.9, 0.0, 0.2, 0.8, 0.0, 0.3]])  # of "a" and "b" at three places
    >>> space.pre_images(votes).outputs, space.pre_images(votes).values
    (['ab'], array([-1.4]))
    >>> HammingOutputs(lengths="known").fit(["ab", "abb"], ["xx", "xxx"]).pre_images(votes, ["xxx"]).outputs
    ['abb']
    """

    kept: ClassVar[tuple[str, ...]] = ("lengths", "shortest_", "longest_", "made_of_")

    def __init__(self, kernel: Any = None, lengths: str = "free") -> None:
        self.kernel = kernel
        self.lengths = lengths

    def make_kernel(self) -> Kernel:
        """The Hamming kernel."""
        return Hamming() if self.kernel is None else self.kernel

    def learn(self, outputs: list[Any], X: Any) -> None:
        """Which lengths there are, and whether outputs are texts."""
        if self.lengths not in ("free", "known"):
            raise ValueError(f"HammingOutputs: lengths must be 'free' or 'known', got {self.lengths!r}")
        if not self.kernel_.alphabet_:
            raise ValueError("y has no symbol at all: every output is empty")
        sizes = list(map(len, outputs))
        self.shortest_, self.longest_ = min(sizes), max(sizes)
        self.made_of_ = kind_of_sequences(outputs)
        if self.lengths == "known":
            for i, (size, wanted) in enumerate(zip(sizes, input_sizes(X, len(outputs)))):
                if size != wanted:
                    raise ValueError(
                        f"y[{i}] has {size} symbols, but X[{i}] has {wanted} rows: with lengths='known' an output has "
                        "as many symbols as its input has rows"
                    )
        own = self.kernel_
        even = self.shortest_ == self.longest_ or self.lengths == "known"
        self.constant_norm = bool(own.blank or own.normalize or even)

    def check_kept(self) -> None:
        """Lengths within those of the kernel."""
        if not isinstance(self.kernel_, Hamming) or self.lengths not in ("free", "known"):
            raise ValueError("the outputs are not those of a Hamming kernel")
        check_whole("longest_", self.longest_, 0, self.kernel_.length_)
        check_whole("shortest_", self.shortest_, 0, self.longest_)
        check_symbols(self.made_of_, self.kernel_.alphabet_)

    def pre_images(self, votes: np.ndarray, X: Any = None) -> PreImages:
        """The best sequence for each row of votes, of all lengths that there may be."""
        kernel, n = self.kernel_, len(votes)
        table = votes.reshape(n, kernel.length_, kernel.width)
        symbols = table[:, :, : len(kernel.alphabet_)]
        codes = symbols.argmax(axis=2)
        sums = _running(symbols.max(axis=2))  # [:, l]: votes for the first l symbols
        if kernel.blank:
            sums += _running(table[:, ::-1, -1])[:, ::-1]
        if self.lengths == "known":
            sizes = np.array(input_sizes(X, n), np.int64)
            self._refuse_long(sizes)
            values = self._values(sums[np.arange(n), np.minimum(sizes, kernel.length_)], sizes)
        else:
            choices = np.arange(self.shortest_, self.longest_ + 1)
            each = self._values(sums[:, choices], choices)
            best = each.argmin(axis=1)
            sizes, values = choices[best], each[np.arange(n), best]
        outputs = [self._output(row[:size].tolist(), size) for row, size in zip(codes, sizes.tolist())]
        return PreImages(outputs, values, values, "vote")

    def _values(self, sums: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """``K(y, y) - 2 <psi(y), v>`` of sequences of these sizes, from the sums of their votes."""
        norms = (
            np.full(len(sizes), float(self.kernel_.length_)) if self.kernel_.blank else sizes.astype(float)
        )
        if not self.kernel_.normalize:
            return norms - 2.0 * sums
        return (norms > 0.0) - 2.0 * sums / np.sqrt(np.maximum(norms, 1.0))

    def _output(self, codes: list[int], size: int) -> Any:
        codes += [0] * (size - len(codes))  # beyond all training outputs nobody votes
        return sequence_of(self.made_of_, [self.kernel_.alphabet_[code] for code in codes])

    def _refuse_long(self, sizes: np.ndarray) -> None:
        if self.kernel_.blank and sizes.max(initial=0) > self.kernel_.length_:
            i = int(sizes.argmax())
            raise ValueError(
                f"X[{i}] has {sizes[i]} rows, but outputs with a blank have at most {self.kernel_.length_} symbols; "
                "give Hamming(blank=True, length=...) when fitting"
            )


def kind_of_sequences(outputs: list[Any]) -> str:
    """Whether predictions are to be "str", "tuple" or "list": as all training outputs are."""
    kinds = set(map(type, outputs))
    return next((kind.__name__ for kind in (str, tuple) if kinds == {kind}), "list")


def sequence_of(kind: str, symbols: list[Any]) -> Any:
    """Symbols as a sequence of one of the kinds of :func:`kind_of_sequences`."""
    return "".join(symbols) if kind == "str" else tuple(symbols) if kind == "tuple" else symbols


def check_symbols(kind: str, symbols: list[Any]) -> None:
    """Refuse symbols that texts cannot be made of."""
    for symbol in symbols:
        if kind == "str" and not isinstance(symbol, str):
            raise ValueError(f"outputs are texts, and {symbol!r:.60} is none of their symbols")


def _running(values: np.ndarray) -> np.ndarray:
    """Sums of the first 0, 1, 2, ... values of each row."""
    return np.concatenate([np.zeros((len(values), 1)), np.cumsum(values, axis=1)], axis=1)


def input_sizes(X: Any, n: int) -> list[int]:
    """How many rows each input has."""
    if X is None or n_items(X) != n:
        found = "none are given" if X is None else f"there are {n_items(X)}"
        raise ValueError(f"lengths='known' needs the {n} inputs, whose lengths outputs have; {found}")
    return [n_items(x) for x in X]
