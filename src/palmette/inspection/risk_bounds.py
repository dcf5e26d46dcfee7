"""Tightness of the bounds used in training: the convex bound, the ramp, and the task loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from palmette.data.samples import Samples
from palmette.estimators.blocks import with_codes
from palmette.estimators.settings import settings_of
from palmette.losses.base import resolve_loss
from palmette.surrogates.ramp import ramp_loss

if TYPE_CHECKING:
    from palmette.contracts.structure import Structure


class BoundValues(NamedTuple):
    """Two bounds of the task loss and the loss itself, each of shape (n_samples,): ``convex >= ramp >= loss``."""

    convex: np.ndarray
    ramp: np.ndarray
    loss: np.ndarray


def bound_values(model: Any, X: Any, y: Any, *, task_loss: Any = None, rescaling: Any = None) -> BoundValues:
    r"""Convex bound, ramp bound and task loss of every sample, at the weights of a fitted model.

    With ``s(y') = f(x, y') - f(x, y)``, the task loss D, and its rescaling G (1 for margin rescaling),

    * convex: ``max_y' [G(D) s(y') + D]``, which grows with the scores of a wrong output;
    * ramp: ``max_y' [G(D) s(y') + D] - max_y' G(D) s(y')``, which does not;
    * loss: ``D(y, y*)`` of the prediction ``y* = argmax f``.

    ``convex >= ramp >= loss`` (lemmas 1 and 2 of Do, Le, Teo, Chapelle and Smola, 2008). Where maxima are not exact,
    both bounds are proven from above, so that the order holds all the same. Outputs that the structure does not have
    (base pairs outside of a folding model) are those that training puts in their place.

    Parameters
    ----------
    model : fitted CRF, SSVM or Perceptron
        However it was trained.
    X, y : as for ``fit``
    task_loss, rescaling : as for :class:`~palmette.SSVM`, optional
        By default those of the model, or the usual loss of its structure and margin rescaling.

    Returns
    -------
    BoundValues

    Examples
    --------
    >>> from palmette import CRF, Multiclass
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "low"]  # the last one is odd
    >>> values = bound_values(CRF(Multiclass(), l2=0.1).fit(X, y), X, y, task_loss="zero_one")
    >>> values.loss
    array([0., 0., 1., 0.])
    >>> bool(np.all(values.convex >= values.ramp) and np.all(values.ramp >= values.loss - 1e-9))
    True
    """
    return Measured(model, X, y, task_loss=task_loss, rescaling=rescaling)(model)


class Measured:
    """Samples on which the bounds of models with the same features and labels are computed.

    Parameters
    ----------
    model : fitted model
        One of them.
    X, y, task_loss, rescaling
        As for :func:`bound_values`.
    """

    def __init__(self, model: Any, X: Any, y: Any, *, task_loss: Any = None, rescaling: Any = None) -> None:
        check_is_fitted(model, "coef_")
        task_loss = getattr(model, "task_loss", "auto") if task_loss is None else task_loss
        rescaling = settings_of(model, "loss_options").rescaling if rescaling is None else rescaling
        bound = resolve_loss(task_loss, model.structure_, tuple(model.codec_.classes_))
        self.ramp = ramp_loss(bound, rescaling)
        self._batch, codes, self._keep = model._with_outputs(X, y)
        structure = model.structure_
        offsets = structure.output_offsets(self._batch)
        own = None if offsets is self._batch.offsets else offsets
        samples = Samples(self._batch, codes, np.ones(len(self._batch)), own, None)
        self._codes = structure.learnable(samples).codes

    def __call__(self, model: Any) -> BoundValues:
        """The bounds at the weights of ``model``; 0 for samples without positions."""
        out = np.zeros((3, len(self._keep)))
        found = model._run(
            self._batch,
            np.flatnonzero(self._keep),
            _bounds,
            self.ramp,
            own=with_codes(model.structure_, self._batch, self._codes),
        )
        if found:
            out[:, self._keep] = np.concatenate(found, axis=1)
        return BoundValues(*out)


def _bounds(
    structure: Structure, theta: Any, true: np.ndarray, ramp: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hinge, ramp and task loss of every sample."""
    weight = np.ones(len(theta))
    found = ramp.convex_part.evaluate(structure, theta, true, weight)
    # The truth itself has value 0 in both maxima, and the first is never less: rounding alone takes them below.
    convex = np.maximum(found.values + found.slack, 0.0)
    less = np.maximum(ramp.concave_part.evaluate(structure, theta, true, weight).values, 0.0)
    loss = ramp.task_loss.value(structure, theta, true, structure.best(theta).codes)
    return convex, np.maximum(convex - less, 0.0), loss
