"""Readers of dates: equal information for all, and the penalty of each chosen on the development part."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.apps.dates.data import PLACES, Dates

if TYPE_CHECKING:
    from palmette.contracts.structure import Structure

Inputs = Callable[[Dates], np.ndarray]
Log = Callable[[str], None]

N_LANDMARKS = 200


def pixels_and_place(dates: Dates) -> np.ndarray:
    """Pixels of each digit and its place in the date as a unit vector, shape (n_dates, 8, 72)."""
    place = np.broadcast_to(np.eye(len(PLACES)), (len(dates), len(PLACES), len(PLACES)))
    return np.concatenate([dates.images.reshape(len(dates), len(PLACES), -1), place], axis=2)


def likeness_and_place(train: Dates, *, seed: int) -> Inputs:
    """Make features for linear models: the likeness to some training digits instead of pixels.

    The likeness is the Gaussian kernel of a support vector machine, in Nystroem's approximation.
    """
    from sklearn.kernel_approximation import Nystroem

    kernel = Nystroem(gamma=kernel_width(train), n_components=N_LANDMARKS, random_state=seed).fit(
        train.pixels
    )

    def features(dates: Dates) -> np.ndarray:
        likeness = kernel.transform(dates.pixels).reshape(len(dates), len(PLACES), -1)
        return np.concatenate([likeness, pixels_and_place(dates)[:, :, -len(PLACES) :]], axis=2)

    return features


def kernel_width(train: Dates) -> float:
    """``gamma="scale"`` of scikit-learn, for the pixels."""
    return 1.0 / (train.pixels.shape[1] * train.pixels.var())


@dataclass(frozen=True)
class Reader:
    """A way to read dates.

    Parameters
    ----------
    name : str
    make : callable
        ``make(l2, trial)`` returns an estimator; a trial may stop early.
    penalties : tuple of float
        The l2 to choose from, weakest first.
    inputs : callable
        From dates to an array of shape (n_dates, 8, n_features).
    whole : bool
        Whether a sample is a whole date or a single digit.
    """

    name: str
    make: Callable[[float, bool], Any]
    penalties: tuple[float, ...]
    inputs: Inputs
    whole: bool

    def fit(self, dates: Dates, l2: float, *, trial: bool) -> Any:
        """A model of these dates."""
        from sklearn.exceptions import ConvergenceWarning

        Y = dates.digits.tolist() if self.whole else dates.digits.ravel()
        with warnings.catch_warnings():
            # the gap that was reached stands in the table
            warnings.simplefilter("ignore", ConvergenceWarning)
            return self.make(l2, trial).fit(self._samples(dates), Y)

    def read(self, model: Any, dates: Dates) -> np.ndarray:
        """Digits of shape (n_dates, 8)."""
        return np.asarray(model.predict(self._samples(dates))).reshape(dates.digits.shape)

    def _samples(self, dates: Dates) -> Any:
        X = self.inputs(dates)
        return list(X) if self.whole else X.reshape(-1, X.shape[2])


def readers(train: Dates, *, seed: int) -> list[Reader]:
    """The four readers that the demo compares."""
    from sklearn.svm import SVC

    from palmette import CRF, SSVM, Chain, Multiclass

    def svc(l2: float, trial: bool) -> SVC:
        return SVC(C=1 / l2, gamma=kernel_width(train))

    def crf(structure: Structure) -> Callable[[float, bool], CRF]:
        return lambda l2, trial: CRF(structure, l2=l2, tol=1e-2 if trial else 1e-4)

    def ssvm(l2: float, trial: bool) -> SSVM:
        # the bundle method runs on kernels that the CRF has compiled already
        return SSVM(Chain(), l2=l2, solver="bundle", tol=1e-1 if trial else 1e-2)

    features = likeness_and_place(train, seed=seed)
    few = (0.01, 0.03, 0.1, 0.3)
    return [
        Reader("kernel SVM", svc, (0.03, 0.1, 0.3, 1.0), pixels_and_place, whole=False),
        Reader("logistic", crf(Multiclass()), few, features, whole=False),
        Reader("chain CRF", crf(Chain()), few, features, whole=True),
        Reader("chain SSVM", ssvm, (0.5, 1.0, 2.0, 4.0), features, whole=True),
    ]


@dataclass(frozen=True)
class Reading:
    """How a reader did on the test dates."""

    reader: Reader
    model: Any
    predicted: np.ndarray  # (n_dates, 8)
    wrong: np.ndarray  # (n_dates, 8), bool
    seconds: float

    @property
    def name(self) -> str:
        """Name of the reader."""
        return self.reader.name

    @property
    def digit_error(self) -> float:
        """Share of wrong digits."""
        return float(self.wrong.mean())

    @property
    def date_error(self) -> float:
        """Share of dates with a wrong digit."""
        return float(self.wrong.any(axis=1).mean())

    def to_dict(self) -> dict[str, Any]:
        """Errors, seconds of training, and the certificate (None for models that have none)."""
        record: dict[str, Any] = {"digit_error": self.digit_error, "date_error": self.date_error}
        record |= {"seconds": self.seconds, "l2": None, "objective": None, "relative_gap": None}
        if hasattr(self.model, "result_"):
            result = self.model.result_
            record |= {"l2": self.model.l2, "objective": result.primal}
            record["relative_gap"] = result.gap / abs(result.primal)
        return record


def read_dates(reader: Reader, train: Dates, dev: Dates, test: Dates, *, log: Log) -> Reading:
    """Choose the penalty on the development dates, train, and read the test dates once.

    Of equally good penalties the strongest one counts. The last run is to a tighter tolerance than the trials.
    """
    started = time.perf_counter()
    trials = {l2: _trial(reader, train, dev, l2) for l2 in reader.penalties}
    best = min(trials, key=lambda l2: (trials[l2], -l2))
    chosen = time.perf_counter()
    model = reader.fit(train, best, trial=False)
    seconds = time.perf_counter() - chosen
    predicted = reader.read(model, test)
    reading = Reading(reader, model, predicted, predicted != test.digits, seconds)
    log(
        f"{reader.name}: {len(trials)} penalties tried in {chosen - started:.1f} s, "
        f"trained in {seconds:.1f} s, {100 * reading.date_error:.1f} % of the test dates misread"
    )
    return reading


def _trial(reader: Reader, train: Dates, dev: Dates, l2: float) -> float:
    model = reader.fit(train, l2, trial=True)
    return float((reader.read(model, dev) != dev.digits).mean())


def read_with_all(parts: Sequence[Dates], *, seed: int, log: Log) -> list[Reading]:
    """Readings of all readers; ``parts`` are the training, development and test dates."""
    train, dev, test = parts
    return [read_dates(reader, train, dev, test, log=log) for reader in readers(train, seed=seed)]
