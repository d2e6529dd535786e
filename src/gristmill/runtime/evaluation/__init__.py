"""Compares what was found with what is true, and two revisions with each other."""
