"""Files of the UAI inference competitions: networks, evidence, and the results published with them.

A network (``MARKOV`` or ``BAYES``) lists the number of states of its variables, the scopes of its tables, and the
tables themselves, products in place of our sums. Only white space separates the numbers.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from palmette.errors import DataFileError
from palmette.inference.factor_graph import FactorGraph

MOST_STATES = 2**27  # of all variables: 1 GB of potentials


class Network(NamedTuple):
    """A network in logarithms; tables of no variable are added up in ``constant``."""

    kind: str
    graph: FactorGraph
    constant: float


def read_network(path: str | os.PathLike[str]) -> Network:
    """Read a ``.uai`` file; a :class:`~palmette.errors.DataFileError` names file and line of what is wrong."""
    return parse_network(_text(path), os.fspath(path))


def read_evidence(path: str | os.PathLike[str], cards: np.ndarray) -> dict[int, int]:
    """Read an ``.evid`` file for variables with these numbers of states."""
    return parse_evidence(_text(path), cards, os.fspath(path))


def _text(path: str | os.PathLike[str]) -> str:
    data = Path(path).read_bytes()
    try:
        return data.decode("ascii")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataFileError(
            f"{os.fspath(path)}:{line}: the byte 0x{data[error.start]:02x} is not text; unpack compressed files first"
        ) from None


def parse_network(text: str, name: str = "network") -> Network:
    """The network that a text describes; ``name`` stands in errors.

    Examples
    --------
    >>> network = parse_network("MARKOV 2  2 2  2  1 0  2 0 1  2  0.5 2   4  1 2 3 4")
    >>> network.kind, float(np.exp(network.graph.score(np.array([1, 1]))).round(12))
    ('MARKOV', 8.0)
    """
    tokens = _Tokens(text, name)
    kind = tokens.word("MARKOV or BAYES").upper()
    if kind not in ("MARKOV", "BAYES"):
        raise tokens.error(f"expected MARKOV or BAYES, found {kind!r}", -1)
    n_vars = tokens.integer("the number of variables", 1)
    cards = [tokens.integer(f"the number of states of variable {i}", 1) for i in range(n_vars)]
    if sum(cards) > MOST_STATES:
        raise tokens.error(f"the variables have {sum(cards):,} states in all, more than {MOST_STATES:,}", -1)
    n_tables = tokens.integer("the number of tables", 0)
    scopes = []
    for f in range(n_tables):
        arity = tokens.integer(f"the number of variables of table {f}", 0)
        scope = [tokens.integer(f"a variable of table {f}", 0, n_vars - 1) for _ in range(arity)]
        if len(set(scope)) < arity:
            raise tokens.error(f"table {f} names a variable twice: {scope}", -1)
        scopes.append(scope)
    tables, constant = [], 0.0
    for f, scope in enumerate(scopes):
        shape = [cards[i] for i in scope]
        size = tokens.integer(f"the number of entries of table {f}", 1)
        if size != int(np.prod(shape)):
            raise tokens.error(f"table {f} announces {size} entries, expected {int(np.prod(shape))}", -1)
        table = tokens.potentials(size, f"table {f}")
        if scope:
            tables.append((scope, table.reshape(shape)))
        else:
            constant += float(table[0])
    tokens.end("the last table")
    return Network(kind, FactorGraph.from_tables(cards, tables), constant)


def parse_evidence(text: str, cards: np.ndarray, name: str = "evidence") -> dict[int, int]:
    """Observed states by variable.

    Either ``n`` pairs of variable and state after their number, or as in earlier years the number of samples before
    that (0 or 1; more are refused).

    Examples
    --------
    >>> parse_evidence("2 0 1 3 0", [2, 2, 2, 2]), parse_evidence("1\\n2 0 1 3 0", [2, 2, 2, 2])
    ({0: 1, 3: 0}, {0: 1, 3: 0})
    """
    tokens = _Tokens(text, name)
    if len(tokens.words) == 0:
        return {}
    n_observed = tokens.integer("the number of observed variables", 0)
    if len(tokens.words) != 1 + 2 * n_observed and n_observed > 0:
        if n_observed > 1:
            raise tokens.error(
                f"{n_observed} pairs of variable and state (or samples) are announced, but "
                f"{len(tokens.words) - 1} numbers follow; one sample of evidence can be read",
                -1,
            )
        n_observed = tokens.integer("the number of observed variables", 0)
    evidence: dict[int, int] = {}
    for _ in range(n_observed):
        i = tokens.integer("an observed variable", 0, len(cards) - 1)
        k = tokens.integer(f"the state of variable {i}", 0, int(cards[i]) - 1)
        if evidence.setdefault(i, k) != k:
            raise tokens.error(f"variable {i} is observed in state {evidence[i]} and in state {k}", -1)
    tokens.end("the last observation")
    return evidence


def parse_partition(text: str, name: str = "result") -> float:
    """The decimal logarithm of the partition function in a ``.PR`` file.

    >>> parse_partition("PR\\n-12.5\\n")
    -12.5
    """
    tokens = _Tokens(text, name)
    tokens.title("PR")
    return tokens.number("log10 of the partition function")


def parse_marginals(text: str, cards: np.ndarray, name: str = "result") -> np.ndarray:
    """The marginals in a ``.MAR`` file, one variable after the other.

    >>> parse_marginals("MAR\\n2  2 0.25 0.75  1 1", [2, 1])
    array([0.25, 0.75, 1.  ])
    """
    tokens = _Tokens(text, name)
    tokens.title("MAR")
    if tokens.integer("the number of variables", 0) != len(cards):
        raise tokens.error(f"expected the marginals of {len(cards)} variables", -1)
    out: list[float] = []
    for i, card in enumerate(cards):
        if tokens.integer(f"the number of states of variable {i}", 0) != card:
            raise tokens.error(f"variable {i} has {card} states", -1)
        out.extend(tokens.number(f"a marginal of variable {i}") for _ in range(card))
    tokens.end("the last marginal")
    return np.array(out)


class _Tokens:
    """Words of a text, taken one after the other; errors name the line of the word."""

    def __init__(self, text: str, name: str) -> None:
        self.words, self.text, self.name, self.at = text.split(), text, name, 0

    def word(self, what: str) -> str:
        if self.at == len(self.words):
            raise self.error(f"the file ends where {what} is expected")
        self.at += 1
        return self.words[self.at - 1]

    def title(self, word: str) -> None:
        if self.word(word) != word:
            raise self.error(f"expected {word}, found {self.words[self.at - 1]!r}", -1)

    def integer(self, what: str, low: int, high: int | None = None) -> int:
        word = self.word(what)
        try:
            value = int(word)
        except ValueError:
            raise self.error(f"expected {what}, found {word!r}", -1) from None
        if value < low or (high is not None and value > high):
            span = f"at least {low}" if high is None else f"from {low} to {high}"
            raise self.error(f"{what} must be {span}, found {value}", -1)
        return value

    def number(self, what: str) -> float:
        word = self.word(what)
        try:
            return float(word)
        except ValueError:
            raise self.error(f"expected {what}, found {word!r}", -1) from None

    def potentials(self, n: int, what: str) -> np.ndarray:
        """Logarithms of the next n numbers, which are none below 0."""
        words = self.words[self.at : self.at + n]
        try:
            values = np.array([float(word) for word in words])
        except ValueError:
            values = np.array([np.nan])
        if not np.all((values >= 0) & (values < np.inf)):
            for word in words:
                self.at += 1
                try:
                    good = 0 <= float(word) < np.inf
                except ValueError:
                    good = False
                if not good:
                    raise self.error(f"{what}: expected a number that is not negative, found {word!r}", -1)
        self.at += len(words)
        if len(words) < n:
            raise self.error(f"the file ends after {len(words)} of the {n} entries of {what}")
        with np.errstate(divide="ignore"):
            return np.log(values)

    def end(self, what: str) -> None:
        if self.at < len(self.words):
            rest = len(self.words) - self.at
            raise self.error(f"{rest} more words after {what}, the first is {self.words[self.at]!r}")

    def error(self, message: str, back: int = 0) -> DataFileError:
        """An error at the next word (``back=-1``: at the one just taken)."""
        wanted = self.at + back
        found = [match.start() for match in re.finditer(r"\S+", self.text)]
        end = found[wanted] if wanted < len(found) else len(self.text.rstrip())
        return DataFileError(f"{self.name}:{self.text.count(chr(10), 0, end) + 1}: {message}")
