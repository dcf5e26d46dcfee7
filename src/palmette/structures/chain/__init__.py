"""Label sequences of first and second order, and single labels (Multiclass); the loops compiled for them."""

from palmette.loops.table import ANY, register

_LOOPS = "palmette.structures.chain.loops."
for _layout in ("chain", "constrained chain", "multiclass"):
    register("frank_wolfe", _layout, f"{_LOOPS}hinge_blocks:PackedBlocks")
    register("smo", _layout, f"{_LOOPS}marginal_blocks:PackedMarginals")
    register("dual", _layout, f"{_LOOPS}dual_state:DualState")
    register("loss", _layout, f"{_LOOPS}packed_loss:PackedLogLoss")
    register("diagonal", _layout, f"{_LOOPS}packed_diagonal:PackedDiagonal")
    register("stochastic", _layout, f"{_LOOPS}packed_pass:PackedPass")
    register("pegasos", _layout, f"{_LOOPS}packed_pegasos:PackedStretches")
register("row sums", "chain", f"{_LOOPS}dual_sums:SecondOrderSums")
register("smo", ANY, f"{_LOOPS}marginal_blocks:ChainMarginals")
for _layout in ("chain", "multiclass"):
    register("online", _layout, f"{_LOOPS}online:ChainOnline")
    register("kernel_frank_wolfe", _layout, f"{_LOOPS}kernel_visits:CompiledVisits")
register("multiclass_dual", "multiclass", f"{_LOOPS}multiclass_blocks:MulticlassBlocks")
