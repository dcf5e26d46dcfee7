"""Compiled loops: flat functions on plain arrays, one signature each, nothing else.

Only this package imports Numba. Kernels trust their callers: shapes, types and restrictions were checked
before. ``float("-inf")`` means "forbidden" everywhere and is handled exactly.
"""
