"""Label sequences of first and second order, and single labels (Multiclass)."""
