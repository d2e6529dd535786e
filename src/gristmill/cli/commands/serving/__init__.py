"""Commands of stores that serve what was processed."""
