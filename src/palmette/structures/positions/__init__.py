"""What structures with labels at positions share: tables, restrictions, the linear scorer, dual ascent on rows."""

from palmette.loops.table import ANY, register

register("dual", ANY, "palmette.structures.positions.dual_rows:DualRows")
