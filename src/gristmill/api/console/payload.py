"""Bytes as a person can read them: JSON laid out, text as it is, anything else in hexadecimal."""

from __future__ import annotations

import re

import msgspec

from gristmill.api.console.rendering import STEERING

__all__ = ["Payload", "show_payload", "try_make_editable"]

TEXT_BYTES_MAX = 64 * 1024
HEX_BYTES_MAX = 4 * 1024
PER_LINE = 16


class Payload(msgspec.Struct, frozen=True):
    """What is shown of it, and how much of it that is."""

    text: str
    is_hex: bool
    byte_count: int
    shown_bytes: int

    @property
    def is_cut(self) -> bool:
        return self.shown_bytes < self.byte_count


def show_payload(raw: bytes) -> Payload:
    """Return bytes for a page."""
    head = raw[:TEXT_BYTES_MAX]
    text = _try_text(head, is_cut=len(head) < len(raw))
    if text is None:
        head = raw[:HEX_BYTES_MAX]
        return Payload(_write_hex(head), True, len(raw), len(head))
    return Payload(_lay_out(text) if len(head) == len(raw) else text, False, len(raw), len(head))


def try_make_editable(payload: Payload) -> str | None:
    """Return a payload for a field that a person types in; None where what comes back could not be what it was.

    Characters that nobody sees are written as JSON writes them, where the payload is JSON.
    """
    if payload.is_cut or payload.is_hex:
        return None
    if not STEERING.search(payload.text):
        return payload.text
    escaped = STEERING.sub(_escape, payload.text)
    return escaped if _is_json(escaped) else None


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return False
    return True


def _try_text(head: bytes, *, is_cut: bool) -> str | None:
    try:
        return head.decode()
    except UnicodeDecodeError as error:
        # The cut may go through a character; anything earlier is no text.
        is_cut_through = is_cut and error.start >= len(head) - 3
        return head[: error.start].decode() if is_cut_through else None


def _lay_out(text: str) -> str:
    try:
        msgspec.json.decode(text)
        return msgspec.json.format(text, indent=2)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return text


def _write_hex(raw: bytes) -> str:
    return "\n".join(_write_line(raw[start : start + PER_LINE], start) for start in range(0, len(raw), PER_LINE))


def _write_line(part: bytes, start: int) -> str:
    shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
    return f"{start:08x}  {part.hex(' '):<{PER_LINE * 3}} {shown}"
