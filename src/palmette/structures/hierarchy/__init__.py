"""Paths and subtrees of a tree of classes."""
