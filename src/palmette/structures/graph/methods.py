"""The choice of the inference method for each graph of a batch, and its description."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from palmette.errors import TooWide
from palmette.inference.factor_graph import FactorGraph, Topology
from palmette.inference.junction_tree import JunctionTree
from palmette.inference.results import Maximum, Relaxation, Sum
from palmette.structures.graph.batch import sample_number
from palmette.structures.graph.factor_graphs import shape_of
from palmette.structures.graph.tables import GraphTables
from palmette.structures.graph.tally import RELAX_TOL, Tally, TreeSize, number_of

MEMORY = 2**27  # bytes that the messages of a junction tree may take
LANE_MEMORY = 2**28  # bytes that those of eight graphs may take
# What repeated inference bears, unless a memory limit is given: log2 of the largest clique, and for sums of the entries
# of all cliques. A sum goes through so many in about 2 ms where eight graphs have its shape, in 15 ms where none has.
LARGEST, MOST_ENTRIES = 17.5, 20.0
LOOSEST = 1e-6  # relative accuracy of reweighted sums, however little of it a solver asks for
SMALL_PROGRAM = 20_000  # entries of a graph's tables up to which HiGHS then solves it; messages beyond
INFERENCE = ("auto", "exact", "junction_tree", "graph_cut", "bounded", "loopy", "integer_program")
NOT_EXACT = ("bounded", "loopy")
SUMS = ("auto", "exact", "reweighted", "bethe")

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
            tally.note(task, method, number_of(memory), converged, self.size_of(topology))

    def size_of(self, topology: Topology) -> TreeSize:
        """What a junction tree of a graph takes."""
        tree = self.tree_size(topology)
        return TreeSize(tree.n_bytes, not isinstance(tree, TooWide))

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

    def sum_tol(self, size: float) -> float:
        """Relative accuracy of reweighted sums in this run, of graphs whose potentials add up to ``size`` at most."""
        tally = self._tally
        if tally is None or not tally.sum_error > 0.0 or not size < np.inf:
            return self.tol
        tol = max(self.tol, min(LOOSEST, tally.sum_error / max(1.0, size)))
        tally.has_loose_sums |= tol > self.tol
        return tol

    def loosen(self, error: float) -> bool:
        """Reweighted sums of this run may lack ``error`` of every sample, until they are refined."""
        if self._tally is None or self.sums == "bethe" or self.tol >= LOOSEST or not error > 0.0:
            return False
        self._tally.loosen(error)
        return True

    def refine(self) -> bool:
        """Solve the sums or the linear programs of this run more accurately from now on; False if that is not
        possible."""
        tally = self._tally
        if tally is not None and tally.sum_error > 0.0:
            tally.sum_error = 0.0
            return tally.has_loose_sums
        return tally is not None and tally.refine()

    # -- choosing -----------------------------------------------------------------------------------------------

    def parted(self, tables: GraphTables) -> tuple[np.ndarray, list[int]]:
        """The samples that are forests, and the others."""
        forest = tables.layout.forest
        return np.flatnonzero(forest), np.flatnonzero(~forest).tolist()

    def _memory(self) -> float:
        return MEMORY if self.memory_limit is None else float(self.memory_limit)

    def tree_size(self, topology: Topology) -> JunctionTree | TooWide:
        """The junction tree of a graph, or why it is not within the memory limit; either knows how large it is."""
        key = ("too wide", self.memory_limit)
        if key not in topology.memory:
            try:
                return JunctionTree.of(topology, self._memory())
            except TooWide as error:
                topology.memory[key] = error
        return topology.memory[key]

    def tree_of(self, topology: Topology) -> JunctionTree | None:
        """The junction tree of a graph, if its memory is within the limit, and its largest clique is."""
        tree = self.tree_size(topology)
        if isinstance(tree, TooWide) or (self.memory_limit is None and tree.log2_size > LARGEST):
            return None
        return tree

    def tree_for_sums(self, topology: Topology) -> JunctionTree | None:
        """The junction tree that sums over a graph, if it is to be: small enough to do so again and again."""
        tree = self.tree_size(topology)
        if isinstance(tree, TooWide) or self.sums not in ("auto", "exact"):
            return None
        always = self.sums == "exact" or self.memory_limit is not None
        return tree if always or tree.log2_entries <= MOST_ENTRIES else None

    @property
    def lane_memory(self) -> float:
        """Bytes that sums of eight graphs at once may take."""
        return LANE_MEMORY if self.memory_limit is None else float(self.memory_limit)

    def exact_tree(self, tables: GraphTables, s: int, answer: str) -> JunctionTree:
        """The junction tree of a sample, which an answer needs."""
        topology = shape_of(tables, s).topology
        tree = self.tree_of(topology)
        if tree is None:
            size = self.tree_size(topology)
            why = str(size)
            if isinstance(size, JunctionTree):
                why = (
                    f"its largest clique has 2^{size.log2_size:.1f} entries, which takes too long again and again (at "
                    f"most 2^{LARGEST:g} unless a limit is given)."
                )
            raise TooWide(
                f"sample {tables.number(s)}: {answer} needs exact inference, but {why} Graph(memory_limit=...) sets "
                "the limit.",
                size.log2_size,
                size.n_bytes,
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
        if self.sums == "exact" or self.tree_for_sums(topology) is not None:
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
            tol = self.sum_tol(float(np.abs(graph.unary).sum() + np.abs(graph.own_values).sum()))
            found = _function("reweighted_sum")(graph, tol=tol, max_iter=self.max_sweeps, messages=start)
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
