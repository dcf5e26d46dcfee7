"""What was not exact in the answers of a run, the warning that says so, and what makes it exact."""

from __future__ import annotations

import itertools
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from palmette.errors import ApproximateInferenceWarning, warn_caller
from palmette.memory import memory_limit

# relative accuracy of linear programs in training; 1e-4 took three times as long on snakes ...
RELAX_TOL = 1e-3
FINEST = 1e-7  # ... so that it becomes higher only where a proof needs it, down to this

_REMEDY = {
    "best": "inference='exact' finds the best by an integer program",
    "relaxed": "inference='exact' trains with exact maxima",
}

_NUMBERS = itertools.count()  # of graphs and of tallies: an id() may be that of another object later


def number_of(memory: dict[Any, Any]) -> tuple[int, int]:
    """A number for the graph that a memory belongs to, the same for all its pieces, and unique among processes."""
    return memory.get("whole", memory).setdefault("number", (os.getpid(), next(_NUMBERS)))


class TreeSize(NamedTuple):
    """What a junction tree would take, and whether it is within the limit (but sums are too slow)."""

    n_bytes: float
    fits: bool


UNKNOWN = TreeSize(np.inf, False)


class Tally:
    """What was approximate, by task and method, and the graphs it happened to; shared by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._graphs: dict[tuple[str, str], dict[Any, TreeSize]] = defaultdict(dict)
        self._unconverged: set[Any] = set()
        self._number = (os.getpid(), next(_NUMBERS))
        self.accuracy = RELAX_TOL  # of linear programs in this run
        self.sum_error = 0.0  # what reweighted sums of a sample may lack on the way; 0: as little as they can
        self.has_loose_sums = False  # whether any was less accurate for that since then

    def refine(self) -> bool:
        """Solve linear programs more accurately from now on; False where that was reached before."""
        if self.accuracy <= FINEST:
            return False
        self.accuracy *= 0.1
        return True

    def loosen(self, error: float) -> None:
        """Sums of a sample may lack ``error`` from now on."""
        self.sum_error, self.has_loose_sums = error, False

    def kept(self, name: str, memory: dict[Any, Any], make: Callable[[], Any]) -> Any:
        """What inference on a graph starts from while the weights move little; ``make()`` at first.

        It stands in the memory of the graph and goes with it. A graph is asked by one thread at a time.
        """
        run, found = memory.get(("start", name), (None, None))
        if run != self._number:
            found = make()
            memory["start", name] = (self._number, found)
        return found

    def __getstate__(self) -> dict[str, Any]:
        """The number and the accuracies of the run: what is noted elsewhere comes back by :meth:`take`."""
        return {"_number": self._number, "accuracy": self.accuracy, "sum_error": self.sum_error}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]
        vars(self).update(state)

    def given(self) -> tuple[Any, ...]:
        """What was noted, for :meth:`take`."""
        return dict(self._graphs), self._unconverged, self.has_loose_sums

    def take(self, notes: tuple[Any, ...]) -> None:
        """Add what was noted elsewhere."""
        for key, graphs in notes[0].items():
            self._graphs[key] |= graphs
        self._unconverged |= notes[1]
        self.has_loose_sums |= notes[2]

    def note(
        self, task: str, method: str, graph: tuple[int, int], converged: bool = True,
        size: TreeSize = UNKNOWN,
    ) -> None:  # fmt: skip
        """Graph number ``graph``, whose junction tree has that size, was answered approximately."""
        with self._lock:
            self._graphs[task, method][graph] = size
            if not converged:
                self._unconverged.add(graph)

    @property
    def n_unconverged(self) -> int:
        """Graphs whose messages did not converge at least once."""
        return len(self._unconverged)

    def warn(self) -> None:
        """One warning for all that was noted."""
        if not self._graphs:
            return
        parts = []
        for (task, method), graphs in sorted(self._graphs.items()):
            what = {"best": "the best labels", "sums": "sums", "relaxed": "augmented maxima"}[task]
            which = "1 graph" if len(graphs) == 1 else f"{len(graphs)} graphs"
            parts.append(f"{what} of {which} are by {method} ({remedy(task, graphs.values())})")
        late = f"; messages of {self.n_unconverged} graphs did not converge" if self._unconverged else ""
        warn_caller(
            f"inference is approximate: {'; '.join(parts)}{late}. model.structure_.explain(X) says more.",
            ApproximateInferenceWarning,
        )


def remedy(task: str, sizes: Iterable[TreeSize]) -> str:
    """What makes approximate answers about graphs exact, as far as this machine has the memory."""
    known = list(sizes)
    if task == "sums" and all(size.fits for size in known):
        return "sums='exact' makes them exact, but takes longer"
    possible = [size.n_bytes for size in known if size.n_bytes <= memory_limit()]
    parts = [_REMEDY[task]] if task in _REMEDY else []
    if possible:
        whom = "them" if len(possible) == len(known) else f"{len(possible)} of them"
        limit = float(f"{1.05 * max(possible):.1e}")
        parts.append(f"memory_limit={limit:g} makes {whom} exact, by junction trees")
    return "; ".join(parts) or "too wide for exact sums"
