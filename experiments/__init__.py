"""Experiments: benchmarks, recipes and their harness. They belong to the repository, not to the wheel."""
