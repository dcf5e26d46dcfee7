"""Features of windows of a phone's acceleration and angular velocity, as activity recognition uses them.

Signals: body acceleration (gravity taken out by a low-pass filter of 0.3 Hz), gravity, angular velocity, and the
derivatives (jerk) of the first and the third; each along three axes and as a magnitude. Features of a window:

* of each of the 20 signals the mean, standard deviation, median absolute deviation, extremes, quartile range,
  logarithm of the energy, and change from the first to the last quarter;
* of each triple of axes the correlations;
* of the spectra of body acceleration, its jerk, angular velocity and their magnitudes the logarithms of the energies
  of eight bands, the mean and the peak frequency and the entropy;
* cosines of the angles of mean gravity with the axes, with mean body acceleration and with mean angular velocity.
"""

from __future__ import annotations

import numpy as np
from scipy import signal

RATE = 50.0  # samples per second
WIDTH = 128  # samples of a window, 2.56 s
STEP = 64

_AXES = ("x", "y", "z")
_TRIPLES = ("body", "gravity", "gyro", "body_jerk", "gyro_jerk")
_SPECTRAL = ("body", "gyro", "body_jerk")
_STATISTICS = ("mean", "std", "mad", "min", "max", "iqr", "log_energy", "change")
_BANDS = (1, 2, 3, 4, 6, 9, 14, 24, 52)  # bounds in bins of 0.39 Hz: up to 20 Hz, where the noise filter cuts
_TINY = 1e-8
_SIGNALS = [f"{triple}_{axis}" for triple in _TRIPLES for axis in (*_AXES, "norm")]
_SPECTRA = [f"{triple}_{axis}" for triple in _SPECTRAL for axis in (*_AXES, "norm")]
_SPECTRAL_FEATURES = (*(f"band{k}" for k in range(len(_BANDS) - 1)), "frequency", "peak", "entropy")

FEATURE_NAMES: list[str] = [
    *(f"{name}_{statistic}" for statistic in _STATISTICS for name in _SIGNALS),
    *(f"{triple}_corr_{pair}" for pair in ("xy", "xz", "yz") for triple in _TRIPLES),
    *(f"{name}_{feature}" for feature in _SPECTRAL_FEATURES for name in _SPECTRA),
    *(f"gravity_cos_{other}" for other in (*_AXES, "body", "gyro")),
]


def window_starts(n_samples: int) -> np.ndarray:
    """First samples of the windows of a recording.

    >>> window_starts(300)
    array([  0,  64, 128])
    """
    return np.arange(0, n_samples - WIDTH + 1, STEP)


def window_features(recording: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Features of some windows of one recording.

    Parameters
    ----------
    recording : ndarray of shape (n_samples, 6)
        Acceleration (g) and angular velocity (rad/s) along x, y and z, 50 samples per second.
    starts : ndarray of int, shape (n_windows,)
        First samples of windows of 128 samples.

    Returns
    -------
    ndarray of float64, shape (n_windows, n_features)
        Columns as in `FEATURE_NAMES`.

    Examples
    --------
    >>> still = np.tile([1.0, 0, 0, 0, 0, 0], (256, 1))  # lying on one side
    >>> features = window_features(still, window_starts(256))
    >>> features.shape == (3, len(FEATURE_NAMES)), features[:, FEATURE_NAMES.index("gravity_cos_x")].round(3)
    (True, array([1., 1., 1.]))
    """
    triples = _signals(recording)
    # window, triple, axis, sample
    windows = np.stack([_cut(triples[name], starts) for name in _TRIPLES], axis=1)
    with_norm = np.concatenate([windows, np.linalg.norm(windows, axis=2, keepdims=True)], axis=2)
    means = windows.mean(axis=3)
    spectral = with_norm[:, [_TRIPLES.index(name) for name in _SPECTRAL]]
    parts = [
        *_statistics(with_norm.reshape(len(starts), -1, WIDTH)),
        *_correlations(windows - means[..., None]),
        *_spectra(spectral.reshape(len(starts), -1, WIDTH)),
        _angles(means),
    ]
    return np.concatenate(parts, axis=1)


def _signals(recording: np.ndarray) -> dict[str, np.ndarray]:
    smooth = signal.medfilt(recording.astype(np.float64), (3, 1))
    smooth = signal.sosfiltfilt(signal.butter(3, 20.0, fs=RATE, output="sos"), smooth, axis=0)
    acceleration, gyro = smooth[:, :3], smooth[:, 3:]
    gravity = signal.sosfiltfilt(signal.butter(3, 0.3, fs=RATE, output="sos"), acceleration, axis=0)
    body = acceleration - gravity
    jerk = np.gradient(np.hstack([body, gyro]), 1 / RATE, axis=0)
    return dict(zip(_TRIPLES, (body, gravity, gyro, jerk[:, :3], jerk[:, 3:])))


def _cut(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Windows of a recording: (n_windows, n_columns, WIDTH)."""
    return np.lib.stride_tricks.sliding_window_view(values, WIDTH, axis=0)[starts]


def _statistics(windows: np.ndarray) -> list[np.ndarray]:
    """Statistics of each signal, in the order of `_STATISTICS`: (n_windows, n_signals) each."""
    mean = windows.mean(axis=2)
    ordered = np.sort(windows, axis=2)
    quarter, half = WIDTH // 4, WIDTH // 2
    deviation = np.abs(windows - ordered[:, :, half, None])
    return [
        mean,
        windows.std(axis=2),
        np.partition(deviation, half, axis=2)[:, :, half],
        ordered[:, :, 0],
        ordered[:, :, -1],
        ordered[:, :, 3 * quarter] - ordered[:, :, quarter],
        np.log(np.square(windows).mean(axis=2) + _TINY),
        windows[:, :, -quarter:].mean(axis=2) - windows[:, :, :quarter].mean(axis=2),
    ]


def _correlations(centred: np.ndarray) -> list[np.ndarray]:
    """Correlations of the axes of each triple: (n_windows, n_triples) for each pair of axes."""
    covariance = centred @ centred.swapaxes(2, 3)
    scale = np.sqrt(np.diagonal(covariance, axis1=2, axis2=3)) + _TINY
    return [covariance[:, :, a, b] / (scale[:, :, a] * scale[:, :, b]) for a, b in ((0, 1), (0, 2), (1, 2))]


def _spectra(windows: np.ndarray) -> list[np.ndarray]:
    """Band energies, frequencies and entropy of each signal: (n_windows, n_signals) each."""
    centred = windows - windows.mean(axis=2, keepdims=True)
    power = np.square(np.abs(np.fft.rfft(centred * np.hanning(WIDTH), axis=2)))[:, :, : _BANDS[-1]]
    bands = np.add.reduceat(power, _BANDS[:-1], axis=2)
    share = (power + _TINY) / (power + _TINY).sum(axis=2, keepdims=True)
    frequencies = np.arange(share.shape[2]) * RATE / WIDTH
    return [
        *np.moveaxis(np.log(bands + _TINY), 2, 0),
        share @ frequencies,
        frequencies[np.argmax(power, axis=2)],
        -(share * np.log(share)).sum(axis=2),
    ]


def _angles(means: np.ndarray) -> np.ndarray:
    """Cosines of mean gravity with the axes and with other means: (n_windows, 5)."""
    units = means / (np.linalg.norm(means, axis=2, keepdims=True) + _TINY)
    gravity = units[:, _TRIPLES.index("gravity")]
    others = [(gravity * units[:, _TRIPLES.index(name)]).sum(axis=1) for name in ("body", "gyro")]
    return np.column_stack([gravity, *others])
