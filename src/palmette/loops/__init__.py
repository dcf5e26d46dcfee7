"""Loops over samples: a table that says which compiled loop serves a problem, and the generic loops for all others.

A solver asks :func:`find` with its name and the problem. A compiled loop answers, or the solver runs the generic loop
of this package. Loops of one structure live in the structure's folder and are registered there, by name, so that
nothing is imported before it is needed. Compiled and generic loops of a solver take the same steps; tests show it.
"""

from palmette.loops.table import ANY, CompiledLoop, Loop, compiled_as, find, register

__all__ = ["ANY", "CompiledLoop", "Loop", "compiled_as", "find", "register"]
