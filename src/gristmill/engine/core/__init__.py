"""Decisions of the engine: events in, commands out. No IO, no clock, no chance."""
