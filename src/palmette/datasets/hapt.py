"""Activities from the signals of a phone."""

from __future__ import annotations

import numpy as np

from palmette.datasets import hapt_format, splits, store
from palmette.datasets.hapt_features import FEATURE_NAMES, WIDTH, window_features, window_starts

_PUBLISHED = ("train", "test")
_ACTIVITIES = (
    "WALKING WALKING_UPSTAIRS WALKING_DOWNSTAIRS SITTING STANDING LAYING "
    "STAND_TO_SIT SIT_TO_STAND SIT_TO_LIE LIE_TO_SIT STAND_TO_LIE LIE_TO_STAND"
).split()


def load_hapt(subset: str = "train", return_X_y: bool = False, *, standardize: bool = True) -> splits.Loaded:
    """Load windows of phone signals with the activities of their wearers.

    61 experiments with 30 people, 50 samples per second of acceleration and angular velocity. Windows are 2.56 s
    long and 1.28 s apart; the label of a window is that of its centre, and windows without one cut an
    experiment into sequences. :mod:`palmette.datasets.hapt_features` has the features. Where the data is taken
    from see :func:`palmette.datasets.where`.

    Parameters
    ----------
    subset : {"train", "fit", "dev", "test", "all"}, default="train"
        Split by person as published: 21 people for training, 9 for testing. ``"dev"`` is the last tenth of the
        people of train and ``"fit"`` the rest of it.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.
    standardize : bool, default=True
        Subtract the mean of a feature and divide by its standard deviation, both over the training people.

    Returns
    -------
    Bunch
        data : list of ndarray of float64, shape (n_windows, n_features)
        target : list of list of str
            Activities such as ``"WALKING"`` and ``"SIT_TO_STAND"``, 12 in all.
        groups : ndarray of str, shape (n_sequences,)
            ``"train"`` or ``"test"``.
        users, experiments : list of int
            Of each sequence.
        target_names, feature_names : list of str
        DESCR : str

    Examples
    --------
    >>> from palmette.datasets import load_hapt
    >>> train = load_hapt("train")  # doctest: +SKIP
    >>> train.data[0].shape == (len(train.target[0]), len(train.feature_names))  # doctest: +SKIP
    True
    """
    splits.needed(subset, _PUBLISHED)
    recordings = hapt_format.parse(store.read("hapt", ["signals"])["signals"])
    parts = {part: splits.Part([], [], {"users": [], "experiments": []}, unit="users") for part in _PUBLISHED}
    for experiment, user, samples in zip(recordings.experiments, recordings.users, recordings.signals):
        part = parts["train" if user in recordings.train_users else "test"]
        segments = [
            (start, stop, activity) for e, activity, start, stop in recordings.labels if e == experiment
        ]
        codes = _labels_of_windows(len(samples), segments)
        labelled = np.flatnonzero(codes)
        features = window_features(samples, window_starts(len(samples))[labelled])
        runs = np.flatnonzero(np.diff(labelled) > 1) + 1
        sequences = np.split(features, runs)
        part.data.extend(sequences)
        part.target.extend([_ACTIVITIES[code - 1] for code in run] for run in np.split(codes[labelled], runs))
        part.details["users"].extend([user] * len(sequences))
        part.details["experiments"].extend([experiment] * len(sequences))
    if standardize:
        _standardize(parts)
    return splits.make_bunch(
        "hapt", subset, parts, _PUBLISHED, return_X_y=return_X_y, feature_names=list(FEATURE_NAMES)
    )


def _labels_of_windows(n_samples: int, segments: list[tuple[int, int, int]]) -> np.ndarray:
    """Activity at the centre of each window, 0 where there is none.

    >>> _labels_of_windows(320, [(100, 150, 7), (190, 320, 2)])
    array([0, 7, 2, 2])
    """
    activity = np.zeros(n_samples, np.int64)
    for start, stop, code in segments:
        activity[start:stop] = code
    return activity[window_starts(n_samples) + WIDTH // 2]


def _standardize(parts: dict[str, splits.Part]) -> None:
    """Shift and scale the features of all parts in place, by those of the training part."""
    table = np.concatenate(parts["train"].data)
    mean, scale = table.mean(axis=0), table.std(axis=0)
    scale[scale == 0] = 1.0
    for part in parts.values():
        for features in part.data:
            features -= mean
            features /= scale
