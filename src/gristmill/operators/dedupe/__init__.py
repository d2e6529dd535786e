"""Gates against repeated work."""

from gristmill.operators.dedupe.ttl import ttl_dedupe

__all__ = ["ttl_dedupe"]
