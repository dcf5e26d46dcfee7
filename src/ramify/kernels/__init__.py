"""Kernels: similarities of feature rows."""
