"""What the parts of palmette ask of each other: one contract per module."""
