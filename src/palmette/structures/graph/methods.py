"""The choice of the inference method for each graph of a batch, and its description."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from palmette.errors import ApproximateInferenceWarning, TooWide, warn_caller
from palmette.inference.factor_graph import FactorGraph, Topology
from palmette.inference.junction_tree import JunctionTree
from palmette.inference.results import Maximum, Relaxation, Sum
from palmette.memory import memory_limit
from palmette.structures.graph.batch import sample_number
from palmette.structures.graph.factor_graphs import shape_of
from palmette.structures.graph.tables import GraphTables

MEMORY = 2**27  # bytes that the messages of a junction tree may take
LARGEST = 17.5  # log2 of the largest clique that repeated inference bears, unless a memory limit is given
# relative accuracy of linear programs in training; 1e-4 took three times as long on snakes ...
RELAX_TOL = 1e-3
FINEST = 1e-7  # ... so that it becomes higher only where a proof needs it, down to this
SMALL_PROGRAM = 20_000  # entries of a graph's tables up to which HiGHS then solves it; messages beyond
INFERENCE = ("auto", "exact", "junction_tree", "graph_cut", "bounded", "loopy", "integer_program")
NOT_EXACT = ("bounded", "loopy")
SUMS = ("auto", "exact", "reweighted", "bethe")

_REMEDY = {
    "best": "inference='exact' finds the best by an integer program",
    "sums": "their graphs are too wide for exact sums",
    "relaxed": "inference='exact' trains with exact maxima",
}


_HOME = {
    "bounded_max": "bounded_max",
    "graph_cut": "graph_cut",
    "integer_program": "integer_program",
    "is_submodular": "graph_cut",
    "loopy_max": "loopy",
    "loopy_sum": "loopy",
    "reweighted_sum": "reweighted",
    "roof_dual": "roof_dual",
}


def _function(name: str) -> Callable[..., Any]:
    """A method of approximate inference, imported when it is first needed."""
    return getattr(importlib.import_module(f"palmette.inference.{_HOME[name]}"), name)


_NUMBERS = itertools.count()  # of graphs and of tallies: an id() may be that of another object later


def _number(memory: dict[Any, Any]) -> tuple[int, int]:
    """A number for the graph that a memory belongs to, the same for all its pieces, and unique among processes."""
    return memory.get("whole", memory).setdefault("number", (os.getpid(), next(_NUMBERS)))


class Tally:
    """What was approximate, by task and method, and the graphs it happened to; shared by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._graphs: dict[tuple[str, str], set[Any]] = defaultdict(set[Any])
        self._unconverged: set[Any] = set()
        self._bytes: dict[tuple[str, str], float] = {}  # that junction trees of all graphs would need
        self._number = (os.getpid(), next(_NUMBERS))
        self.accuracy = RELAX_TOL  # of linear programs in this run

    def refine(self) -> bool:
        """Solve linear programs more accurately from now on; False where that was reached before."""
        if self.accuracy <= FINEST:
            return False
        self.accuracy *= 0.1
        return True

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
        """The number and the accuracy of the run: what is noted elsewhere comes back by :meth:`take`."""
        return {"_number": self._number, "accuracy": self.accuracy}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]
        vars(self).update(state)

    def given(self) -> tuple[Any, ...]:
        """What was noted, for :meth:`take`."""
        return dict(self._graphs), self._unconverged, self._bytes

    def take(self, notes: tuple[Any, ...]) -> None:
        """Add what was noted elsewhere."""
        for key, graphs in notes[0].items():
            self._graphs[key] |= graphs
        self._unconverged |= notes[1]
        for key, n_bytes in notes[2].items():
            self._bytes[key] = max(self._bytes.get(key, 0.0), n_bytes)

    def note(
        self, task: str, method: str, graph: tuple[int, int], converged: bool = True, n_bytes: float = np.inf
    ) -> None:
        """Graph number ``graph`` was answered approximately; a junction tree would need so much memory."""
        with self._lock:
            self._graphs[task, method].add(graph)
            self._bytes[task, method] = max(self._bytes.get((task, method), 0.0), n_bytes)
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
            tree = tree_advice(self._bytes[task, method])
            parts.append(f"{what} of {len(graphs)} graphs are by {method} ({_REMEDY[task]}{tree})")
        late = f"; messages of {self.n_unconverged} graphs did not converge" if self._unconverged else ""
        warn_caller(
            f"inference is approximate: {'; '.join(parts)}{late}. model.structure_.explain(X) says more.",
            ApproximateInferenceWarning,
        )


