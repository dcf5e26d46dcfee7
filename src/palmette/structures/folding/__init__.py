"""RNA secondary structures: nested base pairs scored by their loops."""
