"""Conversions between a value as it is found and a field as its schema wants it: a closed set, each one pure.

A conversion that does not fit its value raises ValueError with what it expected.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from gristmill.intake.faults import name_type
from gristmill.intake.sources.definition import ConversionStep
from gristmill.intake.times import TimeUnreadable, parse_time_ms

__all__ = ["CONVERSIONS", "Convert", "WITH_ARGUMENT", "chain"]

Convert = Callable[[Any], Any]

INT_MAX = 2**63 - 1
TRUE_WORDS = frozenset({"true", "yes", "y", "on", "1"})
FALSE_WORDS = frozenset({"false", "no", "n", "off", "0", ""})


def chain(steps: Sequence[ConversionStep]) -> tuple[Convert, ...]:
    """Return the functions of conversions, in order."""
    return tuple(_make(step) for step in steps)


def _make(step: ConversionStep) -> Convert:
    if step.name in WITH_ARGUMENT:
        make, default = WITH_ARGUMENT[step.name]
        return make(default if step.argument is None else step.argument)
    return CONVERSIONS[step.name]


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    raise ValueError(f"expected text or a number, got {name_type(value)}")


def _of_text(change: Callable[[str], Any]) -> Convert:
    def convert(value: Any) -> Any:
        if not isinstance(value, str):
            raise ValueError(f"expected text, got {name_type(value)}")
        return change(value)

    return convert


def _int(value: Any) -> int:
    try:
        if isinstance(value, str):
            number = int(value.strip())
        elif isinstance(value, float) and value.is_integer():
            number = int(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            number = value
        else:
            raise ValueError
    except ValueError:
        raise ValueError(f"expected a whole number, got {_show(value)}") from None
    if abs(number) > INT_MAX:
        raise ValueError("expected a whole number of at most 64 bits")
    return number


def _float(value: Any) -> float:
    try:
        if isinstance(value, (dict, list, bool)) or value is None:
            raise ValueError
        number = float(value)
    except (ValueError, OverflowError):
        raise ValueError(f"expected a number, got {_show(value)}") from None
    if not math.isfinite(number):
        raise ValueError("expected a finite number")
    return number


def _bool(value: Any) -> bool:
    if isinstance(value, (bool, int, float)) and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.strip().lower() in TRUE_WORDS | FALSE_WORDS:
        return value.strip().lower() in TRUE_WORDS
    raise ValueError(f"expected true or false, got {_show(value)}")


def _rfc3339(value: Any) -> int:
    if not isinstance(value, str) or len(value) < len("2024-01-01") or value.strip().isdecimal():
        raise ValueError(f"expected a time like 2024-01-31T09:30:00Z, got {_show(value)}")
    return _time(value)


def _time(value: Any) -> int:
    try:
        return parse_time_ms(value)
    except (TimeUnreadable, OverflowError, ValueError) as error:
        raise ValueError(str(error)) from None


def _epoch(factor: float) -> Convert:
    def convert(value: Any) -> int:
        at_ms = _float(value) * factor
        if not math.isfinite(at_ms):
            raise ValueError("is too large to be a time")
        return _int(round(at_ms))

    return convert


def _split(sign: str) -> Convert:
    return _of_text(lambda text: [part for each in text.split(sign) if (part := each.strip())])


def _join(sign: str) -> Convert:
    def convert(value: Any) -> str:
        if not isinstance(value, list):
            raise ValueError(f"expected a list, got {name_type(value)}")
        return sign.join(_text(part) for part in value)

    return convert


def _show(value: Any) -> str:
    return f"{value[:40]!r}" if isinstance(value, str) else name_type(value)


CONVERSIONS: Mapping[str, Convert] = MappingProxyType(
    {
        "text": _text,
        "strip": _of_text(str.strip),
        "collapse": _of_text(lambda text: " ".join(text.split())),
        "lower": _of_text(str.lower),
        "nfc": _of_text(lambda text: unicodedata.normalize("NFC", text)),
        "nfkc": _of_text(lambda text: unicodedata.normalize("NFKC", text)),
        "int": _int,
        "float": _float,
        "bool": _bool,
        "rfc3339": _rfc3339,
        "epoch_s": _epoch(1_000),
        "epoch_ms": _epoch(1),
        "time": _time,
    }
)
"""Conversions without an argument; times become UTC epoch milliseconds."""

WITH_ARGUMENT: Mapping[str, tuple[Callable[[str], Convert], str]] = MappingProxyType(
    {"split": (_split, ","), "join": (_join, " ")}
)
"""Conversions with an argument, and its default."""
