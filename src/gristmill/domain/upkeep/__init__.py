"""Values of what keeps a store fit: restores and retention."""
