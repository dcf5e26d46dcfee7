"""Error messages for missing methods and parameters that name the alternative.

scikit-learn asks by ``hasattr`` what an estimator can do, so that a method without a meaning must not exist. Whoever
asks for it by hand is told what to use instead.
"""

from __future__ import annotations

import difflib
import inspect
from typing import TYPE_CHECKING, Any

from palmette.contracts.structure import Structure
from palmette.estimators.settings import SETTINGS, new_place

_CRFSUITE = "palmette.compat.CRF takes the parameters of sklearn-crfsuite as they are"
# Parameters of other libraries: the parameter here, and what to write.
_FOREIGN = {
    "c1": ("l1", f"CRFsuite's c1 is l1 = c1; {_CRFSUITE}"),
    "c2": ("l2", f"CRFsuite's c2 is l2 = 2 * c2; {_CRFSUITE}"),
    "algorithm": ("solver", f"it is chosen by solver=...; {_CRFSUITE}"),
    "max_iterations": ("max_iter", f"it is max_iter; {_CRFSUITE}"),
    "all_possible_states": ("encoding", f"it is encoding=Encoding(states='all' or 'observed'); {_CRFSUITE}"),
    "all_possible_transitions": (
        "encoding",
        f"it is encoding=Encoding(transitions='all' or 'observed'); {_CRFSUITE}",
    ),
    "min_freq": ("encoding", f"it is encoding=Encoding(min_count=...); {_CRFSUITE}"),
}


class Guidance:
    """Errors that point to the right name: of methods, of constructor arguments and of ``set_params``."""

    structure: Structure
    _marginals = "predict_marginals(X) has the probability of every label at every position"

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """A new learner, unless a keyword is unknown: then an error that says what it is called here."""
        parameters = inspect.signature(cls.__init__).parameters
        if not any(p.kind == p.VAR_KEYWORD for p in parameters.values()):
            unknown = next((name for name in kwargs if name not in parameters), None)
            if unknown is not None:
                moved = new_place(cls, parameters, unknown, kwargs[unknown])
                raise TypeError(
                    moved
                    or f"{cls.__name__}() got an unexpected keyword argument {unknown!r}: "
                    f"{_other_name(cls, unknown, [name for name in parameters if name != 'self'])}"
                )
        return super().__new__(cls)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with ``deep`` also those of the structure and other objects, as ``structure__order``."""
        found = super().get_params(deep)  # type: ignore[misc]
        for place in [place for place in SETTINGS if deep and found.get(place, ...) is None]:
            found |= {f"{place}__{name}": value for name, value in SETTINGS[place]().get_params().items()}
        return found

    def set_params(self, **params: Any) -> Any:
        """Set parameters by name, those of the structure and other objects as ``structure__order=2``."""
        known = self.get_params(deep=False)
        for name, value in params.items():
            if name not in known and (moved := new_place(type(self), known, name, value)):
                raise TypeError(moved)
        for place in {name.partition("__")[0] for name in params if "__" in name} & SETTINGS.keys():
            if params.get(place, known.get(place, ...)) is None:
                params[place] = SETTINGS[place]()
        foreign = next((name for name in params if name in _FOREIGN and name not in known), None)
        if foreign is not None:
            what = _other_name(type(self), foreign, list(known))
            raise ValueError(f"{type(self).__name__} has no parameter {foreign!r}: {what}")
        return super().set_params(**params)  # type: ignore[misc]

    if not TYPE_CHECKING:  # a type checker would believe that every attribute exists

        def __getattr__(self, name: str) -> Any:
            # Called where the usual way has failed, also in a property or a method that is not available.
            if name not in _METHODS:
                return object.__getattribute__(self, name)  # raises again, with its own message
            structure = type(self.structure).__name__
            raise AttributeError(
                f"{type(self).__name__} with {structure} has no {name}: {_METHODS[name](self)}"
            )


def _other_name(cls: type, name: str, known: list[str]) -> str:
    """What to write in the place of a parameter that does not exist."""
    if name in _FOREIGN:
        own, text = _FOREIGN[name]
        return text if own in known else f"{cls.__name__} has no {own}; {_CRFSUITE}"
    close = difflib.get_close_matches(name, known, n=1)
    return (f"did you mean {close[0]!r}? " if close else "") + f"Its parameters are {', '.join(known)}"


# -- methods: what is there instead, as a function of the learner ----------------------------------------------------


def _probabilities(learner: Any) -> str:
    structure = learner.structure
    if structure.layout == "items":
        return (
            "its scores are not probabilities; sklearn.calibration.CalibratedClassifierCV(model) makes some from "
            "decision_function, CRF(Multiclass()) learns them, and predict_marginals(X) is the softmax of the scores"
        )
    if "expectation" in structure.lacks and learner._marginals is Guidance._marginals:
        return structure.lacks["expectation"]
    return f"an output is not one class. {learner._marginals}, log_proba(X, y) that of whole outputs"


def _scores(learner: Any) -> str:
    return (
        "an output is not one class. predict_score(X) is the score of the best output, predict_nbest(X, n) has those "
        "of the n best, row_scores(X) those of labels at single positions"
    )


def _batches(learner: Any) -> str:
    return (
        "it minimises one objective of all samples. Perceptron(structure).partial_fit learns batch by batch; "
        "warm_start=True continues from the last weights, and solver='stochastic' is for few passes over large data"
    )


_METHODS = {
    "predict_proba": _probabilities,
    "predict_log_proba": _probabilities,
    "decision_function": _scores,
    "partial_fit": _batches,
}
