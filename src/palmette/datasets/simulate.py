"""Simulated chains, with known generating laws."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np

RandomState = int | np.random.Generator | None


def make_chains(
    n_samples: int = 100,
    n_classes: int = 5,
    n_features: int = 10,
    *,
    mean_length: float = 8.0,
    noise: float = 1.0,
    stickiness: float = 0.5,
    random_state: RandomState = None,
) -> tuple[list[np.ndarray], list[list[int]]]:
    """Simulate label chains with Gaussian features.

    With ``K`` classes, ``d`` features, stickiness ``s`` and noise ``sigma``::

        D_j ~ Dirichlet(1, ..., 1),  mu_k ~ N(0, I_d)               drawn once
        n ~ 1 + Poisson(mean_length - 1)                            length of a sample
        y_1 ~ uniform on 0..K-1
        P(y_t = k | y_{t-1} = j) = s [j = k] + (1 - s) D_jk
        x_t ~ N(mu_{y_t}, sigma^2 I_d)

    So a chain model with linear scores is the true one, and a classifier of single positions is not.

    Parameters
    ----------
    n_samples : int, default=100
    n_classes : int, default=5
    n_features : int, default=10
    mean_length : float, default=8.0
        Expected number of positions, at least 1.
    noise : float, default=1.0
        Standard deviation of the features around the mean of their class; the means are about
        ``sqrt(2 * n_features)`` apart.
    stickiness : float, default=0.5
        0: transitions from the random table alone; 1: the label never changes.
    random_state : int, numpy.random.Generator or None, default=None
        Samples to be compared (train and test) must come from one call: the class means are random too.

    Returns
    -------
    X : list of ndarray of shape (length, n_features)
    Y : list of list of int

    Examples
    --------
    >>> from palmette.datasets import make_chains
    >>> X, Y = make_chains(n_samples=3, n_features=2, random_state=0)
    >>> [x.shape for x in X] == [(len(y), 2) for y in Y]
    True
    """
    _check_count("n_features", n_features)
    if not isinstance(noise, Real) or not 0 <= noise < np.inf:
        raise ValueError(f"noise must be a finite number >= 0, got noise={noise!r}")
    _check_chains(n_samples, n_classes, mean_length, stickiness)
    rng = np.random.default_rng(random_state)
    Y = _markov_labels(rng, n_samples, n_classes, mean_length, stickiness)
    means = rng.standard_normal((n_classes, n_features))
    X = [means[y] + noise * rng.standard_normal((len(y), n_features)) for y in Y]
    return X, [y.tolist() for y in Y]


def make_tagging(
    n_samples: int = 100,
    n_tags: int = 5,
    n_words: int = 200,
    *,
    mean_length: float = 8.0,
    stickiness: float = 0.0,
    ambiguity: float = 0.1,
    random_state: RandomState = None,
) -> tuple[list[list[dict[str, str | bool]]], list[list[str]]]:
    """Simulate tagged sentences with features in dicts.

    A hidden Markov model: tags as the labels of :func:`make_chains`, and words ::

        E_k ~ Dirichlet(a, ..., a),    P(word_t = v | tag_t = k) = E_kv

    where ``a`` is the ambiguity. A position has the features ``"w"`` (its word), ``"w-1"`` and ``"w+1"`` (its
    neighbours, where they exist), and ``"first": True`` at the beginning.

    Parameters
    ----------
    n_samples : int, default=100
    n_tags : int, default=5
    n_words : int, default=200
        Size of the vocabulary.
    mean_length : float, default=8.0
    stickiness : float, default=0.0
    ambiguity : float, default=0.1
        Positive; small: most words have one tag; large: words say nothing about tags.
    random_state : int, numpy.random.Generator or None, default=None

    Returns
    -------
    X : list of list of dict
    Y : list of list of str
        Tags ``"T0"``, ``"T1"``, ...

    Examples
    --------
    >>> from palmette.datasets import make_tagging
    >>> X, Y = make_tagging(n_samples=1, random_state=0)
    >>> len(X[0]) == len(Y[0]), sorted(X[0][0])
    (True, ['first', 'w', 'w+1'])
    """
    _check_count("n_words", n_words)
    if not isinstance(ambiguity, Real) or not 0 < ambiguity < np.inf:
        raise ValueError(f"ambiguity must be a finite number > 0, got ambiguity={ambiguity!r}")
    _check_chains(n_samples, n_tags, mean_length, stickiness, classes="n_tags")
    rng = np.random.default_rng(random_state)
    tags = _markov_labels(rng, n_samples, n_tags, mean_length, stickiness)
    cumulative = np.cumsum(rng.dirichlet(np.full(n_words, float(ambiguity)), size=n_tags), axis=1)
    X = []
    for y in tags:
        words = [f"w{v}" for v in _draw(cumulative[y], rng.random(len(y)))]
        X.append([_word_features(words, t) for t in range(len(words))])
    return X, [[f"T{k}" for k in y] for y in tags]


def _word_features(words: list[str], t: int) -> dict[str, str | bool]:
    features: dict[str, str | bool] = {"w": words[t]}
    if t == 0:
        features["first"] = True
    else:
        features["w-1"] = words[t - 1]
    if t + 1 < len(words):
        features["w+1"] = words[t + 1]
    return features


def _markov_labels(
    rng: np.random.Generator, n_samples: int, n_classes: int, mean_length: float, stickiness: float
) -> list[np.ndarray]:
    lengths = 1 + rng.poisson(mean_length - 1, size=n_samples)
    table = rng.dirichlet(np.ones(n_classes), size=n_classes)
    cumulative = np.cumsum(stickiness * np.eye(n_classes) + (1 - stickiness) * table, axis=1)
    labels = np.empty((n_samples, lengths.max()), np.int64)  # all samples step together, then are cut
    labels[:, 0] = rng.integers(n_classes, size=n_samples)
    for t in range(1, labels.shape[1]):
        labels[:, t] = _draw(cumulative[labels[:, t - 1]], rng.random(n_samples))
    return [row[:length] for row, length in zip(labels, lengths)]


def _draw(cumulative: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Draw one code per row of cumulative probabilities, whose last entry is 1 up to rounding: ignored."""
    return (uniform[:, None] >= cumulative[:, :-1]).sum(axis=1)


def _check_chains(
    n_samples: int, n_classes: int, mean_length: float, stickiness: float, classes: str = "n_classes"
) -> None:
    _check_count("n_samples", n_samples)
    _check_count(classes, n_classes)
    if not isinstance(mean_length, Real) or not 1 <= mean_length < np.inf:
        raise ValueError(f"mean_length must be a finite number >= 1, got mean_length={mean_length!r}")
    if not isinstance(stickiness, Real) or not 0 <= stickiness <= 1:
        raise ValueError(f"stickiness must be in [0, 1], got stickiness={stickiness!r}")


def _check_count(name: str, value: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got {name}={value!r}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {name}={value!r}")
