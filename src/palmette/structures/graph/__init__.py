"""Labelled graphs of any shape."""
