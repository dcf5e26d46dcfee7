"""Label sequences of first and second order, and single labels (Multiclass); the loops compiled for them."""

from palmette.loops.table import ANY, register

_LOOPS = "palmette.structures.chain.loops."
for _layout in ("chain", "constrained chain", "multiclass"):
    register("frank_wolfe", _layout, f"{_LOOPS}hinge_blocks:PackedBlocks")
    register("smo", _layout, f"{_LOOPS}marginal_blocks:PackedMarginals")
register("smo", ANY, f"{_LOOPS}marginal_blocks:ChainMarginals")
register("multiclass_dual", "multiclass", f"{_LOOPS}multiclass_blocks:MulticlassBlocks")
