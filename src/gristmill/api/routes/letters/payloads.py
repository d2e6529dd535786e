"""Payloads as text of a bounded length."""

from __future__ import annotations

from gristmill.api.reading.letters import VALUE_CHARS_MAX

__all__ = ["show_text"]


def show_text(raw: bytes) -> str:
    """Return the beginning of a payload; bytes that are no text are written out."""
    return raw[: VALUE_CHARS_MAX * 4].decode("utf-8", "backslashreplace")[:VALUE_CHARS_MAX]
