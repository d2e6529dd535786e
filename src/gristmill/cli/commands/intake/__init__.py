"""Commands about how content comes in."""
