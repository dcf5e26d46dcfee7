"""Networks of an inference competition."""

from __future__ import annotations

import hashlib
import json
from typing import Any, NamedTuple

from sklearn.utils import Bunch

from palmette.datasets import store, uai_format
from palmette.datasets.decode import unxz
from palmette.datasets.registry import get_dataset
from palmette.errors import DataFileError
from palmette.inference.factor_graph import FactorGraph
from palmette.inference.uai import Network, parse_evidence, parse_marginals, parse_network, parse_partition

_REFERENCE = "reference.json.xz"
_REFERENCE_SHA256 = "f654f4f06564260b462647b5722a7eff6166bc0bd23360999ae41a3790a64633"


class NetworkInstance(NamedTuple):
    """A network with its evidence as texts, and what is known of its answers.

    Attributes
    ----------
    name : str
    model, evidence : str
        Texts of the files ``.uai`` and ``.uai.evid``.
    marginals, partition : str or None
        Texts of the published results ``.uai.MAR`` and ``.uai.PR``.
    reference : dict or None
        What was computed by others: ``log10Z_exact``, ``ln_map``, ``proven`` and more, where there is such a file.
    """

    name: str
    model: str
    evidence: str
    marginals: str | None
    partition: str | None
    reference: dict[str, Any] | None

    def network(self) -> Network:
        """The network without the evidence."""
        return parse_network(self.model, self.name)

    def conditioned(self) -> tuple[FactorGraph, float]:
        """The graph with the evidence, and the constant to add to its scores."""
        network = self.network()
        cards = network.graph.topology.cards
        found = parse_evidence(self.evidence, cards, f"{self.name}.evid")
        return network.graph.conditioned(found), network.constant

    def published(self, graph: FactorGraph) -> tuple[Any, float]:
        """Published marginals (laid out as ``graph.unary``) and log10 of the partition function."""
        if self.marginals is None or self.partition is None:
            raise ValueError(f"{self.name} has no published sums: it is an instance for maximisation")
        marginals = parse_marginals(self.marginals, graph.topology.cards, f"{self.name}.MAR")
        return marginals, parse_partition(self.partition, f"{self.name}.PR")


def load_uai2014(subset: str = "mar_pr") -> Bunch:
    """Load networks of the UAI 2014 inference competition.

    Where the data is taken from see :func:`palmette.datasets.where`. Texts are parsed when asked for.

    Parameters
    ----------
    subset : {"mar_pr", "map"}, default="mar_pr"
        The 137 networks with published marginals and partition functions, or 87 to be maximised.

    Returns
    -------
    Bunch
        instances : dict of str to NetworkInstance
        DESCR : str

    Examples
    --------
    >>> from palmette.datasets import load_uai2014
    >>> grid = load_uai2014().instances["Grids_11.uai"]  # doctest: +SKIP
    >>> grid.network().graph.n_vars  # doctest: +SKIP
    100
    """
    if subset not in ("mar_pr", "map"):
        raise ValueError(f"subset must be one of 'mar_pr', 'map', got {subset!r}")
    members = uai_format.parse(store.read("uai2014", [subset])[subset])
    reference = _reference().get(subset, {})
    instances = {
        name: NetworkInstance(
            name,
            text,
            members[f"{name}.evid"],
            members.get(f"{name}.MAR"),
            members.get(f"{name}.PR"),
            reference.get(name),
        )
        for name, text in members.items()
        if name.endswith(".uai")
    }
    return Bunch(instances=instances, DESCR=get_dataset("uai2014").DESCR)


def _reference() -> dict[str, Any]:
    """Results that no public address has; {} where the file does not lie beside the data."""
    path = store.where("uai2014").path
    if path is None or not (path / _REFERENCE).is_file():
        return {}
    content = unxz((path / _REFERENCE).read_bytes())
    found = hashlib.sha256(content).hexdigest()
    if found != _REFERENCE_SHA256:
        raise DataFileError(
            f"{path / _REFERENCE}: wrong SHA-256 of the decoded content: expected {_REFERENCE_SHA256}, found {found}; "
            "replace the file, or remove it to do without"
        )
    return json.loads(content)
