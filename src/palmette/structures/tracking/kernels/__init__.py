"""Numba kernels of tracking: flat functions on arrays."""
