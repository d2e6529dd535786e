"""Decisions of a Runner: no IO, no clock, no chance."""
