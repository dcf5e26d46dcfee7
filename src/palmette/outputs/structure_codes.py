"""Outputs of a structure as codes, and features of codes: what spaces of structures share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone

from palmette.contracts.structure import Structure
from palmette.data.checks import entry
from palmette.data.ragged import Ragged, offsets_from_lengths
from palmette.kernels.objects import as_objects
from palmette.kernels.rows import products, squared_norms
from palmette.outputs.base import OutputSpace
from palmette.registry import find, kind_of


class StructureOutputs(OutputSpace):
    """What both spaces share: outputs as codes of the structure's codec, and features of codes."""

    structure: Any

    def fit(self, y: Any, X: Any = None) -> Self:
        """A copy that knows the labels, and the features of the training outputs."""
        own, outputs = clone(self), as_objects(y, "y")
        if not outputs:
            raise ValueError("y has no outputs; a regression needs at least one")
        sizes = own.sizes(outputs, X)
        own.codec_ = self.structure.make_codec(outputs, None, sizes)
        own.structure_ = self.structure.bind(own.codec_.classes_)
        own.learn(sizes, X)
        codes, offsets = own.encode(outputs, sizes)
        own.structure_.check_outputs(codes, offsets)
        own.rows = own.code_features(codes, offsets)
        own.remember(codes, offsets)
        own.constant_norm = own.constant_norm or bool(np.ptp(squared_norms(own.rows)) <= 1e-9)
        return own

    def check_given(self, outputs: list[Any], X: Any) -> None:
        """As many codes as the inputs ask for, of known labels."""
        self.encode(outputs, self.sizes(outputs, X))

    def encode(self, outputs: list[Any], sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Codes of outputs, and where those of each begin and end."""
        found = self.codec_.encode_annotation(outputs, sizes, self.structure_.layout)
        codes, offsets = found.known, self.offsets(outputs, sizes)
        if codes.min(initial=0) < 0:
            i = int(np.searchsorted(offsets, int(np.argmin(codes)), side="right")) - 1
            raise ValueError(
                f"y[{i}] = {outputs[i]!r:.60} is not known wholly; a regression needs complete outputs"
            )
        return codes, offsets

    def features(self, outputs: Any) -> sparse.csr_array:
        """Features of any outputs."""
        outputs = as_objects(outputs, "outputs")
        return self.code_features(*self.encode(outputs, self.sizes(outputs, None)))

    def decoded(self, codes: np.ndarray, offsets: np.ndarray) -> list[Any]:
        """Outputs of codes."""
        if self.structure_.layout == "items":
            return self.codec_.decode(codes)
        return list(self.codec_.decode_sequences(Ragged(codes, offsets)))

    def values(self, votes: np.ndarray, outputs: Any) -> np.ndarray:
        """``K_Y(y, y) - 2 <psi(y), v>`` of given outputs for every row of ``votes``, shape (n, len(outputs))."""
        rows = self.features(outputs)
        reached = min(rows.shape[1], np.shape(votes)[1])  # nobody votes beyond the longest training output
        return squared_norms(rows) - 2.0 * (rows[:, :reached] @ np.asarray(votes, float).T[:reached]).T

    def gram(self, left: Any, right: Any) -> np.ndarray:
        """Number of common parts of all pairs."""
        return products(self.features(left), self.features(right))

    def norms(self, outputs: Any) -> np.ndarray:
        """Number of parts."""
        return squared_norms(self.features(outputs))

    def pairs(self, left: Any, right: Any) -> np.ndarray:
        """Number of common parts of each pair."""
        return np.asarray(self.features(left).multiply(self.features(right)).sum(axis=1), float).ravel()

    def sizes(self, outputs: list[Any], X: Any) -> np.ndarray:
        """Number of codes of each output."""
        raise NotImplementedError

    def offsets(self, outputs: list[Any], sizes: np.ndarray) -> np.ndarray:
        """Where the codes of each output begin and end."""
        return offsets_from_lengths(sizes)

    def learn(self, sizes: np.ndarray, X: Any = None) -> None:
        """Whatever the features need to know, before they are made; ``X`` in a fit only."""

    def remember(self, codes: np.ndarray, offsets: np.ndarray) -> None:
        """Whatever else pre-images need to know of the training outputs."""

    def code_features(self, codes: np.ndarray, offsets: np.ndarray) -> sparse.csr_array:
        """Features of codes."""
        raise NotImplementedError

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The codec; the structure itself is a parameter of the learner."""
        header, arrays = super().state()
        return header | {"codec": {"kind": kind_of(self.codec_), "state": self.codec_.state()}}, arrays

    @classmethod
    def from_state(cls, header: Any, arrays: Mapping[str, np.ndarray], output: Any = None) -> Self:
        """Inverse of :meth:`state`; ``output`` is the structure, or a space of it."""
        own = super().from_state(header, arrays, output)
        own.structure, codec = (
            getattr(output, "structure", output),
            entry(header, "codec", dict, "the output"),
        )
        if not isinstance(own.structure, Structure):
            raise ValueError(f"the output of a regression on a structure needs it again, got {output!r:.60}")
        own.codec_ = find("codec", codec.get("kind")).from_state(codec.get("state"))  # type: ignore[attr-defined]
        own.structure_ = own.structure.bind(own.codec_.classes_)
        own.revived()
        return own

    def revived(self) -> None:
        """Check, and complete, what came from a file, with the structure at hand."""
