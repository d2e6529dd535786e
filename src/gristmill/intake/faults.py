"""Faults of a record that do not depend on what its fields mean: bytes, size, depth, forbidden signs. Pure."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["DEPTH_MAX", "find_byte_faults", "find_escape_faults", "find_value_faults", "name_type"]

DEPTH_MAX = 64
"""Nesting beyond this is an attack or an accident; every later reader would need its own guard."""

FAULTS_MAX = 50
"""Faults listed for one record; a binary blob has thousands of the same kind."""

STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"{}[]")
NUL_ESCAPE = b"\\u0000"
SURROGATE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
ESCAPE_BYTES = 6
"""Length of one `\\uXXXX`; a whole pair is twice as long."""


def find_byte_faults(raw: bytes) -> list[str]:
    """Return what is wrong with the bytes before anything is decoded."""
    if not raw.strip():
        return ["record: empty line"]
    faults: list[str] = []
    if b"\x00" in raw:
        faults.append(f"record: NUL byte at byte {raw.index(0)} ({raw.count(0)} in all)")
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        faults.append(f"record: not UTF-8 at byte {error.start}: {error.reason}")
    if _is_too_deep(raw):
        faults.append(f"record: nested more than {DEPTH_MAX} levels deep")
    if faults and not raw.lstrip().startswith(b"{"):
        faults.append("record: is not a JSON object")
    return faults


def find_value_faults(raw: bytes, record: dict[str, Any]) -> list[str]:
    """Return NUL characters in decoded names and values. Only an escape can have brought them in."""
    if NUL_ESCAPE not in raw:
        return []
    faults: list[str] = []
    waiting: list[tuple[str, Any]] = [("", record)]
    while waiting and len(faults) < FAULTS_MAX:
        path, value = waiting.pop()
        if isinstance(value, str):
            faults += _find_nul_faults(path or "record", value)
        elif isinstance(value, dict):
            for name, inner in value.items():
                faults += _find_nul_faults("name of a field", name)
                waiting.append((f"{path}.{name}" if path else name, inner))
        elif isinstance(value, list):
            waiting.extend((f"{path}[{index}]", inner) for index, inner in enumerate(value))
    return sorted(faults)


def find_escape_faults(raw: bytes) -> list[str]:
    """Return what a JSON reader chokes on without saying so: escapes that are half of a surrogate pair."""
    halves = sum(1 for match in SURROGATE.finditer(raw) if len(match.group()) == ESCAPE_BYTES)
    return [f"record: holds half of a surrogate pair ({halves} in all)"] if halves else []


def name_type(value: Any) -> str:
    """Return what a decoded value is, in the words of a fault."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), "null")


def _find_nul_faults(path: str, text: str) -> list[str]:
    return [f"{path}: holds a NUL character"] if "\x00" in text else []


def _is_too_deep(raw: bytes) -> bool:
    """Whether brackets outside strings nest deeper than DEPTH_MAX; cheap where there are few brackets."""
    if raw.count(b"{") + raw.count(b"[") <= DEPTH_MAX:
        return False
    depth = 0
    for bracket in STRING.sub(b"", raw).translate(None, NO_BRACKETS):
        depth += 1 if bracket in b"{[" else -1
        if depth > DEPTH_MAX:
            return True
    return False
