"""Tagging: label every token of a column file, with features that templates describe."""
