"""Commands about what leaves."""
