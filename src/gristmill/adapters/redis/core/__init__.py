"""Decisions of the log on Redis, without IO, clock or chance."""
