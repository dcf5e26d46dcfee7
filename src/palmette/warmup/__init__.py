"""Work that compiles the kernels, for ``palmette warmup``."""
