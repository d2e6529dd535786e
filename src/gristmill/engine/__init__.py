"""Which record is next, which task is next, and what becomes of a failure."""
