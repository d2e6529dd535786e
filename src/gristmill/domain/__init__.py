"""Frozen values and errors that every room speaks in. No IO, no clock, no randomness."""
