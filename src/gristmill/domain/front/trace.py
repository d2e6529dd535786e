"""Which trace of the outside a record belongs to, by its headers (W3C Trace Context)."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["TRACE_CHARS", "TRACE_HEADER", "read_trace_id"]

TRACE_HEADER = "traceparent"
TRACE_CHARS = 55
"""What every version begins with: version, trace, parent, flags."""

_SHAPE = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")
_NONE = "0" * 32


def read_trace_id(headers: Mapping[str, str]) -> str:
    """Return the 32 hexadecimal digits of the trace, empty where the headers carry none that can be read."""
    found = _SHAPE.fullmatch(headers.get(TRACE_HEADER, ""))
    return "" if found is None or found[1] == _NONE else found[1]
