"""Output-kernel regressions on files: an output and an input in every line."""
