"""Transfer between domains: one model for all of them, and what each adds to it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from palmette.data.checks import check_array, check_finite, entry, group, needed
from palmette.data.labels import LabelCodec
from palmette.data.outputs import Outputs
from palmette.errors import ModelFileError
from palmette.estimators.persistence import load, restored, state_of
from palmette.estimators.stored_params import revived, stored_value
from palmette.estimators.training import checked_weights, given_labels
from palmette.features.encoded import EncodedInputs
from palmette.io.model_file import write_model
from palmette.registry import kind_of, register
from palmette.supervision.transfer_fit import check_learner, check_rho, domain_learner
from palmette.supervision.transfer_tree import DomainTree, domain_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_AT_FIT = "fit needs domains=[...], the domain of every sample"
_AT_PREDICTION = (
    "the answer depends on the domain: give domains=[...] with one entry per sample (None: the shared weights). In "
    "searches of scikit-learn: sklearn.set_config(enable_metadata_routing=True), then "
    "set_fit_request(domains=True).set_score_request(domains=True)"
)


def _has(name: str) -> Callable[[Any], bool]:
    return lambda transfer: hasattr(transfer.model, name)


@register("learner")
@dataclass(eq=False, repr=False)
class Transfer(BaseEstimator):
    r"""Learn from samples of several domains together: shared weights, and what each domain adds to them.

    With ``w^d = w + v^d`` for a domain d, minimises over all ``w`` and ``v^d``

    ``sum_d sum_{i in d} loss_i(w^d) + (l2/2)|w|^2 + (rho/2) sum_d |v^d|^2``

    where loss and ``l2`` are those of the model. ``rho -> inf`` is training on the union of all samples with that
    ``l2``; ``l2 -> inf`` is training every domain for itself with ``l2 = rho``. In the dual this is the kernel
    ``(1/l2 + [d = d']/rho) <phi, phi'>``, and at the optimum ``l2 w = rho sum_d v^d``. Every learner of palmette can be
    used, with every structure, loss and generic solver, since only scorer and penalty change.

    Over a tree of domains ``w^d`` is the sum of the vectors of all nodes from the root to d; all but the root have the
    penalty ``rho``.

    Parameters
    ----------
    model : learner
        ``CRF(...)``, ``SSVM(...)``, ``Perceptron(...)``, ``PlackettLuce(...)``; not fitted, and left as it is.
    rho : float or str, default="1x"
        Penalty of what domains add, > 0: a number, or a multiple of that of the shared weights, weight by weight.
        ``Perceptron`` has no penalty: there a step moves ``v^d`` by ``1/rho`` of what it moves ``w``.
    tree : mapping, optional
        Parent of each node, ``{"mail": "web", "blog": "web"}``. Nodes with samples may stand anywhere. A single node
        without a parent (or with the parent None) is the root; above several there is a root without a name. By default
        all domains are children of one root.

    Attributes
    ----------
    coef_ : ndarray of shape (n_nodes, n_weights)
        The vector of every node; that of the root first.
    nodes_ : list
        Names of these nodes; None for a root without a name.
    domains_ : list
        Domains of the training samples.
    model_ : learner
        The model with the shared weights.
    result_, objective_, n_iter_, fit_seconds_, annotation_, classes_
        As for the model; ``result_.w`` are the weights of all nodes.

    Notes
    -----
    A domain that no training sample had is answered by its nearest ancestor in the tree that has weights, and by the
    shared weights if it is not in the tree. So is the domain None.

    Every node has as many weights as a model of all samples. A penalty ``l1`` is that of every vector.

    Kernels act on rows, and are shared by the domains: ``SSVM`` with a kernel works with an exact factor of the Gram
    matrix, for up to a few thousand distinct rows.

    Examples
    --------
    >>> from palmette import CRF, Chain, Transfer
    >>> X = [[["the"], ["book"]], [["book"], ["a"], ["seat"]]]
    >>> y = [["D", "N"], ["V", "D", "N"]]
    >>> model = Transfer(CRF(Chain(), l2=0.1), rho=0.1).fit(X, y, domains=["library", "travel"])
    >>> model.predict([[["book"]], [["book"]]], domains=["library", "travel"])
    [['N'], ['V']]
    >>> model.model_of("travel").predict([[["book"]]])
    [['V']]
    """

    model: Any
    _: KW_ONLY
    rho: float | str = "1x"
    tree: Mapping[Any, Any] | None = None

    def fit(self, X: Any, y: Any = None, domains: Any = None, sample_weight: Any = None) -> Transfer:
        """Learn from inputs ``X`` and outputs ``y`` of samples in domains.

        Parameters
        ----------
        X, y, sample_weight
            As for the model.
        domains : list or array of shape (n_samples,)
            Names or numbers.

        Returns
        -------
        self
        """
        check_learner(self.model)
        check_rho(self.rho)
        names = domain_list(domains, len(X) if hasattr(X, "__len__") else None, needed=_AT_FIT)
        if None in names:
            raise ValueError(f"domains[{names.index(None)}] is None: every training sample needs a domain")
        if not names:
            raise ValueError("domains is empty: there is no sample to learn from")
        tree = DomainTree.of(self.tree, list(dict.fromkeys(names)))
        learner = domain_learner(self.model, tree, names, self.rho)
        try:
            learner.fit(X, y, sample_weight)
        finally:
            if hasattr(learner, "coef_"):  # after Ctrl-C too
                self._keep(learner, tree)
        return self

    def _keep(self, learner: Any, tree: DomainTree) -> None:
        self._tree, self.domains_, self.nodes_ = tree, learner.domain_names, list(tree.nodes)
        self.coef_ = learner.coef_.reshape(len(tree.nodes), -1)
        self.result_, self.objective_ = learner.result_, learner.objective_
        self.n_iter_, self.fit_seconds_ = learner.n_iter_, learner.fit_seconds_
        self.annotation_ = learner.annotation_
        shared = type(self.model)(**self.model.get_params(deep=False))
        learnt = {k: v for k, v in vars(learner).items() if k.endswith("_") and not k.startswith("_")}
        vars(shared).update(learnt, coef_=self.coef_[0], result_=replace(self.result_, w=self.coef_[0]))
        shared._structure = learner.structure_
        self.model_ = shared

    # -- one domain ---------------------------------------------------------------------------------------------

    def coef_of(self, domain: Any) -> np.ndarray:
        """The weights ``w^d`` of a domain, shape (n_weights,), as those of the model."""
        check_is_fitted(self, "coef_")
        first, *others = self._tree.path(domain)
        total = self.coef_[first].copy()
        for node in others:
            total += self.coef_[node]
        return total

    def model_of(self, domain: Any) -> Any:
        """The model of a domain: a fitted learner like any other, with all its answers, and ``save``."""
        check_is_fitted(self, "coef_")
        own = copy.copy(self.model_)
        own.coef_ = self.coef_of(domain)
        own.result_ = replace(own.result_, w=own.coef_)
        return own

    # -- answers ------------------------------------------------------------------------------------------------

    def predict(self, X: Any, domains: Any = None) -> Any:
        """Highest-scoring output of every sample under the weights of its domain, as the model returns it."""
        return self._answer("predict", X, domains)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any, domains: Any = None) -> np.ndarray:
        """Class probabilities, shape (n_samples, n_classes); for ``CRF(Multiclass())``."""
        return self._answer("predict_proba", X, domains)

    @available_if(_has("predict_log_proba"))
    def predict_log_proba(self, X: Any, domains: Any = None) -> np.ndarray:
        """Logarithms of the class probabilities, shape (n_samples, n_classes)."""
        return self._answer("predict_log_proba", X, domains)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any, domains: Any = None) -> np.ndarray:
        """Scores of the classes; for ``Multiclass``."""
        return self._answer("decision_function", X, domains)

    def predict_marginals(self, X: Any, domains: Any = None) -> Any:
        """Probability of every label at every position, as of the model."""
        return self._answer("predict_marginals", X, domains)

    def predict_nbest(self, X: Any, n: int = 10, domains: Any = None) -> Any:
        """The n best outputs of every sample with their scores."""
        return self._answer("predict_nbest", X, domains, n)

    def predict_score(self, X: Any, domains: Any = None) -> np.ndarray:
        """Score of the best output of every sample."""
        return self._answer("predict_score", X, domains)

    def log_proba(self, X: Any, y: Any, domains: Any = None) -> np.ndarray:
        """Log-probability of given outputs, shape (n_samples,)."""
        y = given_labels(y, self.model.structure.layout)
        parts = [(own, m.log_proba(some, [y[i] for i in own])) for m, some, own in self._groups(X, domains)]
        return _in_order(parts)

    def score(self, X: Any, y: Any, domains: Any = None, sample_weight: Any = None) -> float:
        """Share of right parts over all samples; the mean NDCG of a ``Ranking``. As ``score`` of the model."""
        y = given_labels(y, self.model.structure.layout)
        right, total = self.measure(X, y, domains)
        weight = checked_weights(sample_weight, len(right))
        if not total @ weight:
            raise ValueError(
                "score needs at least one position: no sample of positive weight has a position whose label is known"
            )
        return float(right @ weight / (total @ weight))

    def measure(self, X: Any, y: Any, domains: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """What the prediction of each sample reaches, and what it could reach; :meth:`score` is a ratio of sums."""
        parts, n_samples = [], 0
        for model, some, own in self._groups(X, domains):
            parts.append((own, model.structure.measure(model, some, [y[i] for i in own])))
            n_samples += len(own)
        out = np.zeros((2, n_samples))
        for own, found in parts:
            out[:, own] = found
        return out[0], out[1]

    def encode(self, X: Any) -> EncodedInputs:
        """Inputs encoded once, for any number of calls of ``fit``, ``predict`` and the like."""
        return (self.model_ if hasattr(self, "model_") else self.model).encode(X)

    @property
    def classes_(self) -> np.ndarray:
        """The labels, in the order of codes and of marginal columns."""
        check_is_fitted(self, "coef_")
        return self.model_.classes_

    def _groups(self, X: Any, domains: Any) -> Iterator[tuple[Any, EncodedInputs, np.ndarray]]:
        """The model, the samples and the numbers of the samples of all domains that share their weights."""
        check_is_fitted(self, "coef_")
        if domains is None:
            raise ValueError(_AT_PREDICTION)
        encoded = self.model_.encode(X)
        names = domain_list(domains, len(encoded), needed=_AT_PREDICTION)
        places: dict[tuple[int, ...], list[int]] = {}
        for place, name in enumerate(names):
            places.setdefault(self._tree.path(name), []).append(place)
        for own in places.values() or [[]]:
            model = self.model_of(names[own[0]] if own else None)
            yield model, encoded if len(own) == len(encoded) else encoded[np.array(own)], np.array(own, int)

    def _answer(self, name: str, X: Any, domains: Any, *arguments: Any) -> Any:
        return _in_order(
            [(own, getattr(model, name)(some, *arguments)) for model, some, own in self._groups(X, domains)]
        )

    # -- files --------------------------------------------------------------------------------------------------

    def save(self, path: Any) -> None:
        """Write the fitted model to ``path``, as ``save`` of the model does; :func:`palmette.load` reads it."""
        check_is_fitted(self, "coef_")
        header, arrays = state_of(self.model_)
        own = {
            "model": {"kind": kind_of(self.model_), **header},
            "rho": stored_value("rho", self.rho),
            "tree": None if self.tree is None else _stored_tree(self.tree),
            "domains": LabelCodec(self.domains_).state(),
        }
        write_model(
            path, kind_of(self), own, {"coef": self.coef_, **{f"model.{k}": v for k, v in arrays.items()}}
        )

    @classmethod
    def load(cls, path: Any, **functions: Any) -> Any:
        """Read a model of this class; another class is refused. See :func:`palmette.load`."""
        model = load(path, **functions)
        if not isinstance(model, cls):
            raise ModelFileError(
                f"{path} holds a {type(model).__name__}, not a Transfer; use palmette.load(path)"
            )
        return model

    @classmethod
    def from_parts(
        cls, path: Any, header: dict[str, Any], arrays: dict[str, np.ndarray], functions: dict[str, Any]
    ) -> Transfer:
        """A model from what a file holds; for :func:`palmette.load`."""
        inner = entry(header, "model", dict)
        shared = restored(path, inner.get("kind"), inner, group(arrays, "model"), functions)
        check_learner(shared)
        tree = None if header.get("tree") is None else _revived_tree(entry(header, "tree", dict))
        model = cls(
            type(shared)(**shared.get_params(deep=False)), rho=revived(header.get("rho"), {}), tree=tree
        )
        check_rho(model.rho)
        model.domains_ = list(LabelCodec.from_state(header.get("domains")).classes_)
        model._tree = DomainTree.of(tree, model.domains_)
        model.nodes_ = list(model._tree.nodes)
        model.coef_ = check_array("coef", needed(arrays, "coef"), np.float64, 2)
        expected = len(model.nodes_), len(shared.coef_)
        if model.coef_.shape != expected:
            raise ValueError(f"the weights of nodes have shape {model.coef_.shape}, expected {expected}")
        check_finite("coef", model.coef_)
        model.model_, model.objective_, model.n_iter_ = shared, shared.objective_, shared.n_iter_
        model.result_ = replace(shared.result_, w=model.coef_.ravel())
        return model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Any:
        return self.model.__sklearn_tags__()


def _in_order(parts: list[tuple[np.ndarray, Any]]) -> Any:
    """Answers for groups of samples as those of all samples, in their order."""
    (_, answer), *others = parts
    if not others:
        return answer
    order = np.argsort(np.concatenate([own for own, _ in parts]))
    if isinstance(answer, np.ndarray):
        return np.concatenate([found for _, found in parts])[order]
    found = [each for _, answers in parts for each in answers]
    return (Outputs if isinstance(answer, Outputs) else list)(found[i] for i in order)


def _stored_tree(tree: Mapping[Any, Any]) -> dict[str, Any]:
    """Names of the nodes as labels, and the number of the parent of each of the first ones; -1 for None."""
    names = list(dict.fromkeys([*tree, *(parent for parent in tree.values() if parent is not None)]))
    place = {None: -1, **{name: number for number, name in enumerate(names)}}
    return {"names": LabelCodec(names).state(), "parents": [place[parent] for parent in tree.values()]}


def _revived_tree(header: dict[str, Any]) -> dict[Any, Any]:
    """Inverse of :func:`_stored_tree`."""
    names = list(LabelCodec.from_state(header.get("names")).classes_)
    parents = entry(header, "parents", list)
    if len(parents) > len(names) or not all(type(i) is int and -1 <= i < len(names) for i in parents):
        raise ValueError(f"the parents of the domains are {parents!r:.60}, of {len(names)} nodes")
    return {name: None if i < 0 else names[i] for name, i in zip(names, parents)}
