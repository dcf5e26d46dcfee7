"""Which parts of a model go with labels at positions."""

ROW_ENCODERS = ("columns", "dense", "hashed", "hashed columns", "names", "sparse")
