"""Output spaces: how a regression sees outputs, and how it finds the output that fits a prediction best."""