def tree_advice(n_bytes: float) -> str:
    """The ``memory_limit`` with which junction trees serve, if this machine can give so much."""
    if not n_bytes <= memory_limit():
        return ""
    return f"; memory_limit={float(f'{1.05 * n_bytes:.1e}'):g} allows junction trees, which are exact"


class GraphMethods:
    """The choice of methods of :class:`palmette.Graph`."""

    inference: str
    sums: str
    oracle: str
    memory_limit: Any
    tol: float
    max_sweeps: int

    # -- saying so ----------------------------------------------------------------------------------------------

    @property
    def _tally(self) -> Tally | None:
        return vars(self).get("_tally_now")

    def told(self) -> Tally | None:
        """What is being gathered by :meth:`telling`, if anything is; it can be pickled."""
        return self._tally

    def tell(self, tally: Tally | None) -> None:
        """Gather there from now on: in a copy of the structure that answers elsewhere."""
        self._tally_now = tally

    @contextlib.contextmanager
    def telling(self, *, quiet: bool = False) -> Iterator[Tally]:
        """Gather what is approximate in all answers inside, and warn once at the end (unless ``quiet``)."""
        outer = self._tally
        if outer is not None:
            yield outer
            return
        tally = Tally()
        self._tally_now = tally
        try:
            yield tally
        finally:
            self._tally_now = None
        if not quiet:
            tally.warn()

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())  # type: ignore[call-overload]
        state.pop("_tally_now", None)  # what is being noted in a call that goes on
        return state

    def note(
        self, task: str, method: str, topology: Topology, memory: dict[Any, Any], converged: bool = True
    ) -> None:
        """The graph of this memory was answered approximately."""
        tally = self._tally
        if tally is not None:
            error = topology.memory.get(("too wide", self.memory_limit))
            n_bytes = np.inf if error is None else float(error.n_bytes)
            tally.note(task, method, _number(memory), converged, n_bytes)

    def start(self, name: str, memory: dict[Any, Any], size: int) -> np.ndarray:
        """Messages of the last time in a run that keeps them, else zeros."""
        tally = self._tally
        return np.zeros(size) if tally is None else tally.kept(name, memory, lambda: np.zeros(size))

    def relaxation_of(self, graph: FactorGraph, memory: dict[Any, Any]) -> Relaxation:
        """A maximum over the local polytope, from where the last one was."""
        from palmette.inference.relaxation import RelaxationState, relax

        tally = self._tally
        warm = None if tally is None else tally.kept("relax", memory, RelaxationState)
        exact = self.accuracy < RELAX_TOL and graph.topology.table_ptr[-1] <= SMALL_PROGRAM
        found = relax(graph, tol=self.accuracy, exact=exact, warm=warm)
        if not found.integral:
            self.note("relaxed", found.method, graph.topology, memory, found.converged)
        return found

    @property
    def accuracy(self) -> float:
        """Relative accuracy of the linear programs of this run."""
        return RELAX_TOL if self._tally is None else self._tally.accuracy

    def refine(self) -> bool:
        """Solve the linear programs of this run more accurately from now on; False if that is not possible."""
        return self._tally is not None and self._tally.refine()

    # -- choosing -----------------------------------------------------------------------------------------------

    def parted(self, tables: GraphTables) -> tuple[np.ndarray, list[int]]:
        """The samples that are forests, and the others."""
        forest = tables.layout.forest
        return np.flatnonzero(forest), np.flatnonzero(~forest).tolist()

    def _memory(self) -> float:
        return MEMORY if self.memory_limit is None else float(self.memory_limit)

    def tree_of(self, topology: Topology) -> JunctionTree | None:
        """The junction tree of a graph, if it is within the memory limit."""
        key = ("too wide", self.memory_limit)
        if key in topology.memory:
            return None
        try:
            tree = JunctionTree.of(topology, self._memory())
        except TooWide as error:
            topology.memory[key] = error
            return None
        if self.memory_limit is not None or tree.log2_size <= LARGEST:
            return tree
        topology.memory[key] = TooWide(
            f"its largest clique has 2^{tree.log2_size:.1f} entries, which takes too long again and again (at most "
            f"2^{LARGEST:g} unless a limit is given).",
            tree.log2_size,
            tree.n_bytes,
        )
        return None

    def exact_tree(self, tables: GraphTables, s: int, answer: str) -> JunctionTree:
        """The junction tree of a sample, which an answer needs."""
        topology = shape_of(tables, s).topology
        tree = self.tree_of(topology)
        if tree is None:
            error = topology.memory["too wide", self.memory_limit]
            raise TooWide(
                f"sample {tables.number(s)}: {answer} needs exact inference, but {error} Graph(memory_limit=...) sets "
                "the limit.",
                error.log2_size,
                error.n_bytes,
            )
        return tree

    def require_exact(self, tables: GraphTables, answer: str) -> None:
        """Raise :class:`TooWide` unless every sample can be answered exactly."""
        for s in self.parted(tables)[1]:
            self.exact_tree(tables, s, answer)

    def best_method(self, graph: FactorGraph) -> str:
        """The name of the method that finds the best labels of a graph with cycles."""
        if self.inference not in INFERENCE:
            raise ValueError(f"Graph: inference must be one of {INFERENCE}, got {self.inference!r}")
        if self.inference not in ("auto", "exact"):
            return self.inference
        if _function("is_submodular")(graph):
            return "graph_cut"
        if self.tree_of(graph.topology) is not None:
            return "junction_tree"
        return "integer_program" if self.inference == "exact" else "bounded"

    def sum_method(self, topology: Topology) -> str:
        """The name of the method that sums over the labels of a graph with cycles."""
        if self.sums not in SUMS:
            raise ValueError(f"Graph: sums must be one of {SUMS}, got {self.sums!r}")
        if self.sums in ("reweighted", "bethe"):
            return self.sums
        if self.tree_of(topology) is not None or self.sums == "exact":
            return "junction_tree"
        return "reweighted"

    # -- asking -------------------------------------------------------------------------------------------------

    def maximum_of(self, graph: FactorGraph, memory: dict[Any, Any]) -> Maximum:
        """The best labels of a graph with cycles, by the method that serves it."""
        method = self.best_method(graph)
        with _naming(memory):
            if method == "junction_tree":
                return JunctionTree.of(graph.topology, self._memory()).best(graph)
            found = self._by_search(graph, method)
        if not found.exact:
            self.note("best", found.method, graph.topology, memory)
        return found

    def _by_search(self, graph: FactorGraph, method: str) -> Maximum:
        names = {"loopy": "loopy_max", "bounded": "bounded_max"}
        roof = _function("roof_dual")(graph) if method == "bounded" else None
        if roof is not None and roof.integral:
            codes = np.round(roof.unary[1::2]).astype(np.int32)
            value = graph.score(codes)
            return Maximum(codes, value, max(value, roof.bound), True, method)
        found = _function(names.get(method, method))(graph)
        if roof is not None and roof.bound < found.bound:
            found = found._replace(bound=max(roof.bound, found.value))
        return found

    def log_sum_of(self, graph: FactorGraph, memory: dict[Any, Any]) -> float:
        """The log-partition of a graph with cycles."""
        if self.sum_method(graph.topology) == "junction_tree":
            with _naming(memory):
                return JunctionTree.of(graph.topology, self._memory()).log_partition(graph)
        return self.sum_of(graph, memory).log_z

    def sum_of(self, graph: FactorGraph, memory: dict[Any, Any]) -> Sum:
        """Log-partition and marginals of a graph with cycles."""
        method = self.sum_method(graph.topology)
        if method == "junction_tree":
            with _naming(memory):
                return JunctionTree.of(graph.topology, self._memory()).sum(graph)
        if method == "bethe":
            found = _function("loopy_sum")(graph)
        else:
            size = int(graph.topology.cards[graph.topology.scope].sum())
            start = self.start("reweighted", memory, size)
            found = _function("reweighted_sum")(graph, tol=self.tol, max_iter=self.max_sweeps, messages=start)
        if not found.exact:
            self.note("sums", found.method, graph.topology, memory, found.converged)
        return found


@contextlib.contextmanager
def _naming(memory: dict[Any, Any]) -> Iterator[None]:
    """Errors of a method that cannot serve a graph, with the number of the sample."""
    try:
        yield
    except TooWide as error:
        message = f"sample {sample_number(memory)}: {error}"
        raise TooWide(message, error.log2_size, error.n_bytes) from None
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        raise ValueError(f"sample {sample_number(memory)}: {error}") from None
