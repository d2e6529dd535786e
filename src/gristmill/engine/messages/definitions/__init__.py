"""Routes as people write them."""
