"""Applications: a folder each. One that the command line shall offer declares its task in ``task.py``."""
